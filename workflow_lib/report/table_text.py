"""Table cells written out: LaTeX with booktabs for a paper, an HTML fragment for the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from workflow_lib.report.files import write_text
from workflow_lib.report.labels import (
    MISSING,
    count_of,
    format_error,
    format_published_error,
    format_seconds,
    method_label,
    table_title,
    variant_label,
)
from workflow_lib.report.scores import (
    components_order,
    order_variants,
    read_published,
    read_scores,
    read_timings,
)
from workflow_lib.report.tables import (
    CORRECTED_RISK,
    QUANTITIES,
    REFERENCE_METHOD,
    STUDENT_RISK,
    Cell,
    error_table,
    time_table,
    write_cells,
)

LOWER_MARK = "\u2020"
HIGHER_MARK = "\u2021"

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
    "\u03bc": r"$\mu$",
    "\u03c0": r"$\pi$",
    "\u03c3": r"$\sigma$",
    "\u03a3": r"$\Sigma$",
    "\u03c6": r"$\varphi$",
}


@dataclass(frozen=True)
class _Entry:
    """What stands in one place of a table."""

    text: str
    bold: bool = False
    mark: str = ""


@dataclass(frozen=True)
class _Block:
    """One quantity: a heading and rows of (label, entries of this run, published entries)."""

    heading: str
    rows: list[tuple[str, list[_Entry], list[_Entry]]]


@dataclass(frozen=True)
class _Layout:
    """A table ready to be written: its column heads, blocks and notes.

    The heads name a training size (``n = 50``), or a method where the rows are training sizes.
    """

    row_heading: str
    heads: list[str]
    published_heads: list[str]
    published_heading: str
    blocks: list[_Block]
    notes: list[str]


def table_cells(
    kind: str,
    records: Sequence,
    *,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    published_paths: Iterable[str | Path] = (),
) -> list[Cell]:
    """Return the cells of a table of one `kind`.

    Parameters
    ----------
    kind : {"error", "weak", "time"}
        ``error`` takes the scores; so does ``weak``, which keeps the methods with weak rows and
        what they are compared with, and has a column for each; ``time`` takes the timings.
    records : sequence of Score or Timing
        As `workflow_lib.report.scores` reads them.
    methods : mapping of method name to {"label": ...}
        Its order is the order of the rows.
    published_paths : paths of CSV files
        Published tables whose numbers are shown beside.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    published = read_published(published_paths)
    if kind in ("error", "weak"):
        cells = error_table(records, method_order=methods, reference=reference, published=published)
        return cells if kind == "error" else _weak_cells(cells, reference)
    if kind == "time":
        return time_table(records, method_order=methods, published=published)
    raise ValueError(f"table kind must be error, weak or time, found {kind!r}")


def run(
    results: str | Path,
    output_csv: str | Path,
    output_latex: str | Path,
    kind: str,
    caption: str,
    dataset_title: str,
    stand_in_for: str | None,
    label: str,
    methods: Mapping[str, Mapping],
    published_paths: Iterable[str | Path] = (),
    reference: str = REFERENCE_METHOD,
) -> None:
    """Read `results`, the scores (or, for kind ``time``, the timings), and write one table.

    The title is the caption with the data actually used and what they stand in for; the other
    parameters are those of `write_table`.
    """
    records = read_timings(results) if kind == "time" else read_scores(results)
    write_table(
        output_csv,
        output_latex,
        kind,
        records,
        title=table_title(caption, dataset_title, stand_in_for),
        label=label,
        methods=methods,
        reference=reference,
        published_paths=published_paths,
    )


def write_table(
    csv_path: str | Path,
    latex_path: str | Path,
    kind: str,
    records: Sequence,
    *,
    title: str,
    label: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    published_paths: Iterable[str | Path] = (),
) -> None:
    """Write a table as tidy CSV and as a LaTeX ``table`` environment.

    `title` opens the caption and should name the data actually used; `label` is the LaTeX label.
    The other parameters are those of `table_cells`.
    """
    cells = table_cells(
        kind, records, methods=methods, reference=reference, published_paths=published_paths
    )
    write_cells(csv_path, cells)
    latex = latex_table(cells, kind, title=title, label=label, methods=methods, reference=reference)
    write_text(latex_path, latex)


