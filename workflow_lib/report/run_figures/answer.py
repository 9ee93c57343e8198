"""The figures of the answer on a user's own table: its methods, its outputs and what rows add."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.report.calibration_splits import splits_of
from workflow_lib.report.figure_words import describe
from workflow_lib.report.figures.confusion import confusion_shares
from workflow_lib.report.figures.predicted_true import (
    draw_panels,
    output_panels,
    panel_points,
    shown_outputs,
)
from workflow_lib.report.labels import count_of, join_words, method_label
from workflow_lib.report.lines import Line
from workflow_lib.report.lines import draw_curve as draw_lines
from workflow_lib.report.quantities import QUANTITIES, errors_by_size, shown_means
from workflow_lib.report.results import outside_studies, read_scores, write_frame
from workflow_lib.report.run_figures import calibration as calibrated
from workflow_lib.report.run_figures import reliability
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    applied_style,
    line_style,
    save_figure,
    scale_sizes,
    short_names,
    write_title,
)

WIDTH = 5.2
"""Width in inches: two figures side by side fill a page."""

MAX_METHODS, MAX_CLASSES, MAX_OUTPUTS = 12, 12, 6
LABEL_LETTERS = 26

BASELINE_NEAR = 2.0
"""A baseline further from the methods than this multiple of their range is not drawn: it would take
the axis from them."""

FARTHEST = 1.5
"""The axis of the methods ends at this multiple of the error of the training mean, or of the median
of the methods if that is larger."""

EQUAL = 1e-6
"""Errors that differ by less than this part of them are drawn as equal."""


def run(
    scores: str | Path,
    answer: str | Path,
    calibration: str | Path,
    dataset: str | Path,
    methods: Mapping[str, Mapping],
    metric: str,
    files: Mapping[str, Mapping[str, str | Path]],
) -> None:
    """Draw the figures of an answer, and write them and their numbers.

    The paths are those of the ``scores.csv``, the ``answer.json``, the "calibration" and the
    "dataset" artifact; `files` hold ``methods``, ``outputs``, ``curve`` and ``calibration``, each
    with ``svg``, ``png`` and ``csv`` (paths). The last shows the calibration of intervals, or of
    the probabilities of classes.
    """
    frame, found = read_scores(scores), json.loads(Path(answer).read_text(encoding="utf-8"))
    tree, names = read_artifact(calibration, "calibration"), read_artifact(dataset, "dataset")
    points, curve = method_points(frame, found, metric), curve_points(frame, found, metric)
    drawn = {
        "methods": (draw_methods(points, found, methods, metric), points),
        "curve": (draw_curve(curve, found, methods, metric), curve),
        "outputs": draw_outputs(tree, names, found, calibration),
    }
    for name, (figure, numbers) in drawn.items():
        save_figure(figure, files[name]["svg"], files[name]["png"])
        write_frame(files[name]["csv"], numbers)
    module, kind = (reliability, "classes") if "classes" in names else (calibrated, "outputs")
    figure = module.draw(tree, json.loads(names["names"][kind]), found["label"])
    save_figure(figure, *(files["calibration"][suffix] for suffix in ("svg", "png", "csv")))


def by_figure(paths: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return paths by figure and suffix, of which ``methods_svg`` and others are the names."""
    found: dict[str, dict[str, str]] = {}
    for name, path in paths.items():
        figure, suffix = name.rsplit("_", 1)
        found.setdefault(figure, {})[suffix] = path
    return found


def method_points(scores: pd.DataFrame, answer: Mapping, metric: str) -> pd.DataFrame:
    """Return the error of each method of the leaderboard in each split, best method first.

    Columns: ``method``, ``label``, ``split`` and ``value``, at the largest training size; an
    accuracy is in percent.
    """
    column = list(errors_by_size(outside_studies(scores), metric).values())[-1]
    keys = ("method", "components", "weak_size")
    rows = []
    for entry in answer["leaderboard"]:
        variant = next(
            v for v in column if [getattr(v, k) for k in keys] == [entry[k] for k in keys]
        )
        rows += [
            (entry["method"], entry["label"], split, QUANTITIES[metric].shown(error))
            for split, error in sorted(column[variant].items())
        ]
    return pd.DataFrame(rows, columns=["method", "label", "split", "value"])


