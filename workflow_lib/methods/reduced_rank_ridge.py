"""Kernel ridge regression with outputs of reduced rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.prepared_inputs import PreparedInputs
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import MIN_GAIN, reference_errors, relative_error
from workflow_lib.methods.contract import base
from workflow_lib.solvers.principal_components import first_least
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

    Attributes
    ----------
    kernel : str
    widths : sequence of float
        Of the rbf kernel.
    alphas : sequence of float
    ranks : sequence of int
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    ranks: Sequence[int]
    center: bool
    metric: str

    def select(self, data: FitData) -> base.Selection:
        curves = KernelErrors()
        choice = select(
            data.inputs,
            data.outputs,
            self.kernel,
            self.widths if self.kernel == "rbf" else [None],
            self.alphas,
            self.ranks,
            self.center,
            self.metric,
            curves,
        )
        entries = {"score": choice.score, "width": choice.width, "alpha_rest": choice.alpha}
        entries["rank"] = choice.rank
        kernel = InputKernel(self.kernel, choice.width)
        entries |= curves.entry_of(kernel, choice.alpha, entries)
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


@dataclass(frozen=True)
class RankChoice:
    """A grid point, its cross-validated error and its held-out predictions.

    Attributes
    ----------
    width : float or None
        Kernel width in units of `rbf_gamma`; None for kernels without one.
    rank : int
        Number of output components asked for; a fit may have fewer.
    alpha : float
        lambda_0 of eq. (13).
    score : float
        Relative error of the held-out outputs, their squared errors summed over folds.
    heldout_outputs : array (n, d)
        Prediction of each training row without its fold.
    """

    width: float | None
    rank: int
    alpha: float
    score: float
    heldout_outputs: np.ndarray


def select(
    inputs: PreparedInputs,
    outputs: np.ndarray,
    kernel: str,
    widths: Sequence[float | None],
    alphas: Sequence[float],
    ranks: Sequence[int],
    center: bool,
    metric: str,
    curves: KernelErrors,
) -> RankChoice:
    """Return the width, rank and penalty with the lowest error of `metric`.

    Of equal grid points the first is kept, so the smallest of equal ranks. All errors are added to
    `curves`.
    """
    folds = inputs.folds
    reference = reference_errors(outputs, folds)
    outputs_by_fold = [impute_mean(outputs, folds != fold) for fold in range(folds.max() + 1)]
    best = None
    for width in widths:
        solver = inputs.heldout_solver(kernel, width, center)
        errors = heldout_rank_errors(outputs, outputs_by_fold, solver, alphas, ranks)
        scores = relative_error(errors, reference, metric).reshape(-1, 1)
        scores = np.where(np.isfinite(scores), scores, np.inf)
        curves.add_penalties(InputKernel(kernel, width), {"rank": ranks}, alphas, scores)
        (index,) = first_least(scores, MIN_GAIN)
        score = float(scores[index, 0])
        if best is None or score < best.score * (1.0 - MIN_GAIN):
            rank_index, penalty_index = divmod(int(index), len(alphas))
            rank, alpha = int(ranks[rank_index]), float(alphas[penalty_index])
            heldout = heldout_outputs(outputs_by_fold, solver, alpha, rank)
            best = RankChoice(width, rank, alpha, score, heldout)
    return best
