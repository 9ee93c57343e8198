"""Validation curves: the cross-validated error against each hyper-parameter of a grid.

A curve holds, for every value of one hyper-parameter, the lowest error of the grid points that have
this value: the error minimised over the others. It costs nothing to fit, because selection computes
these errors anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.fitting.input_kernels import InputKernel

ENTRY = "validation_curves"
"""The name of the curves in an item of the "regression" artifact."""

CHOSEN = "chosen"
"""The group of the chosen values, beside those of the kernels."""

USED_INPUTS = "used_inputs"
"""The group of the numbers of inputs that linear fits use, beside those of the kernels."""

ERROR_RATES = "error_rates"
"""The group of the shares of held-out rows whose class is wrong, beside those of the kernels."""

NO_KERNEL = "no kernel"
"""The group of the curves of a method without a kernel on the inputs."""

# Dividing by the unit of a kernel must give the same penalty in every split.
_DIGITS = 12


class GridErrors:
    """The lowest error of each value of each hyper-parameter, by the kernel.

    Values that are no finite numbers, such as names and infinite penalties, have no place on an
    axis, and are left out.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, dict[float, float]]] = {}
        self._beside: dict[str, dict[str, dict[str, dict[float, float]]]] = {}

    def add(self, kernel: str, axes: Mapping[str, Sequence], errors, **beside) -> None:
        """Add the errors of all combinations of values; those that are not finite are left out.

        Parameters
        ----------
        kernel : str
            Name of the kernel, or `NO_KERNEL`.
        axes : mapping
            The values of each hyper-parameter, in the order of the axes of the errors.
        errors : float or array
            With as many entries as there are combinations, the last hyper-parameter fastest.
        **beside : float or array, or None
            As many other numbers, kept for the lowest error of each value: `USED_INPUTS`, numbers
            of inputs that a linear fit uses, its coefficients of others being zero, or
            `ERROR_RATES` of classes. None (or left out): there are none.
        """
        errors = np.reshape(errors, [len(values) for values in axes.values()])
        errors = np.where(np.isfinite(errors), errors, np.inf)
        for index, (name, values) in enumerate(axes.items()):
            others = tuple(axis for axis in range(errors.ndim) if axis != index)
            lowest = zip(values, errors.min(axis=others).tolist(), strict=True)
            kept = {float(value): error for value, error in lowest if is_on_axis(value)}
            for group, numbers in beside.items():
                if numbers is not None:
                    self._add_beside(group, kernel, name, axes, index, errors, numbers)
            self.lower(kernel, name, kept, kept.values())

    def _add_beside(self, group, kernel, name, axes, index, errors, numbers) -> None:
        """Keep the numbers of a group where an error is lower than the one known."""
        numbers = np.reshape(numbers, errors.shape)
        by_value = (
            np.moveaxis(each, index, 0).reshape(errors.shape[index], -1)
            for each in (errors, numbers)
        )
        known = self._found.get(kernel, {}).get(name, {})
        curve = self._beside.setdefault(group, {}).setdefault(kernel, {}).setdefault(name, {})
        for value, of_value, candidates in zip(axes[name], *by_value, strict=True):
            if is_on_axis(value) and of_value.min() < known.get(float(value), math.inf):
                curve[float(value)] = float(candidates[of_value.argmin()])

    def lower(
        self, kernel: str, name: str, values: Iterable[float], errors: Iterable[float]
    ) -> None:
        """Add errors of the finite values of a hyper-parameter, where lower than known ones."""
        curve = self._found.setdefault(kernel, {}).setdefault(name, {})
        for value, error in zip(values, errors, strict=True):
            if value < math.inf and error < curve.get(value, math.inf):
                curve[value] = error

    def tree(self, chosen: Iterable[tuple[str, Mapping[str, Any]]]) -> dict:
        """Return the curves and the chosen values, as a tree for an artifact.

        For each kernel by its name a group with an array (k, 2) for each hyper-parameter with two
        values at least: the values in ascending order, each with its error. The group `CHOSEN`
        holds, for each kernel that was chosen, the values (c,) of the choices of it, and the groups
        `USED_INPUTS` and `ERROR_RATES` arrays (k, 2) of values and such numbers, where fits have
        them. The tree is empty where nothing was chosen from several values.

        Parameters
        ----------
        chosen : iterable of (kernel, mapping)
            The hyper-parameters of each choice by name; others than those with a curve may be in
            the mapping.
        """
        tree: dict = {
            kernel: {
                name: np.array(sorted(curve.items()))
                for name, curve in curves.items()
                if len(curve) > 1
            }
            for kernel, curves in self._found.items()
        }
        tree = {kernel: curves for kernel, curves in tree.items() if curves}
        of_choices: dict[str, dict[str, list]] = {}
        for kernel, values in chosen:
            of_kernel = of_choices.setdefault(kernel, {})
            for name in tree.get(kernel, ()):
                if is_on_axis(values.get(name)):
                    of_kernel.setdefault(name, []).append(float(values[name]))
        arrays = {
            kernel: {name: np.array(values) for name, values in of_kernel.items()}
            for kernel, of_kernel in of_choices.items()
        }
        return tree | {CHOSEN: arrays} | self._tree_beside(tree) if tree else {}

    def _tree_beside(self, tree: Mapping) -> dict:
        """Return the other numbers of the hyper-parameters with a curve, by group."""
        found: dict = {}
        for group, kernels in self._beside.items():
            for kernel, of_kernel in kernels.items():
                for name, numbers in of_kernel.items():
                    if name in tree.get(kernel, ()):
                        pairs = np.array(sorted(numbers.items()))
                        found.setdefault(group, {}).setdefault(kernel, {})[name] = pairs
        return found

    def entry(self, kernel: str, chosen: Mapping[str, Any]) -> dict[str, dict | None]:
        """Return the tree with one choice, None for an empty one, under its name in an item."""
        return {ENTRY: self.tree([(kernel, chosen)]) or None}


