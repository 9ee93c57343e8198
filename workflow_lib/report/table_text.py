"""Table cells arranged in rows and columns, and as LaTeX with booktabs for a paper."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workflow_lib.error_measures import CLASS_MEASURES, LOSS_MEASURES
from workflow_lib.report.agreement import format_spreads
from workflow_lib.report.comparison_tables import COLUMNS as COMPARISON_COLUMNS
from workflow_lib.report.comparison_tables import (
    ComparisonCell,
    comparison_cells,
    comparison_layout,
)
from workflow_lib.report.coordinate_tables import column_heading, coordinate_table, shown_columns
from workflow_lib.report.labels import (
    MISSING,
    format_published_error,
    format_seconds,
    method_label,
    table_title,
    variant_label,
)
from workflow_lib.report.published_tables import beside, published_layouts
from workflow_lib.report.quantities import (
    QUANTITIES,
    REFERENCE_METHOD,
    Quantity,
    error_of_unit,
    shown_cells,
)
from workflow_lib.report.queue_tables import COLUMNS as QUEUE_COLUMNS
from workflow_lib.report.queue_tables import QUANTITIES as QUEUE_QUANTITIES
from workflow_lib.report.queue_tables import QueueCell, queue_cells, queue_layout
from workflow_lib.report.results import (
    read_coordinates,
    read_published,
    read_queue_costs,
    read_scores,
    read_timings,
)
from workflow_lib.report.study_tables import STUDIES, reference_cell, study_table, varied_variants
from workflow_lib.report.table_markup import MARKS, Block, Entry, Layout, Row, latex_markup
from workflow_lib.report.table_notes import has_differences, is_published, table_notes
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

READERS: dict[str, Callable] = {
    "error": read_scores,
    "weak": read_scores,
    "time": read_timings,
    "coordinates": read_coordinates,
    "weak_weight": read_scores,
    "weak_noise": read_scores,
    "comparisons": read_scores,
    "queue_resets": read_queue_costs,
    "queue_ratios": read_queue_costs,
}
"""The reader of the records that each kind of table takes."""

FILES = {
    "time": "timings",
    "coordinates": "coordinates",
    **dict.fromkeys(QUEUE_QUANTITIES, "queue_costs"),
}
"""What `workflow_lib.report.assembly` calls their file, where it is not that of the scores."""

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
    comparisons: Sequence[Mapping[str, str]] = (),
) -> list[Cell] | list[ComparisonCell] | list[QueueCell]:
    """Return the cells of a table of one `kind`.

    ``error`` takes the scores; so does ``weak``, which keeps the methods with weak rows and what
    they are compared with, and has a column for each; ``time`` takes the timings, and
    ``coordinates`` the errors of the output coordinates; ``weak_weight`` and ``weak_noise`` take
    the scores and show a study, and ``comparisons`` take them and answer its `comparisons`;
    ``queue_resets`` and ``queue_ratios`` take the costs of queues. The
    `records` are as ``READERS[kind]`` reads them, and the order of `methods` is that of the rows.

    Tables in `published_paths` are shown where they have a training size, but not with
    ``coordinates`` and studies. `errors` are those of kind ``error``, keys of
    `workflow_lib.report.quantities.QUANTITIES`; a table of kind ``weak`` shows the aRRMSE and the
    error of the published numbers. Of classes (`metric` is an accuracy) both show the accuracy, or
    those of `errors` that are measures of classes; else `metric` is the error of a study. Only
    where the data are those of the paper or made by its recipe, `is_comparable`, do tables of kind
    ``error`` and ``weak`` give the differences from published numbers.

    Raises ValueError if there is no such kind, and UserError if the scores do not contain the
    study.
    """
    if kind not in READERS:
        raise ValueError(f"table kind must be one of {', '.join(READERS)}, found {kind!r}")
    order = {"method_order": methods}
    if kind in STUDIES:
        return study_table(records, kind, metric=metric, reference=reference, **order)
    if kind == "comparisons":
        return comparison_cells(records, comparisons, metric)
    if kind in QUEUE_QUANTITIES:
        return queue_cells(records, kind)
    if kind == "coordinates":
        return coordinate_table(records, reference=reference, **order)
    published = read_published(published_paths)
    if kind == "time":
        return time_table(records, published=published, **order)
    is_accuracy = QUANTITIES[metric].is_accuracy
    if kind == "weak":
        units = [error_of_unit(number.unit) for number in published if number.unit != "s"]
        errors = list(dict.fromkeys(["arrmse", *units]))
    if is_accuracy:
        of_classes = [name for name in errors if name in CLASS_MEASURES]
        measured = set(records["quantity"])
        usual = ["accuracy", *(name for name in LOSS_MEASURES if name in measured)]
        errors = [metric if name == "accuracy" else name for name in of_classes or usual]
    cells = error_table(
        records,
        reference=reference,
        published=published,
        errors=errors,
        is_comparable=is_comparable,
        **order,
    )
    if kind == "error":
        return cells
    # A method with weak rows is compared with that of the same name without the "w" of weak, and
    # with the baselines of Tables 13 and 14, which are the best on their data, not the reference.
    weak = {cell.method for cell in cells if cell.weak_size}
    kept = weak | {name.removeprefix("w") for name in weak} | {reference}
    kept |= {number.method for number in published} if is_accuracy else set()
    return [cell for cell in cells if cell.method in kept]


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
    decimals: int | None = None,
    comparisons: Sequence[Mapping[str, str]] = (),
) -> None:
    """Read `results`, the file that the kind takes, and write one table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label`
    is the LaTeX label. Published numbers without a training size are beside ours where rows and
    columns are the same, else in a separate table below; the CSV has none of them. Differences from
    published numbers are in the CSV only, and not for data that are a stand-in. The reference is
    that of the `metric`.
    `decimals` are those of our numbers in LaTeX (the CSV has all digits); by default those of
    `Quantity.write`. The other parameters are those of `table_cells`.
    """
    reference = QUANTITIES[metric].reference
    cells = table_cells(
        kind,
        READERS[kind](results),
        methods=methods,
        reference=reference,
        published_paths=published_paths,
        errors=errors,
        metric=metric,
        is_comparable=not stand_in_for,
        comparisons=comparisons,
    )
    columns = STUDY_COLUMNS if kind in STUDIES else ERROR_COLUMNS
    columns = COORDINATE_COLUMNS if kind == "coordinates" else columns
    columns = COMPARISON_COLUMNS if kind == "comparisons" else columns
    columns = QUEUE_COLUMNS if kind in QUEUE_QUANTITIES else columns
    is_shown = kind in ("time", "comparisons", *QUEUE_QUANTITIES)
    write_cells(output_csv, cells if is_shown else shown_cells(cells, metric), columns)
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
    layout, below = beside(lay_out(cells, kind, title=title, **options), below)
    return latex_markup(layout, label, below)


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
    if kind == "comparisons":
        return comparison_layout(cells, title, methods)
    if kind in QUEUE_QUANTITIES:
        return queue_layout(cells, title, methods)
    measured = QUANTITIES.get(cells[0].quantity if cells else metric) or QUANTITIES[metric]
    measured = replace(
        measured, is_per_class=measured.is_per_class or QUANTITIES[metric].is_per_class
    )
    if kind == "coordinates":
        columns = shown_columns(cells)
        cells = [cell for cell in cells if (cell.quantity, cell.coordinate) in columns]
    notes = table_notes(cells, kind, methods, reference, measured)
    layout = {
        "title": title,
        "notes": notes,
        "published_heading": _published_heading(cells),
        "difference_heading": "Difference, in spreads" if has_differences(cells) else "",
    }
    options = {"methods": methods, "decimals": decimals}
    if kind == "coordinates":
        return _lay_out_by_coordinate(cells, columns, measured, layout, **options)
    if kind in STUDIES:
        return _lay_out_study(cells, reference, measured, layout, **options)
    if kind == "weak":
        return _lay_out_by_size(cells, measured, layout, **options)
    return _lay_out_by_method(cells, kind, layout, **options)


def _lay_out_by_method(cells, kind, layout, methods, decimals) -> Layout:
    """Return the layout with a row for each method and a column for each training size."""
    sizes = sorted({cell.training_size for cell in cells})
    published_sizes = sorted({cell.training_size for cell in cells if is_published(cell)})
    blocks = []
    for quantity in dict.fromkeys(cell.quantity for cell in cells):
        of_quantity = [cell for cell in cells if cell.quantity == quantity]
        variants = order_variants([cell.variant for cell in of_quantity], methods)
        blocks.append(
            _block(
                TIMES[quantity] if kind == "time" else QUANTITIES[quantity].heading,
                [(variant_label(variant, methods), variant) for variant in variants],
                sizes,
                {(cell.variant, cell.training_size): cell for cell in of_quantity},
                format_seconds if kind == "time" else _writer(QUANTITIES[quantity], decimals),
                published_sizes if any(map(is_published, of_quantity)) else len(published_sizes),
                format_seconds if kind == "time" else format_published_error,
                has_differences(cells),
            )
        )
    return Layout(
        row_heading="Method",
        heads=[f"n = {size}" for size in sizes],
        blocks=blocks,
        published_heads=[f"n = {size}" for size in published_sizes],
        **layout,
    )


def _lay_out_by_coordinate(cells, columns, measured, layout, methods, decimals) -> Layout:
    """Return the layout with a row for each method and a column for each output coordinate."""
    found = {(cell.variant, (cell.quantity, cell.coordinate)): cell for cell in cells}
    heads = {(cell.quantity, cell.coordinate): column_heading(cell, measured) for cell in cells}
    variants = order_variants([cell.variant for cell in cells], methods)
    rows = [(variant_label(variant, methods), variant) for variant in variants]
    what = "Accuracy (%) by class" if measured.is_accuracy else _ERROR_BY_COORDINATE
    size = measured.size_in_words(cells[0].training_size)
    return Layout(
        row_heading="Method",
        heads=[heads[column] for column in columns],
        blocks=[_block(what, rows, columns, found, _writer(measured, decimals))],
        **layout | {"title": f"{layout['title'].rstrip('.')}; {size}, the largest size"},
    )


def _lay_out_by_size(cells, measured, layout, methods, decimals) -> Layout:
    """Return the layout with a row for each training size and a column for each method.

    Fixed component numbers get a block each, where methods without a fixed number are repeated.
    """
    settings = sorted({cell.components for cell in cells if cell.weak_size}, key=components_order)
    sizes = [(f"n = {size}", size) for size in sorted({cell.training_size for cell in cells})]
    columns, published_columns = (
        order_variants([cell.variant._replace(components="") for cell in of], methods)
        for of in (cells, filter(is_published, cells))
    )
    blocks = []
    quantities = list(dict.fromkeys(cell.quantity for cell in cells))
    for quantity, setting in itertools.product(quantities, settings):
        of_quantity = [cell for cell in cells if cell.quantity == quantity]
        heading = QUANTITIES[quantity].heading
        is_printed = any(map(is_published, of_quantity))
        blocks.append(
            _block(
                f"{heading}, C = {setting}" if setting.isdigit() else heading,
                sizes,
                columns,
                {
                    (cell.training_size, cell.variant._replace(components="")): cell
                    # The setting itself comes last, so that it replaces the selected setting.
                    for cell in sorted(of_quantity, key=lambda cell: cell.components == setting)
                    if cell.components == setting or not cell.components.isdigit()
                },
                _writer(QUANTITIES[quantity], decimals),
                published_columns if is_printed else len(published_columns),
                format_published_error,
                has_differences(cells),
            )
        )
    return Layout(
        row_heading=measured.size_heading,
        heads=[variant_label(column, methods) for column in columns],
        blocks=blocks,
        published_heads=[variant_label(column, methods) for column in published_columns],
        **layout,
    )


def _lay_out_study(cells, reference, measured, layout, methods, decimals) -> Layout:
    """Return the layout with a row for each value of a study and a column for each method.

    Below the values are what is selected and, the same in every column with its components, the
    reference method without weak rows.
    """
    found = {(cell.value, cell.variant): cell for cell in cells}
    columns = varied_variants(cells)
    values = sorted({cell.value for cell in cells if cell.value is not None})
    rows = [(f"{value:g}", value) for value in values]
    if cells[0].study == "weak_weight":
        rows.append(("selected", None))
    elif 0 not in values:
        rows.append(("no wrong labels", None))
    references = {("reference", column): reference_cell(cells, column) for column in columns}
    if any(references.values()):
        rows.append((f"{method_label(reference, methods)}, no weak rows", "reference"))
    sizes = f"{measured.size_in_words(cells[0].training_size)} and {columns[0].weak_size} weak rows"
    write = _writer(measured, decimals)
    return Layout(
        row_heading=STUDIES[cells[0].study],
        heads=[variant_label(column._replace(weak_size=0), methods) for column in columns],
        blocks=[_block(measured.heading, rows, columns, found | references, write)],
        **layout | {"title": f"{layout['title'].rstrip('.')}; {sizes}"},
    )


def _block(
    heading: str,
    rows: Sequence[tuple],
    columns: Sequence,
    found: Mapping[tuple, Cell | None],
    write: Callable,
    published: Sequence | int = (),
    write_published: Callable = format_published_error,
    with_differences: bool = False,
) -> Block:
    """Return a block with a row for each pair of a label and a key.

    `found` has the cell of the keys of a row and of a column; cells that it lacks are marked as
    missing. `published` are the columns with published numbers or, in a block without any, the
    number of columns that stay empty.
    """
    laid_out = []
    for label, key in rows:
        ours = [_entry(found.get((key, column)), write) for column in columns]
        if isinstance(published, int):
            empty = [Entry("")] * published
            laid_out.append(Row(label, ours, empty, empty if with_differences else []))
            continue
        cells = [found.get((key, column)) for column in published]
        printed = [
            Entry(write_published(cell.published_value, cell.published_spread))
            if cell is not None and is_published(cell)
            else Entry(MISSING)
            for cell in cells
        ]
        differences = [
            Entry(format_spreads(cell.published_difference_in_spreads) if cell else MISSING)
            for cell in cells
        ]
        laid_out.append(Row(label, ours, printed, differences if with_differences else []))
    return Block(heading, laid_out)


def _entry(cell: Cell | None, write: Callable) -> Entry:
    if cell is None:
        return Entry(MISSING)
    return Entry(write(cell.mean, cell.deviation), cell.bold, MARKS[cell.mark])


def _writer(quantity: Quantity, decimals: int | None) -> Callable:
    """Return the function that writes a mean and a deviation of a quantity."""
    return functools.partial(quantity.write, decimals=decimals)


def _published_heading(cells: Sequence[Cell]) -> str:
    """Return the heading of the published columns, empty without any."""
    tables = sorted({cell.published_table for cell in cells if is_published(cell)})
    return f"Published (table {', '.join(tables)})" if tables else ""
