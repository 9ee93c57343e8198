"""Table cells written out: LaTeX with booktabs for a paper, an HTML fragment for the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from workflow_lib.report.coordinate_tables import (
    CoordinateCell,
    column_heading,
    coordinate_table,
    shown_columns,
)
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
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.scores import (
    components_order,
    order_variants,
    read_coordinates,
    read_published,
    read_scores,
    read_timings,
)
from workflow_lib.report.table_markup import (
    HIGHER_MARK,
    LOWER_MARK,
    Block,
    Entry,
    Layout,
    html_markup,
    latex_markup,
)
from workflow_lib.report.tables import (
    CORRECTED_RISK,
    ERRORS,
    QUANTITIES,
    REFERENCE_METHOD,
    STUDENT_RISK,
    Cell,
    error_table,
    time_table,
    write_cells,
)

READERS: dict[str, Callable] = {
    "error": read_scores,
    "weak": read_scores,
    "time": read_timings,
    "coordinates": read_coordinates,
}
"""The reader of the records that each kind of table takes."""


def table_cells(
    kind: str,
    records: Sequence,
    *,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    published_paths: Iterable[str | Path] = (),
    errors: Sequence[str] = ERRORS,
) -> list[Cell] | list[CoordinateCell]:
    """Return the cells of a table of one `kind`.

    Parameters
    ----------
    kind : {"error", "weak", "time", "coordinates"}
        ``error`` takes the scores; so does ``weak``, which keeps the methods with weak rows and
        what they are compared with, and has a column for each; ``time`` takes the timings, and
        ``coordinates`` the errors of the output coordinates.
    records : sequence of Score, Timing or CoordinateError
        As ``READERS[kind]`` reads them.
    methods : mapping of method name to {"label": ...}
        Its order is the order of the rows.
    published_paths : paths of CSV files
        Published tables whose numbers are shown beside, where they have a training size. Not for
        ``coordinates``.
    errors : sequence of str
        The errors of kind ``error``, keys of ``QUANTITIES["error"]``.

    Raises
    ------
    ValueError
        If there is no such kind.
    """
    if kind == "coordinates":
        return coordinate_table(records, method_order=methods, reference=reference)
    published = read_published(published_paths)
    if kind == "time":
        return time_table(records, method_order=methods, published=published)
    if kind == "error":
        return error_table(
            records,
            method_order=methods,
            reference=reference,
            published=published,
            errors=errors,
        )
    if kind == "weak":
        cells = error_table(records, method_order=methods, reference=reference, published=published)
        return _weak_cells(cells, reference)
    raise ValueError(f"table kind must be one of {', '.join(READERS)}, found {kind!r}")


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
    errors: Sequence[str] = ERRORS,
    reference: str = REFERENCE_METHOD,
) -> None:
    """Read `results`, the file that the kind takes, and write one table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label`
    is the LaTeX label. Published numbers without a training size stand in a table of their own
    below; the CSV has none of them. The other parameters are those of `table_cells`.
    """
    cells = table_cells(
        kind,
        READERS[kind](results),
        methods=methods,
        reference=reference,
        published_paths=published_paths,
        errors=errors,
    )
    write_cells(output_csv, cells)
    latex = latex_table(
        cells,
        kind,
        title=table_title(caption, dataset_title, stand_in_for),
        label=label,
        methods=methods,
        reference=reference,
        below=published_layouts(published_paths, methods, stand_in_for),
    )
    write_text(output_latex, latex)


def latex_table(
    cells: Sequence[Cell] | Sequence[CoordinateCell],
    kind: str,
    *,
    title: str,
    label: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    below: Sequence[Layout] = (),
) -> str:
    r"""Return a ``table`` environment that ``\input`` takes; the document loads booktabs."""
    return latex_markup(_lay_out(cells, kind, title, methods, reference), label, below)


def html_table(
    cells: Sequence[Cell] | Sequence[CoordinateCell],
    kind: str,
    *,
    title: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    below: Sequence[Layout] = (),
) -> str:
    """Return a table as an HTML fragment, followed by the tables `below`."""
    return html_markup(_lay_out(cells, kind, title, methods, reference), below)


def _lay_out(
    cells: Sequence[Cell] | Sequence[CoordinateCell],
    kind: str,
    title: str,
    methods: Mapping[str, Mapping],
    reference: str,
) -> Layout:
    """Return the cells arranged in blocks, rows and columns, with the notes that explain them."""
    if kind == "coordinates":
        return _lay_out_by_coordinate(cells, title, methods, reference)
    write = format_seconds if kind == "time" else format_error
    notes = _notes(cells, kind, methods, reference)
    if kind == "weak":
        return _lay_out_by_size(cells, title, methods, write, notes)
    return _lay_out_by_method(cells, kind, title, methods, write, notes)


def _lay_out_by_method(cells, kind, title, methods, write, notes) -> Layout:
    """Return the layout with a row for each method and a column for each training size."""
    found = {(cell.quantity, cell.variant, cell.training_size): cell for cell in cells}
    write_published = format_seconds if kind == "time" else format_published_error
    sizes = sorted({cell.training_size for cell in cells})
    published_sizes = sorted({cell.training_size for cell in cells if _is_published(cell)})
    blocks = []
    for quantity in dict.fromkeys(cell.quantity for cell in cells):
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
            rows = [(label, ours, [Entry("")] * len(theirs)) for label, ours, theirs in rows]
        blocks.append(Block(QUANTITIES[kind][quantity], rows))
    return Layout(
        title,
        "Method",
        [f"n = {size}" for size in sizes],
        blocks,
        notes,
        [f"n = {size}" for size in published_sizes],
        _published_heading(cells),
    )


def _lay_out_by_coordinate(cells, title, methods, reference) -> Layout:
    """Return the layout with a row for each method and a column for each output coordinate."""
    columns = shown_columns(cells)
    found = {(cell.quantity, cell.coordinate, cell.variant): cell for cell in cells}
    heads = {(cell.quantity, cell.coordinate): column_heading(cell) for cell in cells}
    rows = [
        (
            variant_label(variant, methods),
            [_our_entry(found.get((*column, variant)), format_error) for column in columns],
            [],
        )
        for variant in order_variants([cell.variant for cell in cells], methods)
    ]
    return Layout(
        f"{title.rstrip('.')}; {cells[0].training_size} training rows, the largest size",
        "Method",
        [heads[column] for column in columns],
        [Block("Relative root mean squared error by output coordinate", rows)],
        _notes(
            [cell for cell in cells if (cell.quantity, cell.coordinate) in columns],
            "coordinates",
            methods,
            reference,
        ),
    )


def _lay_out_by_size(cells, title, methods, write, notes) -> Layout:
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
        blocks.append(Block(f"{heading}, C = {setting}" if setting.isdigit() else heading, rows))
    return Layout(
        title,
        "Training size",
        [variant_label(column, methods) for column in columns],
        blocks,
        notes,
        [variant_label(column, methods) for column in published_columns],
        _published_heading(cells),
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


def _published_heading(cells: Sequence[Cell]) -> str:
    """Return the heading of the published columns, empty without any."""
    tables = sorted({cell.published_table for cell in cells if _is_published(cell)})
    return f"Published (table {', '.join(tables)})" if tables else ""


def _notes(
    cells: Sequence[Cell] | Sequence[CoordinateCell],
    kind: str,
    methods: Mapping[str, Mapping],
    reference: str,
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
    scope = "at its training size"
    if kind == "coordinates":
        scope = "in its column"
        notes += [f"{n_test} test rows.", _coordinate_note(cells)]
    else:
        notes.append(f"n is the training size; {n_test} test rows.")
    name = method_label(reference, methods)
    marks = {cell.mark for cell in cells}
    risk = f"corrected resampled t-test at {CORRECTED_RISK:g}"
    if kind != "time" and splits != [1]:
        if any(cell.bold for cell in cells):
            notes.append(
                f"Bold: lower than every other number {scope} "
                f"(paired Student t-test at {STUDENT_RISK:g})."
            )
        else:
            notes.append(
                f"No number is bold: none is lower than every other {scope} by the "
                f"paired Student t-test at {STUDENT_RISK:g}."
            )
        if any(cell.n_nonzero is not None for cell in cells):
            if "lower" in marks:
                notes.append(f"{LOWER_MARK}: lower than {name} ({risk}).")
            if "higher" in marks:
                notes.append(f"{HIGHER_MARK}: higher than {name} ({risk}).")
            if marks == {""}:
                notes.append(f"No row differs from {name} by the {risk}.")
    return notes + ([] if kind == "coordinates" else _published_notes(cells))


def _coordinate_note(cells: Sequence[CoordinateCell]) -> str:
    """Return the sentence that tells what the columns of a table of coordinates are."""
    if any(cell.quantity == "coordinate" for cell in cells):
        return "Global is the mean over coordinates, the aRRMSE."
    return (
        "There are too many output coordinates for a column each: minimum, median and maximum are "
        "those over the coordinates of each split, and Global is their mean, the aRRMSE. The CSV "
        "file of this table has every coordinate."
    )


def _published_notes(cells: Sequence[Cell]) -> list[str]:
    """Return the sentences about the published columns, none without any."""
    published = {cell.quantity for cell in cells if _is_published(cell)}
    if not published:
        return []
    notes = ["Published numbers are those of Djerrab et al. (2018) on the data of their authors."]
    if "root_sum_rrmse" in published:
        notes.append(
            "That they are roots of sums is read from their size; the paper calls them averages."
        )
    return notes


def _our_entry(cell: Cell | CoordinateCell | None, write) -> Entry:
    if cell is None:
        return Entry(MISSING)
    mark = {"lower": LOWER_MARK, "higher": HIGHER_MARK}.get(cell.mark, "")
    return Entry(write(cell.mean, cell.deviation), cell.bold, mark)


def _published_entry(cell: Cell | None, write) -> Entry:
    if cell is None or not _is_published(cell):
        return Entry(MISSING)
    return Entry(write(cell.published_value, cell.published_spread))
