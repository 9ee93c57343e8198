"""Recall over overlap with the true box, and precision over recall of detections.

As in Figures 3.5, 3.2 and 3.3 of Blaschko (2014).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.papers.blaschko.measures.box_overlaps import RIGHT_OVERLAP, ranked_detections
from workflow_lib.report.labels import count_of, splits_in_words
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title

SHOWS = (
    "the recall of one box and of all detections over the overlap, the area below by the number of "
    "detections, and the precision of detections over the recall"
)
CAPTION = (
    "Top: share of test images whose predicted box, or one of whose detections, overlaps the true "
    "one by at least as much. Bottom left: area below that line from an overlap of 0.5 to 1, "
    "divided by 0.5 so that it is 1 where every box is found exactly, by the number of detections. "
    "Bottom right: precision of detections over recall, as detections of lower scores are added; "
    "right is the first detection in an image with an overlap of 0.5 or more. A method that finds "
    "a single box in each image, without a score, is one point. The largest training size; lines "
    "are means over the splits, areas their sample standard deviation."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
}
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
    """Return the figure: four panels, a line for each method.

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
            location="a figure of the kind box_detections",
            found=f"no predictions of {', '.join(shown_methods)}",
            expected="a method of the experiment",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    what = splits_in_words(len(splits), [len(partition["test"]) for partition in partitions])
    with applied_style():
        figure = Figure(figsize=(WIDTH, 6.6), layout="constrained")
        (first, all_boxes), (area, precision) = figure.subplots(2, 2)
        for method, rows in found.items():
            style = line_style(method, shown_methods) | {"label": shown_methods[method]["label"]}
            style |= {"markersize": 5, "linewidth": 1.5}
            best = [best_overlaps(*row) for row in rows]
            n_boxes = best[0].shape[1]
            for axis, number in ((first, 1), (all_boxes, n_boxes)):
                if axis is first or n_boxes > 1:
                    recalls = [recall_over_overlap(each[:, number - 1]) for each in best]
                    _draw_mean(axis, LEVELS, recalls, style | {"markevery": 10})
            _draw_mean(area, np.arange(1, n_boxes + 1), list(map(area_from_half, best)), style)
            points = np.mean([recall_and_precision(*row) for row in rows], axis=0)
            precision.plot(*points, **style | {"markevery": max(points.shape[1] // 10, 1)})
        n_most = max(len(line.get_xdata()) for line in area.lines)
        unit = {"xlim": (0, 1), "ylim": (0, 1.02)}
        first.set(xlabel="overlap with the true box", ylabel="recall of one box", **unit)
        all_boxes.set(xlabel="overlap with the true box", **unit)
        all_boxes.set(ylabel=f"recall of {count_of(n_most, 'detection')}")
        area.set(xlabel="detections", ylabel="area from 0.5 to 1", ylim=(0, None))
        area.xaxis.get_major_locator().set_params(integer=True)
        precision.set(xlabel="recall", ylabel="precision", **unit)
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower left", ncols=2)
        write_title(figure, f"{title}\n{what}")
    return figure


def _draw_mean(axis, x: np.ndarray, values: Sequence[np.ndarray], style: Mapping) -> None:
    """Draw the mean of the values of all splits, and their sample standard deviation."""
    mean = np.mean(values, axis=0)
    axis.plot(x, mean, **style)
    if len(values) > 1:
        spread = np.std(values, axis=0, ddof=1)
        area = {"color": style["color"], "alpha": 0.08, "linewidth": 0}
        axis.fill_between(x, mean - spread, mean + spread, **area)


def best_overlaps(boxes: np.ndarray, item: Mapping) -> np.ndarray:
    """Return the best overlap (n, k) with boxes (n, 4) of the first 1, ..., k detections.

    Of the predicted box alone, (n, 1), where the item has no detections.
    """
    found = item[DETECTIONS][..., :4] if DETECTIONS in item else item["outputs"][:, None]
    return np.maximum.accumulate(overlaps(boxes[:, None], found), axis=1)


def recall_over_overlap(found: np.ndarray) -> np.ndarray:
    """Return the share of images whose overlap (n,) is each of `LEVELS` or more."""
    return (found[:, None] >= LEVELS).mean(axis=0)


def area_from_half(found: np.ndarray) -> np.ndarray:
    """Return the area (k,) below the recall of overlaps (n, k), from 0.5 to 1, divided by 0.5.

    Section 3.2.4 of Blaschko (2014). The recall at o is the share of overlaps of o or more, so that
    its integral is the mean of what an overlap is above 0.5.
    """
    return np.maximum(found - RIGHT_OVERLAP, 0.0).mean(axis=0) / (1.0 - RIGHT_OVERLAP)


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


def largest_item(path: str | Path, kind: str = "predictions") -> Mapping:
    """Return the item of the largest training size of an artifact."""
    return max(read_artifact(path, kind).values(), key=lambda each: each["training_size"])