def curve_points(scores: pd.DataFrame, answer: Mapping, metric: str) -> pd.DataFrame:
    """Return the learning curves of the winner and of the reference method.

    Columns: ``method``, ``label``, ``training_size``, ``mean`` and ``deviation`` over the splits;
    an accuracy is in percent.
    """
    measured, rows = QUANTITIES[metric], []
    winner, *others = answer["leaderboard"]
    shown = [winner, *(row for row in others if row["method"] == measured.reference)]
    for size, column in shown_means(outside_studies(scores), metric).items():
        for entry in shown:
            for variant, means in column.items():
                if (variant.method, variant.components) == (entry["method"], entry["components"]):
                    rows.append((entry["method"], entry["label"], size, *means))
    columns = ["method", "label", "training_size", "mean", "deviation"]
    return pd.DataFrame(rows, columns=columns).sort_values(
        ["method", "training_size"], kind="stable", ignore_index=True
    )


def methods_in_words(shown: pd.DataFrame, answer: Mapping, metric: str) -> str:
    """Return what the figure of the methods shows, for readers who cannot see it.

    `shown` has the ``mean`` of each method that is drawn, whose label is the last of its index.
    """
    sign = " %" * QUANTITIES[metric].is_percent
    rows = [f"{label} {mean:.3g}{sign}" for (_, label), mean in shown["mean"].items()]
    baseline = answer.get("baseline")
    than = f"; {baseline['label']} has {baseline['mean']:.3g}{sign}" if baseline else ""
    quantity = _quantity(answer)
    quantity = f"{quantity[:1].upper()}{quantity[1:]}"
    return f"{quantity} of each method, the winner first: {join_words(rows)}{than}."


def draw_methods(
    points: pd.DataFrame, answer: Mapping, methods: Mapping[str, Mapping], metric: str
):
    """Return the figure: a row for each method with its mean, its spread and every split.

    A dashed line is the training mean, or a guess of the class; where it is far from all methods
    (`BASELINE_NEAR`), the title gives its number. What lies beyond the axis, which follows the
    bulk of the methods (`FARTHEST`), a split, a mean or the end of a bar, is a triangle at its
    edge; the numbers of the mean and of the bar are written at the right.
    """
    from matplotlib.figure import Figure

    table = points.groupby(["method", "label"], sort=False)["value"].agg(["mean", "std"])
    shown = table.head(MAX_METHODS)
    baseline = answer.get("baseline") or {}
    low, high = points["value"].min(), points["value"].max()
    level = baseline.get("mean", math.nan)
    is_near = max(low - level, level - high) <= BASELINE_NEAR * (high - low)
    level = level if is_near else math.nan
    limits = _limits(points, shown, level, metric)
    is_cut = False
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.35 + 0.3 * len(shown)), layout="constrained")
        axis = figure.subplots()
        axis.set_xlim(limits)
        if is_near:
            axis.axvline(level, color="#444444", linestyle="--", linewidth=1.2)
        for index, ((method, _), (mean, deviation)) in enumerate(shown.iterrows()):
            appearance = line_style(method, methods)
            splits = points.loc[points["method"] == method, "value"]
            grey = {"color": "#bdbdbd", "markersize": 4, "zorder": 1}
            is_cut |= _mark(axis, splits, index, marker="o", **grey)
            ends = mean + np.nan_to_num(deviation) * np.array([-1.0, 1.0])
            bar = {"color": appearance["color"], "zorder": 3}
            axis.plot(np.clip(ends, *limits), [index, index], **bar)
            if deviation > 0:
                is_cut |= _mark(axis, ends, index, marker="|", markersize=6, **bar)
            is_cut |= _mark(axis, [mean], index, markersize=8, zorder=3, **appearance)
            text = QUANTITIES[metric].write(*_errors(mean, deviation, metric))
            where = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
            where |= {"textcoords": "offset points", "va": "center", "fontsize": 8.5}
            axis.annotate(text, (1, index), (9, 0), weight="normal" if index else "bold", **where)
        labels = short_names(shown.index.get_level_values("label"), LABEL_LETTERS)
        axis.set_yticks(range(len(shown)), labels)
        axis.get_yticklabels()[0].set_weight("bold")
        axis.set_ylim(len(shown) - 0.4, -0.6)
        axis.grid(False, axis="y")
        # At the right is the power of ten of tiny and huge errors.
        axis.set_xlabel(_quantity(answer), loc="left")
        notes = ["Grey: single splits"]
        if is_near:
            notes = [f"Dashed: {baseline['label']}; grey: single splits"]
        elif baseline:
            number = f"{baseline['mean']:.3g}{' %' * QUANTITIES[metric].is_percent}"
            notes.append(f"beyond the axis: {baseline['label']}, {number}")
        if is_cut:
            notes.append("triangles: beyond the axis")
        if len(table) > len(shown):
            notes.append(f"{len(table) - len(shown)} more in the table below")
        basis = count_of(answer["training_size"], "training row")
        basis += f", {count_of(answer['n_splits'], 'split')}"
        write_title(figure, f"The methods, {basis}\n{'; '.join(notes)}")
    return describe(figure, methods_in_words(shown, answer, metric))


