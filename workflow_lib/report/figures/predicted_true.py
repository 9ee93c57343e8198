"""Predicted against true outputs of the test rows of all splits, one panel for each output."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.protocol.output_errors import output_errors
from workflow_lib.report.calibration_splits import (
    add_legend,
    draw_points,
    heading_of,
    splits_of,
)
from workflow_lib.report.figure_words import describe
from workflow_lib.report.labels import MINUS, MISSING, count_of
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    WIDTH,
    applied_style,
    short_names,
    width_of,
    wrapped,
    wrapped_title,
    write_title,
)
from workflow_lib.uncertainty.row_intervals import RowIntervals

SHOWS = (
    "for tables of your own, predictions of the best method for test rows against their true "
    "outputs"
)
PREDICTS = "numbers"
CAPTION = (
    "Predictions of the best method for the test rows of all splits against their true outputs, a "
    "panel for each output."
)
READS = {
    "calibration": "results/{experiment}/calibration.h5",
    "dataset": "results/datasets/{dataset}.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"reader": {"table"}, "task": {"regression", "series"}}
BECAUSE = (
    "a figure of kind predicted_true shows the answer on a table of your own (reader "
    "table), to outputs that are numbers"
)

MAX_PANELS = 12
"""Outputs that are drawn; of more those at even steps of their relative error."""

MAX_POINTS = 6000
"""Points of all panels together; of more those at even steps among the test rows of all splits."""

PANELS_IN_A_LINE = 3
NAME_LETTERS = 26

FARTHEST = 0.5

BAND_STEPS = 120
"""Predictions at which the ends of intervals are drawn."""


@dataclass(frozen=True)
class OutputPanel:
    """What is drawn of one output, of all test rows of all splits where it is known.

    ``truth``, ``predicted`` and ``is_outside``, whether the true output lies outside of the
    interval of its row, are arrays (m,). ``band`` (k, 3) has predictions, in order, and the lower
    and upper ends of the intervals around them at the median novelty of the test rows; None where
    there are no intervals. ``relative_error`` and ``r_squared`` are means over splits
    (`workflow_lib.protocol.output_errors`); both are NaN for a constant output.
    """

    name: str
    truth: np.ndarray
    predicted: np.ndarray
    is_outside: np.ndarray
    band: np.ndarray | None
    relative_error: float
    r_squared: float


def draw(
    calibration: str | Path, dataset: str | Path, *, title: str, methods: Mapping[str, Mapping]
):
    """Return the figure: a panel for each output, at most `MAX_PANELS` (`shown_outputs`).

    Each point is a test row of a split, so that a row is drawn as often as it was tested. The
    line is that of perfect predictions. The band around it is the interval, from left to right, at
    the median novelty of the test rows. Points whose true value lies outside of the interval of
    their own row, which is wider or narrower with its novelty, have another mark. Both axes of a
    panel have the same limits; predictions far beyond the true outputs are drawn at the edge. The
    title of a panel gives the relative error and R^2 of the
    output (`OutputPanel`).

    Raises UserError if the outputs are classes.
    """
    tree = read_artifact(calibration, "calibration")
    panels = output_panels(tree, read_artifact(dataset, "dataset")["names"], calibration)
    shown = shown_outputs([panel.relative_error for panel in panels])
    n_points = sum(len(split["rows"]) for split in splits_of(tree))
    heading = heading_of(title, tree, methods, n_points)
    if len(shown) < len(panels):
        heading += f"\n{len(shown)} of {len(panels)} outputs, from the lowest to the highest error"
    return draw_panels([panels[index] for index in shown], tree["level"], heading)


def output_panels(calibration: Mapping, names: Mapping, location: str | Path) -> list[OutputPanel]:
    """Return what is drawn of every output, by its name in the `names` of the dataset.

    `calibration` is the tree of a "calibration" artifact and `location` its path, for the message.
    Raises UserError if the outputs are classes.
    """
    splits, intervals = splits_of(calibration), RowIntervals.from_tree(calibration["intervals"])
    if not len(intervals.factors):
        raise UserError(
            str(location),
            "its outputs are classes",
            "outputs that are numbers",
            "draw the figure confusion for classes",
        )
    truth = np.vstack([split["truth"] for split in splits])
    predicted = np.vstack([split["predicted"] for split in splits])
    lower = np.vstack([split["lower"] for split in splits])
    upper = np.vstack([split["upper"] for split in splits])
    novelty = float(np.median(np.concatenate([split["novelty"] for split in splits])))
    panels = []
    named = json.loads(names["outputs"])
    errors = output_errors(splits, named)
    for index, name in enumerate(named):
        known = ~np.isnan(truth[:, index])
        panels.append(
            OutputPanel(
                name,
                truth[known, index],
                predicted[known, index],
                ((truth < lower) | (truth > upper))[known, index],
                _band(intervals, index, truth, predicted, novelty),
                float(errors["relative_error"][index]),
                float(errors["r_squared"][index]),
            )
        )
    return panels


def _band(
    intervals: RowIntervals, index: int, truth: np.ndarray, predicted: np.ndarray, novelty: float
) -> np.ndarray | None:
    """Return predictions of an output over the limits of its panel, and the ends of intervals."""
    if not np.isfinite(intervals.factors[index]):
        return None
    low, high = _limits(truth[:, index], predicted[:, index])
    grid = np.full((BAND_STEPS, predicted.shape[1]), low)
    grid[:, index] = np.linspace(low, high, BAND_STEPS)
    lower, upper = intervals.ends(grid, np.full(BAND_STEPS, novelty))
    return np.column_stack([grid[:, index], lower[:, index], upper[:, index]])


def _limits(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the limits of both axes of a panel. Predictions far from all true outputs, by more
    than `FARTHEST` of their span, are left out."""
    known = truth[~np.isnan(truth)]
    known = known if len(known) else np.append(predicted, 0.0)
    away = FARTHEST * np.ptp(known)
    values = np.append(known, np.clip(predicted, known.min() - away, known.max() + away))
    margin = 0.05 * float(np.ptp(values)) or 0.5
    return np.array([values.min() - margin, values.max() + margin])


