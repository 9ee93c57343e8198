"""Recall over overlap with the true box, and precision over recall of detections.

As in Figures 3.5, 3.2 and 3.3 of Blaschko (2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.box_overlap import overlaps
from workflow_lib.errors import UserError
from workflow_lib.fitting.items import DETECTIONS
from workflow_lib.metrics import RIGHT_OVERLAP, ranked_detections
from workflow_lib.report.labels import splits_in_words
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title

SHOWS = "the recall of boxes over the overlap, and the precision of detections over the recall"
CAPTION = (
    "Left: share of test images whose predicted box overlaps the true one by at least as much. "
    "Right: precision of detections over recall, as detections of lower scores are added; right is "
    "the first detection in an image with an overlap of 0.5 or more. A method that finds a single "
    "box in each image, without a score, is one point. The largest training size; lines are means "
    "over the splits, areas, left, their sample standard deviation."
)
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind box_detections shows boxes, and the task is {task}"

LEVELS = np.linspace(0.0, 1.0, 101)
"""Overlaps at which the recall is drawn."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: two panels, a line for each method.

    Raises UserError if no method has predictions.
    """
    from matplotlib.figure import Figure

    boxes = read_artifact(dataset, "dataset")["outputs"]
    partitions = [read_artifact(path, "split") for path in splits]
    found = {
        method: [
            (boxes[partition["test"]], largest_item(path))
            for partition, path in zip(partitions, predictions[method], strict=True)
        ]
        for method in shown_methods
        if predictions.get(method)
    }
    if not found:
        raise UserError(
            place="a figure of the kind box_detections",
            found=f"no predictions of {', '.join(shown_methods)}",
            expected="a method of the experiment",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    what = splits_in_words(len(splits), [len(partition["test"]) for partition in partitions])
    with applied_style():
        figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        for method, rows in found.items():
            style = line_style(method, shown_methods) | {"label": shown_methods[method]["label"]}
            recalls = [recall_over_overlap(boxes, item["outputs"]) for boxes, item in rows]
            recall = np.mean(recalls, axis=0)
            left.plot(LEVELS, recall, **style | {"markevery": 10})
            if len(rows) > 1:
                spread = np.std(recalls, axis=0, ddof=1)
                area = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
                left.fill_between(LEVELS, recall - spread, recall + spread, **area)
            points = np.mean([recall_and_precision(*row) for row in rows], axis=0)
            look = {"markevery": max(points.shape[1] // 10, 1)}
            right.plot(*points, **style | look)
        left.set(xlabel="overlap with the true box", ylabel="recall", xlim=(0, 1), ylim=(0, 1.02))
        right.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=4)
        write_title(figure, f"{title}\n{what}")
    return figure


def recall_over_overlap(boxes: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the share of boxes (n, 4) that the predictions overlap by each of `LEVELS` or more."""
    return (overlaps(boxes, predictions)[:, None] >= LEVELS).mean(axis=0)


def recall_and_precision(boxes: np.ndarray, item: Mapping) -> np.ndarray:
    """Return recall and precision (2, m) of the first detections of all images, by their number.

    One point where the item has no detections.
    """
    if DETECTIONS not in item:
        share = (overlaps(boxes, item["outputs"]) >= RIGHT_OVERLAP).mean()
        return np.array([[share], [share]])
    is_right, _ = ranked_detections(boxes, item[DETECTIONS])
    n_right = is_right.cumsum()
    return np.array([n_right / len(boxes), n_right / np.arange(1, len(n_right) + 1)])


def largest_item(path: str | Path) -> Mapping:
    """Return the item of the largest training size of a "predictions" artifact."""
    return max(read_artifact(path, "predictions").values(), key=lambda each: each["training_size"])
