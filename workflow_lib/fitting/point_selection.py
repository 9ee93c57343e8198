"""Grid points of a method, tried on the folds, and the selection of that with the least error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.fitting.class_selection import error_rate
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted import Selection
from workflow_lib.fitting.input_kernels import (
    InputKernel,
    KernelGrid,
    alpha_unit,
    kernel_without_selection,
)
from workflow_lib.fitting.validation_curves import NO_KERNEL, GridErrors
from workflow_lib.measures.metrics import MIN_GAIN

Point = tuple[dict[str, Any], np.ndarray]
"""A grid point, and what it predicts for rows without their fold: outputs, or scores of classes."""


def select_point(
    data: FitData,
    grid: Mapping[str, Any],
    one_example: Mapping[str, Any],
    tried: Callable[[Mapping[str, Any]], Iterable[Point]],
    error_of: Callable[[np.ndarray], float],
    kernel: str = NO_KERNEL,
) -> Selection:
    """Return the selection of the grid point with the least error, the first of equal ones.

    With one example per class a held-out class has no example left, and nothing can be selected:
    the `single_values` are used instead, and the item has no score.

    Parameters
    ----------
    data : FitData
    grid, one_example : mapping
        The values that compete, as lists, and those with one example per class.
    tried : function of a grid
        Yields its points, each with the predictions (n, ...) of the training rows.
    error_of : function
        Returns the error of such predictions.
    kernel : str, optional
        The kernel on the inputs of points that do not name one, as ``kernel``.
    """
    has_one = data.has_one_example
    best, best_error, curves = None, np.inf, GridErrors()
    for point, heldout in tried(single_values(grid, one_example) if has_one else grid):
        error = error_of(heldout)
        rates = error_rate(heldout, data.labels) if data.has_classes else None
        axes = {name: [value] for name, value in point.items()}
        curves.add(point.get("kernel", kernel), axes, error, error_rates=rates)
        # Points that are equal by algebra differ by rounding.
        if best is None or error < best_error * (1.0 - MIN_GAIN):
            best, best_error = (point, heldout), error
    point, heldout = best
    chosen = curves.entry(point.get("kernel", kernel), point)
    return Selection(heldout, {"score": None if has_one else best_error} | point | chosen)


def single_values(grid: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grid with one value instead of each list that is not empty.

    That of `fixed`, or the first; of ``kernel`` the first that is not linear.
    """
    single = dict(grid)
    for name, values in grid.items():
        if isinstance(values, list | tuple) and values:
            first = kernel_without_selection(values) if name == "kernel" else values[0]
            single[name] = [fixed.get(name, first)]
    return single


class KernelFold(NamedTuple):
    """A fold under a kernel on the inputs."""

    data: FitData
    grid: Mapping[str, Any]
    """The values that compete, besides kernels and their widths."""

    number: int
    gram: np.ndarray
    """Of the training rows of the fold (l, l); may be overwritten."""

    heldout_gram: np.ndarray
    """Of the other rows against them (h, l)."""

    unit: float
    """By what costs are divided: the size of the kernel where kernels compete, else 1."""

    @property
    def labels(self) -> np.ndarray:
        """Classes (l,) of the training rows of the fold."""
        return self.data.labels[self.data.folds != self.number]


OfFold = Callable[[KernelFold], Iterable[Point]]
"""Yields the grid points but for the kernel and its width, in the same order in all folds, each
with the predictions (h, ...) of the rows held out."""


def select_with_kernels(
    data: FitData,
    method: Any,
    of_fold: OfFold,
    error_of: Callable[[np.ndarray], float],
    shared: bool = True,
) -> Selection:
    """Return the selection of a method with a kernel on the inputs, as `select_point`.

    It has the fields ``grid``, ``one_example``, ``kernel``, that of the experiment, and
    ``kernels``, those that compete, or None for `kernel` alone, which points then do not name.
    With `shared`, folds take their Gram matrices from one if possible, which is faster; they
    differ from their own by rounding.
    """
    grid = {**method.grid, "kernel": list(method.kernels or [method.kernel])}
    tried = partial(_points_of_kernels, data, method, of_fold, shared)
    return select_point(data, grid, method.one_example, tried, error_of, method.kernel)


def _points_of_kernels(
    data: FitData, method: Any, of_fold: OfFold, shared: bool, grid: Mapping[str, Any]
) -> Iterator[Point]:
    grams_of = data.inputs.shared_fold_grams if shared else data.inputs.fold_grams
    for kernel in KernelGrid(grid["kernel"], grid.get("width", ()), ()).kernels():
        named = {"kernel": kernel.name} if method.kernels else {}
        unit = _unit(data, method, kernel)
        points: list[Point] = []
        for fold, grams in enumerate(grams_of(*kernel)):
            found = of_fold(KernelFold(data, grid, fold, *grams, unit))
            for index, (point, predicted) in enumerate(found):
                if fold == 0:
                    heldout = np.empty((data.size, *predicted.shape[1:]))
                    points.append((named | {"width": kernel.width} | point, heldout))
                points[index][1][data.folds == fold] = predicted
        yield from points


def chosen_gram(
    data: FitData, method: Any, point: Mapping[str, Any]
) -> tuple[InputKernel, np.ndarray, float]:
    """Return the kernel of a grid point, the Gram matrix (n, n), and the unit of `KernelFold`."""
    kernel = InputKernel(point.get("kernel", method.kernel), point.get("width"))
    return kernel, data.inputs.training_gram(*kernel), _unit(data, method, kernel)


def _unit(data: FitData, method: Any, kernel: InputKernel) -> float:
    return alpha_unit(kernel, data.inputs.n_columns) if method.kernels else 1.0
