"""Seconds of training, selection and prediction of each method, by training size."""

import pandas as pd

from workflow_lib.report.labels import format_seconds
from workflow_lib.report.results import read_published
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions, method_layout
from workflow_lib.report.tables import ERROR_COLUMNS, TIMES, Cell, time_table

SHOWS = "seconds of training and prediction"
READS = {"timings": "results/timings/{experiment}.csv"}
COLUMNS = ERROR_COLUMNS


def cells(timings: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells by what was timed, training size and method."""
    published = read_published(options.published)
    return time_table(timings, published=published, method_order=options.methods)


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a block for each of `TIMES`."""
    return method_layout(cells, options, TIMES, lambda name: format_seconds, format_seconds)
