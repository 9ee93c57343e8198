"""The figure of how predictions change with the inputs that matter most."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.report.figure_words import describe
from workflow_lib.report.labels import count_of, join_words
from workflow_lib.report.results import write_frame
from workflow_lib.report.style import (
    BASE_COLOR,
    applied_style,
    plain_name,
    save_figure,
    short_names,
    without_data,
    wrapped,
    write_title,
)

WIDTH = 7.8
PANEL_HEIGHT = 2.3
MAX_CURVES = 30
"""Curves of single rows in a panel."""

COLUMNS = ("input", "column", "value", "output", "mean", "deviation", "n_splits")

LEVEL_LETTERS, OUTPUT_LETTERS = 12, 18
"""Of the name of a level and of an output; names of many levels stand on their side."""


def run(importance: str | Path, files: Mapping[str, str | Path]) -> None:
    """Draw the effects in an "importance" artifact, and write the figure and its numbers.

    `files` hold ``svg``, ``png`` and ``csv``. Without effects the figure says so, and the table has
    no rows.
    """
    tree = read_artifact(importance, "importance")
    effects = effects_of(tree)
    save_figure(draw_effects(effects), files["svg"], files["png"])
    write_frame(files["csv"], effects_frame(effects))


def effects_of(tree: Mapping) -> list[Mapping]:
    """Return the effects in an "importance" artifact, the most important input first."""
    effects = tree.get("effects", {})
    return [effects[key] for key in sorted(effects, key=int)]


def effects_frame(effects: list[Mapping]) -> pd.DataFrame:
    """Return the partial dependences: means and deviations over splits, by input and value."""
    frames = [pd.DataFrame(columns=list(COLUMNS))] if not effects else []
    for effect in effects:
        means, labels = effect["means"], json.loads(effect["labels"])
        frame = pd.DataFrame(
            {
                "input": effect["input"],
                "column": effect["column"],
                "value": labels or [repr(float(value)) for value in effect["values"]],
                "output": effect["output"],
                "mean": means.mean(axis=0),
                "deviation": means.std(axis=0, ddof=1) if len(means) > 1 else np.nan,
                "n_splits": len(means),
            }
        )
        frames.append(frame[list(COLUMNS)])
    return pd.concat(frames, ignore_index=True)


def draw_effects(effects: list[Mapping]):
    """Return the figure: a panel for each input, with the mean prediction at each of its values.

    Colored: the mean over test rows and splits, with a band of one standard deviation over splits;
    grey: single test rows of the first split.
    """
    from matplotlib.figure import Figure

    if not effects:
        return without_data("No effects of inputs are drawn")
    with applied_style():
        width = WIDTH * max(len(effects), 2) / 3
        figure = Figure(figsize=(width, PANEL_HEIGHT + 1.1), layout="constrained")
        panels = figure.subplots(1, len(effects), squeeze=False)[0]
        outputs = short_names([effect["output"] for effect in effects], OUTPUT_LETTERS)
        for panel, effect, output in zip(panels, effects, outputs):
            _draw_panel(panel, effect, output, width / len(effects))
        n_splits = len(effects[0]["means"])
        has_rows = any(len(effect["single_rows"]) for effect in effects)
        grey = "; grey: single test rows of the first split" if has_rows else ""
        write_title(
            figure,
            "How predictions change with the inputs that matter most\n"
            f"Colored: mean over test rows and {count_of(n_splits, 'split')}, \u00b1 standard "
            f"deviation over splits{grey}",
        )
    return describe(figure, effects_in_words(effects))


def effects_in_words(effects: list[Mapping]) -> str:
    """Return the mean predictions at the ends of each input, or at each of its levels."""
    parts = []
    for effect in effects:
        labels = json.loads(effect["labels"])
        values = labels or [f"{value:.3g}" for value in effect["values"]]
        means = [
            f"{mean:.3g} at {value}" for mean, value in zip(effect["means"].mean(axis=0), values)
        ]
        means = means if labels else [means[0], means[-1]]
        parts.append(f"{effect['output']} against {effect['column']}: {join_words(means)}")
    return f"Mean predictions. {'; '.join(parts)}."


def _draw_panel(axis, effect: Mapping, output: str, width: float) -> None:
    values, means, labels = effect["values"], effect["means"], json.loads(effect["labels"])
    rows = effect["single_rows"][:MAX_CURVES]
    axis.plot(values, rows.T, color="#bdbdbd", linewidth=0.7, zorder=1)
    mean = means.mean(axis=0)
    deviation = means.std(axis=0, ddof=1) if len(means) > 1 else np.zeros(len(mean))
    axis.plot(values, mean, color=BASE_COLOR, marker="o", markersize=4, zorder=3)
    if labels:
        axis.errorbar(values, mean, deviation, color=BASE_COLOR, fmt="none", capsize=3, zorder=3)
        names = short_names(labels, LEVEL_LETTERS)
        axis.set_xticks(values, names, rotation=0 if len(names) <= 3 else 90)
        axis.set_xlim(-0.5, len(values) - 0.5)
    else:
        low, high = mean - deviation, mean + deviation
        axis.fill_between(values, low, high, color=BASE_COLOR, alpha=0.3, linewidth=0, zorder=2)
    name = effect["column"]
    together = "" if effect["input"] == name else f"\n(with all of {effect['input']})"
    axis.set_xlabel(wrapped(plain_name(name + together), width, 9), fontsize=9)
    axis.set_ylabel(f"predicted {output}", fontsize=9)
    axis.tick_params(labelsize=8)
