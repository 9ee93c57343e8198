"""Test images with their true and predicted classes, and the components assigned to them."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.class_predictions import (
    ClassPredictions,
    best_predictions,
    class_memberships,
    read_classes,
)
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, WIDTH, applied_style, wrapped_title

SHOWS = "test images with their true and predicted classes"
CAPTION = (
    "Test images of the first split with their true and predicted classes, and the components "
    "assigned to them."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
    "regressions": "results/{experiment}/split-0/{membership_method}/regression.h5",
    "models": "results/{experiment}/split-0/{mixture}/models.h5",
}
METHOD_FIELDS = ("label", "regressor")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind image_sheet shows classes, and the task is {task}"

N_LINES = 4
N_COLUMNS = 5

RIGHT_MARK = "\u2713"
WRONG_MARK = "\u2717"

MAX_LETTERS = 14
"""Longer names of classes are cut, so that they fit under an image."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    regressions: Mapping[str, str | Path],
    models: str | Path | None,
    *,
    title: str,
    methods: Mapping[str, Mapping],
):
    """Return the figure: test images of the first split, with their true and predicted classes.

    No image is chosen by hand: the test rows are sorted by class, and those at even steps are
    drawn. A prediction that is wrong has a cross, a frame and a color of its own, and the true name
    under it. The bars under an image are the component memberships that the method predicted
    (``test_memberships`` of its "regression" artifact) or, of a method that predicts none, those of
    the class that it predicted.

    Without either there are no bars.

    Raises UserError if the dataset has no images, its outputs are not classes, or no method has
    predictions of classes.
    """
    classes = read_classes(dataset)
    data = read_artifact(dataset, "dataset")
    if "images" not in data:
        raise UserError(
            str(dataset),
            "it has no images",
            "a dataset of images",
            "remove the figure of kind image_sheet from this experiment",
        )
    best = best_predictions(classes.labels, splits, predictions, methods)
    test = read_artifact(splits[0], "split")["test"]
    predicted = best.predicted[0]
    memberships = None
    if best.method in regressions:
        items = read_artifact(regressions[best.method], "regression")
        memberships = items.get(best.item, {}).get("test_memberships")
    are_predicted = memberships is not None
    if memberships is None and models is not None:
        of_classes, _ = class_memberships(models, classes.vectors, best.n_train)
        memberships = of_classes[predicted]
    heading = _heading(title, best, memberships, are_predicted)
    indices = shown_indices(best.truth[0], test, N_LINES * N_COLUMNS)
    return _draw(
        data["images"]["thumbnails"][test[indices]],
        [classes.names[number] for number in best.truth[0][indices]],
        [classes.names[number] for number in predicted[indices]],
        None if memberships is None else np.clip(memberships[indices], 0.0, 1.0),
        heading,
    )


def shown_indices(labels: np.ndarray, rows: np.ndarray, n_images: int) -> list[int]:
    """Return which test rows are drawn: at even steps through them, sorted by class and number.

    `labels` and `rows` (n_test,) are their classes and their numbers in the dataset. All test rows
    are drawn where there are no more than `n_images`. Returned are indices among the test rows.
    """
    order = np.lexsort((rows, labels))
    n_shown = min(n_images, len(order))
    # The middles of segments of equal length.
    return [int(order[(2 * step + 1) * len(order) // (2 * n_shown)]) for step in range(n_shown)]


def _heading(
    title: str, best: ClassPredictions, memberships: np.ndarray | None, are_predicted: bool
) -> str:
    size = QUANTITIES["accuracy"].size_in_words(best.examples)
    right = 100 * float((best.predicted[0] == best.truth[0]).mean())
    heading = (
        f"{title}\n{best.label}, {size}, first split: {right:.1f} % of {len(best.truth[0])} test "
        "images right"
    )
    if memberships is None:
        return heading
    of_what = "" if are_predicted else " of the predicted class"
    what = "predicted memberships" if are_predicted else "memberships"
    n_components = memberships.shape[1]
    return f"{heading}\nBars: {what}{of_what} in the components 1 to {n_components}, from 0 to 1"


def _draw(
    images: np.ndarray,
    true: Sequence[str],
    predicted: Sequence[str],
    memberships: np.ndarray | None,
    heading: str,
):
    from matplotlib.figure import Figure

    n_columns = min(N_COLUMNS, len(images))
    n_lines = math.ceil(len(images) / n_columns)
    has_bars = memberships is not None
    side, names, bars, gap = 1.1, 0.33, 0.3 if has_bars else 0.0, 0.14
    line = side + names + bars + 2 * gap
    with applied_style():
        width = max(n_columns * (side + gap) + gap, WIDTH)
        heading = wrapped_title(heading, width)
        top = 0.3 + 0.2 * len(heading.splitlines())
        height = top + n_lines * line
        figure = Figure(figsize=(width, height))
        figure.text(gap / width, 1 - 0.12 / height, heading, fontsize=10.5, va="top")
        for index, image in enumerate(images):
            left = gap + (index % n_columns) * (side + gap)
            upper = height - top - (index // n_columns) * line
            is_right = true[index] == predicted[index]
            where = left / width, (upper - side) / height, side / width, side / height
            _draw_image(figure.add_axes(where), image, is_right)
            corner = left / width, (upper - side - 0.05) / height
            mark, color = (RIGHT_MARK, BASE_COLOR) if is_right else (WRONG_MARK, ACCENT_COLOR)
            appearance = {"fontsize": 8, "va": "top"}
            figure.text(*corner, f"{mark} {_short(predicted[index])}", color=color, **appearance)
            if not is_right:
                # An empty first line aligns the two texts.
                text = f"\ntrue: {_short(true[index], taken=4)}"
                figure.text(*corner, text, color="#333333", **appearance)
            if has_bars:
                bottom = upper - side - names - bars
                where = left / width, bottom / height, side / width, bars / height
                _draw_bars(figure.add_axes(where), memberships[index])
    return figure


def _draw_image(axis, image: np.ndarray, is_right: bool) -> None:
    axis.imshow(image, interpolation="nearest")
    axis.set(xticks=[], yticks=[])
    axis.grid(False)
    color, linewidth = ("#bbbbbb", 0.6) if is_right else (ACCENT_COLOR, 2.0)
    axis.spines[:].set(visible=True, color=color, linewidth=linewidth)


def _draw_bars(axis, memberships: np.ndarray) -> None:
    largest = int(memberships.argmax())
    colors = ["#b5b5b5"] * len(memberships)
    colors[largest] = "#333333"
    axis.bar(range(len(memberships)), memberships, color=colors, width=0.75)
    axis.set(xlim=(-0.6, len(memberships) - 0.4), ylim=(0.0, 1.0), yticks=[])
    axis.set_xticks([largest], [str(largest + 1)], fontsize=8)
    axis.tick_params(length=0, pad=1.5)
    axis.grid(False)
    axis.spines[:].set_visible(False)
    axis.spines["bottom"].set(visible=True, color="#888888", linewidth=0.6)


def _short(name: str, taken: int = 0) -> str:
    """Return a name, cut so that it fits under an image together with `taken` further letters."""
    most = MAX_LETTERS - taken
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}\u2026"