class KernelErrors(GridErrors):
    """Of the grid points of kernels on the inputs with one penalty.

    Parameters
    ----------
    unit : function of an `InputKernel`, optional
        By what the penalties of a kernel are divided, so that those of different widths are values
        of one grid; 1 by default.
    """

    def __init__(self, unit: Callable[[InputKernel], float] = lambda _: 1.0) -> None:
        super().__init__()
        self._unit = unit

    def add_penalties(
        self,
        kernel: InputKernel,
        axes: Mapping[str, Sequence],
        alphas: Sequence[float],
        errors,
        **beside,
    ) -> None:
        """As `add`, of all combinations of other values and of penalties, the last fastest."""
        width = {"width": [kernel.width]}
        penalties = {"alpha_rest": rounded(np.array(alphas) / self._unit(kernel)).tolist()}
        self.add(kernel.name, {**width, **axes, **penalties}, errors, **beside)

    def entry_of(
        self, kernel: InputKernel, alpha: float | None, others: Mapping[str, Any]
    ) -> dict[str, dict | None]:
        """As `entry`, of a chosen kernel, penalty and other values."""
        chosen = {"width": kernel.width, **others}
        if alpha is not None:
            chosen["alpha_rest"] = float(rounded(np.array(alpha / self._unit(kernel))))
        return self.entry(kernel.name, chosen)