def latex_table(
    cells: Sequence[Cell],
    kind: str,
    *,
    title: str,
    label: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
) -> str:
    r"""Return a ``table`` environment that ``\input`` takes; the document loads booktabs."""
    layout = _lay_out(cells, kind, methods, reference)
    n_columns = 1 + len(layout.heads) + len(layout.published_heads)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{_latex(title.rstrip('.'))}. {_latex(' '.join(layout.notes))}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{'r' * (n_columns - 1)}}}",
        r"\toprule",
    ]
    if layout.published_heads:
        first = 1 + len(layout.heads)
        lines += [
            rf" & \multicolumn{{{len(layout.heads)}}}{{c}}{{This run}}"
            rf" & \multicolumn{{{len(layout.published_heads)}}}{{c}}"
            rf"{{{_latex(layout.published_heading)}}} \\",
            rf"\cmidrule(lr){{2-{first}}} \cmidrule(lr){{{first + 1}-{n_columns}}}",
        ]
    heads = [_latex(head) for head in layout.heads + layout.published_heads]
    lines.append(f"{_latex(layout.row_heading)} & {' & '.join(heads)} " + r"\\")
    for block in layout.blocks:
        lines += [
            r"\midrule",
            rf"\multicolumn{{{n_columns}}}{{l}}{{\emph{{{_latex(block.heading)}}}}} \\",
        ]
        for row_label, ours, theirs in block.rows:
            entries = [_latex_entry(entry) for entry in ours + theirs]
            lines.append(f"{_latex(row_label)} & {' & '.join(entries)} " + r"\\")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def html_table(
    cells: Sequence[Cell],
    kind: str,
    *,
    title: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
) -> str:
    """Return a table as an HTML fragment: a caption, scoped heads, one body per quantity, notes."""
    layout = _lay_out(cells, kind, methods, reference)
    n_columns = 1 + len(layout.heads) + len(layout.published_heads)
    lines = [
        '<div class="wide">',
        "<table>",
        f"<caption>{escape(title)}</caption>",
        "<thead>",
    ]
    rows_of_head = 2 if layout.published_heads else 1
    row_head = f'<th scope="col" rowspan="{rows_of_head}">{escape(layout.row_heading)}</th>'
    heads = [f'<th scope="col">{escape(head)}</th>' for head in layout.heads]
    published_heads = [
        f'<th scope="col" class="published">{escape(head)}</th>' for head in layout.published_heads
    ]
    if layout.published_heads:
        lines += [
            f'<tr>{row_head}<th scope="colgroup" colspan="{len(heads)}">This run</th>'
            f'<th scope="colgroup" colspan="{len(published_heads)}" class="published">'
            f"{escape(layout.published_heading)}</th></tr>",
            f"<tr>{''.join(heads + published_heads)}</tr>",
        ]
    else:
        lines.append(f"<tr>{row_head}{''.join(heads)}</tr>")
    lines.append("</thead>")
    for block in layout.blocks:
        lines += [
            "<tbody>",
            f'<tr><th scope="rowgroup" colspan="{n_columns}" class="block">'
            f"{escape(block.heading)}</th></tr>",
        ]
        for label, ours, theirs in block.rows:
            entries = [f"<td>{_html_entry(entry)}</td>" for entry in ours]
            entries += [f'<td class="published">{_html_entry(entry)}</td>' for entry in theirs]
            lines.append(f'<tr><th scope="row">{escape(label)}</th>{"".join(entries)}</tr>')
        lines.append("</tbody>")
    lines += ["</table>", "</div>", f'<p class="notes">{escape(" ".join(layout.notes))}</p>']
    return "\n".join(lines)


def _lay_out(
    cells: Sequence[Cell], kind: str, methods: Mapping[str, Mapping], reference: str
) -> _Layout:
    """Return the cells arranged in blocks, rows and columns, with the notes that explain them."""
    write = format_seconds if kind == "time" else format_error
    tables = sorted({cell.published_table for cell in cells if _is_published(cell)})
    heading = f"Published (table {', '.join(tables)})" if tables else ""
    notes = _notes(cells, kind, methods, reference, bool(tables))
    if kind == "weak":
        return _lay_out_by_size(cells, methods, write, heading, notes)
    return _lay_out_by_method(cells, kind, methods, write, heading, notes)


def _lay_out_by_method(cells, kind, methods, write, published_heading, notes) -> _Layout:
    """Return the layout with a row for each method and a column for each training size."""
    found = {(cell.quantity, cell.variant, cell.training_size): cell for cell in cells}
    write_published = format_seconds if kind == "time" else format_published_error
    sizes = sorted({cell.training_size for cell in cells})
    published_sizes = sorted({cell.training_size for cell in cells if _is_published(cell)})
    blocks = []
    for quantity, heading in QUANTITIES[kind].items():
        variants = order_variants([c.variant for c in cells if c.quantity == quantity], methods)
        rows = []
        for variant in variants:
            ours = [_our_entry(found.get((quantity, variant, size)), write) for size in sizes]
            theirs = [
                _published_entry(found.get((quantity, variant, size)), write_published)
                for size in published_sizes
            ]
            rows.append((variant_label(variant, methods), ours, theirs))
        if not any(_is_published(cell) for cell in cells if cell.quantity == quantity):
            rows = [(label, ours, [_Entry("")] * len(theirs)) for label, ours, theirs in rows]
        blocks.append(_Block(heading, rows))
    return _Layout(
        "Method",
        [f"n = {size}" for size in sizes],
        [f"n = {size}" for size in published_sizes],
        published_heading,
        blocks,
        notes,
    )


