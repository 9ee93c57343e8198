"""Errors of each method on the test rows, by training size."""

import pandas as pd

from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.results import read_published
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions, error_cells, method_layout, writer
from workflow_lib.report.tables import ERROR_COLUMNS, ERRORS, Cell

SHOWS = "errors of each method at each training size"
READS = {"scores": "results/{experiment}/scores.csv"}
SHOWS_ERRORS = True
COLUMNS = ERROR_COLUMNS


def cells(scores: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells by error, training size and method."""
    errors = options.keys.get("errors", ERRORS)
    return error_cells(scores, options, errors, read_published(options.published))


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a block for each error."""
    headings = {name: quantity.heading for name, quantity in QUANTITIES.items()}
    return method_layout(
        cells,
        options,
        headings,
        lambda name: writer(QUANTITIES[name], options.decimals),
        bold_within="at its training size",
    )
