"""How often the cheapest search for several boxes resets its queue, and what others cost.

As Tables 5.1 and 5.2 of Blaschko (2014): the least, the median and the most of several machines,
each with the strategy that is cheapest in hindsight for all its images together. There they are
those of 20 classes, here those of the splits.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.result_columns import QUEUE_COSTS
from workflow_lib.papers.blaschko.queue_strategies import cheapest_resets, costs_of_resets
from workflow_lib.report.labels import count_of, method_label, range_in_words
from workflow_lib.report.results import COUNT, NAME, NUMBER, not_empty, read_results
from workflow_lib.report.table_markup import Block, Layout
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


def read_queue_costs(path: str | Path) -> pd.DataFrame:
    """Return the rows of a ``queue-costs.csv``, with the columns `QUEUE_COSTS`.

    Raises UserError as `workflow_lib.report.results.read_scores` does.
    """
    expected = dict.fromkeys(QUEUE_COSTS, COUNT) | {"method": NAME, "max_overlap": NUMBER}
    return not_empty(path, read_results(path, QUEUE_COSTS, expected, unique=QUEUE_COSTS[:-1]))


def queue_cells(queue_costs: str | Path, quantities: Sequence[str]) -> pd.DataFrame:
    """Return the statistics over the splits of some quantities, with the columns `QUEUE_COLUMNS`.

    They are of searches on ``n_cells`` cells a side for boxes that overlap no earlier one by
    ``max_overlap`` or more; ``n_images`` are those of each split, in words.
    """
    costs = read_queue_costs(queue_costs)
    n_images = range_in_words(set(costs.groupby("split")["row"].nunique()))
    lines = []
    for (method, size, n_cells, overlap), of_grid in costs.groupby(
        ["method", "training_size", "n_cells", "max_overlap"]
    ):
        splits = [_of_split(each) for _, each in of_grid.groupby("split")]
        for statistic, function in STATISTICS.items():
            for quantity in quantities:
                value = float(function([split[quantity] for split in splits]))
                key = quantity, method, size, n_cells, overlap, statistic
                lines.append((*key, value, len(splits), n_images))
    return pd.DataFrame(lines, columns=QUEUE_COLUMNS)


def _of_split(costs: pd.DataFrame) -> dict[str, float]:
    """Return each quantity of one split, on one grid with one overlap, of all images together."""
    total = costs.pivot_table(
        index="reset_before", columns="detection", values="n_dequeued", aggfunc="sum"
    ).to_numpy()
    resets, least = cheapest_resets(total)
    always, never = (costs_of_resets(total, n).sum() / least for n in (len(total) - 1, 0))
    return {RESETS: len(resets), ALWAYS: always, NEVER: never}


def overlap_names(cells: pd.DataFrame) -> pd.Series:
    """Return the overlap of each cell as it is printed in the thesis."""
    return cells["max_overlap"].map("\u03b3 = {:.2f}".format)


def queue_layout(
    cells: pd.DataFrame,
    options: TableOptions,
    rows: pd.Series,
    columns: pd.Series,
    written: str,
    explained: str = "",
) -> Layout:
    """Return the layout: a block for each grid of cells, in the form of the thesis.

    `rows` and `columns` are the names of those of each cell, `written` is the format of a value,
    and the sentence `explained` says in the note what the numbers are.
    """
    blocks = []
    for n_cells, of_grid in cells.groupby("n_cells", sort=False):
        keys = zip(rows[of_grid.index], columns[of_grid.index], strict=True)
        texts = dict(zip(keys, of_grid["value"].map(written.format), strict=True))
        heads = columns.unique()
        shown = [(row, [texts[row, head] for head in heads]) for row in rows.unique()]
        blocks.append(Block(f"{n_cells} \u00d7 {n_cells} cells", shown))
    first = cells.iloc[0]
    note = (
        "Two detections overlap by less than \u03b3. The cheapest search takes the fewest sets of "
        f"boxes from its queue, in hindsight, for all images of a split. {explained}Least, median "
        f"and most of {count_of(first.n_splits, 'split')}, each with the first {first.n_images} "
        f"test images and the weights of {method_label(first.method, options.methods)}, "
        f"{first.training_size} training images, which were learned on the coarser of the grids."
    )
    return Layout(options.title, "", list(columns.unique()), blocks, [note])