def _mark(axis, values: Iterable[float], height: float, *, marker: str, **appearance) -> bool:
    """Mark values in a row, those beyond the axis as triangles at its edge; return if any are."""
    low, high = axis.get_xlim()
    values = np.asarray(values, dtype=float)
    groups = (
        (values[(low <= values) & (values <= high)], marker),
        (np.full(np.sum(values < low), low), "<"),
        (np.full(np.sum(values > high), high), ">"),
    )
    # A line without points would take room in the layout.
    for shown, mark in (group for group in groups if len(group[0])):
        axis.plot(shown, [height] * len(shown), mark, clip_on=False, **appearance)
    return any(len(shown) for shown, _ in groups[1:])


def draw_curve(points: pd.DataFrame, answer: Mapping, methods: Mapping[str, Mapping], metric: str):
    """Return the figure: the learning curves of the winner and of the reference method."""
    measured = QUANTITIES[metric]
    sizes = sorted(set(points["training_size"]))
    baseline = answer.get("baseline")
    lines = []
    for method, rows in points.groupby("method", sort=False):
        columns = (rows[name].to_numpy(float) for name in ("training_size", "mean", "deviation"))
        lines.append(Line(rows["label"].iloc[0], *columns, line_style(method, methods)))
    return draw_lines(
        {"": lines},
        size=(WIDTH, 2.6),
        axes=(measured.size_axis, f"{measured.name} (%)" if measured.is_percent else measured.name),
        scale=lambda axis, _: scale_sizes(axis, sizes, 1.2),
        title="Learning curve of the best method and of the reference",
        is_error=not measured.higher_is_better,
        reference=[method_label(answer["winner"], methods)],
        level=(baseline["label"], baseline["mean"]) if baseline else None,
        dashes="--",
    )


