"""The error against the number of weakly labelled rows."""

import itertools

import pandas as pd

from workflow_lib.report.labels import variant_label
from workflow_lib.report.quantities import QUANTITIES, error_of_unit
from workflow_lib.report.results import read_published
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_notes import has_differences, is_published
from workflow_lib.report.table_text import (
    TableOptions,
    cell_block,
    cell_layout,
    error_cells,
    measured_of,
    size_notes,
    writer,
)
from workflow_lib.report.tables import ERROR_COLUMNS, Cell
from workflow_lib.report.variants import components_order, order_variants

SHOWS = "the aRRMSE, of classes the accuracy, against the number of weakly labelled rows"
READS = {"scores": "results/{experiment}/scores.csv"}
SHOWS_ERRORS = True
REQUIRES = {"has_weak_sizes": {True}}
BECAUSE = "a table of kind weak needs weak_sizes"
COLUMNS = ERROR_COLUMNS


def cells(scores: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells of the methods with weak rows, and of those that they are compared with.

    The errors are the aRRMSE and those of the published numbers.
    """
    published = read_published(options.published)
    units = [error_of_unit(number.unit) for number in published if number.unit != "s"]
    errors = list(dict.fromkeys(["arrmse", *units]))
    found = error_cells(scores, options, errors, published)
    # A method with weak rows is compared with that of the same name without the "w" of weak, and
    # with the baselines of Tables 13 and 14, which are the best on their data, not the reference.
    weak = {cell.method for cell in found if cell.weak_size}
    kept = weak | {name.removeprefix("w") for name in weak} | {options.reference}
    if QUANTITIES[options.metric].is_accuracy:
        kept |= {number.method for number in published}
    return [cell for cell in found if cell.method in kept]


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a row for each training size and a column for each method.

    Fixed component numbers get a block each, where methods without a fixed number are repeated.
    """
    methods = options.methods
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
            cell_block(
                f"{heading}, C = {setting}" if setting.isdigit() else heading,
                sizes,
                columns,
                {
                    (cell.training_size, cell.variant._replace(components="")): cell
                    # The setting itself comes last, so that it replaces the selected setting.
                    for cell in sorted(of_quantity, key=lambda cell: cell.components == setting)
                    if cell.components == setting or not cell.components.isdigit()
                },
                writer(QUANTITIES[quantity], options.decimals),
                published_columns if is_printed else len(published_columns),
                with_differences=has_differences(cells),
            )
        )
    return cell_layout(
        cells,
        options,
        row_heading=measured_of(cells, options).size_heading,
        heads=[variant_label(column, methods) for column in columns],
        blocks=blocks,
        notes=size_notes(cells, options, "at its training size"),
        published_heads=[variant_label(column, methods) for column in published_columns],
    )
