"""What it costs to reset the queue of a search for boxes in images with an object and without.

As in Figure 5.4 of Blaschko (2014).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.papers.blaschko.figures.box_queues import draw_rows
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints, unpack
from workflow_lib.papers.blaschko.queue_tables import read_queue_costs
from workflow_lib.papers.blaschko.stages.queue_costs import image_costs

SHOWS = (
    "how many sets of boxes the search for ten detections takes from a queue that is reset or "
    "kept, in images with an object and in the same images without its words"
)
CAPTION = (
    "Sets of boxes that are taken from the queue for each detection, where the queue is never "
    "reset, reset before the first one or two further detections, or before each; two detections "
    "overlap by less than \u03b3. Top (+): images with an object; bottom (\u2212): the same images "
    "without the visual words in the box of the object, in place of images of scenes alone. Lines "
    "are means over the splits of the means over images, areas their sample standard deviation."
)
READS = {
    "queue_costs": "results/{experiment}/queue-costs.csv",
    "dataset": "results/datasets/{dataset}.h5",
    "all_regressions": "results/{experiment}/split-{split}/{method}/regression.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind queues_by_presence shows a search for boxes, and the task is {task}"
NEEDS_METHOD = {"tasks": {("boxes",)}}
METHOD_IN_WORDS = "a method that is for boxes alone, such as boxes-ssvm"
NEEDS = {"minutes": 10}


def draw(
    queue_costs: str | Path,
    dataset: str | Path,
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    methods: Mapping[str, Mapping],
):
    """Return the figure: a row for images with and without an object, a panel for each overlap.

    Images, splits, weights and the coarser grid of cells are those of `queue_costs`.
    """
    costs = read_queue_costs(queue_costs)
    costs = costs[costs["n_cells"] == costs["n_cells"].min()]
    regressions = all_regressions[costs["method"].iloc[0]]
    absent = _without_objects(costs, read_artifact(dataset, "dataset"), regressions)
    rows = {"+, \u03b3 = {}": costs, "\u2212, \u03b3 = {}": absent}
    return draw_rows(rows, title, methods, "all")


def _without_objects(
    costs: pd.DataFrame, data: Mapping, regressions: Sequence[str | Path]
) -> pd.DataFrame:
    """Return the costs in the same images without the words of their objects."""
    lines = []
    for (split, size), of_split in costs.groupby(["split", "training_size"]):
        items = read_artifact(regressions[split], "regression").values()
        item = next(each for each in items if each["training_size"] == size)
        rows = of_split["row"].unique()
        for row, image in zip(rows, unpack(data, rows), strict=True):
            scene = outside_box(image, data["outputs"][row])
            for found in image_costs(item, scene, (1,)):
                lines.append({"split": split, "row": row} | found)
    return pd.DataFrame(lines)


def outside_box(image: ImagePoints, box: np.ndarray) -> ImagePoints:
    """Return an image without the points in a box (left, top, right, bottom) of pixels."""
    pixels = image.positions * image.size
    is_inside = ((pixels >= box[:2]) & (pixels <= box[2:])).all(axis=1)
    return image._replace(words=image.words[~is_inside], positions=image.positions[~is_inside])