def draw_outputs(calibration: Mapping, dataset: Mapping, answer: Mapping, location: str | Path):
    """Return the figure of the outputs and its numbers.

    Predictions of the winner against the true values of each output, with intervals; of more than
    `MAX_OUTPUTS` those from the lowest to the highest error. Of classes the share of the rows of
    each class for which it is predicted.
    """
    if "classes" in dataset:
        return _draw_classes(calibration, dataset, answer)
    panels = output_panels(calibration, dataset["names"], location)
    errors = [panel.relative_error for panel in panels]
    shown = [panels[index] for index in shown_outputs(errors, MAX_OUTPUTS)]
    title = f"{answer['label']}: predicted against true"
    if len(shown) < len(panels):
        title += f"\n{len(shown)} of {len(panels)} outputs, from the lowest to the highest error"
    figure = draw_panels(shown, calibration["level"], title, WIDTH)
    return figure, pd.concat([panel_points(panel) for panel in shown], ignore_index=True)


def _draw_classes(calibration: Mapping, dataset: Mapping, answer: Mapping):
    from matplotlib.figure import Figure

    names, splits = json.loads(dataset["names"]["classes"]), splits_of(calibration)
    truth = [np.asarray(split["true_classes"]) for split in splits]
    predicted = [np.asarray(split["predicted_classes"]) for split in splits]
    found = pd.DataFrame(
        {
            "class": names,
            "right_percent": 100 * np.diag(confusion_shares(truth, predicted, len(names))),
            "test_rows": np.bincount(np.concatenate(truth), minlength=len(names)),
        }
    ).sort_values("right_percent", ascending=False, kind="stable", ignore_index=True)
    found = found.iloc[shown_outputs(list(-found["right_percent"]), MAX_CLASSES)]
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.2 + 0.28 * len(found)), layout="constrained")
        axis = figure.subplots()
        positions = range(len(found))
        axis.barh(positions, found["right_percent"], color=BASE_COLOR, height=0.6)
        appearance = {"color": ACCENT_COLOR, "alpha": 0.35, "height": 0.6}
        axis.barh(
            positions, 100 - found["right_percent"], left=found["right_percent"], **appearance
        )
        axis.set_yticks(positions, short_names(found["class"], LABEL_LETTERS))
        axis.set_ylim(len(found) - 0.4, -0.6)
        axis.set_xlim(0, 100)
        axis.grid(False, axis="y")
        axis.set_xlabel("predicted as this class (%)")
        which = f"{len(found)} of {len(names)} classes"
        which = "each class" if len(found) == len(names) else which
        title = f"{answer['label']}: test rows of {which}, easiest first"
        write_title(figure, title)
    shares = zip(found["class"], found["right_percent"], strict=True)
    words = join_words([f"{name} {share:.0f} %" for name, share in shares])
    return describe(figure, f"{title}. Right: {words}."), found


def _limits(
    points: pd.DataFrame, shown: pd.DataFrame, baseline: float, metric: str
) -> tuple[float, float]:
    """Return the limits of the axis of the methods, which hold no impossible errors or scores."""
    measured = QUANTITIES[metric]
    values = points.loc[points["method"].isin(shown.index.get_level_values("method")), "value"]
    bars = [*(shown["mean"] - shown["std"]), *(shown["mean"] + shown["std"])]
    levels = np.array([*values, *bars, baseline])
    if measured.is_percent:
        bounds = 0.0, 100.0
    elif measured.higher_is_better:
        bounds = -1.0, 1.0
    else:
        bounds = 0.0, FARTHEST * np.nanmax([shown["mean"].median(), baseline, 0.0])
    levels = np.clip(levels[np.isfinite(levels)], *bounds)
    low, high = (levels.min(), levels.max()) if len(levels) else (0.0, 1.0)
    is_constant = high - low <= EQUAL * max(abs(low), abs(high))
    margin = 0.5 if is_constant else 0.04 * (high - low)
    return low - margin, high + margin


def _errors(mean: float, deviation: float, metric: str) -> tuple[float, float]:
    """Return the error and its deviation of values as they are shown."""
    if QUANTITIES[metric].is_percent:
        return 1.0 - mean / 100.0, deviation / 100.0
    return QUANTITIES[metric].error(mean), deviation


def _quantity(answer: Mapping) -> str:
    return QUANTITIES[answer["metric"]].column
