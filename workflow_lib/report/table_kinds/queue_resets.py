"""How often the cheapest search for several boxes resets its queue."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.report.queue_tables import (
    QUEUE_COLUMNS,
    RESETS,
    QueueCell,
    queue_cells,
    queue_layout,
)

if TYPE_CHECKING:
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


def cells(queue_costs: str | Path, options: TableOptions) -> list[QueueCell]:
    """Return the statistics over the splits, by grid of cells and overlap."""
    return queue_cells(queue_costs, (RESETS,))


def layout(cells: Sequence[QueueCell], options: TableOptions) -> Layout:
    """Return the layout: a block for each grid of cells, in the form of the thesis."""
    return queue_layout(cells, options)
