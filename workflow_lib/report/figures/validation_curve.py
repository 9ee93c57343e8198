"""The cross-validated error against each hyper-parameter, at the largest training size."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.fitting.items import SELECTED
from workflow_lib.fitting.validation_curves import CHOSEN, ENTRY, NO_KERNEL
from workflow_lib.report.labels import PLUS_MINUS, count_of, method_label
from workflow_lib.report.lines import Line, draw_panels
from workflow_lib.report.style import WIDTH, applied_style, line_style

SHOWS = "the cross-validated error against each hyper-parameter, of methods that select by it"
CAPTION = (
    "The cross-validated error of the training rows against each hyper-parameter, at the largest "
    "training size, minimised over the other hyper-parameters. Points are means over the splits, "
    "bars their sample standard deviation. Rings are at the chosen values, the larger the more "
    "splits chose them; a method that averages over numbers of components has one for each. Of "
    "several kernels the one is shown that was chosen most often. Penalties are in units of the "
    "size of the kernel where several compete."
)
METHOD_FIELDS = ("label", "color", "marker")

AXES = {
    "k": "k of the k-support norm",
    "alpha_rest": "penalty",
    "alpha_leading": "penalty of the memberships",
    "width": "width of the kernel",
    "output_width": "width of the output kernel",
    "n_components": "number of components",
    "weak_weight": "weight of a weak row",
}
"""The first hyper-parameters in the order of their panels, and the names of their axes. Others have
the name of their key."""

FEW_TICKS = 8
"""So many values at most of a linear axis are its ticks."""

SHORTEST_LOG_AXIS = 10.0
"""Ratio of the largest to the smallest positive value from which on an axis is logarithmic."""

RING, RING_OF_A_SPLIT = 80.0, 25.0
"""Area of a ring around a marker, and what each split adds that chose its value, in square
points."""


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each hyper-parameter that some method chose.

    A line has the values that were tried in every split: where a grid was extended, its further
    values have no line, but a ring where they were chosen. An infinite penalty is not kept. Of a
    method with several fits at the largest training size the one with most weak rows is shown, and
    with the number of components selected where it is.

    Raises
    ------
    UserError
        If no method holds such errors.
    """
    from matplotlib.figure import Figure

    trees = {method: curves_of_splits(all_regressions.get(method, ())) for method in shown_methods}
    trees = {method: found for method, found in trees.items() if found}
    if not trees:
        raise UserError(
            place="a figure of the kind validation_curve",
            found=f"no method holds the errors of its grid: {', '.join(shown_methods)}",
            expected="a method that selects among several values",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    kernels = {method: usual_kernel(found) for method, found in trees.items()}
    held = {
        name: None
        for method, found in trees.items()
        for item in found
        for name in item[ENTRY].get(kernels[method], {})
    }
    curves = {
        method: {name: _Curve.of(found, kernels[method], name) for name in {**AXES, **held}}
        for method, found in trees.items()
    }
    names = [
        name for name in {**AXES, **held} if any(len(of[name].values) for of in curves.values())
    ]
    n_columns = min(len(names), 2)
    n_rows = math.ceil(len(names) / n_columns)
    n_splits = max(len(found) for found in trees.values())
    size = max(int(item["training_size"]) for found in trees.values() for item in found)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.6 + 2.5 * n_rows), layout="constrained")
        axes = list(figure.subplots(n_rows, n_columns, sharey=True, squeeze=False).flat)
        panels = []
        for axis, name in zip(axes, names, strict=False):
            shown = {method: of[name] for method, of in curves.items() if len(of[name].values)}
            _scale_values(axis, name, [curve.values for curve in shown.values()], shown.values())
            panels.append(
                [
                    Line(
                        _label(method, shown_methods, kernels[method]),
                        *(curve.values, curve.means, curve.bars),
                        line_style(method, shown_methods),
                        value=float(min(curve.means)),
                    )
                    for method, curve in shown.items()
                ]
            )
        for axis in axes[::n_columns]:
            axis.set_ylabel("cross-validated error")
        draw_panels(
            axes,
            panels,
            title=f"{title}\n{count_of(size, 'training row')}, {count_of(n_splits, 'split')}, mean "
            f"{PLUS_MINUS} standard deviation\nRings: selected values, larger in more splits",
            is_error=True,
        )
        for axis, name in zip(axes, names, strict=False):
            for method, of in curves.items():
                color = line_style(method, shown_methods)["color"]
                for value, (error, count) in of[name].chosen.items():
                    axis.scatter(
                        [value],
                        [error],
                        s=RING + RING_OF_A_SPLIT * count,
                        facecolors="none",
                        edgecolors=color,
                        linewidths=1.4,
                        clip_on=False,
                        zorder=4,
                        label=f"{method_label(method, shown_methods)}, chosen in {count}",
                    )
    return figure


