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
    """The errors of one kernel and number of components."""

    kernel: InputKernel
    n_components: int | None
    alphas: Sequence[float]
    weights: Sequence[float]
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
        alphas: Sequence[float],
        weights: Sequence[float],
        scores: np.ndarray,
    ) -> None:
        """Keep the errors (p,) of the points of `workflow_lib.fitting.selection.grid_points`.

        `alphas` and `weights` are the penalties and the weights of weak rows that these are made
        of, the second one NaN without weak rows; p is the product of their numbers, times that of
        penalties where leading blocks have a penalty of their own.
        """
        self._columns.append(_Column(kernel, self._count_of(key), alphas, weights, scores))

    def tree(self, choices: Iterable) -> dict:
        """Return the curves and the values of the choices, as a tree for an artifact.

        For each kernel by its name a group with an array (k, 2) for each hyper-parameter with two
        values at least: the values in ascending order, each with the lowest finite error of the
        points that have it. They are ``alpha_rest``, ``alpha_leading`` where it is a penalty of its
        own, ``weak_weight``, ``width`` and ``n_components``. Penalties are divided by the unit of
        their kernel, and infinite ones, which have no place on an axis, are left out. In a grid
        that was extended, the added values of one hyper-parameter are minimised over that part of
        the grid which was computed with them.

        The group `CHOSEN` holds, for each kernel that was chosen, the values (c,) of the choices of
        it. The tree is empty where nothing was chosen from several values.

        Parameters
        ----------
        choices : iterable of `workflow_lib.fitting.selection.Choice`
        """
        found: dict[str, dict[str, dict[float, float]]] = {}
        groups: dict[tuple, list[_Column]] = {}
        for column in self._columns:
            shape = len(column.alphas), len(column.weights), len(column.scores)
            groups.setdefault((column.kernel.name, *shape), []).append(column)
        for (kernel, *_), columns in groups.items():
            self._add_lowest(found.setdefault(kernel, {}), columns)
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

    def _add_lowest(
        self, curves: dict[str, dict[float, float]], columns: Sequence[_Column]
    ) -> None:
        """Add the lowest errors of columns of one kernel with equally many points to its curves."""
        alphas, weights = columns[0].alphas, columns[0].weights
        shape = len(columns), len(alphas), len(weights), -1
        scores = np.array([column.scores for column in columns]).reshape(shape)
        scores[~np.isfinite(scores)] = np.inf
        units = np.array([self._unit(column.kernel) for column in columns])
        penalties = _rounded(np.array([column.alphas for column in columns]) / units[:, None])
        by_weight = scores.min(axis=3)
        # Without a penalty of their own for leading blocks, the first axis is that of all.
        found = {"alpha_rest": by_weight.min(axis=2)}
        if scores.shape[3] > 1:
            found = {"alpha_leading": found["alpha_rest"], "alpha_rest": scores.min(axis=(1, 2))}
        lowest = found["alpha_rest"].min(axis=1).tolist()
        if (penalties == penalties[0]).all():
            # Nearly always: penalties are then added once instead of for each column.
            found = {name: errors.min(axis=0, keepdims=True) for name, errors in found.items()}
            penalties = penalties[:1]
        for name, errors in found.items():
            for values, of_column in zip(penalties.tolist(), errors.tolist()):
                _lower(curves, name, values, of_column)
        if weights[0] == weights[0]:
            _lower(curves, "weak_weight", weights, by_weight.min(axis=(0, 1)).tolist())
        for name, values in (
            ("width", [column.kernel.width for column in columns]),
            ("n_components", [column.n_components for column in columns]),
        ):
            if None not in values:
                _lower(curves, name, map(float, values), lowest)

    def _values_of(self, choice) -> dict[str, float]:
        """Return the chosen values that are finite numbers, in the units of the curves."""
        penalties = np.array([choice.alpha_leading, choice.alpha_rest]) / self._unit(choice.kernel)
        leading, rest = _rounded(penalties).tolist()
        values = {
            "alpha_leading": leading,
            "alpha_rest": rest,
            "weak_weight": choice.weak_weight,
            "width": choice.kernel.width,
            "n_components": choice.n_components,
        }
        return {n: float(v) for n, v in values.items() if v is not None and v < math.inf}


def _lower(
    curves: dict[str, dict[float, float]],
    name: str,
    values: Iterable[float],
    errors: Iterable[float],
) -> None:
    """Add errors of finite values to a curve, where they are finite and lower than its own."""
    curve = curves.setdefault(name, {})
    for value, error in zip(values, errors, strict=True):
        if value < math.inf and error < curve.get(value, math.inf):
            curve[value] = error


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return positive numbers with `_DIGITS` significant digits; others as they are."""
    with np.errstate(invalid="ignore"):
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(values)))
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
