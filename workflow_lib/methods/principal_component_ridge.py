"""Kernel ridge regression with a penalty per principal component of the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.grid_choice import GridChoice
from workflow_lib.fitting.input_kernels import Grid, KernelGrid
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.solvers.principal_components import (
    fit_component_ridge,
    select_component_penalties,
)

REGRESSORS = ("principal_component_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 14, "cubic_minutes": 0.2}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select a kernel and the penalty of each output component; see
    `workflow_lib.solvers.principal_components`.

    Attributes
    ----------
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`.
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
        By which the kernel is selected; components are by their squared errors.
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    center: bool
    metric: str
    kernels: Sequence[str] | None = None

    not_finite = ("component_alphas",)

    def select(self, data: FitData) -> base.Selection:
        grid = KernelGrid.of_method(
            self.kernel, self.kernels, self.widths, self.alphas, data.inputs
        )
        curves = KernelErrors(grid.unit)
        choice, edges = grid.search_one(
            lambda part: self._best(data, part, curves), extends=bool(self.kernels)
        )
        entries = {
            "score": choice.score,
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "edges": edges or None,
        }
        # Every component has a penalty of its own, so that none has a curve.
        entries |= curves.entry_of(choice.kernel, None, {})
        return base.Selection(choice.heldout_outputs, entries, fitting=choice)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        choice = selection.fitting
        K = data.inputs.training_gram(*choice.kernel)
        dual, intercept, alphas = fit_component_ridge(
            K, data.targets(), choice.settings["alphas"], self.center
        )
        return Fitted(dual, intercept, choice.kernel, 0, {"component_alphas": alphas})

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _best(self, data: FitData, grid: Grid, curves: KernelErrors) -> GridChoice:
        """Return the kernel with the lowest error, and its penalties. Under each kernel every
        component has the penalty with the least squared error, whatever the metric: only squared
        errors separate over components. All errors are added to `curves`."""
        outputs, folds = data.outputs, data.folds
        outputs_by_fold = [data.targets(fold) for fold in data.fold_numbers]
        best = None
        for kernel, alphas in grid.items():
            solver = data.inputs.heldout_solver(*kernel, self.center)
            chosen, heldout = select_component_penalties(outputs_by_fold, solver, alphas, MIN_GAIN)
            score = heldout_error(outputs, heldout, folds, self.metric)
            curves.add(kernel.name, {"width": [kernel.width]}, score)
            if best is None or score < best.score * (1.0 - MIN_GAIN):
                # No single penalty lies on an edge.
                best = GridChoice(kernel, np.nan, {"alphas": chosen}, (0, 0), score, heldout)
        return best
