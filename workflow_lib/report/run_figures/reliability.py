"""How often a class is right that is predicted with a given probability: a reliability diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from workflow_lib.report.calibration_splits import splits_of
from workflow_lib.report.figure_words import describe
from workflow_lib.report.labels import count_of, join_words
from workflow_lib.report.style import BASE_COLOR, applied_style, without_data, write_title
from workflow_lib.uncertainty.conformal import row_weights

CAPTION = (
    "The share of test rows of all splits whose predicted class is right, against its probability, "
    "calibrated on other rows, in groups of equally many rows; bars: twice the binomial standard "
    "deviation."
)

MIN_ROWS, MAX_GROUPS = 10, 10
"""Rows of a group at least, and groups at most."""


def draw(calibration: Mapping, names: Sequence[str], label: str):
    """Return the figure: a point for each group of rows that are about equally certain."""
    from matplotlib.figure import Figure

    splits = [split for split in splits_of(calibration) if "certainty" in split]
    if not splits:
        return without_data("No probabilities of classes")
    certainty = np.concatenate([split["certainty"] for split in splits])
    known = ~np.isnan(certainty)
    pairs = [split["true_classes"] == split["predicted_classes"] for split in splits]
    right, certainty = np.concatenate(pairs)[known], certainty[known]
    weights = row_weights(np.concatenate([split["rows"] for split in splits])[known])
    n_rows = round(weights.sum())
    if not n_rows:
        return without_data("No test row has a calibrated probability of its class")
    title = f"{label}: how often a class is right that is predicted with a probability"
    basis = f"{count_of(n_rows, 'distinct test row')} of {count_of(len(splits), 'split')}"
    order = np.argsort(certainty, kind="stable")
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    n_groups = min(max(n_rows // MIN_ROWS, 1), MAX_GROUPS)
    group = np.minimum((n_groups * reached / weights.sum()).astype(int), n_groups - 1)
    sums = [
        np.bincount(group, weights[order] * values, n_groups)
        for values in (np.ones(len(order)), certainty[order], right[order])
    ]
    filled = sums[0] > 0
    counts = sums[0][filled]
    means, shares = (np.clip(100 * each[filled] / counts, 0, 100) for each in sums[1:])
    with applied_style():
        figure = Figure(figsize=(5.2, 4.0), layout="constrained")
        axis = figure.subplots()
        axis.plot([0, 100], [0, 100], color="#000000", linewidth=1, label="as often as stated")
        widths = 2 * np.sqrt(shares * (100 - shares) / counts)
        bars = np.array(
            [shares - np.maximum(shares - widths, 0), np.minimum(shares + widths, 100) - shares]
        )
        appearance = {"color": BASE_COLOR, "marker": "o", "capsize": 3}
        axis.errorbar(
            means, shares, bars, label="test rows, \u00b1 2 standard deviations", **appearance
        )
        low = 10 * math.floor(min(means.min(), (shares - bars[0]).min(), 90) / 10)
        axis.set_xlim(low, 100)
        axis.set_ylim(low, 101)
        axis.set_xlabel("probability of the predicted class (%)")
        axis.set_ylabel("right (%)")
        figure.legend(loc="outside lower left", ncols=2)
        write_title(figure, f"{title}\n{basis}")
        said = [f"{share:.0f} % at {mean:.0f} %" for mean, share in zip(means, shares, strict=True)]
        off = np.average(np.abs(means - shares), weights=counts)
        words = (
            f"Right of rows at a predicted probability: {join_words(said)}; off by {off:.1f} points"
        )
        return describe(figure, f"{title}. {basis}. {words} on average.")