def shown_outputs(errors: Sequence[float], most: int = MAX_PANELS) -> list[int]:
    """Return the outputs that are drawn: all in their order, or `most` at even steps of the error.

    Of more than `most`, the output with the lowest error comes first and that with the highest
    last; outputs of equal error keep their order, and outputs without an error (NaN) are left out.
    """
    if len(errors) <= most:
        return list(range(len(errors)))
    order = [int(index) for index in np.argsort(errors, kind="stable")]
    ordered = [index for index in order if not math.isnan(errors[index])] or order
    steps = np.linspace(0, len(ordered) - 1, min(most, len(ordered))).round().astype(int)
    return [ordered[step] for step in steps]


def panel_points(panel: OutputPanel) -> pd.DataFrame:
    """Return the points of a panel: ``output``, ``truth``, ``predicted``, ``is_outside``."""
    points = {"truth": panel.truth, "predicted": panel.predicted, "is_outside": panel.is_outside}
    return pd.DataFrame({"output": panel.name, **points})


def draw_panels(panels: Sequence[OutputPanel], level: float, heading: str, width: float = WIDTH):
    """Return the figure of panels, `width` inches wide; `level` is that of the intervals."""
    from matplotlib.figure import Figure

    n_columns = min(PANELS_IN_A_LINE, len(panels))
    n_lines = -(-len(panels) // n_columns)
    with applied_style():
        names, room = short_names([p.name for p in panels], NAME_LETTERS), width / n_columns - 0.6
        errors = [_errors_in_words(panel) for panel in panels]
        if max(width_of(text, 9) for text in errors) > room:
            errors = [text.replace(", ", ",\n") for text in errors]
        headings = [f"{wrapped(n, room, 9)}\n{text}" for n, text in zip(names, errors, strict=True)]
        height = (0.6 + (width - 1.1) / n_columns) * n_lines + 1.3
        height += 0.16 * n_lines * max(text.count("\n") - 1 for text in headings)
        height += 0.16 * max(wrapped_title(heading, width).count("\n") - 1, 0)
        figure = Figure(figsize=(width, height))
        figure.set_layout_engine("constrained")
        axes = list(figure.subplots(n_lines, n_columns, squeeze=False).flat)
        for index, (axis, panel, text) in enumerate(zip(axes, panels, headings, strict=False)):
            _draw_panel(axis, panel, level, MAX_POINTS // len(panels))
            axis.set_title(text, fontsize=9)
            if index % n_columns == 0:
                axis.set_ylabel("predicted")
            if index + n_columns >= len(panels):
                axis.set_xlabel("true")
        for axis in axes[len(panels) :]:
            axis.remove()
        write_title(figure, heading)
        add_legend(figure, markerscale=1.6)
    said = [f"{panel.name}: {_panel_in_words(panel)}" for panel in panels]
    return describe(figure, ". ".join([heading.replace("\n", ". "), *said, ""]).strip())


def _draw_panel(axis, panel: OutputPanel, level: float, most_points: int) -> None:
    step = max(-(-len(panel.truth) // most_points), 1)
    truth, predicted = panel.truth[::step], panel.predicted[::step]
    limits = _limits(panel.truth, panel.predicted)
    is_far = (predicted < limits[0]) | (predicted > limits[1])
    is_outside = panel.is_outside[::step] & ~is_far
    if panel.band is not None:
        appearance = {"color": "#888888", "alpha": 0.22, "linewidth": 0, "zorder": 1}
        axis.fill_betweenx(*panel.band.T, label=f"{100 * level:g} % interval", **appearance)
    axis.plot(limits, limits, color="#000000", linewidth=1.0, label="predicted = true", zorder=2)
    inside_label = "test row" if panel.band is None else "test row in its interval"
    groups = (
        (~is_outside & ~is_far, BASE_COLOR, "o", inside_label),
        (is_outside, ACCENT_COLOR, "^", "test row outside of it"),
        (is_far, ACCENT_COLOR, "D", "prediction beyond the axis"),
    )
    draw_points(axis, truth, np.clip(predicted, *limits), groups, s=13, alpha=0.65, zorder=3)
    axis.set_xlim(limits)
    axis.set_ylim(limits)
    axis.set_box_aspect(1)
    axis.locator_params(nbins=4)
    axis.tick_params(labelsize=8)


def _errors_in_words(panel: OutputPanel) -> str:
    """Return ``rel. error 0.52, R² 0.73``."""
    if math.isnan(panel.relative_error):
        return "constant"
    error, r_squared = (
        MISSING
        if math.isnan(value)
        else f"{value:{'.2f' if abs(value) < 100 else '.3g'}}".replace("-", MINUS)
        for value in (panel.relative_error, panel.r_squared)
    )
    return f"rel. error {error}, R\u00b2 {r_squared}"


def _panel_in_words(panel: OutputPanel) -> str:
    words = f"{_errors_in_words(panel)}, {count_of(len(panel.truth), 'test row')}"
    if panel.band is None:
        return words
    return f"{words}, of which {panel.is_outside.sum()} outside of their interval"