def _label(method: str, shown_methods: Mapping[str, Mapping], kernel: str) -> str:
    label = method_label(method, shown_methods)
    return label if kernel == NO_KERNEL else f"{label} ({kernel})"


class _Curve(NamedTuple):
    """The error against one hyper-parameter, over the splits of one method."""

    values: np.ndarray
    means: np.ndarray
    bars: np.ndarray
    chosen: dict[float, tuple[float, int]]
    """Chosen value -> mean error of the splits that tried it, and how often it was chosen."""

    @classmethod
    def of(cls, items: Sequence[Mapping], kernel: str, name: str) -> _Curve:
        by_split = [
            dict(item[ENTRY][kernel][name].tolist())
            for item in items
            if name in item[ENTRY].get(kernel, {})
        ]
        common = sorted(set.intersection(*map(set, by_split))) if by_split else []
        if common and not _is_linear(common):
            # A weight of zero has no place on a logarithmic axis.
            common = [value for value in common if value > 0]
        pairs = [mean_and_deviation([curve[value] for curve in by_split]) for value in common]
        means, bars = np.array(pairs).reshape(-1, 2).T
        counts = Counter(
            float(value)
            for item in items
            for value in item[ENTRY][CHOSEN].get(kernel, {}).get(name, ())
            if value > 0 or value in common
        )
        chosen = {
            value: (float(np.mean([c[value] for c in by_split if value in c])), count)
            for value, count in sorted(counts.items())
            if any(value in curve for curve in by_split)
        }
        return cls(np.array(common), means, np.nan_to_num(bars), chosen)


def curves_of_splits(paths: Iterable[str | Path]) -> list[Mapping]:
    """Return the item of each split that is shown, of the files of a method that hold curves.

    It is that of the largest training size, with most weak rows.
    """
    found = []
    for path in paths:
        items = [
            item
            for item in read_artifact(path, "regression").values()
            if ENTRY in item and not item.get("setting")
        ]
        if items:
            found.append(max(items, key=_order))
    return found


def _order(item: Mapping) -> tuple:
    components = str(item["components"])
    is_selected = components == SELECTED
    number = 0 if is_selected else int(components)
    return int(item["training_size"]), int(item["weak_size"]), is_selected, number


def usual_kernel(items: Sequence[Mapping]) -> str:
    """Return the kernel that was chosen most often, the first by name of several."""
    counts = Counter(kernel for item in items for kernel in item[ENTRY][CHOSEN])
    return min(counts, key=lambda kernel: (-counts[kernel], kernel))


def _is_linear(values: Sequence[float]) -> bool:
    """Return whether the positive values lie within a decade, so that their axis is linear."""
    positive = [value for value in values if value > 0]
    return max(positive) < SHORTEST_LOG_AXIS * min(positive)


def _axis_name(name: str) -> str:
    """Return the name of an axis; `estimator__max_depth` is the max depth of the estimator."""
    parts = reversed(name.split("__"))
    return AXES.get(name) or " of the ".join(parts).replace("_", " ")


def _scale_values(axis, name: str, values: Iterable[np.ndarray], curves: Iterable[_Curve]) -> None:
    """Scale the horizontal axis for the values drawn; few ones are the ticks."""
    drawn = np.unique(np.concatenate([*values, *(list(curve.chosen) for curve in curves)]))
    if _is_linear(drawn):
        margin = 0.08 * (drawn[-1] - drawn[0])
        axis.set_xlim(drawn[0] - margin, drawn[-1] + margin)
        axis.set_xlabel(_axis_name(name))
        if len(drawn) <= FEW_TICKS:
            axis.set_xticks(drawn, [f"{value:g}" for value in drawn])
        return
    axis.set_xscale("log")
    axis.set_xlim(drawn[0] / 1.4, drawn[-1] * 1.4)
    axis.set_xlabel(f"{_axis_name(name)} (log scale)")
    if name in ("k", "n_components", "weak_weight"):
        ticks = [drawn[0]]
        for value in drawn[1:]:
            # Names of closer ones would overlap.
            if value >= 1.3 * ticks[-1] or name != "k":
                ticks.append(value)
        axis.set_xticks(ticks, [f"{value:g}" for value in ticks])
        axis.set_xticks([], minor=True)
