"""The accuracy on the test rows while a network is trained, by number of unlabelled rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.group_names import requested_weak_size
from workflow_lib.report.labels import splits_in_words, variant_label
from workflow_lib.report.style import WIDTH, applied_style, write_title
from workflow_lib.report.variants import Variant, components_order

SHOWS = "the accuracy on the test rows while networks are trained, by number of unlabelled rows"
CAPTION = (
    "The accuracy on the test rows after every epoch of training, at the largest number of "
    "labelled rows: left by epoch, right by number of updates, because an epoch over more "
    "unlabelled rows may have more of them. A line is a number of unlabelled rows, and a row of "
    "panels a method, or a number C of its components. Lines are means over the splits, areas "
    "their sample standard deviation. The last epoch is the result that the tables show, whichever "
    "epoch is the best."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind accuracy_by_epoch shows classes, and the task is {task}"

START = 0.5
"""Where the logarithmic axis of updates has the untrained network."""

COLORS = "viridis"
"""Its lightness rises with the number of unlabelled rows."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a row of two panels for each method that stores its epochs, and for each
    fixed number of its components.

    Raises UserError if none does.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    labels = read_artifact(dataset, "dataset")["classes"]["labels"]
    partitions = [read_artifact(path, "split") for path in splits]
    found = {
        (method, components): curves
        for method in shown_methods
        for components, curves in _curves(
            all_regressions.get(method, ()), partitions, labels
        ).items()
    }
    if not found:
        raise UserError(
            location="a figure of the kind accuracy_by_epoch",
            found=f"no method stores its predictions by epoch: {', '.join(shown_methods)}",
            expected="a network with by_epoch: true in config/methods",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    sizes = sorted({size for curves in found.values() for size in curves})
    what = splits_in_words(len(splits), [len(partition["test"]) for partition in partitions])
    with applied_style():
        import matplotlib

        colors = matplotlib.colormaps[COLORS](np.linspace(0.0, 0.85, len(sizes)))
        figure = Figure(figsize=(WIDTH, 1.2 + 2.3 * len(found)), layout="constrained")
        axes = figure.subplots(len(found), 2, sharey=True, squeeze=False)
        for (by_epoch, by_update), (row, curves) in zip(axes, found.items(), strict=True):
            for size, (updates, accuracies) in curves.items():
                appearance = {"color": colors[sizes.index(size)], "label": f"{size} unlabelled"}
                epochs = np.arange(accuracies.shape[1])
                _draw_line(by_epoch, epochs, accuracies, appearance)
                _draw_line(by_update, np.maximum(updates, START), accuracies, appearance)
            label = variant_label(Variant(*row, 0), shown_methods)
            by_epoch.set_title(label, fontsize=10)
            by_epoch.set_ylabel("test accuracy (%)")
            by_epoch.xaxis.set_major_locator(MaxNLocator(integer=True))
            by_update.set_xscale("log")
        axes[-1, 0].set_xlabel("epoch")
        axes[-1, 1].set_xlabel(f"update (the start at {START})")
        handles = {line.get_label(): line for axis in axes.flat for line in axis.get_lines()}
        figure.legend(
            [handles[f"{size} unlabelled"] for size in sizes],
            [f"{size} unlabelled" for size in sizes],
            loc="outside lower left",
            ncols=4,
        )
        write_title(figure, f"{title}\n{what}")
    return figure


def _curves(
    regressions: Sequence[str | Path], partitions: Sequence[Mapping], labels: np.ndarray
) -> dict[str, dict[int, tuple[np.ndarray, np.ndarray]]]:
    """Return by components, then by unlabelled rows, updates (E,) and accuracies (splits, E).
    Accuracies are in per cent; both begin before the first epoch."""
    found: dict[str, dict[int, tuple[np.ndarray, list]]] = {}
    for path, partition in zip(regressions, partitions):
        items = read_artifact(path, "regression").values()
        kept = [item for item in items if "test_targets_by_epoch" in item]
        largest = max((item["training_size"] for item in kept), default=0)
        truth = labels[partition["test"]]
        for item in kept:
            if item["training_size"] == largest:
                size = requested_weak_size(item["weak_size"], partition)
                of_components = found.setdefault(str(item["components"]), {})
                right = item["test_targets_by_epoch"].argmax(axis=2) == truth
                updates, accuracies = of_components.setdefault(size, (item["updates_by_epoch"], []))
                accuracies.append(100.0 * right.mean(axis=1))
    return {
        components: {
            size: (updates, np.array(accuracies))
            for size, (updates, accuracies) in sorted(found[components].items())
        }
        for components in sorted(found, key=components_order)
    }


def _draw_line(axis, positions: np.ndarray, accuracies: np.ndarray, appearance: Mapping) -> None:
    mean = accuracies.mean(axis=0)
    axis.plot(positions, mean, **appearance)
    if len(accuracies) > 1:
        spread = accuracies.std(axis=0, ddof=1)
        area = {"color": appearance["color"], "alpha": 0.15, "linewidth": 0}
        axis.fill_between(positions, mean - spread, mean + spread, **area)
