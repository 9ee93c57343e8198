"""Curves of true over false positives of single labels, as in Figure 5.7 of Blaschko (2014)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, line_style, plain_name, write_title

SHOWS = (
    "the share of the rows with a label that are found, over that of the other rows that are found "
    "too, for the first four classes, or outputs that are 0 or 1"
)
CAPTION = (
    "The share of the test rows with a label whose score is above a threshold (true positives) "
    "over that of the rows without it (false positives), a panel for each of the first four "
    "classes, or of the first four outputs that are 0 or 1, of which a row may have several. Lines "
    "are means over the splits, at the largest training size; numbers are the mean areas below "
    "them, 0.5 by chance."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
}
METHOD_FIELDS = ("label", "color")
REQUIRES = {"task": {"classes", "regression"}}
BECAUSE = "a figure of kind roc_curves shows classes or labels, and the task is {task}"

N_LABELS = 4
GRID = np.linspace(0.0, 1.0, 201)
DASHES = ("-", "--", "-.", ":")


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each label, a line for each method with scores.

    Raises UserError if outputs are not 0 or 1, or no method has predicted scores of classes.
    """
    from matplotlib.figure import Figure

    data = read_artifact(dataset, "dataset", ("inputs",))
    truth, names = _labels(dataset, data)
    tests = [read_artifact(path, "split")["test"] for path in splits]
    kind = "class_scores" if "classes" in data else "outputs"
    curves: dict[str, np.ndarray] = {}
    size = 0
    for method in shown_methods:
        items = [_largest(path, kind) for path in predictions.get(method, ())]
        if items and all(items):
            of_splits = [
                [roc(truth[test, label], scores[:, label]) for label in range(len(names))]
                for (_, scores), test in zip(items, tests, strict=True)
            ]
            # A split whose rows all have a label, or lack it, has no curve of it.
            curves[method] = np.ma.masked_invalid(of_splits).mean(axis=0).filled(0.0)
            size = max(size, *(n_train for n_train, _ in items))
    if not curves:
        raise UserError(
            location="a figure of the kind roc_curves",
            found="no method with scores of classes",
            expected="a classifier, or a method that predicts outputs",
            remedy="add one to methods in the file of the experiment, or leave the figure out",
        )
    # Up to where all rows with a label are found, nearly, and from the lowest share near the left.
    of_all = np.vstack(list(curves.values())).min(axis=0)
    right = max(np.ceil(10.0 * GRID[np.argmax(of_all > 0.99)]) / 10.0, 0.2)
    lowest = np.floor(10.0 * of_all[2]) / 10.0
    columns = min(2, len(names))
    lines = -(-len(names) // columns)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.0 + 2.9 * lines), layout="constrained")
        axes = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
        for axis in axes.flat[len(names) :]:
            axis.axis("off")
        for label, (axis, name) in enumerate(zip(axes.flat, names)):
            areas = []
            for number, (method, of_method) in enumerate(curves.items()):
                curve = of_method[label]
                areas.append(f"{np.trapezoid(curve, GRID):.2f}")
                color = line_style(method, shown_methods)["color"]
                dashes = DASHES[number % len(DASHES)]
                shown = {"label": method_label(method, shown_methods), "color": color}
                axis.plot(GRID, curve, linestyle=dashes, linewidth=1.5, **shown)
            if lowest <= 0.0:
                axis.plot([0, 1], [0, 1], color="#9a9a9a", linewidth=0.8, linestyle=":")
            axis.set_title(f"{plain_name(name)} ({', '.join(areas)})", fontsize=9.5)
            axis.set(xlim=(-0.01 * right, right), ylim=(lowest, 1.0 + 0.02 * (1.0 - lowest)))
        for axis in axes[-1]:
            axis.set_xlabel("false positives, share")
        for axis in axes[:, 0]:
            axis.set_ylabel("true positives, share")
        handles = axes[0, 0].lines[: len(curves)]
        figure.legend(handles=handles, loc="outside lower left", ncols=2)
        what = f"{count_of(size, 'training row')}, means of {count_of(len(tests), 'split')}"
        write_title(figure, f"{title}\n{what}; areas in the order of the legend")
    return figure


def roc(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the true positives (201,) at the shares `GRID` of false positives.

    Rows with equal scores are found together, on a straight line. NaN where all rows have the
    label, or none has it. `truth` (m,) says which rows have it, and `scores` are (m,).
    """
    if truth.all() or not truth.any():
        return np.full(len(GRID), np.nan)
    from sklearn.metrics import roc_curve

    wrong, found, _ = roc_curve(truth, scores, drop_intermediate=False)
    # Of several shares with the same false positives interpolation takes the last, the largest.
    return np.interp(GRID, wrong, found)


def _labels(path: str | Path, data: Mapping) -> tuple[np.ndarray, list[str]]:
    """Return which rows have each label (n, L), and their names, of the first `N_LABELS`."""
    if "classes" in data:
        names = json.loads(data["names"]["classes"])
        truth = data["classes"]["labels"][:, None] == np.arange(len(names))
    else:
        names, truth = json.loads(data["names"]["outputs"]), data["outputs"] == 1.0
        if not np.isin(data["outputs"], (0.0, 1.0)).all():
            raise UserError(
                location=f"{path}, outputs",
                found="numbers other than 0 and 1",
                expected="outputs that say whether a row has a label, 1 or 0",
                remedy="remove the figure of kind roc_curves from this experiment",
            )
    return truth[:, :N_LABELS], list(names)[:N_LABELS]


def _largest(path: str | Path, name: str) -> tuple[int, np.ndarray] | None:
    """Return the largest training size and its scores, with most weak rows; None without any."""
    items = [
        (item["training_size"], item.get("weak_size", 0), item[name])
        for item in read_artifact(path, "predictions").values()
        if name in item and not item.get("setting", "")
    ]
    found = max(items, key=lambda item: item[:2], default=None)
    return None if found is None else (int(found[0]), found[2])
