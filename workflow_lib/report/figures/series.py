"""Predicted and true series, for test rows from the best to the worst predicted."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.chosen_rows import chosen_rows, error_rank, predicted_outputs
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title
from workflow_lib.report.tables import REFERENCE_METHOD

SHOWS = "predicted and true series"
PREDICTS = "series"
CAPTION = "Predicted and true series, for test rows from the best to the worst predicted."
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{method}/predictions.h5",
}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"series"}}
BECAUSE = "a figure of kind series needs series, and the task is {task}"

MAX_METHODS = 4
LINES = ("--", "-.", ":", (0, (6, 1.5)))
"""Line styles of the methods, which distinguish them without colors."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each of six test rows, in it the true and predicted series.

    The training size is the largest that every split has, without weak rows. No row is chosen by
    hand: of the rows that are test rows in the most splits, those at even steps from the lowest to
    the highest error of the reference method are drawn (`chosen_rows`). A prediction is the mean
    over the splits in which the row was a test row, its bar one standard deviation over them. All
    panels have the same vertical span, so that errors can be compared between them. Of series with
    several channels the first is drawn, and errors are those of it.

    The methods are the reference and the first three others.

    Raises UserError if the dataset does not hold series, or a method to be drawn has no
    predictions.
    """
    data = read_artifact(dataset, "dataset")
    n_channels = _count_channels(data, dataset)
    partitions = [read_artifact(path, "split") for path in splits]
    training_size = max(set.intersection(*(set(map(int, p["sizes"])) for p in partitions)))
    tests = [partition["test"] for partition in partitions]
    names = shown_methods(list(predictions), REFERENCE_METHOD)
    # Time-major: every n_channels-th column is of the first channel, which is drawn.
    truth = data["outputs"][:, ::n_channels]
    outputs = {
        name: [
            predicted_outputs(path, training_size, name)[:, ::n_channels]
            for path in predictions[name]
        ]
        for name in names
    }
    reference = REFERENCE_METHOD if REFERENCE_METHOD in names else names[0]
    rows = {
        # (k, T) of the k splits in which it was a test row.
        row: {
            name: np.vstack([values[test == row] for test, values in zip(tests, by_split)])
            for name, by_split in outputs.items()
        }
        for row in chosen_rows(truth, tests, outputs[reference])
    }
    heading = (
        f"{title}\n{training_size} training rows; test rows by rising error "
        f"of {method_label(reference, methods)}"
    )
    if any(len(predicted[reference]) > 1 for predicted in rows.values()):
        heading += "\nPredictions: mean \u00b1 standard deviation over the splits of each row"
    if n_channels > 1:
        heading += f"; first of {n_channels} channels"
    return _draw_panels(rows, truth, methods, heading)


def shown_methods(names: Sequence[str], reference: str) -> list[str]:
    """Return the methods drawn by default: the reference and the first others, in their order."""
    others = [name for name in names if name != reference]
    kept = {reference, *others[: MAX_METHODS - (reference in names)]}
    return [name for name in names if name in kept]


def _draw_panels(
    rows: Mapping[int, Mapping[str, np.ndarray]],
    truth: np.ndarray,
    methods: Mapping[str, Mapping],
    heading: str,
):
    from matplotlib.figure import Figure

    length = truth.shape[1]
    steps = np.arange(1, length + 1)
    n_columns = min(2, len(rows))
    n_lines = -(-len(rows) // n_columns)
    # The distance between neighbouring points of a step, as a part of a step.
    n_methods = len(next(iter(rows.values())))
    shift = 0.36 / n_methods
    with applied_style():
        figure = Figure(figsize=(WIDTH, 2.1 * n_lines + 1.5))
        figure.set_layout_engine("constrained")
        axes = figure.subplots(n_lines, n_columns, squeeze=False).flat
        middles, spans = [], []
        for index, (axis, row) in enumerate(zip(axes, rows, strict=False)):
            seen = [truth[row]]
            appearance = {"color": "#000000", "linewidth": 1.6, "marker": "o", "markersize": 4}
            axis.plot(steps, truth[row], label="true series", zorder=3, **appearance)
            for position, (name, predicted) in enumerate(rows[row].items()):
                n_splits, means = len(predicted), predicted.mean(axis=0)
                deviations = predicted.std(axis=0, ddof=1) if n_splits > 1 else 0.0 * means
                appearance = {"linestyle": LINES[position], "linewidth": 1.2, "markersize": 5.5}
                appearance |= {"markeredgecolor": "white", "markeredgewidth": 0.5}
                appearance |= {"capsize": 2, "elinewidth": 1.0, **line_style(name, methods)}
                positions = steps + shift * (position - (n_methods - 1) / 2)
                label = method_label(name, methods)
                axis.errorbar(positions, means, yerr=deviations, label=label, **appearance)
                seen += [means - deviations, means + deviations]
            title = f"{error_rank(index, len(rows))}: row {row}, {count_of(n_splits, 'split')}"
            axis.set_title(title, fontsize=9.5)
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


def _count_channels(data: Mapping, path: str | Path) -> int:
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
