"""True and predicted outputs of some test rows as a heat map, from the best to the worst row."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.measures.metrics import means_of_observed
from workflow_lib.report.chosen_rows import chosen_rows, error_rank, predicted_outputs
from workflow_lib.report.labels import method_label
from workflow_lib.report.style import WIDTH, applied_style, plain_name, write_title
from workflow_lib.report.tables import REFERENCE_METHOD

SHOWS = "a heat map of predicted and true outputs"
PREDICTS = "profiles"
CAPTION = (
    "True and predicted outputs of some test rows of the first split as a heat map, from the best "
    "to the worst predicted row."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "first_split": "results/{experiment}/split-0/split.h5",
    "first_predictions": "results/{experiment}/split-0/{method}/predictions.h5",
}
METHOD_FIELDS = ("label",)

FOREST = "m-rf"
N_ROWS = 8
MAX_NAMES = 80
"""Of more outputs than this, only every second, every third and so on is named."""

SHORT_NAMES = 50
"""Letters of all names together that are written side by side; more are written upwards."""

COLORS = "PuOr_r"
"""Purple over white to orange, which color-blind readers can distinguish too."""

SHARE_IN_RANGE = 0.98
"""Share of the true values drawn within the range of colors; others have the last color."""


def draw(
    dataset: str | Path,
    first_split: str | Path,
    first_predictions: Mapping[str, str | Path],
    *,
    title: str,
    methods: Mapping[str, Mapping],
    output_scale: str,
):
    """Return the figure: for each of eight test rows a stripe of its outputs for each method.

    The training size is the largest of the split, without weak rows. No row is chosen by hand: the
    rows are at even steps from the lowest to the highest error of the reference method
    (`workflow_lib.report.chosen_rows`). Outputs are in the order of the dataset.
    A color is the difference from the mean of that output over the training rows, which is white,
    and is the same for all stripes. Outputs that were not observed are hatched.

    Of outputs of different units (`output_scale` ``standard``) a difference is divided by the
    standard deviation of its output over the training rows. The methods are those of
    `shown_methods`.

    Raises UserError if a method to be drawn has no predictions.
    """
    data, partition = read_artifact(dataset, "dataset"), read_artifact(first_split, "split")
    size, test = int(max(partition["sizes"])), partition["test"]
    names = shown_methods(list(first_predictions), REFERENCE_METHOD)
    train = data["outputs"][training_output_rows(partition)][:size]
    center, unit = means_of_observed(train), _units(train, output_scale)
    truth = (data["outputs"] - center) / unit
    predicted = {
        name: (predicted_outputs(first_predictions[name], size, name) - center) / unit
        for name in names
    }
    reference = REFERENCE_METHOD if REFERENCE_METHOD in names else names[0]
    indices = {row: index for index, row in enumerate(test.tolist())}
    rows = chosen_rows(truth, [test], [predicted[reference]], N_ROWS)
    profiles = [
        {"true": truth[row]}
        | {method_label(name, methods): values[indices[row]] for name, values in predicted.items()}
        for row in rows
    ]
    heading = (
        f"{title}\n{size} training rows, first split; test rows by rising error of "
        f"{method_label(reference, methods)}"
    )
    if any(np.isnan(profile["true"]).any() for profile in profiles):
        heading += "\nHatched: not observed"
    unit_in_words = "standard deviations" if output_scale == "standard" else "unit of the outputs"
    unit_in_words = f"difference from the training mean ({unit_in_words})"
    return _draw(rows, profiles, json.loads(data["names"]["outputs"]), heading, unit_in_words)


def shown_methods(names: Sequence[str], reference: str) -> list[str]:
    """Return the methods drawn by default: the reference, the first OFER method and the forest."""
    of_ofer = [name for name in names if name.startswith("ofer")][:1]
    kept = [name for name in (reference, *of_ofer, FOREST) if name in names]
    return kept or list(names[:1])


def _units(train: np.ndarray, output_scale: str) -> np.ndarray:
    """Return what the values of each output are divided by."""
    if output_scale != "standard":
        return np.ones(train.shape[1])
    deviations = np.sqrt(means_of_observed((train - means_of_observed(train)) ** 2))
    return np.where(deviations > 0, deviations, 1.0)


def _draw(
    rows: Sequence[int],
    profiles: Sequence[Mapping[str, np.ndarray]],
    names: Sequence[str],
    heading: str,
    unit: str,
):
    import matplotlib
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    limit = _limit([profile["true"] for profile in profiles])
    colors = matplotlib.colormaps[COLORS]
    norm = Normalize(-limit, limit)
    n_stripes = len(profiles[0])
    with applied_style():
        width = max(2.6 + min(0.14 * len(names), 8.0), WIDTH)
        height = 2.8 + 0.17 * n_stripes * len(profiles)
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(len(profiles), 1, squeeze=False, sharex=True)[:, 0]
        for index, (axis, row, profile) in enumerate(zip(axes, rows, profiles, strict=True)):
            values = np.ma.masked_invalid(list(profile.values()))
            # The hatched background is visible where nothing was observed.
            axis.patch.set(facecolor="#d9d9d9", edgecolor="#7f7f7f", hatch="//////", linewidth=0)
            image = axis.imshow(
                values, cmap=colors, norm=norm, aspect="auto", interpolation="nearest"
            )
            axis.set_yticks(range(n_stripes), list(profile), fontsize=8.5)
            axis.set_yticks(np.arange(n_stripes - 1) + 0.5, minor=True)
            axis.grid(False)
            axis.grid(True, axis="y", which="minor", color="white", linewidth=1.2)
            axis.tick_params(which="both", length=0)
            axis.spines[:].set_visible(False)
            location = error_rank(index, len(profiles), decimals=2)
            appearance = {"transform": axis.transAxes, "va": "center", "fontsize": 8}
            axis.text(1.01, 0.5, f"{location}\nrow {row}", **appearance)
        _name_outputs(axes[-1], names)
        appearance = {"extend": "both", "shrink": 0.6, "aspect": 36, "pad": 0.02}
        bar = figure.colorbar(image, ax=list(axes), location="bottom", **appearance)
        bar.set_label(unit, fontsize=9)
        bar.ax.tick_params(labelsize=8)
        write_title(figure, heading)
    return figure


def _limit(truths: Sequence[np.ndarray]) -> float:
    """Return the difference from the mean that has the last color, to two digits upwards."""
    observed = np.abs(np.concatenate(truths))
    largest = float(np.nanquantile(observed, SHARE_IN_RANGE))
    if not largest > 0:
        return 1.0
    step = 10.0 ** (math.floor(math.log10(largest)) - 1)
    return math.ceil(largest / step) * step


def _name_outputs(axis, names: Sequence[str]) -> None:
    every = math.ceil(len(names) / MAX_NAMES)
    shown = range(0, len(names), every)
    labels = [plain_name(names[index]) for index in shown]
    is_short = sum(map(len, labels)) < SHORT_NAMES
    size = 8.5 if len(labels) <= 40 else 6.5
    axis.set_xticks(list(shown), labels, rotation=0 if is_short else 90, fontsize=size)
    axis.tick_params(axis="x", which="major", length=2)
    if every > 1:
        axis.set_xlabel(f"outputs, one in {every} named", fontsize=9)
