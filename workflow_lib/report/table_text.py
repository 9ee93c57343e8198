"""Table cells arranged in rows and columns, and as LaTeX with booktabs for a paper."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.report.agreement import format_spreads
from workflow_lib.report.coordinate_tables import (
    column_heading,
    coordinate_table,
    shown_columns,
)
from workflow_lib.report.labels import (
    MISSING,
    format_published_error,
    format_seconds,
    method_label,
    table_title,
    variant_label,
)
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.quantities import (
    QUANTITIES,
    REFERENCE_METHOD,
    Quantity,
    error_of_unit,
    shown_cells,
)
from workflow_lib.report.results import read_coordinates, read_published, read_scores, read_timings
from workflow_lib.report.study_tables import (
    STUDIES,
    reference_cell,
    study_table,
    varied_variants,
)
from workflow_lib.report.table_markup import (
    MARKS,
    Block,
    Entry,
    Layout,
    Row,
    latex_markup,
)
from workflow_lib.report.table_notes import (
    has_differences,
    is_published,
    study_notes,
    table_notes,
)
from workflow_lib.report.tables import (
    COORDINATE_COLUMNS,
    ERROR_COLUMNS,
    ERRORS,
    STUDY_COLUMNS,
    TIMES,
    Cell,
    error_table,
    time_table,
    write_cells,
)
from workflow_lib.report.variants import components_order, order_variants
from workflow_lib.whole_files import write_text

if TYPE_CHECKING:
    import pandas as pd

READERS: dict[str, Callable] = {
    "error": read_scores,
    "weak": read_scores,
    "time": read_timings,
    "coordinates": read_coordinates,
    "weak_weight": read_scores,
    "weak_noise": read_scores,
}
"""The reader of the records that each kind of table takes."""

_ERROR_BY_COORDINATE = "Relative root mean squared error by output coordinate"


def table_cells(
    kind: str,
    records: pd.DataFrame,
    *,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    published_paths: Iterable[str | Path] = (),
    errors: Sequence[str] = ERRORS,
    metric: str = "arrmse",
    is_comparable: bool = False,
) -> list[Cell]:
    """Return the cells of a table of one `kind`.

    Parameters
    ----------
    kind : {"error", "weak", "time", "coordinates", "weak_weight", "weak_noise"}
        ``error`` takes the scores; so does ``weak``, which keeps the methods with weak rows and
        what they are compared with, and has a column for each; ``time`` takes the timings, and
        ``coordinates`` the errors of the output coordinates; ``weak_weight`` and ``weak_noise``
        take the scores and show a study.
    records : data frame
        As ``READERS[kind]`` reads them.
    methods : mapping of method name to {"label": ...}
        Its order is the order of the rows.
    published_paths : paths of CSV files
        Published tables whose numbers are shown with those of the run, where they have a training
        size. Not for ``coordinates`` and studies.
    errors : sequence of str
        The errors of kind ``error``, keys of `workflow_lib.report.quantities.QUANTITIES`. A table
        of kind ``weak`` shows the aRRMSE and the error of the published numbers. Of classes both
        show the accuracy only, whatever `errors` are.
    metric : {"arrmse", "rrmse", "accuracy"}
        The error of a study. ``accuracy`` for classes, whatever the kind.
    is_comparable : bool
        Whether the data are those of the paper or made by its recipe. Only then do tables of kind
        ``error`` and ``weak`` give the differences from published numbers.

    Raises
    ------
    ValueError
        If there is no such kind.
    UserError
        If the scores do not contain the study.
    """
    if kind in STUDIES:
        return study_table(records, kind, metric=metric, method_order=methods, reference=reference)
    if kind == "coordinates":
        return coordinate_table(records, method_order=methods, reference=reference)
    published = read_published(published_paths)
    if kind == "time":
        return time_table(records, method_order=methods, published=published)
    is_accuracy = QUANTITIES[metric].is_accuracy
    if kind == "error":
        return error_table(
            records,
            method_order=methods,
            reference=reference,
            published=published,
            errors=[metric] if is_accuracy else errors,
            is_comparable=is_comparable,
        )
    if kind == "weak":
        units = [error_of_unit(number.unit) for number in published if number.unit != "s"]
        cells = error_table(
            records,
            method_order=methods,
            reference=reference,
            published=published,
            errors=[metric] if is_accuracy else list(dict.fromkeys(["arrmse", *units])),
            is_comparable=is_comparable,
        )
        # The baselines of Tables 13 and 14, the best on their data, are not the reference here.
        others = {number.method for number in published} if is_accuracy else set()
        return _weak_cells(cells, {reference, *others})
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
    metric: str = "arrmse",
    reference: str | None = None,
    decimals: int | None = None,
) -> None:
    """Read `results`, the file that the kind takes, and write one table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label`
    is the LaTeX label. Published numbers without a training size are in a separate table below;
    the CSV has none of them. Differences from published numbers are in the CSV only, and not for
    data that are a stand-in. The reference is that of the `metric` unless it is given.
    `decimals` are those of our numbers in LaTeX (the CSV has all digits); by default those of
    `Quantity.write`. The other parameters are those of `table_cells`.
    """
    reference = reference or QUANTITIES[metric].reference
    cells = table_cells(
        kind,
        READERS[kind](results),
        methods=methods,
        reference=reference,
        published_paths=published_paths,
        errors=errors,
        metric=metric,
        is_comparable=not stand_in_for,
    )
    columns = STUDY_COLUMNS if kind in STUDIES else ERROR_COLUMNS
    columns = COORDINATE_COLUMNS if kind == "coordinates" else columns
    write_cells(output_csv, cells if kind == "time" else shown_cells(cells, metric), columns)
    latex = latex_table(
        cells,
        kind,
        title=table_title(caption, dataset_title, stand_in_for),
        label=label,
        methods=methods,
        reference=reference,
        metric=metric,
        below=published_layouts(published_paths, methods, stand_in_for),
        decimals=decimals,
    )
    write_text(output_latex, latex)


def latex_table(
    cells: list[Cell],
    kind: str,
    *,
    title: str,
    label: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    metric: str = "arrmse",
    below: Sequence[Layout] = (),
    decimals: int | None = None,
) -> str:
    r"""Return a ``table`` environment for ``\input``; the document loads booktabs.

    `metric` is that of the experiment, for tables of kind ``time`` and ``coordinates``;
    `decimals` are those of our errors, by default those of `Quantity.write`.
    """
    options = {"methods": methods, "reference": reference, "metric": metric, "decimals": decimals}
    return latex_markup(lay_out(cells, kind, title=title, **options), label, below)


def lay_out(
    cells: list[Cell],
    kind: str,
    *,
    title: str,
    methods: Mapping[str, Mapping],
    reference: str = REFERENCE_METHOD,
    metric: str = "arrmse",
    decimals: int | None = None,
) -> Layout:
    """Return the cells arranged in blocks, rows and columns, with the notes that explain them.

    `metric` is that of the experiment, which times and errors of coordinates do not say, and other
    cells do; `decimals` are those of our errors, by default those of `Quantity.write`.
    """
    measured = QUANTITIES.get(cells[0].quantity if cells else metric) or QUANTITIES[metric]
    if kind == "coordinates":
        return _lay_out_by_coordinate(cells, title, methods, reference, measured, decimals)
    if kind in STUDIES:
        return _lay_out_study(cells, title, methods, reference, measured, decimals)
    notes = table_notes(cells, kind, methods, reference, measured)
    if kind == "weak":
        return _lay_out_by_size(cells, title, methods, notes, measured, decimals)
    return _lay_out_by_method(cells, kind, title, methods, notes, decimals)


def _lay_out_by_method(cells, kind, title, methods, notes, decimals) -> Layout:
    """Return the layout with a row for each method and a column for each training size."""
    found = {(cell.quantity, cell.variant, cell.training_size): cell for cell in cells}
    write_published = format_seconds if kind == "time" else format_published_error
    sizes = sorted({cell.training_size for cell in cells})
    published_sizes = sorted({cell.training_size for cell in cells if is_published(cell)})
    blocks = []
    for quantity in dict.fromkeys(cell.quantity for cell in cells):
        write = format_seconds if kind == "time" else _writer(QUANTITIES[quantity], decimals)
        variants = order_variants([c.variant for c in cells if c.quantity == quantity], methods)
        rows = []
        for variant in variants:
            ours = [_our_entry(found.get((quantity, variant, size)), write) for size in sizes]
            published_cells = [found.get((quantity, variant, size)) for size in published_sizes]
            rows.append(
                _row(variant_label(variant, methods), ours, published_cells, write_published, cells)
            )
        if not any(is_published(cell) for cell in cells if cell.quantity == quantity):
            rows = [_without_published(row) for row in rows]
        heading = TIMES[quantity] if kind == "time" else QUANTITIES[quantity].heading
        blocks.append(Block(heading, rows))
    return Layout(
        title,
        "Method",
        [f"n = {size}" for size in sizes],
        blocks,
        notes,
        [f"n = {size}" for size in published_sizes],
        _published_heading(cells),
        difference_heading=_difference_heading(cells),
    )


def _lay_out_by_coordinate(
    cells, title, methods, reference, measured: Quantity, decimals
) -> Layout:
    """Return the layout with a row for each method and a column for each output coordinate."""
    columns = shown_columns(cells)
    found = {(cell.quantity, cell.coordinate, cell.variant): cell for cell in cells}
    heads = {(cell.quantity, cell.coordinate): column_heading(cell, measured) for cell in cells}
    write = _writer(measured, decimals)
    rows = [
        (
            variant_label(variant, methods),
            [_our_entry(found.get((*column, variant)), write) for column in columns],
            [],
        )
        for variant in order_variants([cell.variant for cell in cells], methods)
    ]
    what = "Accuracy (%) by class" if measured.is_accuracy else _ERROR_BY_COORDINATE
    return Layout(
        f"{title.rstrip('.')}; {measured.size_in_words(cells[0].training_size)}, the largest size",
        "Method",
        [heads[column] for column in columns],
        [Block(what, rows)],
        table_notes(
            [cell for cell in cells if (cell.quantity, cell.coordinate) in columns],
            "coordinates",
            methods,
            reference,
            measured,
        ),
    )


def _lay_out_by_size(cells, title, methods, notes, measured: Quantity, decimals) -> Layout:
    """Return the layout with a row for each training size and a column for each method.

    Fixed component numbers get a block each, where methods without a fixed number are repeated.
    """
    settings = sorted({cell.components for cell in cells if cell.weak_size}, key=components_order)
    quantities = list(dict.fromkeys(cell.quantity for cell in cells))
    blocks = []
    columns = order_variants([cell.variant._replace(components="") for cell in cells], methods)
    published_columns = order_variants(
        [cell.variant._replace(components="") for cell in cells if is_published(cell)], methods
    )
    for quantity, setting in itertools.product(quantities, settings):
        of_quantity = [cell for cell in cells if cell.quantity == quantity]
        found = {
            (cell.variant._replace(components=""), cell.training_size): cell
            # The setting itself comes last, so that it replaces the selected setting.
            for cell in sorted(of_quantity, key=lambda cell: cell.components == setting)
            if cell.components == setting or not cell.components.isdigit()
        }
        write = _writer(QUANTITIES[quantity], decimals)
        rows = [
            _row(
                f"n = {size}",
                [_our_entry(found.get((column, size)), write) for column in columns],
                [found.get((column, size)) for column in published_columns],
                format_published_error,
                cells,
            )
            for size in sorted({cell.training_size for cell in cells})
        ]
        if not any(is_published(cell) for cell in of_quantity):
            rows = [_without_published(row) for row in rows]
        heading = QUANTITIES[quantity].heading
        blocks.append(Block(f"{heading}, C = {setting}" if setting.isdigit() else heading, rows))
    return Layout(
        title,
        measured.size_heading,
        [variant_label(column, methods) for column in columns],
        blocks,
        notes,
        [variant_label(column, methods) for column in published_columns],
        _published_heading(cells),
        difference_heading=_difference_heading(cells),
    )


def _lay_out_study(cells, title, methods, reference, measured: Quantity, decimals) -> Layout:
    """Return the layout with a row for each value of a study and a column for each method.

    Below the values are what is selected and, the same in every column with its components, the
    reference method without weak rows.
    """
    study = cells[0].study
    found = {(cell.variant, cell.value): cell for cell in cells}
    columns = varied_variants(cells)
    values = sorted({cell.value for cell in cells if cell.value is not None})

    write = _writer(measured, decimals)

    def row(label: str, row_cells: list[Cell | None]):
        return label, [_our_entry(cell, write) for cell in row_cells], []

    rows = [row(f"{value:g}", [found.get((c, value)) for c in columns]) for value in values]
    selected = [found.get((column, None)) for column in columns]
    if study == "weak_weight":
        rows.append(row("selected", selected))
    elif 0 not in values:
        rows.append(row("no wrong labels", selected))
    references = [reference_cell(cells, column) for column in columns]
    if any(references):
        rows.append(row(f"{method_label(reference, methods)}, no weak rows", references))
    return Layout(
        f"{title.rstrip('.')}; {measured.size_in_words(cells[0].training_size)} and "
        f"{columns[0].weak_size} weak rows",
        STUDIES[study],
        [variant_label(column._replace(weak_size=0), methods) for column in columns],
        [Block(measured.heading, rows)],
        study_notes(cells, methods, reference, measured),
    )


def _weak_cells(cells: Sequence[Cell], others: set[str]) -> list[Cell]:
    """Return the cells of methods with weak rows and of what they are compared with.

    These are the `others`, and the method of the same name without the ``w`` of "weak".
    """
    weak = {cell.method for cell in cells if cell.weak_size}
    kept = weak | {name.removeprefix("w") for name in weak} | others
    return [cell for cell in cells if cell.method in kept]


def _published_heading(cells: Sequence[Cell]) -> str:
    """Return the heading of the published columns, empty without any."""
    tables = sorted({cell.published_table for cell in cells if is_published(cell)})
    return f"Published (table {', '.join(tables)})" if tables else ""


def _difference_heading(cells: Sequence[Cell]) -> str:
    """Return the heading of the columns of differences, empty without any."""
    return "Difference, in spreads" if has_differences(cells) else ""


def _row(label: str, ours: list[Entry], published_cells: list[Cell | None], write, cells) -> Row:
    """Return a row with the published numbers and their differences."""
    published = [_published_entry(cell, write) for cell in published_cells]
    differences = (
        [_difference_entry(cell) for cell in published_cells] if has_differences(cells) else []
    )
    return Row(label, ours, published, differences)


def _without_published(row: Row) -> Row:
    """Return a row with empty cells where other rows of its table have published numbers."""
    return row._replace(
        published=[Entry("")] * len(row.published), differences=[Entry("")] * len(row.differences)
    )


def _writer(quantity: Quantity, decimals: int | None):
    """Return the function that writes a mean and a deviation of a quantity."""
    return functools.partial(quantity.write, decimals=decimals)


def _our_entry(cell: Cell | None, write) -> Entry:
    if cell is None:
        return Entry(MISSING)
    return Entry(write(cell.mean, cell.deviation), cell.bold, MARKS[cell.mark])


def _published_entry(cell: Cell | None, write) -> Entry:
    if cell is None or not is_published(cell):
        return Entry(MISSING)
    return Entry(write(cell.published_value, cell.published_spread))


def _difference_entry(cell: Cell | None) -> Entry:
    return Entry(MISSING if cell is None else format_spreads(cell.published_difference_in_spreads))