def _lay_out_by_size(cells, methods, write, published_heading, notes) -> _Layout:
    """Return the layout with a row for each training size and a column for each method.

    Fixed component numbers get a block each, where methods without one are repeated.
    """
    settings = sorted({cell.components for cell in cells if cell.weak_size}, key=components_order)
    blocks = []
    columns = order_variants([cell.variant._replace(components="") for cell in cells], methods)
    published_columns = order_variants(
        [cell.variant._replace(components="") for cell in cells if _is_published(cell)], methods
    )
    for setting in settings:
        found = {
            (cell.variant._replace(components=""), cell.training_size): cell
            # The setting itself comes last, so that it wins over the selected one.
            for cell in sorted(cells, key=lambda cell: cell.components == setting)
            if cell.components == setting or not cell.components.isdigit()
        }
        rows = [
            (
                f"n = {size}",
                [_our_entry(found.get((column, size)), write) for column in columns],
                [
                    _published_entry(found.get((column, size)), format_published_error)
                    for column in published_columns
                ],
            )
            for size in sorted({cell.training_size for cell in cells})
        ]
        heading = QUANTITIES["error"]["arrmse"]
        blocks.append(_Block(f"{heading}, C = {setting}" if setting.isdigit() else heading, rows))
    return _Layout(
        "Training size",
        [variant_label(column, methods) for column in columns],
        [variant_label(column, methods) for column in published_columns],
        published_heading,
        blocks,
        notes,
    )


def _weak_cells(cells: Sequence[Cell], reference: str) -> list[Cell]:
    """Return the aRRMSE cells of methods with weak rows and of what they are compared with.

    That is the reference method, and the method of the same name without the ``w`` of "weak".
    """
    weak = {cell.method for cell in cells if cell.weak_size}
    kept = weak | {name.removeprefix("w") for name in weak} | {reference}
    return [cell for cell in cells if cell.quantity == "arrmse" and cell.method in kept]


def _is_published(cell: Cell) -> bool:
    return not math.isnan(cell.published_value)


def _notes(
    cells: Sequence[Cell],
    kind: str,
    methods: Mapping[str, Mapping],
    reference: str,
    has_published: bool,
) -> list[str]:
    """Return the sentences under a table; marks that occur nowhere are not explained."""
    if not cells:
        return ["There are no results."]
    splits = sorted({cell.n_splits for cell in cells})
    rows = sorted({cell.n_test for cell in cells})
    n_test = f"{rows[0]}" if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"
    if splits == [1]:
        notes = ["One split, so neither a deviation nor a test."]
    else:
        spread = count_of(splits[-1], "split")
        if len(splits) > 1:
            spread = f"{splits[0]} to {spread}"
        notes = [f"Mean \u00b1 standard deviation over {spread}."]
    notes.append(f"n is the training size; {n_test} test rows.")
    name = method_label(reference, methods)
    marks = {cell.mark for cell in cells}
    risk = f"corrected resampled t-test at {CORRECTED_RISK:g}"
    if kind != "time" and splits != [1]:
        if any(cell.bold for cell in cells):
            notes.append(
                "Bold: lower than every other number at its training size "
                f"(paired Student t-test at {STUDENT_RISK:g})."
            )
        else:
            notes.append(
                "No number is bold: none is lower than every other at its training size by the "
                f"paired Student t-test at {STUDENT_RISK:g}."
            )
        if any(cell.n_nonzero is not None for cell in cells):
            if "lower" in marks:
                notes.append(f"{LOWER_MARK}: lower than {name} ({risk}).")
            if "higher" in marks:
                notes.append(f"{HIGHER_MARK}: higher than {name} ({risk}).")
            if marks == {""}:
                notes.append(f"No row differs from {name} by the {risk}.")
    if has_published:
        notes.append(
            "Published numbers are those of Djerrab et al. (2018) on the data of their authors."
        )
    return notes


def _our_entry(cell: Cell | None, write) -> _Entry:
    if cell is None:
        return _Entry(MISSING)
    mark = {"lower": LOWER_MARK, "higher": HIGHER_MARK}.get(cell.mark, "")
    return _Entry(write(cell.mean, cell.deviation), cell.bold, mark)


def _published_entry(cell: Cell | None, write) -> _Entry:
    if cell is None or not _is_published(cell):
        return _Entry(MISSING)
    return _Entry(write(cell.published_value, cell.published_spread))


def _html_entry(entry: _Entry) -> str:
    text = escape(entry.text)
    if entry.bold:
        text = f"<strong>{text}</strong>"
    return f"{text}<sup>{entry.mark}</sup>" if entry.mark else text


def _latex_entry(entry: _Entry) -> str:
    text = _latex(entry.text)
    if entry.bold:
        text = rf"\textbf{{{text}}}"
    if entry.mark:
        text += {LOWER_MARK: r"\rlap{$^{\dagger}$}", HIGHER_MARK: r"\rlap{$^{\ddagger}$}"}[
            entry.mark
        ]
    return text


def _latex(text: str) -> str:
    """Return `text` with LaTeX's special characters and the usual symbols written as commands."""
    special = {LOWER_MARK: r"$\dagger$", HIGHER_MARK: r"$\ddagger$", **_LATEX_CHARACTERS}
    return "".join(special.get(character, character) for character in text)
