"""What it costs to reset the queue of a search for several boxes always, or never."""

from pathlib import Path

import pandas as pd

from workflow_lib.papers.blaschko.queue_tables import (
    ALWAYS,
    NEVER,
    QUEUE_COLUMNS,
    overlap_names,
    queue_cells,
    queue_layout,
)
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions

SHOWS = (
    "for boxes, what it costs to reset the queue of a search for ten boxes always or never, "
    "relative to the cheapest search, with the weights of the first method that is for boxes alone"
)
READS = {"queue_costs": "results/{experiment}/queue-costs.csv"}
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a table of kind queue_ratios shows a search for boxes, and the task is {task}"
NEEDS_METHOD = {"tasks": {("boxes",)}}
METHOD_IN_WORDS = "a method that is for boxes alone, such as boxes-ssvm"
COLUMNS = QUEUE_COLUMNS

EXPLAINED = "Numbers are the sets that the others take, divided by those of the cheapest. "


def cells(queue_costs: str | Path, options: TableOptions) -> pd.DataFrame:
    """Return the statistics over the splits, by grid of cells and overlap."""
    return queue_cells(queue_costs, (ALWAYS, NEVER))


def layout(cells: pd.DataFrame, options: TableOptions) -> Layout:
    """Return the layout with a row for each overlap and statistic, a column for each strategy."""
    rows = overlap_names(cells) + ", " + cells["statistic"]
    return queue_layout(cells, options, rows, cells["quantity"], "{:.2f}", EXPLAINED)
