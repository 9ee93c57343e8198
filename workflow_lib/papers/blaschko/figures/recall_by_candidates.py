"""The recall of the right class among the first classes, by how many of them are returned."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.measures.recalls import recalls
from workflow_lib.report.class_predictions import read_classes
from workflow_lib.report.labels import splits_in_words, variant_label
from workflow_lib.report.lines import Line, draw_curve, panel_size, row_style
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.variants import SELECTED, Variant, order_variants

SHOWS = "the recall of the right class among the first classes, by the number of returned classes"
CAPTION = (
    "The share of the test rows whose class is among the returned ones, those of the highest "
    "scores, against their number, at the smallest and at the largest training size. Points are "
    "means over the splits, bars their sample standard deviation."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind recall_by_candidates shows classes, and the task is {task}"
NAMES_BEST = True

MAX_RETURNED = 10
"""Most returned classes; of few classes they are one less than all, whose recall is 1."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
    metric: str,
):
    """Return the figure: a panel for the smallest and the largest size, a line for each method.

    Rows of studies are left out, and methods that predict classes without scores.

    Raises UserError if no method has predicted scores of classes.
    """
    labels = read_classes(dataset).labels
    partitions = [read_artifact(path, "split") for path in splits]
    found = _recalls(labels, partitions, predictions)
    if not found:
        raise UserError(
            location="a figure of the kind recall_by_candidates",
            found="no method with scores of classes",
            expected="a classifier",
            remedy="add one to methods in the file of the experiment, or leave the figure out",
        )
    sizes = sorted({size for _, size in found})
    sizes = [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes
    variants = order_variants(list({variant for variant, _ in found}), shown_methods)
    n_test = np.array([len(partition["test"]) for partition in partitions])
    first = partitions[0]
    # As tables name them.
    names = dict(zip(first["sizes"].tolist(), map(int, first.get("examples", first["sizes"]))))
    panels = {
        QUANTITIES[metric].size_in_words(names[size]): _lines(variants, size, found, shown_methods)
        for size in sizes
    }

    def scale(axis, name: str) -> None:
        n_returned = len(panels[name][0].means)
        axis.set_xlim(0.8, n_returned + 0.2)
        axis.set_xticks(range(1, n_returned + 1))

    return draw_curve(
        panels,
        size=panel_size(len(variants)),
        axes=("returned classes", "Recall of the right class (%)"),
        scale=scale,
        title=f"{title}\n{splits_in_words(len(splits), n_test)}",
        is_error=False,
        share_x=False,
    )


def _recalls(
    labels: np.ndarray,
    partitions: Sequence[Mapping],
    predictions: Mapping[str, Sequence[str | Path]],
) -> dict[tuple[Variant, int], list[np.ndarray]]:
    """Return the recalls (k,) of each row of tables and number of training rows, by split."""
    found: dict[tuple[Variant, int], list[np.ndarray]] = {}
    for method, paths in predictions.items():
        for partition, path in zip(partitions, paths, strict=True):
            truth = labels[partition["test"]]
            for item in read_artifact(path, "predictions").values():
                if "class_scores" not in item or item.get("setting", ""):
                    continue
                variant = Variant(method, item["components"], item["weak_size"])
                of_item = recalls(truth, item["class_scores"])[:-1][:MAX_RETURNED]
                found.setdefault((variant, int(item["training_size"])), []).append(of_item)
    return found


def _lines(variants: Sequence[Variant], size: int, found, methods) -> list[Line]:
    """Return the lines of a panel; their points of one number are side by side."""
    lines, step = [], min(0.05, 0.4 / len(variants))
    for index, variant in enumerate(variants):
        if (variant, size) in found:
            values = 100.0 * np.array(found[variant, size])
            bars = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
            shift = step * (index - (len(variants) - 1) / 2)
            label = variant_label(variant._replace(components=SELECTED), methods)
            positions = np.arange(1, values.shape[1] + 1) + shift
            appearance = row_style(variant, variants, methods)
            means = values.mean(axis=0)
            lines.append(
                Line(label, list(positions), list(means), list(bars), appearance, -means[0])
            )
    return lines
