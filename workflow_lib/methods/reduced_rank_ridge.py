"""Kernel ridge regression with outputs of reduced rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.grid_choice import GridChoice, GridComparison
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.methods.contract import base
from workflow_lib.solvers.reduced_rank import (
    fit_reduced_rank_ridge,
    heldout_outputs,
    heldout_rank_errors,
)

REGRESSORS = ("reduced_rank_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 16, "cubic_minutes": 0.3}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select a rank and a penalty; see `workflow_lib.solvers.reduced_rank`.

    A missing training output takes the mean of that output over the rows of the fit; errors
    count the observed outputs only.
    """

    kernel: str

    widths: Sequence[float]
    """Of the rbf kernel."""

    alphas: Sequence[float]
    ranks: Sequence[int]

    center: bool
    """Fit an unpenalised intercept."""

    metric: str
    """{"arrmse", "rrmse"}."""

    def select(self, data: FitData) -> base.Selection:
        curves = KernelErrors()
        choice = self._best(data, curves)
        entries = {"score": choice.score, "width": choice.kernel.width}
        entries |= {"alpha_rest": choice.alpha_rest, **choice.settings}
        entries |= curves.entry_of(choice.kernel, choice.alpha_rest, entries)
        return base.Selection(choice.heldout_outputs, entries)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel = InputKernel(self.kernel, chosen["width"])
        dual, intercept, rank = fit_reduced_rank_ridge(
            data.inputs.training_gram(*kernel),
            data.targets(),
            chosen["rank"],
            chosen["alpha_rest"],
            self.center,
        )
        # The training rows may have fewer components than the rank that was chosen.
        return Fitted(dual, intercept, kernel, 0, {"rank": rank})

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _best(self, data: FitData, curves: KernelErrors) -> GridChoice:
        """Return the width, rank and penalty with the lowest error. Of equal grid points the first
        is kept, so the smallest of equal ranks. All errors are added to `curves`."""
        outputs, folds, ranks = data.outputs, data.folds, {"rank": self.ranks}
        comparison = GridComparison(outputs, folds, self.metric, curves)
        outputs_by_fold = [data.targets(fold) for fold in data.fold_numbers]
        best = None
        for width in self.widths if self.kernel == "rbf" else [None]:
            kernel = InputKernel(self.kernel, width)
            solver = data.inputs.heldout_solver(*kernel, self.center)
            errors = heldout_rank_errors(outputs, outputs_by_fold, solver, self.alphas, self.ranks)
            found = comparison.best_of(kernel, ranks, self.alphas, errors)
            if found:
                chosen = found.alpha_rest, found.settings["rank"]
                heldout = heldout_outputs(outputs_by_fold, solver, *chosen)
                best = replace(found, heldout_outputs=heldout)
        return best
