"""Kernel ridge regression with fitted values of reduced rank, or with a joint kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.grid_choice import GridChoice, GridComparison
from workflow_lib.fitting.input_kernels import Grid, KernelGrid
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import sum_of_observed
from workflow_lib.methods.contract import base
from workflow_lib.models.output_scaling import OutputScaling, fit_output_scaling
from workflow_lib.papers.blaschko.coupled_outputs import (
    Filter,
    SpectralRidge,
    fitted_ranks,
    joint_kernels,
)

REGRESSORS = ("fitted_rank_ridge", "joint_kernel_ridge")
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 20, "cubic_minutes": 0.8}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select a kernel, a penalty and a rank or share; see
    `workflow_lib.papers.blaschko.coupled_outputs`.

    A missing training output takes the mean of that output over the rows of the fit; errors
    count the observed outputs only.

    `kernel`, `kernels`, `widths` and `alphas` are those of
    `workflow_lib.fitting.input_kernels.KernelGrid.of_method`, `grid` has ``rank`` or ``coupling``,
    and `center` fits an unpenalised intercept.
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    grid: Mapping[str, Sequence]
    regressor: str
    dependence: str
    center: bool
    metric: str
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        grid = KernelGrid.of_method(
            self.kernel, self.kernels, self.widths, self.alphas, data.inputs
        )
        folds = [
            self._coupled(data.targets(fold)[data.folds != fold], self.grid[self._key])
            for fold in data.fold_numbers
        ]
        curves = KernelErrors(grid.unit)
        choice, edges = grid.search_one(
            lambda part: self._best(data, folds, part, curves), extends=bool(self.kernels)
        )
        entries = {
            "score": choice.score,
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "edges": edges or None,
            "alpha_rest": choice.alpha_rest,
            **choice.settings,
        }
        entries |= curves.entry_of(choice.kernel, choice.alpha_rest, entries)
        return base.Selection(choice.heldout_outputs, entries, fitting=choice)

    def _best(
        self, data: FitData, learned: Sequence[tuple], grid: Grid, curves: KernelErrors
    ) -> GridChoice:
        """Return the grid point with the lowest error, from what each fold learns from its rows. Of
        equal points the first is kept, so the smallest of equal ranks or shares. All errors are
        added to `curves`; missing outputs count nowhere."""
        outputs, folds, candidates = data.outputs, data.folds, {self._key: self.grid[self._key]}
        comparison = GridComparison(outputs, folds, self.metric, curves)
        best = None
        for kernel, alphas in grid.items():
            predictions, errors = [], 0.0
            for number, (K, K_heldout) in enumerate(data.inputs.fold_grams(*kernel)):
                scaling, targets, couple = learned[number]
                predicted = SpectralRidge(K, targets, self.center).predict(
                    K_heldout, alphas, couple
                )
                predictions.append(scaling.inverse_transform(predicted))
                residuals = outputs[folds == number] - predictions[-1]
                errors = errors + sum_of_observed(residuals**2)
            found = comparison.best_of(kernel, candidates, alphas, errors)
            if found:
                heldout = np.empty_like(outputs)
                for number, predicted in enumerate(predictions):
                    heldout[folds == number] = predicted[found.index]
                best = replace(found, heldout_outputs=heldout)
        return best

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        choice = selection.fitting
        scaling, targets, couple = self._coupled(data.targets(), [selection.entries[self._key]])
        K = data.inputs.training_gram(*choice.kernel)
        dual, intercept = SpectralRidge(K, targets, self.center).solution(choice.alpha_rest, couple)
        return Fitted(dual * scaling.scale, scaling.inverse_transform(intercept), choice.kernel)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    @property
    def _key(self) -> str:
        """The key of the grid that the regressor selects."""
        return "rank" if self.regressor == "fitted_rank_ridge" else "coupling"

    def _coupled(
        self, outputs: np.ndarray, candidates: Sequence
    ) -> tuple[OutputScaling, np.ndarray, Filter]:
        """Return training outputs (l, d), none missing, in units of their own, and the filter."""
        scaling = fit_output_scaling(outputs, "standard")
        if not self.center:
            scaling = replace(scaling, offset=np.zeros_like(scaling.offset))
        targets = scaling.apply(outputs)
        if self._key == "rank":
            return scaling, targets, fitted_ranks(candidates)
        return scaling, targets, joint_kernels(targets, candidates, self.dependence)
