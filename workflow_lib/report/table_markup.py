"""The layout of a table, and its LaTeX with booktabs for a paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LOWER_MARK = "\u2020"
HIGHER_MARK = "\u2021"
MARKS = {"": "", "lower": LOWER_MARK, "higher": HIGHER_MARK}

_LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "\u00b1": r"$\pm$",
    "\u2212": r"$-$",
    "\u2013": r"--",
    "\u00b5": r"$\mu$",
    "\u00d7": r"$\times$",
    "\u2264": r"$\leq$",
    "\u2265": r"$\geq$",
    "\u03b3": r"$\gamma$",
    "\u03bb": r"$\lambda$",
    "\u2082": r"$_2$",
    "\u03bc": r"$\mu$",
    "\u03c0": r"$\pi$",
    "\u03c3": r"$\sigma$",
    "\u03a3": r"$\Sigma$",
    "\u03c6": r"$\varphi$",
    LOWER_MARK: r"$\dagger$",
    HIGHER_MARK: r"$\ddagger$",
}


@dataclass(frozen=True)
class Entry:
    """The content of one cell of a table."""

    text: str
    bold: bool = False
    mark: str = ""


class Row(NamedTuple):
    """One row: its label, the entries of this run, the published ones and their differences.

    Differences are in the order of the published entries; there are none where nothing is
    compared.
    """

    label: str
    ours: list[Entry]
    published: list[Entry] = []
    differences: list[Entry] = []


@dataclass(frozen=True)
class Block:
    """One quantity: a heading and its rows.

    A row may be a plain tuple in the order of `Row`, and an entry without style its text alone.
    """

    heading: str
    rows: list[Row | tuple]

    @property
    def all_rows(self) -> list[Row]:
        """The rows, each with its names and with entries."""
        return [
            Row(label, *([Entry(e) if isinstance(e, str) else e for e in part] for part in parts))
            for label, *parts in self.rows
        ]


@dataclass(frozen=True)
class Layout:
    """A table ready to be written: its title, column heads, blocks and notes.

    The heads name a training size (``n = 50``), a method where the rows are training sizes, or an
    output coordinate. Published columns follow those of the run, if there are any, and in HTML
    the differences follow them under ``difference_heading``. LaTeX leaves the differences out:
    three groups of columns are too wide for a page. With ``is_prose`` the last column contains
    text, whose lines are broken.
    """

    title: str
    row_heading: str
    heads: list[str]
    blocks: list[Block]
    notes: list[str]
    published_heads: list[str] = field(default_factory=list)
    published_heading: str = ""
    is_prose: bool = False
    difference_heading: str = ""

    @property
    def n_columns(self) -> int:
        """Number of columns, that of the row labels included and those of differences not."""
        return 1 + len(self.heads) + len(self.published_heads)

    @property
    def column_groups(self) -> list[tuple[str, list[str], str]]:
        """Heading, heads and kind of each group of columns: ours, published, differences."""
        groups = [
            ("This run", self.heads, ""),
            (self.published_heading, self.published_heads, "published"),
            (self.difference_heading, self.difference_heads, "difference"),
        ]
        return [group for group in groups if group[1]]

    @property
    def difference_heads(self) -> list[str]:
        """The heads of the columns of differences: those of the published columns, or none."""
        return self.published_heads if self.difference_heading else []


def latex_markup(layout: Layout, label: str, below: Sequence[Layout] = ()) -> str:
    r"""Return a ``table`` environment for ``\input``; the document loads booktabs.

    The tables `below` follow in the same environment, under their titles; their notes are added to
    the caption.
    """
    notes = list(dict.fromkeys(note for each in (layout, *below) for note in each.notes))
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{_latex(layout.title.rstrip('.'))}. {_latex(' '.join(notes))}}}",
        rf"\label{{{label}}}",
        *_latex_tabular(layout),
    ]
    for other in below:
        lines += [r"\par\medskip", rf"\emph{{{_latex(other.title)}}}", r"\par\smallskip"]
        lines += _latex_tabular(other)
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_tabular(layout: Layout) -> list[str]:
    columns = "r" * (layout.n_columns - 1)
    if layout.is_prose:
        columns = columns[:-1] + r"p{0.6\linewidth}"
    lines = [rf"\begin{{tabular}}{{l{columns}}}", r"\toprule"]
    if layout.published_heads:
        first = 1 + len(layout.heads)
        lines += [
            rf" & \multicolumn{{{len(layout.heads)}}}{{c}}{{This run}}"
            rf" & \multicolumn{{{len(layout.published_heads)}}}{{c}}"
            rf"{{{_latex(layout.published_heading)}}} \\",
            rf"\cmidrule(lr){{2-{first}}} \cmidrule(lr){{{first + 1}-{layout.n_columns}}}",
        ]
    heads = [_latex(head) for head in layout.heads + layout.published_heads]
    lines.append(f"{_latex(layout.row_heading)} & {' & '.join(heads)} " + r"\\")
    for block in layout.blocks:
        lines.append(r"\midrule")
        if block.heading:
            heading = rf"\emph{{{_latex(block.heading)}}}"
            lines.append(rf"\multicolumn{{{layout.n_columns}}}{{l}}{{{heading}}} \\")
        for row in block.all_rows:
            entries = [_latex_entry(entry) for entry in row.ours + row.published]
            lines.append(f"{_latex(row.label)} & {' & '.join(entries)} " + r"\\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _latex_entry(entry: Entry) -> str:
    text = _latex(entry.text)
    if entry.bold:
        text = rf"\textbf{{{text}}}"
    # Without width, so that numbers with and without a mark stay aligned.
    return text + (rf"\rlap{{$^{{{_latex(entry.mark).strip('$')}}}$}}" if entry.mark else "")


def _latex(text: str) -> str:
    """Return `text` with LaTeX's special characters and the usual symbols written as commands."""
    return "".join(_LATEX_CHARACTERS.get(character, character) for character in text)
