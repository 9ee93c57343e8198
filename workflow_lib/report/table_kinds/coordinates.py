"""The error of each output coordinate at the largest training size."""

import pandas as pd

from workflow_lib.report.coordinate_tables import SUMMARIES, coordinate_table
from workflow_lib.report.labels import variant_label
from workflow_lib.report.quantities import Quantity
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_notes import table_notes
from workflow_lib.report.table_text import (
    TableOptions,
    cell_block,
    cell_layout,
    measured_of,
    writer,
)
from workflow_lib.report.tables import COORDINATE_COLUMNS, Cell
from workflow_lib.report.variants import order_variants

SHOWS = "the error of each output coordinate at the largest training size"
READS = {"coordinates": "results/{experiment}/coordinates.csv"}
SHOWS_ERRORS = True
COLUMNS = COORDINATE_COLUMNS

MAX_COORDINATES = 12
"""With more coordinates than this a table shows their minimum, median and maximum instead."""

_HEADINGS_OF_ACCURACIES = {
    "minimum": "Maximum",
    "maximum": "Minimum",
    "global": "Mean over classes",
}
"""Headings of summaries of error rates that are shown as accuracies, where they differ."""


def cells(coordinates: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells of every coordinate, then those of the summaries."""
    return coordinate_table(coordinates, method_order=options.methods, reference=options.reference)


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a row for each method and a column for each output coordinate."""
    methods, measured = options.methods, measured_of(cells, options)
    columns = _shown_columns(cells)
    cells = [cell for cell in cells if (cell.quantity, cell.coordinate) in columns]
    found = {(cell.variant, (cell.quantity, cell.coordinate)): cell for cell in cells}
    heads = {(cell.quantity, cell.coordinate): _heading(cell, measured) for cell in cells}
    variants = order_variants([cell.variant for cell in cells], methods)
    rows = [(variant_label(variant, methods), variant) for variant in variants]
    what = "Relative root mean squared error by output coordinate"
    if measured.is_accuracy:
        what = "Accuracy (%) by class"
    size = measured.size_in_words(cells[0].training_size)
    own = [_note(cells, measured)]
    return cell_layout(
        cells,
        options,
        title=f"{options.title.rstrip('.')}; {size}, the largest size",
        row_heading="Method",
        heads=[heads[column] for column in columns],
        blocks=[cell_block(what, rows, columns, found, writer(measured, options.decimals))],
        notes=table_notes(cells, options, measured, own=own, bold_within="in its column"),
    )


def _shown_columns(cells: list[Cell]) -> list[tuple[str, int | None]]:
    """Return (quantity, coordinate) of the columns that a table shows, in order. They are the
    coordinates and the global error, or, of more than `MAX_COORDINATES` coordinates, the
    summaries."""
    coordinates = sorted({c.coordinate for c in cells if c.coordinate is not None})
    if len(coordinates) > MAX_COORDINATES:
        return [(quantity, None) for quantity in SUMMARIES]
    return [*(("coordinate", coordinate) for coordinate in coordinates), ("global", None)]


def _heading(cell: Cell, measured: Quantity) -> str:
    if cell.name:
        return cell.name.replace("_", " ")
    if measured.is_accuracy and cell.quantity in _HEADINGS_OF_ACCURACIES:
        return _HEADINGS_OF_ACCURACIES[cell.quantity]
    return cell.quantity.capitalize()


def _note(cells: list[Cell], measured: Quantity) -> str:
    if measured.is_accuracy:
        mean = "The mean over classes weights all classes equally, whatever their test rows."
    else:
        mean = "Global is the mean over coordinates, the aRRMSE."
    if any(cell.quantity == "coordinate" for cell in cells):
        return mean
    many = (
        f"There are too many {measured.parts} for a column each: minimum, median and maximum are "
        f"those over the {measured.parts.removeprefix('output ')} of each split"
    )
    if measured.is_accuracy:
        return f"{many}. {mean} The CSV file of this table has every class."
    return (
        f"{many}, and Global is their mean, the aRRMSE. The CSV file of this table has every "
        "coordinate."
    )
