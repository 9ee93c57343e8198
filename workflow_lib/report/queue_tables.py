"""How often the cheapest search for several boxes resets its queue, and what others cost.

As Tables 5.1 and 5.2 of Blaschko (2014): the least, the median and the most of several machines,
each with the strategy that is cheapest in hindsight for all its images together. There they are
those of 20 classes, here those of the splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.embeddings.queue_strategies import cheapest_resets, costs_of_resets
from workflow_lib.report.labels import count_of, method_label, range_in_words
from workflow_lib.report.results import COUNT, NAME, NUMBER, not_empty, read_results
from workflow_lib.report.table_markup import Block, Layout
from workflow_lib.result_columns import QUEUE_COSTS

if TYPE_CHECKING:
    import pandas as pd

    from workflow_lib.report.table_text import TableOptions

RESETS, ALWAYS, NEVER = "resets", "all reset", "no reset"
"""The number of resets of the cheapest strategy, and the costs of two others, divided by its
costs."""

STATISTICS = {"min": np.min, "median": np.median, "max": np.max}

QUEUE_COLUMNS = (
    *("quantity", "method", "training_size", "n_cells", "max_overlap", "statistic", "value"),
    *("n_splits", "n_images"),
)
"""Columns of the CSV file."""


@dataclass(frozen=True)
class QueueCell:
    """A statistic over the splits, of searches on ``n_cells`` cells a side.

    Boxes overlap no earlier one by ``max_overlap`` or more. ``n_images`` are those of each split,
    in words.
    """

    quantity: str
    method: str
    training_size: int
    n_cells: int
    max_overlap: float
    statistic: str
    value: float
    n_splits: int
    n_images: str

    @property
    def row(self) -> str:
        """The name of its row, as it is printed in the thesis."""
        return self.statistic if self.quantity == RESETS else f"{self._overlap}, {self.statistic}"

    @property
    def column(self) -> str:
        """The name of its column, as it is printed in the thesis."""
        return self._overlap if self.quantity == RESETS else self.quantity

    @property
    def text(self) -> str:
        """The value as it is shown."""
        return f"{self.value:g}" if self.quantity == RESETS else f"{self.value:.2f}"

    @property
    def _overlap(self) -> str:
        return f"\u03b3 = {self.max_overlap:.2f}"


def read_queue_costs(path: str | Path) -> pd.DataFrame:
    """Return the rows of a ``queue-costs.csv``, with the columns `QUEUE_COSTS`.

    Raises UserError as `workflow_lib.report.results.read_scores` does.
    """
    expected = dict.fromkeys(QUEUE_COSTS, COUNT) | {"method": NAME, "max_overlap": NUMBER}
    return not_empty(path, read_results(path, QUEUE_COSTS, expected, unique=QUEUE_COSTS[:-1]))


def queue_cells(queue_costs: str | Path, quantities: Sequence[str]) -> list[QueueCell]:
    """Return the statistics of some quantities of a ``queue-costs.csv``."""
    costs = read_queue_costs(queue_costs)
    n_images = range_in_words(set(costs.groupby("split")["row"].nunique()))
    cells = []
    for (method, size, n_cells, overlap), of_grid in costs.groupby(
        ["method", "training_size", "n_cells", "max_overlap"]
    ):
        splits = [_of_split(each) for _, each in of_grid.groupby("split")]
        for statistic, function in STATISTICS.items():
            for quantity in quantities:
                value = float(function([split[quantity] for split in splits]))
                key = quantity, method, size, n_cells, overlap, statistic
                cells.append(QueueCell(*key, value, len(splits), n_images))
    return cells


def _of_split(costs: pd.DataFrame) -> dict[str, float]:
    """Return each quantity of one split, on one grid with one overlap, of all images together."""
    total = costs.pivot_table(
        index="reset_before", columns="detection", values="n_dequeued", aggfunc="sum"
    ).to_numpy()
    resets, least = cheapest_resets(total)
    always, never = (costs_of_resets(total, n).sum() / least for n in (len(total) - 1, 0))
    return {RESETS: len(resets), ALWAYS: always, NEVER: never}


def queue_layout(cells: Sequence[QueueCell], options: TableOptions, explained: str = "") -> Layout:
    """Return the layout: a block for each grid of cells, in the form of the thesis.

    The sentence `explained` of the note says what the numbers are.
    """
    rows, columns = (
        list(dict.fromkeys(getattr(cell, name) for cell in cells)) for name in ("row", "column")
    )
    blocks = []
    for n_cells in dict.fromkeys(cell.n_cells for cell in cells):
        texts = {(cell.row, cell.column): cell.text for cell in cells if cell.n_cells == n_cells}
        shown = [(row, [texts[row, column] for column in columns]) for row in rows]
        blocks.append(Block(f"{n_cells} \u00d7 {n_cells} cells", shown))
    first = cells[0]
    note = (
        "Two detections overlap by less than \u03b3. The cheapest search takes the fewest sets of "
        f"boxes from its queue, in hindsight, for all images of a split. {explained}Least, median "
        f"and most of {count_of(first.n_splits, 'split')}, each with the first {first.n_images} "
        f"test images and the weights of {method_label(first.method, options.methods)}, "
        f"{first.training_size} training images, which were learned on the coarser of the grids."
    )
    return Layout(options.title, "", columns, blocks, [note])
