"""Validation curves: the cross-validated error against each hyper-parameter of a grid.

A curve holds, for every value of one hyper-parameter, the lowest error of the grid points that have
this value: the error minimised over the others. It costs nothing to fit, because selection computes
these errors anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.fitting.input_kernels import InputKernel

ENTRY = "validation_curves"
"""The name of the curves in an item of the "regression" artifact."""

CHOSEN = "chosen"
"""The group of the chosen values, beside those of the kernels."""

# Dividing by the unit of a kernel must give the same penalty in every split.
_DIGITS = 12


class _Column(NamedTuple):
    kernel: InputKernel
    n_components: int | None
    points: Sequence[tuple[float, float, float]]
    scores: np.ndarray


class ValidationCurves:
    """The grid points of a selection and their errors, and the curves made of them.

    Parameters
    ----------
    unit : function of an `InputKernel`
        By what the penalties of a kernel are divided, so that those of different widths, and of
        different splits, are values of one grid; see `workflow_lib.fitting.input_kernels`.
    count_of : function
        Returns the number of components, or None, of a key of the selection.
    """

    def __init__(
        self,
        unit: Callable[[InputKernel], float],
        count_of: Callable[[Hashable], int | None],
    ) -> None:
        self._unit, self._count_of = unit, count_of
        self._columns: list[_Column] = []

    def add(
        self,
        kernel: InputKernel,
        key: Hashable,
        points: Sequence[tuple[float, float, float]],
        scores: np.ndarray,
    ) -> None:
        """Keep the errors (p,) of the points of `workflow_lib.fitting.selection.grid_points`."""
        self._columns.append(_Column(kernel, self._count_of(key), points, scores))

    def tree(self, choices: Iterable) -> dict:
        """Return the curves and the values of the choices, as a tree for an artifact.

        For each kernel by its name a group with an array (k, 2) for each hyper-parameter with two
        values at least: the values in ascending order, each with the lowest finite error of the
        points that have it. They are ``alpha_rest``, ``alpha_leading`` where it is a penalty of its
        own, ``weak_weight``, ``width`` and ``n_components``. Penalties are divided by the unit of
        their kernel and may be infinite. In a grid that was extended, the added values of one
        hyper-parameter are minimised over that part of the grid which was computed with them.

        The group `CHOSEN` holds, for each kernel that was chosen, the values (c,) of the choices of
        it. The tree is empty where nothing was chosen from several values.

        Parameters
        ----------
        choices : iterable of `workflow_lib.fitting.selection.Choice`
        """
        found: dict[str, dict[str, dict[float, float]]] = {}
        for column in self._columns:
            curves = found.setdefault(column.kernel.name, {})
            for name, lowest in self._of_column(column).items():
                curve = curves.setdefault(name, {})
                for value, error in lowest.items():
                    curve[value] = min(error, curve.get(value, math.inf))
        for curves in found.values():
            # With one penalty for all blocks the two curves are one.
            if curves.get("alpha_leading") == curves.get("alpha_rest"):
                curves.pop("alpha_leading", None)
        tree: dict = {
            kernel: {
                name: np.array(sorted(curve.items()))
                for name, curve in curves.items()
                if len(curve) > 1
            }
            for kernel, curves in found.items()
        }
        tree = {kernel: curves for kernel, curves in tree.items() if curves}
        chosen: dict[str, dict[str, list]] = {}
        for choice in choices:
            of_kernel = chosen.setdefault(choice.kernel.name, {})
            for name, value in self._values_of(choice).items():
                if name in tree.get(choice.kernel.name, ()):
                    of_kernel.setdefault(name, []).append(value)
        values = {
            kernel: {name: np.array(found) for name, found in of_kernel.items()}
            for kernel, of_kernel in chosen.items()
        }
        return tree | {CHOSEN: values} if tree else {}

    def _of_column(self, column: _Column) -> dict[str, dict[float, float]]:
        """Return the lowest error of each value in a column of the grid, by hyper-parameter."""
        curves: tuple[dict[float, float], ...] = ({}, {}, {})
        scores = column.scores.tolist()
        for point, score in zip(column.points, scores, strict=True):
            for curve, value in zip(curves, point):
                # A score that is not a number is lower than none.
                if value == value and score < curve.get(value, math.inf):
                    curve[value] = score
        unit = self._unit(column.kernel)
        leading, rest, weights = curves
        found = {
            "alpha_leading": {self._rounded(a / unit): error for a, error in leading.items()},
            "alpha_rest": {self._rounded(a / unit): error for a, error in rest.items()},
            "weak_weight": weights,
        }
        lowest = min(rest.values(), default=math.inf)
        if lowest < math.inf:
            if column.kernel.width is not None:
                found["width"] = {column.kernel.width: lowest}
            if column.n_components is not None:
                found["n_components"] = {float(column.n_components): lowest}
        return {name: curve for name, curve in found.items() if curve}

    def _values_of(self, choice) -> dict[str, float]:
        """Return the chosen values that are numbers, in the units of the curves."""
        unit = self._unit(choice.kernel)
        values = {
            "alpha_leading": self._rounded(choice.alpha_leading / unit),
            "alpha_rest": self._rounded(choice.alpha_rest / unit),
            "weak_weight": choice.weak_weight,
            "width": choice.kernel.width,
            "n_components": choice.n_components,
        }
        return {n: float(v) for n, v in values.items() if v is not None and v == v}

    @staticmethod
    def _rounded(value: float) -> float:
        return float(f"{value:.{_DIGITS}g}")
