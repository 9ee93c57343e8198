"""How often intervals of each level hold an output, and how residuals depend on the prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workflow_lib.protocol.output_errors import output_errors
from workflow_lib.report.calibration_splits import add_legend, draw_points, splits_of
from workflow_lib.report.figure_words import describe
from workflow_lib.report.figures.residuals_novelty import MAX_RESIDUAL_RATIO, running_median
from workflow_lib.report.labels import count_of
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    applied_style,
    short_names,
    without_data,
    wrapped,
    write_title,
)
from workflow_lib.uncertainty.conformal import row_weights

CAPTION = (
    "Calibration: the share of test rows of all splits that intervals of each level, made from "
    "other rows, hold; the band is that of twice the binomial standard deviation. Residuals: true "
    "minus predicted; half of the rows lie between the lines. Their spread grows or falls where "
    "its rank correlation with the prediction has p < 0.01."
)

WIDTH = 7.8
MAX_OUTPUTS, N_WORST = 12, 6
"""Outputs that are all drawn; of more, those with the highest relative errors."""

NAME_LETTERS = 32
LEVELS = np.arange(0.05, 0.96, 0.05)
MAX_POINTS = 1500
RISK = 0.01
"""A p value of the rank correlation of |residual| and prediction below it is noted."""

MIN_ROWS = 10
"""Distinct rows without which no spreads are compared."""


def draw(calibration: Mapping, names: Sequence[str], label: str):
    """Return the figure: two panels for each output."""
    splits = splits_of(calibration)
    if not splits or not splits[0]["truth"].shape[1]:
        return without_data("No output that is a number")
    with applied_style():
        return _draw_outputs(calibration, splits, names, label)


def _draw_outputs(calibration: Mapping, splits: Sequence[Mapping], names: Sequence, label: str):
    from matplotlib.figure import Figure

    errors = output_errors(splits, names)["relative_error"].fillna(-1.0).to_numpy()
    shown = list(range(len(names)))
    title = f"{label}: calibration and residuals of each output"
    if len(shown) > MAX_OUTPUTS:
        shown = [int(index) for index in np.argsort(-errors, kind="stable")[:N_WORST]]
        title = f"{label}: the {N_WORST} of {len(names)} outputs with the highest relative errors"
    n_columns = min(len(shown), 4 if len(shown) > 6 else 3)
    n_lines = -(-len(shown) // n_columns)
    width = WIDTH * max(n_columns, 2) / max(n_columns, 3)
    figure = Figure(figsize=(width, 4.1 * n_lines + 1.2), layout="constrained")
    axes = figure.subplots(2 * n_lines, n_columns, squeeze=False)
    parts = {
        name: np.concatenate([split[name] for split in splits])
        for name in ("rows", "predicted", "truth", "levels_that_hold")
    }
    words = []
    headings = short_names([names[output] for output in shown], NAME_LETTERS)
    for index, (output, heading) in enumerate(zip(shown, headings, strict=True)):
        line, column = divmod(index, n_columns)
        known = ~np.isnan(parts["truth"][:, output])
        rows, predicted = parts["rows"][known], parts["predicted"][known, output]
        residuals = parts["truth"][known, output] - predicted
        upper, lower = axes[2 * line, column], axes[2 * line + 1, column]
        heading = wrapped(heading, width / n_columns - 0.6, 9)
        upper.set_title(heading, loc="left", fontsize=9)
        held = _draw_coverage(upper, rows, parts["levels_that_hold"][known, output])
        trend = _draw_residuals(lower, rows, predicted, residuals, MAX_POINTS // len(shown))
        lower.set_title(trend or "spread: no clear trend", loc="left", fontsize=8)
        if not column:
            upper.set_ylabel("held (%)", fontsize=9)
            lower.set_ylabel("true \u2212 predicted", fontsize=9)
        spread = f"residuals have a standard deviation of {residuals.std():.3g}"
        facts = [f"{held} of {count_of(len(np.unique(rows)), 'test row')}", spread, trend]
        words.append(f"{names[output]}: {'; '.join(filter(None, facts))}")
    for axis in list(axes.flat):
        if not axis.has_data():
            axis.remove()
    n_rows = len(np.unique(parts["rows"]))
    basis = f"{count_of(len(splits), 'split')}, {count_of(n_rows, 'distinct test row')}"
    write_title(figure, f"{title}\n{basis}")
    add_legend(figure)
    return describe(figure, f"{title}. {'. '.join(words)}.")


def _draw_coverage(axis, rows: np.ndarray, levels: np.ndarray) -> str:
    """Draw the coverage over the levels of intervals; return it in words."""
    tested = ~np.isnan(levels)
    weights = row_weights(rows[tested])
    percent = 100 * LEVELS
    axis.plot([0, 100], [0, 100], color="#000000", linewidth=1, label="held as often as stated")
    axis.set_xlim(0, 100)
    axis.set_ylim(0, 100)
    axis.set_xlabel("level of the interval (%)", fontsize=9)
    axis.tick_params(labelsize=8)
    if not tested.any():
        axis.text(50, 80, "too few rows", ha="center", fontsize=8)
        return "too few rows for intervals"
    held = [100 * weights[levels[tested] < level].sum() / weights.sum() for level in LEVELS]
    width = 200 * np.sqrt(LEVELS * (1 - LEVELS) / weights.sum())
    band = np.clip([percent - width, percent + width], 0, 100)
    appearance = {"color": "#888888", "alpha": 0.22, "linewidth": 0}
    axis.fill_between(percent, *band, label="usual with so few rows", **appearance)
    appearance = {"color": BASE_COLOR, "marker": "o", "markersize": 3}
    axis.plot(percent, held, label="held by intervals from other rows", **appearance)
    shown = (held[np.searchsorted(LEVELS, level - 1e-9)] for level in (0.5, 0.9))
    return "intervals of 50 and 90 % hold {:.0f} and {:.0f} %".format(*shown)


def _draw_residuals(
    axis, rows: np.ndarray, predicted: np.ndarray, residuals: np.ndarray, most: int
) -> str:
    """Draw residuals against predictions; return how their spread changes, in words."""
    axis.axhline(0, color="#000000", linewidth=1)
    axis.set_xlabel("predicted", fontsize=9)
    axis.tick_params(labelsize=8)
    axis.locator_params(nbins=4)
    sizes = np.abs(residuals)
    if not len(sizes):
        return ""
    top = min(1.05 * sizes.max(), MAX_RESIDUAL_RATIO * np.quantile(sizes, 0.95)) or 1.0
    shown = np.arange(len(sizes)) % max(-(-len(sizes) // most), 1) == 0
    groups = (
        (shown & (sizes <= top), BASE_COLOR, "o", "test row"),
        (sizes > top, ACCENT_COLOR, "D", "residual beyond the axis"),
    )
    draw_points(axis, predicted, np.clip(residuals, -top, top), groups, s=9, alpha=0.6, zorder=2)
    positions, medians = running_median(predicted, sizes)
    if len(positions) > 1:
        appearance = {"color": ACCENT_COLOR, "linewidth": 1.4, "zorder": 3}
        axis.plot(positions, medians, label="half of the rows", **appearance)
        axis.plot(positions, -medians, **appearance)
    axis.set_ylim(-top, top)
    return spread_trend(rows, predicted, sizes)


def spread_trend(rows: np.ndarray, predicted: np.ndarray, sizes: np.ndarray) -> str:
    """Return how the spread of residuals changes with the prediction, nothing where it may not.

    Of each distinct row the means over splits count, so that a row that was tested often is no
    stronger evidence. The ratio is that of the mean |residual| in the third of the rows with the
    highest predictions to that in the third with the lowest.
    """
    from scipy.stats import spearmanr

    _, row, times = np.unique(rows, return_inverse=True, return_counts=True)
    if len(times) < MIN_ROWS:
        return ""
    predicted, sizes = (np.bincount(row, each) / times for each in (predicted, sizes))
    if np.ptp(predicted) == 0 or np.ptp(sizes) == 0:
        return ""
    order = np.argsort(predicted, kind="stable")
    low, _, high = (sizes[part].mean() for part in np.array_split(order, 3))
    if not spearmanr(predicted, sizes).pvalue < RISK or not low > 0 or not high > 0:
        return ""
    return f"spread {'grows' if high > low else 'falls'}: \u00d7 {high / low:.2g}"
