"""Predicted and true series, for test rows from the best to the worst predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import UserError
from workflow_lib.fitting.items import item_group
from workflow_lib.report.chosen_rows import chosen_rows, place_of_row
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title
from workflow_lib.report.tables import REFERENCE_METHOD
from workflow_lib.report.variants import SELECTED

SHOWS = "predicted and true series"
PREDICTS = "series"
CAPTION = "Predicted and true series, for test rows from the best to the worst predicted."
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"series"}}
BECAUSE = "a figure of kind series needs series, and the task is {task}"

MOST_METHODS = 4
LINES = ("--", "-.", ":", (0, (6, 1.5)))
"""Line styles of the methods, which distinguish them without colors."""


@dataclass(frozen=True)
class PredictedRow:
    """The predictions of one row over the splits in which it was a test row.

    ``means`` and ``deviations`` give, for each method, arrays (T,); the deviation (divisor n - 1)
    of a single split is NaN.
    """

    row: int
    n_splits: int
    means: dict[str, np.ndarray]
    deviations: dict[str, np.ndarray]


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    methods: Mapping[str, Mapping],
    shown: Sequence[str] | None = None,
    reference: str = REFERENCE_METHOD,
):
    """Return the figure: a panel for each of six test rows, in it the true and predicted series.

    The training size is the largest that every split has, without weak rows. No row is chosen by
    hand: of the rows that are test rows in the most splits, those at even steps from the lowest to
    the highest error of the reference method are drawn (`chosen_rows`). A prediction is the mean
    over the splits in which the row was a test row, its bar one standard deviation over them. All
    panels have the same vertical span, so that errors can be compared between them. Of series with
    several channels the first is drawn, and errors are those of it.

    Parameters
    ----------
    dataset : path
        A "dataset" artifact of series, whose ``names`` hold ``series_length``.
    splits : sequence of paths
        The "split" artifacts, in the order of the splits.
    predictions : mapping of method name to paths
        The "predictions" artifacts of each method, in the same order. Only those of the methods
        drawn are read.
    title : str
        The dataset, for the title.
    methods : mapping of method name to {"label", "color", "marker"}
    shown : sequence of str or None, default=None
        The methods to draw, four at most; by default the reference and the first three others.
    reference : str
        The method by whose error rows are chosen; if it is not drawn, the first method drawn.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UserError
        If the dataset does not hold series, or a method to be drawn has no predictions.
    """
    data = read_artifact(dataset, "dataset")
    n_channels = _count_channels(data, dataset)
    partitions = [read_artifact(path, "split") for path in splits]
    training_size = max(set.intersection(*(set(map(int, p["sizes"])) for p in partitions)))
    tests = [partition["test"] for partition in partitions]
    names = shown_methods(list(predictions), reference) if shown is None else list(shown)
    if not 1 <= len(names) <= MOST_METHODS or not set(names) <= set(predictions):
        raise UserError(
            "a figure of kind series",
            f"the methods {', '.join(names) or 'none'}",
            f"one to {MOST_METHODS} of {', '.join(predictions)}",
            "name methods of the experiment",
        )
    # Time-major: every n_channels-th column is of the first channel, which is drawn.
    truth = data["outputs"][:, ::n_channels]
    outputs = {
        name: [
            values[:, ::n_channels]
            for values in _outputs_by_split(predictions[name], training_size, name, names)
        ]
        for name in names
    }
    reference = reference if reference in names else names[0]
    rows = [
        _predicted_row(row, tests, outputs) for row in chosen_rows(truth, tests, outputs[reference])
    ]
    heading = (
        f"{title}\n{training_size} training rows; test rows by rising error "
        f"of {method_label(reference, methods)}"
    )
    if any(row.n_splits > 1 for row in rows):
        heading += "\nPredictions: mean \u00b1 standard deviation over the splits of each row"
    if n_channels > 1:
        heading += f"; first of {n_channels} channels"
    return _draw_panels(rows, truth, names, methods, heading)


def shown_methods(names: Sequence[str], reference: str) -> list[str]:
    """Return the methods drawn by default: the reference and the first others, in their order."""
    others = [name for name in names if name != reference]
    kept = {reference, *others[: MOST_METHODS - (reference in names)]}
    return [name for name in names if name in kept]


def _predicted_row(row: int, tests: Sequence[np.ndarray], outputs: Mapping) -> PredictedRow:
    """Return the mean and deviation of the predictions of one row, for every method."""
    places = [(split, np.flatnonzero(test == row)) for split, test in enumerate(tests)]
    places = [(split, place[0]) for split, place in places if len(place)]
    values = {
        name: np.array([by_split[split][place] for split, place in places])
        for name, by_split in outputs.items()
    }
    return PredictedRow(
        row,
        len(places),
        {name: predicted.mean(axis=0) for name, predicted in values.items()},
        {
            name: predicted.std(axis=0, ddof=1)
            if len(places) > 1
            else np.full(predicted.shape[1], np.nan)
            for name, predicted in values.items()
        },
    )


def _draw_panels(
    rows: Sequence[PredictedRow],
    truth: np.ndarray,
    names: Sequence[str],
    methods: Mapping[str, Mapping],
    heading: str,
):
    """Return the grid of panels, two in a row, with one legend."""
    from matplotlib.figure import Figure

    length = truth.shape[1]
    steps = np.arange(1, length + 1)
    n_columns = min(2, len(rows))
    n_lines = -(-len(rows) // n_columns)
    # The distance between neighbouring points of a step, as a part of a step.
    shift = 0.36 / max(len(names), 1)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 2.1 * n_lines + 1.5))
        figure.set_layout_engine("constrained")
        axes = figure.subplots(n_lines, n_columns, squeeze=False).flat
        middles, spans = [], []
        for index, (axis, predicted) in enumerate(zip(axes, rows, strict=False)):
            seen = [truth[predicted.row]]
            axis.plot(
                steps,
                truth[predicted.row],
                color="#000000",
                linewidth=1.6,
                marker="o",
                markersize=4,
                label="true series",
                zorder=3,
            )
            for place, name in enumerate(names):
                means = predicted.means[name]
                deviations = np.nan_to_num(predicted.deviations[name])
                axis.errorbar(
                    steps + shift * (place - (len(names) - 1) / 2),
                    means,
                    yerr=deviations,
                    linestyle=LINES[place],
                    linewidth=1.2,
                    markersize=5.5,
                    markeredgecolor="white",
                    markeredgewidth=0.5,
                    capsize=2,
                    elinewidth=1.0,
                    label=method_label(name, methods),
                    **line_style(name, methods),
                )
                seen += [means - deviations, means + deviations]
            axis.set_title(_panel_title(index, len(rows), predicted), fontsize=9.5)
            axis.set_xlim(0.5, length + 0.5)
            axis.set_xticks(steps[:: -(-length // 12)])
            axis.grid(False, axis="x")
            lowest, highest = np.nanmin(seen), np.nanmax(seen)
            middles.append((lowest + highest) / 2)
            spans.append(highest - lowest)
            if index + n_columns >= len(rows):
                axis.set_xlabel("step of the series")
        for axis in list(axes):
            axis.remove()
        half = 0.54 * max(spans) or 0.5
        for axis, middle in zip(figure.axes, middles, strict=True):
            axis.set_ylim(middle - half, middle + half)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        write_title(figure, heading)
        figure.legend(handles, labels, loc="outside lower left", ncols=3, handlelength=3)
    return figure


def _panel_title(index: int, n_panels: int, predicted: PredictedRow) -> str:
    """Return where the row lies between the lowest and the highest error, and its splits."""
    place = place_of_row(index, n_panels)
    return f"{place}: row {predicted.row}, {count_of(predicted.n_splits, 'split')}"


def _count_channels(data: Mapping, path: str | Path) -> int:
    """Return the number of channels of the series, checked against the dataset."""
    names, n_outputs = data["names"], data["outputs"].shape[1]
    length = int(names.get("series_length", 0))
    n_channels = int(names.get("series_channels", 1))
    if length * n_channels != n_outputs:
        raise UserError(
            str(path),
            f"its rows have {n_outputs} outputs, and its series have {length} steps of "
            f"{count_of(n_channels, 'channel')}",
            "a dataset whose outputs are series",
            "remove the figure of kind series from this experiment",
        )
    return n_channels


def _outputs_by_split(
    paths: Sequence[str | Path], training_size: int, method: str, names: Sequence[str]
) -> list[np.ndarray]:
    """Return the predicted outputs (n_test, d) of one method in each split."""
    group = item_group(training_size, 0, SELECTED)
    outputs = []
    for path in paths:
        items = read_artifact(path, "predictions")
        if group not in items:
            raise UserError(
                str(path),
                f"no predictions of {method} with {training_size} training rows, without weak "
                "rows and with a selected number of components",
                f"the group {group}",
                f"draw other methods than {', '.join(names)}",
            )
        outputs.append(items[group]["outputs"])
    return outputs
