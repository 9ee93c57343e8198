"""Residuals of test rows against their novelty: where predictions are not reliable."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.calibration_splits import draw_points, heading_of, splits_of
from workflow_lib.report.labels import format_share
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    OTHER_COLOR,
    WIDTH,
    applied_style,
    write_title,
)

SHOWS = (
    "for tables of your own, errors of the best method against the novelty of test rows, how "
    "unlike the training rows they are"
)
CAPTION = (
    "The errors of the best method against the novelty of test rows, how unlike the training rows "
    "they are, with the running median: where predictions are not reliable."
)
READS = {"calibration": "results/{experiment}/calibration.h5"}
METHOD_FIELDS = ("label",)
REQUIRES = {"reader": {"table"}, "task": {"regression", "series"}}
BECAUSE = (
    "a figure of kind residuals_novelty shows the answer on a table of your own (reader "
    "table), to outputs that are numbers"
)

MAX_POINTS = 3000
"""Points that are drawn; of more those at even steps among the test rows of all splits. The
running median is taken over all rows."""

MIN_ROWS_OF_MEDIAN = 10
MAX_MEDIANS = 12
"""The running median is taken over at most `MAX_MEDIANS` segments of equally many rows, and over
at least `MIN_ROWS_OF_MEDIAN` rows."""

MAX_RESIDUAL_RATIO = 2.5
"""The axis of residuals ends at this multiple of a value that 95 % of the rows do not exceed."""

MAX_LINEAR_NOVELTY = 6.0
"""With rows beyond this the axis of novelty is logarithmic from 1 on."""


def draw(calibration: str | Path, *, title: str, methods: Mapping[str, Mapping]):
    """Return the figure: a point for each test row of each split, and the running median.

    Vertically a point shows the mean over outputs of |residual| in units of the mean half-width of
    their intervals, 1 where both are equal (`relative_residuals`); horizontally its novelty. The
    dashed line is the limit of novelty. Rows beyond it have another mark, and so have rows far
    above all others, which are drawn at the edge.

    Raises UserError if the outputs are classes, or no test row has a known output.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

    tree = read_artifact(calibration, "calibration")
    splits, limit = splits_of(tree), tree["novelty_limit"]
    if not len(tree["half_widths"]):
        raise UserError(
            str(calibration),
            "its outputs are classes, which have no residuals",
            "outputs that are numbers",
            "leave this figure out",
        )
    values, unit = relative_residuals(
        np.vstack([split["truth"] - split["predicted"] for split in splits]), tree["half_widths"]
    )
    known = ~np.isnan(values)
    if not known.any():
        raise UserError(
            str(calibration),
            "no test row has a known output",
            "known outputs in the test rows",
            "leave this figure out",
        )
    values = values[known]
    novelty = np.concatenate([split["novelty"] for split in splits])[known]
    is_beyond = novelty > limit
    step = max(-(-len(values) // MAX_POINTS), 1)
    shown = np.arange(len(values)) % step == 0
    top = min(1.05 * values.max(), MAX_RESIDUAL_RATIO * np.quantile(values, 0.95)) or 1.0
    is_above = values > top
    with applied_style():
        figure = Figure(figsize=(WIDTH, 4.8), layout="constrained")
        axis = figure.subplots()
        groups = (
            (shown & ~is_beyond & ~is_above, BASE_COLOR, "o", "test row"),
            (shown & is_beyond & ~is_above, ACCENT_COLOR, "^", "test row beyond the limit"),
            (is_above, ACCENT_COLOR, "D", "test row above the axis"),
        )
        heights = np.minimum(values, top)
        draw_points(axis, novelty, heights, groups, s=18, alpha=0.6, zorder=2)
        positions, medians = running_median(novelty, values)
        if len(positions) > 1:
            appearance = {"color": "#000000", "marker": "s", "markersize": 4, "zorder": 3}
            axis.plot(positions, medians, label="running median", **appearance)
        appearance = {"color": OTHER_COLOR, "linestyle": "--", "linewidth": 1.2}
        axis.axvline(limit, label="limit of novelty", **appearance)
        if max(novelty.max(), limit) > MAX_LINEAR_NOVELTY:
            axis.set_xscale("symlog", linthresh=1.0)
            steps = SymmetricalLogLocator(base=10, linthresh=1.0, subs=(1.0, 2.0, 5.0))
            axis.xaxis.set_major_locator(steps)
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_xlim(left=0.0)
        axis.set_ylim(0.0, top)
        axis.set_xlabel("novelty: distance to the nearest training row, 1 for usual training rows")
        axis.set_ylabel(f"mean |residual| over outputs,\nin units of the {unit}")
        heading = heading_of(title, tree, methods, len(values))
        write_title(figure, f"{heading}, {format_share(is_beyond.mean())} beyond the limit")
        figure.legend(loc="outside lower left", ncols=2, markerscale=1.6)
    return figure


def relative_residuals(residuals: np.ndarray, half_widths: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the mean |residual| (m,) of every row over its outputs, each in its own unit.

    The unit of an output is its half-width. Outputs whose half-width is not finite, or is 0, are
    left out. Where that leaves none, the unit of each output is the root of its mean squared
    residual. A row without any such output is NaN.

    `residuals` (m, d) are NaN where an output is missing, and `half_widths` have the shape (d,).
    The second value returned is what the unit is, in words.
    """
    units, in_words = half_widths, "mean half-width of the intervals"
    usable = np.isfinite(units) & (units > 0)
    if not usable.any():
        known = (~np.isnan(residuals)).sum(axis=0)
        units = np.sqrt(np.nansum(residuals**2, axis=0) / np.maximum(known, 1))
        in_words = "root mean squared residual"
        # Where all residuals are zero, the unit does not matter.
        units = np.where(units > 0, units, 1.0)
        usable = known > 0
    scaled = np.abs(residuals[:, usable]) / units[usable]
    counts = (~np.isnan(scaled)).sum(axis=1)
    sums = np.nansum(scaled, axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan), in_words


def running_median(positions: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the median position and the median value of segments of equally many rows, in order.

    There are as many segments as have `MIN_ROWS_OF_MEDIAN` rows each, `MAX_MEDIANS` at most.
    """
    order = np.argsort(positions, kind="stable")
    n_segments = min(len(order) // MIN_ROWS_OF_MEDIAN, MAX_MEDIANS)
    segments = np.array_split(order, n_segments) if n_segments else []
    medians = [(np.median(positions[rows]), np.median(values[rows])) for rows in segments]
    return tuple(np.array(medians).reshape(-1, 2).T)