def is_on_axis(value: Any) -> bool:
    """Return whether a value of a hyper-parameter is a finite number."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


def chosen_error_rate(tree: Mapping) -> float | None:
    """Return the error rate of the chosen grid point of a tree with one choice, None without."""
    for kernel, rates in tree.get(ERROR_RATES, {}).items():
        for name, values in tree[CHOSEN].get(kernel, {}).items():
            if name in rates:
                return dict(rates[name].tolist())[float(values[0])]
    return None


def joined_curves(tree: Mapping, further: GridErrors, chosen: Mapping[str, Any]) -> dict:
    """Return a tree of curves with those, under `NO_KERNEL`, of what was chosen around it.

    They join the curves of every kernel that was chosen, or stand alone where there are none.
    """
    own = further.tree([(NO_KERNEL, chosen)])
    if not own or not tree:
        return own or dict(tree)
    kernels = {kernel: {**tree.get(kernel, {}), **own[NO_KERNEL]} for kernel in tree[CHOSEN]}
    joined = {**tree, **kernels}
    for group in (group for group in own if group != NO_KERNEL):
        joined[group] = {
            kernel: {**tree.get(group, {}).get(kernel, {}), **own[group][NO_KERNEL]}
            for kernel in tree[CHOSEN]
        }
    return joined


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
    """

    def __init__(self, unit: Callable[[InputKernel], float]) -> None:
        self._unit = unit
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

        `key`, one of the selection, is a number of components, or None, or has ``n_components``.
        `alphas` and `weights` are the penalties and the weights of weak rows that these are made
        of, the second one NaN without weak rows; p is the product of their numbers, times that of
        penalties where leading blocks have a penalty of their own.
        """
        count = getattr(key, "n_components", key)
        self._columns.append(_Column(kernel, count, alphas, weights, scores))

    def tree(self, choices: Iterable) -> dict:
        """Return the curves and the values of the choices, as `GridErrors.tree`.

        They are ``alpha_rest``, ``alpha_leading`` where it is a penalty of its own,
        ``weak_weight``, ``width`` and ``n_components``. Penalties are divided by the unit of
        their kernel. In a grid that was extended, the added values of one hyper-parameter are
        minimised over that part of the grid which was computed with them.

        Parameters
        ----------
        choices : iterable of `workflow_lib.fitting.selection.Choice`
        """
        found = GridErrors()
        groups: dict[tuple, list[_Column]] = {}
        for column in self._columns:
            shape = len(column.alphas), len(column.weights), len(column.scores)
            groups.setdefault((column.kernel.name, *shape), []).append(column)
        for columns in groups.values():
            self._add_lowest(found, columns)
        return found.tree((choice.kernel.name, self._values_of(choice)) for choice in choices)

    def _add_lowest(self, curves: GridErrors, columns: Sequence[_Column]) -> None:
        """Add the lowest errors of columns of one kernel with equally many points."""
        kernel = columns[0].kernel.name
        alphas, weights = columns[0].alphas, columns[0].weights
        shape = len(columns), len(alphas), len(weights), -1
        scores = np.array([column.scores for column in columns]).reshape(shape)
        scores[~np.isfinite(scores)] = np.inf
        units = np.array([self._unit(column.kernel) for column in columns])
        penalties = rounded(np.array([column.alphas for column in columns]) / units[:, None])
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
                curves.lower(kernel, name, values, of_column)
        if weights[0] == weights[0]:
            curves.lower(kernel, "weak_weight", weights, by_weight.min(axis=(0, 1)).tolist())
        for name, values in (
            ("width", [column.kernel.width for column in columns]),
            ("n_components", [column.n_components for column in columns]),
        ):
            if None not in values:
                curves.lower(kernel, name, map(float, values), lowest)

    def _values_of(self, choice) -> dict[str, Any]:
        """Return the chosen values, in the units of the curves."""
        penalties = np.array([choice.alpha_leading, choice.alpha_rest]) / self._unit(choice.kernel)
        leading, rest = rounded(penalties).tolist()
        return {
            "alpha_leading": leading,
            "alpha_rest": rest,
            "weak_weight": choice.weak_weight,
            "width": choice.kernel.width,
            "n_components": choice.n_components,
        }


def rounded(values: np.ndarray) -> np.ndarray:
    """Return positive numbers with `_DIGITS` significant digits; others as they are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(values)))
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
