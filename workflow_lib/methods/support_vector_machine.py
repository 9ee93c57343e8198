"""Support vector machines: one for each class, against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from workflow_lib.config.method_file import MachineMethod
from workflow_lib.fitting.class_selection import (
    scaled_squared_error,
    selected_point,
    single_values,
    squared_error,
)
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid, kernel_without_selection
from workflow_lib.methods import base

REGRESSORS = ("support_vector_machine",)
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


class Parameters(MachineMethod):
    """Support vector machines."""

    regressor: Literal["support_vector_machine"]
    """`support_vector_machine`: one for each class, against the rest."""


@dataclass
class Method(base.Method):
    """Select the kernel width and the cost of a violated margin, and fit the machines.

    The scores are decision functions; the grid point is that with the least `squared_error` of
    those of held-out rows, in units in which the margins are 0 and 1. Where kernels compete it is
    that with the least `scaled_squared_error`: the margins of a machine of low cost are wide, and
    an error in units of them would choose a cost that is too low.

    With one example per class a held-out class has no example left, and nothing can be selected:
    `one_example` is used instead, and the item has no score.

    Attributes
    ----------
    kernel : str
        That of the inputs. Only ``rbf`` has widths.
    grid : mapping
        Lists ``width`` and ``cost``.
    one_example : mapping
        One value of each with one example per class; the first of its list where one is missing.
    kernels : sequence of str or None
        Those that compete; None for `kernel` alone.
    """

    kernel: str
    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        has_one = data.has_one_example
        grid = single_values(self.grid, self.one_example) if has_one else self.grid
        names = self.kernels or [self.kernel]
        if has_one:
            names = [kernel_without_selection(names)]
        tried = self._heldout_scores(data, grid, names)
        # A row at its margin has the value 1 for its own class and -1 for the others.
        error_of = scaled_squared_error if self.kernels else _error_of_margins
        entries, heldout = selected_point(tried, data.labels, error_of, self.kernel)
        return base.Selection(heldout, entries | ({"score": None} if has_one else {}))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel = InputKernel(chosen.get("kernel", self.kernel), chosen.get("width"))
        K = data.inputs.training_gram(*kernel)
        cost = chosen["cost"] / self._kernel_grid(data, [kernel.name], ()).unit(kernel)
        return Fitted(_machines(data, K, data.labels, cost), kernel)

    def _kernel_grid(self, data: FitData, names: Sequence[str], widths) -> KernelGrid:
        """Return kernels whose unit divides the costs."""
        return KernelGrid(names, widths, (), data.inputs.n_columns, bool(self.kernels))

    def _heldout_scores(
        self, data: FitData, grid: Mapping[str, Sequence[float]], names: Sequence[str]
    ) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        """Yield each grid point with the class scores (n, K) of the training rows held out."""
        kernels = self._kernel_grid(data, names, grid["width"])
        for kernel in kernels.kernels():
            named = {"kernel": kernel.name} if self.kernels else {}
            grams = list(data.inputs.shared_fold_grams(*kernel))
            for cost in grid["cost"]:
                scores = np.empty((data.size, data.n_classes))
                for fold, (K, K_heldout) in enumerate(grams):
                    labels = data.labels[data.folds != fold]
                    machines = _machines(data, K, labels, cost / kernels.unit(kernel))
                    scores[data.folds == fold] = machines.scores(K_heldout)
                yield named | {"width": kernel.width, "cost": cost}, scores


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
        from workflow_lib.baselines.machines import SupportVectorMachines

        fitted = arrays["dual_coefficients"], arrays["intercept"], arrays["known"]
        return cls(SupportVectorMachines(*fitted), kernel_in(arrays)[0])


def _error_of_margins(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the `squared_error` in units in which the margins are 0 and 1."""
    return squared_error((scores + 1.0) / 2.0, labels)


def _machines(data: FitData, K: np.ndarray, labels: np.ndarray, cost: float):
    from workflow_lib.baselines.classifiers import fit_support_vector_machines

    return fit_support_vector_machines(K, labels, data.n_classes, cost)
