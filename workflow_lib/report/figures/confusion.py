"""The confusion matrix of the best method, or of each method that the figure names."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.report.class_predictions import (
    ClassPredictions,
    best_predictions,
    class_memberships,
    order_by_component,
    read_classes,
)
from workflow_lib.report.labels import count_of, format_percent
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.style import ACCENT_COLOR, applied_style, plain_name, write_title

SHOWS = "the confusion matrix of classes"
PREDICTS = "classes"
CAPTION = (
    "The confusion matrix of the best method at the largest training size, or of each method that "
    "the figure names, over the test rows of all splits: the share of the test rows of a true "
    "class with each predicted class. Accuracies are means over the splits with their sample "
    "standard deviation."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
    "models": "results/{experiment}/split-0/{mixture}/models.h5",
}
METHOD_FIELDS = ("label", "regressor")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind confusion shows classes, and the task is {task}"

COLORS = "Blues"
"""White to dark blue: one hue of falling lightness, which color-blind readers can distinguish."""

TICKS = (0, 5, 20, 50, 100)
"""Shares at the ticks of the color bar, whose scale is that of square roots."""

MAX_NAMES = 110
"""Of more classes than this, only every second, every third and so on is named."""

MAX_NUMBERS = 10
"""Up to so many classes the shares are written in the cells."""

DARK = 35.0
"""The share from which on a cell is so dark that its number is white."""

SHARE = "share"
"""The id of the numbers in the cells."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    models: str | Path | None,
    *,
    title: str,
    methods: Mapping[str, Mapping],
    named_methods: Mapping[str, Mapping],
):
    """Return the figure: a row for each true class, a column for each predicted one.

    A color is the share of the test rows of a class, over all splits, with that predicted class;
    the shares of a row sum to 1. Drawn is the method with the highest mean accuracy at the largest
    training size, or a matrix for each of the `named_methods`, of which each is then the row with
    the highest accuracy. Classes are in the order of their components, between which there are
    lines: a method that finds the right component errs only within the squares on the diagonal.

    Without a mixture (`models` None) classes are in their own order.

    Raises UserError if the outputs are not classes, or no method has predictions of classes.
    """
    classes = read_classes(dataset)
    candidates = [{name: predictions.get(name, ())} for name in named_methods] or [predictions]
    found = [best_predictions(classes.labels, splits, each, methods) for each in candidates]
    order, components = np.arange(len(classes.names)), None
    if models is not None:
        memberships, _ = class_memberships(models, classes.vectors, found[0].n_train)
        order, components = order_by_component(memberships)
    shares = [
        confusion_shares(each.truth, each.predicted, len(order))[np.ix_(order, order)]
        for each in found
    ]
    return _draw(shares, [classes.names[index] for index in order], components, title, found)


