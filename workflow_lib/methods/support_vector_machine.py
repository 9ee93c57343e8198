"""Support vector machines: one for each class, against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workflow_lib.fitting.class_selection import scaled_squared_error, squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.point_selection import KernelFold, Point, chosen_gram, select_with_kernels
from workflow_lib.methods.contract import base

REGRESSORS = ("support_vector_machine",)
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the kernel width and the cost of a violated margin, and fit the machines.

    The scores are decision functions; the grid point is that with the least `squared_error` of
    those of held-out rows, in units in which the margins are 0 and 1. Where kernels compete it is
    that with the least `scaled_squared_error`: the margins of a machine of low cost are wide, and
    an error in units of them would choose a cost that is too low.
    """

    kernel: str
    """That of the inputs. Only ``rbf`` has widths."""

    grid: Mapping[str, Sequence[float]]
    """Lists ``width`` and ``cost``."""

    one_example: Mapping[str, float]
    """One value of each with one example per class; the first of its list where one is missing."""

    kernels: Sequence[str] | None = None
    """Those that compete; None for `kernel` alone."""

    def select(self, data: FitData) -> base.Selection:
        error_of = scaled_squared_error if self.kernels else _error_of_margins
        return select_with_kernels(data, self, _of_fold, partial(error_of, labels=data.labels))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        kernel, K, unit = chosen_gram(data, self, selection.entries)
        cost = selection.entries["cost"] / unit
        return Fitted(_machines(data, K, data.labels, cost), kernel)


class Fitted(base.Fitted):
    """Machines, and the kernel of their inputs."""

    def __init__(self, machines: Any, kernel: InputKernel) -> None:
        self._machines, self._kernel = machines, kernel

    def predict(self, rows):
        return self._machines.scores(rows.test_gram(*self._kernel))

    def to_arrays(self):
        machines = self._machines
        arrays = {"dual_coefficients": machines.dual, "intercept": machines.intercept}
        return arrays | {"known": machines.known} | kernel_arrays(self._kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        from workflow_lib.solvers.machines import SupportVectorMachines

        fitted = arrays["dual_coefficients"], arrays["intercept"], arrays["known"]
        return cls(SupportVectorMachines(*fitted), kernel_in(arrays)[0])


def _error_of_margins(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the `squared_error` in units in which the margins are 0 and 1. A row at its margin has
    the value 1 for its own class and -1 for the others."""
    return squared_error((scores + 1.0) / 2.0, labels)


def _of_fold(fold: KernelFold) -> Iterator[Point]:
    for cost in fold.grid["cost"]:
        machines = _machines(fold.data, fold.gram, fold.labels, cost / fold.unit)
        yield {"cost": cost}, machines.scores(fold.heldout_gram)


def _machines(data: FitData, K: np.ndarray, labels: np.ndarray, cost: float):
    from workflow_lib.solvers.classifiers import fit_support_vector_machines

    return fit_support_vector_machines(K, labels, data.n_classes, cost)
