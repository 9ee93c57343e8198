"""What it costs to find several boxes in an image, by where the queue was last reset.

As for Figure 5.3 and Tables 5.1 and 5.2 of Blaschko (2014): the costs C_ij of detection j after a
reset before detection i, in sets of boxes taken from the queue, from which those of every strategy
follow (`workflow_lib.papers.blaschko.queue_strategies`).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_cells import rows_as_csv
from workflow_lib.core.result_columns import QUEUE_COSTS
from workflow_lib.core.whole_files import write_text
from workflow_lib.papers.blaschko.box_fitting import N_DETECTIONS
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints, unpack
from workflow_lib.papers.blaschko.queue_strategies import queue_costs
from workflow_lib.papers.blaschko.word_grids import WordGrid

MAX_OVERLAPS = (0.25, 0.5, 0.75)
"""The overlaps with an earlier detection from which on a box is ruled out."""

MAX_SPLITS = 5
MAX_IMAGES = 8
"""The costs of an image with one overlap take about 0.1 s on 32 x 32 cells, and 0.5 s on the
finer grid."""

FINER = 4
"""How many times as fine the second grid is: with 32 x 32 cells, nearer to the grid of all pixels
that the published numbers are of."""


def run(
    dataset: str | Path,
    splits: Sequence[str | Path],
    regressions: Sequence[str | Path],
    output: str | Path,
    method: str,
) -> None:
    """Write the costs of a method's searches as CSV, with the columns `QUEUE_COSTS`.

    They are those of the first `MAX_IMAGES` test images of the first `MAX_SPLITS` splits, with
    the weights of the largest training size, for each of `MAX_OVERLAPS`; on the grid of the method,
    and with the same weights on one that is `FINER` times as fine. `regressions` are the
    "regression" artifacts of the method on the `splits`, whose items have weights of words.

    Raises UserError if they have none.
    """
    data = read_artifact(dataset, "dataset")
    rows: list[dict] = []
    for split, paths in enumerate(list(zip(splits, regressions, strict=True))[:MAX_SPLITS]):
        test = read_artifact(paths[0], "split")["test"][:MAX_IMAGES]
        items = read_artifact(paths[1], "regression").values()
        item = max(items, key=lambda item: item["training_size"])
        if "word_weights" not in item:
            raise UserError(
                location=f"the costs of queues of {method}, {paths[1]}",
                found="no weights of words",
                expected="a method for boxes with a linear score, such as boxes-ssvm",
                remedy="name such a method first in the experiment, or leave out its tables and "
                "figures of queues",
            )
        key = {"method": method, "training_size": item["training_size"], "split": split}
        for row, points in zip(test, unpack(data, test), strict=True):
            rows += [key | {"row": row} | costs for costs in image_costs(item, points)]
    write_text(
        output, rows_as_csv(QUEUE_COSTS, ([row[key] for key in QUEUE_COSTS] for row in rows))
    )


def image_costs(
    item: Mapping, image: ImagePoints, factors: Sequence[int] | None = None
) -> Iterator[dict]:
    """Yield the costs of an image, with the weights of an item of the "regression" artifact.

    `factors` say how many times as fine as that of the method each of the grids is; None: 1 and
    `FINER`.
    """
    kind = item["word_grid"]
    for factor in factors or (1, FINER):
        n_cells = int(kind["n_cells"]) * factor
        grid = WordGrid(image, n_cells, bool(kind["center"]), int(kind["levels"]))
        score = grid.score(item["word_weights"])
        for overlap in MAX_OVERLAPS:
            costs = queue_costs(score, N_DETECTIONS, overlap)
            for first, of_reset in enumerate(costs):
                for detection, n_dequeued in enumerate(of_reset[first:], first + 1):
                    key = {"n_cells": n_cells, "max_overlap": overlap, "reset_before": first + 1}
                    yield key | {"detection": detection, "n_dequeued": int(n_dequeued)}
