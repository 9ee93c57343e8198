"""Error or accuracy against the share of wrong training labels, a line for each method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.report.labels import splits_in_words, variant_label
from workflow_lib.report.lines import Line, draw_panels, level_line, row_style
from workflow_lib.report.quantities import QUANTITIES, baseline_of, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, applied_style
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
    from matplotlib.figure import Figure

    measured = QUANTITIES[metric]
    frames = [outside_studies(read_scores(path)) for path in share_scores]
    means = [shown_means(frame, metric) for frame in frames]
    sizes = sorted(set.intersection(*(set(of_share) for of_share in means)))
    found = {row for of_share in means for size in sizes for row in of_share[size]}
    rows = order_variants([row for row in found if row.method in shown_methods], shown_methods)
    gap = min(np.diff(wrong_shares), default=0.1)
    step = 0.5 * gap / max(len(rows), 1)
    panels = []
    for size in sizes:
        lines = []
        for place, row in enumerate(rows):
            values = [of_share[size].get(row, (math.nan, math.nan)) for of_share in means]
            centre, spread = zip(*values, strict=True)
            shift = step * (place - (len(rows) - 1) / 2)
            places = [100 * (share + shift) for share in wrong_shares]
            look = row_style(row, rows, shown_methods)
            lines.append(Line(variant_label(row, shown_methods), places, centre, spread, look))
        panels.append(lines)
    baseline, name = baseline_of(frames[0], metric)
    n_columns = min(len(panels), 2)
    shape = math.ceil(len(panels) / n_columns), n_columns
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.7 + 2.5 * shape[0]), layout="constrained")
        axes = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False)
        for axis, size in zip(axes.flat, sizes, strict=False):
            axis.set_title(measured.size_in_words(size))
            axis.set_xticks([100 * share for share in wrong_shares])
        for axis in axes[:, 0]:
            axis.set_ylabel(measured.axis)
        for axis in axes.flat[max(len(sizes) - n_columns, 0) : len(sizes)]:
            axis.set_xlabel("swapped training outputs (%)")
            axis.tick_params(labelbottom=True)
        axes[0, 0].set_xlim(100 * wrong_shares[0] - 50 * gap, 100 * wrong_shares[-1] + 50 * gap)
        draw_panels(
            list(axes.flat),
            panels,
            title=f"{title}\n{splits_in_words(frames[0]['split'].nunique(), frames[0]['n_test'])}",
            is_error=not measured.higher_is_better,
            baseline=level_line(axes[0, 0], name, baseline, color="#444444", linestyle=":"),
        )
    return figure