def confusion_shares(
    truth: Sequence[np.ndarray], predicted: Sequence[np.ndarray], n_classes: int
) -> np.ndarray:
    """Return how often each class is predicted for each true class.

    `truth` and `predicted` are sequences of int arrays, the classes of the test rows split by
    split. In the array (K, K) returned a row is a true class and a column a predicted one; the rows
    sum to 1, and that of a class without test rows is NaN.
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (np.concatenate(truth), np.concatenate(predicted)), 1)
    totals = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)


def component_bounds(components: np.ndarray) -> list[tuple[int, int, int]]:
    """Return (component, first index, index after the last) of each run of equal components."""
    starts = [0, *(np.flatnonzero(np.diff(components)) + 1).tolist(), len(components)]
    return [
        (int(components[first]), first, end) for first, end in zip(starts, starts[1:], strict=False)
    ]


def _draw(
    matrices: Sequence[np.ndarray],
    names: Sequence[str],
    components: np.ndarray | None,
    title: str,
    found: Sequence[ClassPredictions],
):
    import matplotlib
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    n_classes = len(names)
    colors = matplotlib.colormaps[COLORS].with_extremes(bad="#eeeeee")
    with applied_style():
        # Few classes leave space for larger names.
        is_one = len(found) == 1
        side = max(3.2 if is_one else 2.2, min(0.125 * n_classes, 10.5))
        n_columns = min(len(found), 2)
        n_rows = math.ceil(len(found) / n_columns)
        more = (0.0, 0.0) if is_one else (0.7 * (n_columns - 1), 1.2 * (n_rows - 1))
        inches = n_columns * side + 3.2 + more[0], n_rows * side + 2.4 + more[1]
        figure = Figure(figsize=inches, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True, sharey=True)
        # Most shares are small: their root distinguishes them from zero.
        appearance = {"cmap": colors, "norm": PowerNorm(0.5, 0, 100), "interpolation": "nearest"}
        size = 8.5 if n_classes <= 20 else max(5.2, min(7.0, 62 * side / n_classes))
        every = math.ceil(n_classes / MAX_NAMES)
        shown = range(0, n_classes, every)
        labels = [plain_name(names[index]) for index in shown]
        # Letters are about two thirds as wide as high.
        upright = max(map(len, labels)) * 0.67 * size > 72 * side / len(labels)
        for axis, shares, each in zip(axes.flat, matrices, found, strict=False):
            image = axis.imshow(100 * np.ma.masked_invalid(shares), **appearance)
            axis.set_xticks(list(shown), labels, rotation=90 if upright else 0, fontsize=size)
            axis.set_yticks(list(shown), labels, fontsize=size)
            axis.tick_params(length=0, pad=2)
            axis.grid(False)
            axis.spines[:].set(visible=True, color="#888888", linewidth=0.6)
            if components is not None:
                _draw_components(axis, components, size)
            if n_classes <= MAX_NUMBERS:
                _write_shares(axis, 100 * shares, size)
            if not is_one:
                title_pad = 6 if components is None else 18
                axis.set_title(_accuracy(each, "\n"), fontsize=9, pad=title_pad)
        for axis in axes.flat[len(found) :]:
            axis.axis("off")
        for axis in axes[:, 0]:
            axis.set_ylabel("true class")
        for axis in axes.flat[max(len(found) - n_columns, 0) : len(found)]:
            axis.set_xlabel("predicted class")
            axis.tick_params(labelbottom=True)
        bar = figure.colorbar(
            image, ax=list(axes.flat), shrink=0.6, aspect=28, pad=0.015, ticks=list(TICKS)
        )
        bar.set_label("share of the test rows of a class (%)", fontsize=9)
        bar.ax.tick_params(labelsize=8)
        bar.minorticks_off()
        write_title(figure, _heading(title, found))
    return figure


def _write_shares(axis, percent: np.ndarray, size: float) -> None:
    """Write the shares in the cells, white in dark ones; none of a class without test rows."""
    for (row, column), share in np.ndenumerate(percent):
        if not math.isnan(share):
            color = "white" if share >= DARK else "#111111"
            where = {"ha": "center", "va": "center", "fontsize": size, "gid": SHARE}
            axis.text(
                column, row, f"{share:.0f}" if share >= 1 else f"{share:.1g}", color=color, **where
            )


def _draw_components(axis, components: np.ndarray, size: float) -> None:
    """Draw lines between components and a frame around each, with its number above."""
    from matplotlib.patches import Rectangle

    appearance = {"color": ACCENT_COLOR, "fontsize": max(size, 6.5), "textcoords": "offset points"}
    appearance |= {"va": "bottom", "annotation_clip": False}
    for component, first, end in component_bounds(components):
        if first:
            axis.axhline(first - 0.5, color="#999999", linewidth=0.5)
            axis.axvline(first - 0.5, color="#999999", linewidth=0.5)
        corner, width = (first - 0.5, first - 0.5), end - first
        # Above the frame of the axis, which would hide half of a line at the edge.
        frame = {"fill": False, "edgecolor": ACCENT_COLOR, "linewidth": 1.0}
        axis.add_patch(Rectangle(corner, width, width, clip_on=False, zorder=3, **frame))
        middle = (first + end - 1) / 2
        axis.annotate(str(component + 1), (middle, -0.5), (0, 4), ha="center", **appearance)
    axis.annotate("component", (-0.5, -0.5), (-4, 4), ha="right", **appearance)


def _accuracy(found: ClassPredictions, between: str = ": ") -> str:
    accuracy = format_percent(100 * found.accuracy, 100 * found.deviation, unit=True)
    return f"{found.label}{between}accuracy {accuracy}"


def _heading(title: str, found: Sequence[ClassPredictions]) -> str:
    best = found[0]
    n_splits = len(best.truth)
    pooled = f", {count_of(n_splits, 'split')} pooled" if n_splits > 1 else ", 1 split"
    quantity = "accuracy_of_rows" if best.examples == best.n_train else "accuracy"
    size = QUANTITIES[quantity].size_in_words(best.examples)
    of_method = f"{_accuracy(best)}\n" if len(found) == 1 else ""
    return f"{title}\n{of_method}{size}{pooled}"
