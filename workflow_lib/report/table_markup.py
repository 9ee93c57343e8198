"""A laid-out table written as LaTeX with booktabs for a paper, or as HTML for the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
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
    """One quantity: a heading and its rows; a row may be a plain tuple in the order of `Row`."""

    heading: str
    rows: list[Row | tuple]


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
    def difference_heads(self) -> list[str]:
        """The heads of the columns of differences: those of the published columns, or none."""
        return self.published_heads if self.difference_heading else []


def latex_markup(layout: Layout, label: str, below: Sequence[Layout] = ()) -> str:
    r"""Return a ``table`` environment for ``\input``; the document loads booktabs.

    The tables `below` follow in the same environment, under their titles; their notes are added to
    the caption.
    """
    notes = [*layout.notes, *(note for other in below for note in other.notes)]
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


def html_markup(layout: Layout, below: Sequence[Layout] = ()) -> str:
    """Return an HTML fragment: a caption, scoped heads, one body per quantity and the notes.

    The tables `below` follow, each with its own caption and notes.
    """
    return "\n".join([_html_table(table) for table in (layout, *below)])


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
        for row in (Row(*row) for row in block.rows):
            entries = [_latex_entry(entry) for entry in row.ours + row.published]
            lines.append(f"{_latex(row.label)} & {' & '.join(entries)} " + r"\\")
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _html_table(layout: Layout) -> str:
    lines = [
        '<div class="wide">',
        '<table class="words">' if layout.is_prose else "<table>",
        f"<caption>{escape(layout.title)}</caption>",
        "<thead>",
    ]
    rows_of_head = 2 if layout.published_heads else 1
    row_head = f'<th scope="col" rowspan="{rows_of_head}">{escape(layout.row_heading)}</th>'
    heads = [f'<th scope="col">{escape(head)}</th>' for head in layout.heads]
    published_heads = [
        f'<th scope="col" class="published">{escape(head)}</th>' for head in layout.published_heads
    ]
    difference_heads = [
        f'<th scope="col" class="difference">{escape(head)}</th>'
        for head in layout.difference_heads
    ]
    n_columns = layout.n_columns + len(difference_heads)
    if layout.published_heads:
        groups = [
            f'<th scope="colgroup" colspan="{len(heads)}">This run</th>',
            f'<th scope="colgroup" colspan="{len(published_heads)}" class="published">'
            f"{escape(layout.published_heading)}</th>",
        ]
        if difference_heads:
            groups.append(
                f'<th scope="colgroup" colspan="{len(difference_heads)}" class="difference">'
                f"{escape(layout.difference_heading)}</th>"
            )
        lines += [
            f"<tr>{row_head}{''.join(groups)}</tr>",
            f"<tr>{''.join(heads + published_heads + difference_heads)}</tr>",
        ]
    else:
        lines.append(f"<tr>{row_head}{''.join(heads)}</tr>")
    lines.append("</thead>")
    for block in layout.blocks:
        lines.append("<tbody>")
        if block.heading:
            lines.append(
                f'<tr><th scope="rowgroup" colspan="{n_columns}" class="block">'
                f"{escape(block.heading)}</th></tr>"
            )
        for row in (Row(*row) for row in block.rows):
            entries = [f"<td>{_html_entry(entry)}</td>" for entry in row.ours]
            entries += [f'<td class="published">{_html_entry(e)}</td>' for e in row.published]
            entries += [f'<td class="difference">{_html_entry(e)}</td>' for e in row.differences]
            lines.append(f'<tr><th scope="row">{escape(row.label)}</th>{"".join(entries)}</tr>')
        lines.append("</tbody>")
    lines += ["</table>", "</div>", f'<p class="notes">{escape(" ".join(layout.notes))}</p>']
    return "\n".join(lines)


def _html_entry(entry: Entry) -> str:
    text = escape(entry.text)
    if entry.bold:
        text = f"<strong>{text}</strong>"
    return f"{text}<sup>{entry.mark}</sup>" if entry.mark else text


def _latex_entry(entry: Entry) -> str:
    text = _latex(entry.text)
    if entry.bold:
        text = rf"\textbf{{{text}}}"
    # Without width, so that numbers with and without a mark stay aligned.
    return text + (rf"\rlap{{$^{{{_LATEX_MARKS[entry.mark]}}}$}}" if entry.mark else "")


_LATEX_MARKS = {LOWER_MARK: r"\dagger", HIGHER_MARK: r"\ddagger"}


def _latex(text: str) -> str:
    """Return `text` with LaTeX's special characters and the usual symbols written as commands."""
    return "".join(_LATEX_CHARACTERS.get(character, character) for character in text)
