"""Test images with their true and predicted classes, and the components assigned to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import UserError
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
METHOD_FIELDS = ("label", "regressor")
REQUIRES = {"task": {"classes"}}
BECAUSE = (
    "tables of kind component_names and figures of kind confusion or image_sheet show classes, "
    "and the task is {task}"
)

N_LINES = 4
N_COLUMNS = 5

RIGHT_MARK = "\u2713"
WRONG_MARK = "\u2717"

MOST_LETTERS = 14
"""Longer names of classes are cut, so that they fit under an image."""


@dataclass(frozen=True)
class SheetEntry:
    """One image of the sheet.

    Attributes
    ----------
    row : int
        Its number in the dataset.
    image : uint8 array (h, w, 3)
    true, predicted : str
        Names of the classes.
    memberships : array (C,) or None
        How likely each component is, from 0 to 1; None without a mixture.
    """

    row: int
    image: np.ndarray
    true: str
    predicted: str
    memberships: np.ndarray | None


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    regressions: Mapping[str, str | Path],
    models: str | Path | None,
    *,
    title: str,
    methods: Mapping[str, Mapping],
    n_components: int | None = None,
):
    """Return the figure: test images of the first split, with their true and predicted classes.

    No image is chosen by hand: the test rows are sorted by class, and those at even steps are
    drawn. A prediction that is wrong has a cross, a frame and a color of its own, and the true name
    under it. The bars under an image are the component memberships that the method predicted
    (``test_memberships`` of its "regression" artifact) or, of a method that predicts none, those of
    the class that it predicted.

    Parameters
    ----------
    dataset : path
        A "dataset" artifact of classes with images.
    splits : sequence of paths
        The "split" artifacts; the images are those of the first.
    predictions : mapping of method name to sequence of paths
        The "predictions" artifacts of each method, in the order of the splits. Drawn is the method
        with the highest mean accuracy at the largest training size.
    regressions : mapping of method name to path
        The "regression" artifacts of the first split; methods may be left out.
    models : path or None
        A "models" artifact of the first split with mixtures of the class vectors; None for no bars
        where memberships are not predicted.
    title : str
        The dataset, for the title.
    methods : mapping of method name to {"label": ...}
        Its order decides between methods of equal accuracy.
    n_components : int or None, default=None
        The component count of the mixture where memberships are not predicted; the largest for
        None.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UserError
        If the dataset has no images, its outputs are not classes, or no method has predictions of
        classes.
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
    memberships = _predicted_memberships(regressions.get(best.method), best.item)
    are_predicted = memberships is not None
    if memberships is None and models is not None:
        of_classes, _ = class_memberships(models, classes.vectors, best.n_train, n_components)
        memberships = of_classes[predicted]
    entries = [
        SheetEntry(
            int(test[place]),
            data["images"]["thumbnails"][test[place]],
            classes.names[best.truth[0][place]],
            classes.names[predicted[place]],
            None if memberships is None else np.clip(memberships[place], 0.0, 1.0),
        )
        for place in shown_places(best.truth[0], test, N_LINES * N_COLUMNS)
    ]
    return _draw(entries, _heading(title, best, memberships, are_predicted))


def shown_places(labels: np.ndarray, rows: np.ndarray, n_images: int) -> list[int]:
    """Return which test rows are drawn: at even steps through them, sorted by class and number.

    Parameters
    ----------
    labels, rows : int arrays (n_test,)
        Their classes, and their numbers in the dataset.
    n_images : int
        Most images; all test rows where there are no more.

    Returns
    -------
    list of int
        Places among the test rows, by class.
    """
    order = np.lexsort((rows, labels))
    n_shown = min(n_images, len(order))
    # The middles of segments of equal length.
    return [int(order[(2 * step + 1) * len(order) // (2 * n_shown)]) for step in range(n_shown)]


def _predicted_memberships(path: str | Path | None, item: str) -> np.ndarray | None:
    """Return the predicted memberships (n_test, C) of an item, None where it has none."""
    if path is None:
        return None
    return read_artifact(path, "regression").get(item, {}).get("test_memberships")


def _heading(
    title: str, best: ClassPredictions, memberships: np.ndarray | None, are_predicted: bool
) -> str:
    """Return the title with the method and what the bars are."""
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


def _draw(entries: Sequence[SheetEntry], heading: str):
    """Return the grid of images with their names and bars."""
    from matplotlib.figure import Figure

    n_columns = min(N_COLUMNS, len(entries))
    n_lines = math.ceil(len(entries) / n_columns)
    has_bars = entries[0].memberships is not None
    side, names, bars, gap = 1.1, 0.33, 0.3 if has_bars else 0.0, 0.14
    line = side + names + bars + 2 * gap
    with applied_style():
        width = max(n_columns * (side + gap) + gap, WIDTH)
        heading = wrapped_title(heading, width)
        top = 0.3 + 0.2 * len(heading.splitlines())
        height = top + n_lines * line
        figure = Figure(figsize=(width, height))
        figure.text(gap / width, 1 - 0.12 / height, heading, fontsize=10.5, va="top")
        for place, entry in enumerate(entries):
            left = gap + (place % n_columns) * (side + gap)
            upper = height - top - (place // n_columns) * line
            axis = figure.add_axes(
                (left / width, (upper - side) / height, side / width, side / height)
            )
            _draw_image(axis, entry)
            _write_names(figure, entry, left / width, (upper - side - 0.05) / height)
            if has_bars:
                bottom = upper - side - names - bars
                _draw_bars(
                    figure.add_axes((left / width, bottom / height, side / width, bars / height)),
                    entry.memberships,
                )
    return figure


def _draw_image(axis, entry: SheetEntry) -> None:
    """Draw an image, with a thick frame if its predicted class is wrong."""
    is_right = entry.true == entry.predicted
    axis.imshow(entry.image, interpolation="nearest")
    axis.set(xticks=[], yticks=[])
    axis.grid(False)
    color, linewidth = ("#bbbbbb", 0.6) if is_right else (ACCENT_COLOR, 2.0)
    axis.spines[:].set(visible=True, color=color, linewidth=linewidth)


def _write_names(figure, entry: SheetEntry, left: float, top: float) -> None:
    """Write the predicted class and, under a wrong one, the true class."""
    is_right = entry.true == entry.predicted
    mark, color = (RIGHT_MARK, BASE_COLOR) if is_right else (WRONG_MARK, ACCENT_COLOR)
    text = f"{mark} {_short(entry.predicted)}"
    figure.text(left, top, text, fontsize=8, va="top", color=color)
    if not is_right:
        # An empty first line aligns the two texts.
        text = f"\ntrue: {_short(entry.true, taken=4)}"
        figure.text(left, top, text, fontsize=8, va="top", color="#333333")


def _draw_bars(axis, memberships: np.ndarray) -> None:
    """Draw the memberships as bars, the largest one filled."""
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
    most = MOST_LETTERS - taken
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}\u2026"
