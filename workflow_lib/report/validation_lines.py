"""Lines of cross-validated errors against a hyper-parameter, with rings at the chosen values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.fitting.validation_curves import CHOSEN, ENTRY, NO_KERNEL
from workflow_lib.items.group_names import SELECTED
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import PLUS_MINUS, count_of, method_label
from workflow_lib.report.lines import Line, draw_curve
from workflow_lib.report.style import WIDTH, applied_style, line_style

AXES = {
    "k": "k of the k-support norm",
    "alpha_rest": "penalty",
    "alpha_leading": "penalty of the memberships",
    "width": "width of the kernel",
    "output_width": "width of the output kernel",
    "n_components": "number of components",
    "weak_weight": "weight of a weak row",
    "cost": "cost C of a margin violation",
    "n_states": "number of states",
    "n_topics": "number of topics",
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


class Curve(NamedTuple):
    """The error, or another number, against one hyper-parameter, over the splits of one method."""

    values: np.ndarray
    means: np.ndarray
    bars: np.ndarray
    chosen: dict[float, tuple[float, int]]
    """Chosen value -> mean of the splits that tried it, and how often it was chosen."""

    @classmethod
    def of(
        cls,
        items: Sequence[Mapping],
        kernel: str,
        name: str,
        group: str | None = None,
        shown: Callable[[float], float] = lambda error: error,
    ) -> Curve:
        """Return the curve of a hyper-parameter; without values where no item has one.

        It holds the values that were tried in every split. `group` is that of other numbers than
        the error (`workflow_lib.fitting.validation_curves`), and `shown` returns what is drawn.
        """
        trees = [item[ENTRY] if group is None else item[ENTRY].get(group, {}) for item in items]
        by_split = [
            {value: shown(error) for value, error in tree[kernel][name].tolist()}
            for tree in trees
            if name in tree.get(kernel, {})
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


def _scale_values(axis, name: str, values: Iterable[np.ndarray], curves: Iterable[Curve]) -> None:
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
    if name in ("k", "n_components", "weak_weight", "n_states", "n_topics"):
        ticks = [drawn[0]]
        for value in drawn[1:]:
            # Names of closer ones would overlap.
            if value >= 1.3 * ticks[-1] or name != "k":
                ticks.append(value)
        axis.set_xticks(ticks, [f"{value:g}" for value in ticks])
        axis.set_xticks([], minor=True)


def draw_curves(
    curves: Mapping[str, Mapping[str, Curve]],
    names: Sequence[str],
    *,
    title: str,
    axis_label: str,
    kernels: Mapping[str, str],
    methods: Mapping[str, Mapping],
    is_error: bool = False,
    higher_is_better: bool = False,
):
    """Return the figure with a panel for each hyper-parameter, two in a row.

    Parameters
    ----------
    curves : mapping
        Of each method its curves, by the name of the hyper-parameter; those without values are not
        drawn.
    names : sequence of str
        The hyper-parameters, in the order of their panels.
    title, axis_label : str
        The latter of the vertical axis.
    kernels, methods : mapping
        The kernel of each method, and its label, color and marker.
    is_error : bool, default=False
        Whether the axis may be logarithmic.
    higher_is_better : bool, default=False
        Whether, of too many lines, those with the highest values have a color.
    """
    n_rows = math.ceil(len(names) / 2)
    sign = -1.0 if higher_is_better else 1.0
    shown = {
        name: {method: of[name] for method, of in curves.items() if len(of[name].values)}
        for name in names
    }
    panels = {
        name: [
            Line(
                _label(method, methods, kernels[method]),
                *(curve.values, curve.means, curve.bars),
                line_style(method, methods),
                value=float(min(sign * curve.means)),
            )
            for method, curve in of_name.items()
        ]
        for name, of_name in shown.items()
    }
    figure = draw_curve(
        panels,
        size=(WIDTH, 4.2 if len(names) == 1 else 1.6 + 2.5 * n_rows),
        axes=("", axis_label),
        scale=lambda axis, name: _scale_values(
            axis, name, [curve.values for curve in shown[name].values()], shown[name].values()
        ),
        title_of=lambda _: "",
        share_x=False,
        title=title,
        is_error=is_error,
    )
    with applied_style():
        for axis, name in zip(figure.axes, names, strict=False):
            for method, of in curves.items():
                _draw_rings(axis, of[name], method, methods)
    return figure


def _draw_rings(axis, curve: Curve, method: str, methods: Mapping[str, Mapping]) -> None:
    for value, (error, count) in curve.chosen.items():
        label, area = f"{method_label(method, methods)}, chosen in {count}", RING_OF_A_SPLIT * count
        ring = {"facecolors": "none", "edgecolors": line_style(method, methods)["color"]}
        ring |= {"linewidths": 1.4, "clip_on": False, "zorder": 4}
        axis.scatter([value], [error], s=RING + area, label=label, **ring)


def _label(method: str, methods: Mapping[str, Mapping], kernel: str) -> str:
    label = method_label(method, methods)
    return label if kernel == NO_KERNEL else f"{label} ({kernel})"


def fits_in_words(trees: Mapping[str, Sequence[Mapping]]) -> str:
    """Return training rows, splits, what bars and what rings are, for the title of the figure."""
    n_splits = max(len(found) for found in trees.values())
    size = max(int(item["training_size"]) for found in trees.values() for item in found)
    return (
        f"{count_of(size, 'training row')}, {count_of(n_splits, 'split')}, mean {PLUS_MINUS} "
        "standard deviation\nRings: selected values, larger in more splits"
    )
