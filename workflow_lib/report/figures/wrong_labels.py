"""Error or accuracy against the share of wrong training labels, a line for each method."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.report.labels import splits_in_words
from workflow_lib.report.lines import draw_curve, method_lines
from workflow_lib.report.quantities import QUANTITIES, baseline_of, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH
from workflow_lib.report.variants import order_variants

SHOWS = (
    "the error, or the accuracy, against the share of swapped training outputs, in the experiments "
    "of the run that differ in `wrong_labels` alone"
)
CAPTION = (
    "The error on the test rows, or the accuracy, against the share of training outputs that are "
    "swapped among training rows; a panel is a training size, and all shares have the same rows. "
    "Points are means over the splits, bars their sample standard deviation."
)
READS = {"share_scores": "results/{wrong_share}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker", "regressor")


def draw(
    share_scores: Sequence[str | Path],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
    metric: str,
    wrong_shares: Sequence[float],
):
    """Return the figure: a panel for each training size that every share has.

    Points of one share are drawn side by side.
    """
    measured = QUANTITIES[metric]
    frames = [outside_studies(read_scores(path)) for path in share_scores]
    means = [shown_means(frame, metric) for frame in frames]
    sizes = sorted(set.intersection(*(set(of_share) for of_share in means)))
    found = {row for of_share in means for size in sizes for row in of_share[size]}
    rows = order_variants([row for row in found if row.method in shown_methods], shown_methods)
    gap = min(np.diff(wrong_shares), default=0.1)
    step = 0.5 * gap / max(len(rows), 1)
    panels = {
        measured.size_in_words(size): method_lines(
            rows,
            [of_share[size] for of_share in means],
            lambda index: [100 * (share + step * index) for share in wrong_shares],
            shown_methods,
        )
        for size in sizes
    }

    def scale(axis, _) -> None:
        axis.set_xticks([100 * share for share in wrong_shares])
        axis.set_xlim(100 * wrong_shares[0] - 50 * gap, 100 * wrong_shares[-1] + 50 * gap)

    baseline, name = baseline_of(frames[0], metric)
    return draw_curve(
        panels,
        size=(WIDTH, 1.7 + 2.5 * math.ceil(len(panels) / 2)),
        axes=("swapped training outputs (%)", measured.axis),
        scale=scale,
        title=f"{title}\n{splits_in_words(frames[0]['split'].nunique(), frames[0]['n_test'])}",
        is_error=not measured.higher_is_better,
        level=(name, baseline),
    )
