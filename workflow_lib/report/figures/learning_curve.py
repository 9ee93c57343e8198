"""Error or accuracy against training size for every method of an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.labels import splits_in_words, variant_label
from workflow_lib.report.quantities import QUANTITIES, chance_error, errors_by_size
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.scores import (
    SELECTED,
    Variant,
    components_order,
    order_variants,
)
from workflow_lib.report.style import (
    LOWEST_ERROR_WITH_TRAINING_MEAN,
    WEAK_LINES,
    applied_style,
    line_style,
    scale_errors,
)
from workflow_lib.report.tables import in_order

if TYPE_CHECKING:
    import pandas as pd

SHOWS = "aRRMSE, or the accuracy, against the number of labelled rows"
CAPTION = (
    "The error on the test rows, or the accuracy, against the number of labelled training rows; a "
    "line is a method. Points are means over the splits, bars their sample standard deviation."
)
METHOD_FIELDS = ("label", "color", "marker", "regressor")
NAMES_BEST = True


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: mean and standard deviation over splits against the training size.

    Points of one training size are drawn side by side, so that methods with equal errors are all
    seen. Fixed component numbers get a panel each, in which methods without a fixed number are
    repeated; weak rows get a dashed line in the color of their method. Rows of studies of weak
    labels are left out. A thin dotted line is the error of the training mean, unless it is far
    above all, or the accuracy of a guess among the classes.

    Parameters
    ----------
    scores : path
        A ``scores.csv``.
    title : str
        The dataset, and that it is a stand-in if so.
    shown_methods : mapping of method name to {"label", "color", "marker"}
        Its order is the order of the legend.
    metric : {"arrmse", "rrmse", "accuracy"}
        Which error to draw; an accuracy is drawn in percent, against examples per class.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    measured, methods = QUANTITIES[metric], shown_methods
    rows = outside_studies(read_scores(scores))
    cells = {
        (variant, size): _shown_mean_and_deviation(in_order(splits), metric)
        for size, column in errors_by_size(rows, metric).items()
        for variant, splits in column.items()
    }
    variants = order_variants([variant for variant, _ in cells], methods)
    panels = _panels(variants)
    means = [mean for mean, _ in cells.values()]
    baseline, baseline_name = 1.0, "training mean"
    shows_baseline = max(means) >= LOWEST_ERROR_WITH_TRAINING_MEAN
    if measured.is_accuracy:
        baseline, shows_baseline = measured.shown(chance_error(rows)), True
        baseline_name = f"chance, {baseline:.2g} %"
    with applied_style():
        n_columns = 2 if len(panels) == 4 else min(len(panels), 3)
        n_rows = math.ceil(len(panels) / n_columns)
        n_entries = len({(v.method, v.weak_size) for v in variants})
        if len(panels) == 1:
            size = (8.0, max(4.2, 1.4 + 0.24 * n_entries))
        else:
            size = (max(3.4 * n_columns, 8.0), 3.2 * n_rows + 0.9 + 0.24 * math.ceil(n_entries / 3))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        handles = {}
        for axis, (components, members) in zip(axes.flat, panels.items(), strict=False):
            handles |= _draw_panel(axis, members, cells, methods)
            if shows_baseline:
                axis.axhline(
                    baseline, color="#444444", linewidth=1.0, linestyle=(0, (1, 2)), zorder=1
                )
            if len(panels) > 1:
                axis.set_title(
                    f"C = {components}" if components.isdigit() else "C selected", fontsize=10
                )
        for axis in list(axes.flat)[len(panels) :]:
            axis.remove()
        first = axes[0, 0]
        first.set_xscale("log")
        if not measured.is_accuracy:
            scale_errors(first, means)
        sizes = sorted({size for _, size in cells})
        first.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
        for axis in figure.axes:
            axis.set_xticks(sizes, [str(size) for size in sizes])
            axis.set_xticks([], minor=True)
            axis.grid(False, axis="x")
        for axis in axes[:, 0]:
            axis.set_ylabel(measured.axis)
        for index, axis in enumerate(figure.axes):
            if index + n_columns >= len(figure.axes):
                axis.set_xlabel(measured.size_axis)
                axis.tick_params(labelbottom=True)
        figure.suptitle(_full_title(title, rows), x=0.01, ha="left", fontsize=11)
        legend = figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside right upper" if len(panels) == 1 else "outside lower left",
            ncols=1 if len(panels) == 1 else 3,
            title=f"thin dotted line: {baseline_name}" if shows_baseline else None,
            title_fontsize=9,
            alignment="left",
        )
        legend.get_title().set_color("#444444")
    return figure


def _shown_mean_and_deviation(errors: Sequence[float], metric: str) -> tuple[float, float]:
    """Return the mean of errors and their deviation as they are drawn."""
    mean, deviation = mean_and_deviation(errors)
    return QUANTITIES[metric].shown(mean), QUANTITIES[metric].shown_spread(deviation)


def _panels(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """Return the component setting of each panel and the rows drawn in it.

    A method with fixed numbers is drawn in the panels of its numbers (and of the selected
    setting, where it has that too); a method without is drawn in all of them.
    """
    with_numbers = {v.method for v in variants if v.components.isdigit()}
    settings = {v.components for v in variants if v.method in with_numbers} or {SELECTED}
    panels = {}
    for setting in sorted(settings, key=components_order):
        panels[setting] = [
            v for v in variants if v.components == setting or v.method not in with_numbers
        ]
    return panels


def _draw_panel(axis, variants: Sequence[Variant], cells, methods) -> dict:
    """Draw the rows of one panel; return label -> legend handle."""
    sizes = sorted({size for _, size in cells})
    gaps = [math.log(b / a) for a, b in zip(sizes, sizes[1:], strict=False)] or [math.log(2)]
    step = min(0.3 * min(gaps) / len(variants), 0.04)
    weak_sizes = {
        method: sorted({v.weak_size for v in variants if v.method == method and v.weak_size})
        for method in {v.method for v in variants}
    }
    handles = {}
    for index, variant in enumerate(variants):
        own_sizes = [size for size in sizes if (variant, size) in cells]
        shift = math.exp(step * (index - (len(variants) - 1) / 2))
        look = line_style(variant.method, methods)
        line = "-"
        if variant.weak_size:
            line = WEAK_LINES[weak_sizes[variant.method].index(variant.weak_size) % len(WEAK_LINES)]
        deviations = [cells[variant, size][1] for size in own_sizes]
        container = axis.errorbar(
            [size * shift for size in own_sizes],
            [cells[variant, size][0] for size in own_sizes],
            yerr=[0.0 if math.isnan(deviation) else deviation for deviation in deviations],
            linestyle=line,
            capsize=2,
            elinewidth=1.0,
            markeredgecolor="white",
            markeredgewidth=0.6,
            **look,
        )
        label = variant_label(variant._replace(components=SELECTED), methods)
        handles[label] = container
    return handles


def _full_title(title: str, scores: pd.DataFrame) -> str:
    """Return the title with the number of splits and of test rows."""
    n_splits = scores["split"].nunique()
    return f"{title}\n{splits_in_words(n_splits, list(scores['n_test']))}"
