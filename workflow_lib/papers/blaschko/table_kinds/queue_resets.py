"""How often the cheapest search for several boxes resets its queue."""

from pathlib import Path

import pandas as pd

from workflow_lib.papers.blaschko.queue_tables import (
    QUEUE_COLUMNS,
    RESETS,
    overlap_names,
    queue_cells,
    queue_layout,
)
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions

SHOWS = (
    "for boxes, how often the cheapest search for ten boxes resets its queue, with the weights of "
    "the first method that is for boxes alone"
)
READS = {"queue_costs": "results/{experiment}/queue-costs.csv"}
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a table of kind queue_resets shows a search for boxes, and the task is {task}"
NEEDS_METHOD = {"tasks": {("boxes",)}}
METHOD_IN_WORDS = "a method that is for boxes alone, such as boxes-ssvm"
COLUMNS = QUEUE_COLUMNS


def cells(queue_costs: str | Path, options: TableOptions) -> pd.DataFrame:
    """Return the statistics over the splits, by grid of cells and overlap."""
    return queue_cells(queue_costs, (RESETS,))


def layout(cells: pd.DataFrame, options: TableOptions) -> Layout:
    """Return the layout with a row for each statistic and a column for each overlap."""
    return queue_layout(cells, options, cells["statistic"], overlap_names(cells), "{:g}")
