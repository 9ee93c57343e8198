"""Precision over recall of detections, a line for each share of wrong training boxes.

As in Figures 3.2 and 3.3 of Blaschko (2014).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.papers.blaschko.figures.box_detections import largest_item, recall_and_precision
from workflow_lib.report.labels import count_of, range_in_words
from workflow_lib.report.style import WIDTH, applied_style, write_title

SHOWS = (
    "the precision of detections of boxes over the recall, by the share of swapped training boxes, "
    "in the experiments of the run that differ in `wrong_labels` alone"
)
CAPTION = (
    "Precision of detections over recall, as detections of lower scores are added, by the share of "
    "training boxes that are swapped among images; a panel is a method. Right is the first "
    "detection in an image with an overlap of 0.5 or more. All shares have the same images; the "
    "largest training size; lines are means over the splits."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "share_predictions": "results/{wrong_share}/split-{split}/{method}/predictions.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind precision_by_share shows boxes, and the task is {task}"

COLORS = "viridis"


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    share_predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
    wrong_shares: Sequence[float],
):
    """Return the figure: a panel for each method, a line for each share.

    `share_predictions` has the files of all splits of the first share, then of the next.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    boxes = read_artifact(dataset, "dataset")["outputs"]
    tests = [read_artifact(path, "split")["test"] for path in splits]
    colors = colormaps[COLORS](np.linspace(0.0, 0.85, len(wrong_shares)))
    with applied_style():
        figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
        panels = figure.subplots(1, len(shown_methods), sharey=True, squeeze=False)[0]
        for axis, (method, fields) in zip(panels, shown_methods.items(), strict=True):
            paths = np.reshape(np.array(share_predictions[method], dtype=object), (-1, len(tests)))
            for of_share, share, color in zip(paths, wrong_shares, colors, strict=True):
                rows = zip(tests, map(largest_item, of_share), strict=True)
                lines = [recall_and_precision(boxes[test], item) for test, item in rows]
                appearance = {"markevery": 0.12, "markersize": 4, "color": color}
                axis.plot(
                    *np.mean(lines, axis=0),
                    "o-",
                    label=f"{100 * share:.0f} % swapped",
                    **appearance,
                )
            axis.set(title=fields["label"], xlabel="recall", xlim=(0, 1))
        panels[0].set(ylabel="precision", ylim=(0, None))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=4)
        n_test = range_in_words([len(test) for test in tests])
        write_title(figure, f"{title}\n{count_of(len(tests), 'split')}, {n_test} test rows, means")
    return figure
