"""Linear regression with a k-support penalty on each output, on all together or on their rank."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_features import FittedFeatureRidge as Fitted
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.validation_curves import GridErrors
from workflow_lib.measures.metrics import (
    MIN_GAIN,
    heldout_error,
    reference_errors,
    relative_error,
    squared_error_sums,
)
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.k_support import KSupportRegression, largest_k

REGRESSORS = ("k_support",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 10, "cubic_minutes": 1.0, "more_mb": 200}
READS = ("dataset", "split", "features")


SELECTION_TOLERANCE = 1e-2
"""Duality gap in the comparison of grid points, as a share of the objective without inputs. On a
table of 370 inputs the predictions are then within a few hundredths of a standard deviation of the
exact ones, at a tenth of the time of a gap of 1e-4."""

REFIT_TOLERANCE = 1e-3
"""Duality gap of the chosen fits, with which the predictions are about ten times as close."""


@dataclass
class Method(base.Method):
    """Select k and a penalty; see `workflow_lib.papers.blaschko.k_support`.

    A missing training output takes the mean of that output over the rows of the fit; errors count
    the observed outputs only.
    """

    norm: str
    """{"outputs", "rows", "spectral"}."""

    grid: Mapping[str, Any]
    """The values of ``k`` and, relative as in `KSupportGrid`, of ``alpha``."""

    center: bool
    """Fit an unpenalised intercept."""

    metric: str
    """{"arrmse", "rrmse"}: the error that is minimised."""

    def select(self, data: FitData) -> base.Selection:
        """Return the k and the penalty with the least error, the first of those that are equal."""
        alphas_by_k = self._alphas_by_k(data)
        reference = reference_errors(data.outputs, data.folds)
        errors = {k: 0.0 for k in alphas_by_k}
        used = {k: 0.0 for k in alphas_by_k}
        for known, regression, X_heldout in self._of_folds(data):
            for k, alphas in alphas_by_k.items():
                coefficients, intercepts = regression.path(k, alphas, SELECTION_TOLERANCE)
                predicted = X_heldout @ coefficients + intercepts[:, None]
                used[k] = used[k] + (coefficients != 0.0).any(axis=2).sum(axis=1)
                errors[k] = errors[k] + squared_error_sums(data.outputs[~known], predicted)
        best = (np.inf, next(iter(alphas_by_k)), 0)
        scores = {k: relative_error(of_k, reference, self.metric) for k, of_k in errors.items()}
        for k, of_k in scores.items():
            for index, score in enumerate(of_k):
                if score < best[0] * (1.0 - MIN_GAIN):
                    best = float(score), k, index
        _, k, index = best
        alpha = alphas_by_k[k][index]
        heldout = np.empty_like(data.outputs)
        for known, regression, X_heldout in self._of_folds(data):
            (coefficients,), (intercept,) = regression.path(k, [alpha], REFIT_TOLERANCE)
            heldout[~known] = X_heldout @ coefficients + intercept
        score = heldout_error(data.outputs, heldout, data.folds, self.metric)
        entries = {"score": score, "k": k, "alpha_rest": float(alpha)}
        relative = self.grid["alpha"]
        curves = GridErrors()
        n_used = np.array(list(used.values())) / len(data.fold_numbers)
        tried = {"k": list(scores), "alpha_rest": relative}
        curves.add("linear", tried, list(scores.values()), used_inputs=n_used)
        chosen = {"k": k, "alpha_rest": relative[index]}
        return base.Selection(heldout, entries | curves.entry("linear", chosen))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        X, _ = data.inputs.refit_rows()
        regression = KSupportRegression(X, data.targets(), self.norm, self.center)
        (coefficients,), (intercept,) = regression.path(
            chosen["k"], [chosen["alpha_rest"]], REFIT_TOLERANCE
        )
        arrays = {"weights": coefficients, "intercept": intercept}
        return _linear(arrays, gap_at_limit(regression.largest_gap, REFIT_TOLERANCE))

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return _linear(entries)

    def _alphas_by_k(self, data: FitData) -> dict[int, np.ndarray]:
        """Return the penalties lambda_0 of each k, none of which is above the largest."""
        n_inputs = data.inputs.n_columns
        largest = largest_k(self.norm, n_inputs, data.outputs.shape[1])
        above = [k for k in self.grid["k"] if k > largest]
        if above:
            print(
                f"k = {', '.join(map(str, above))} with {data.size} training rows is above "
                f"{largest}, the largest k with the norm '{self.norm}' of {n_inputs} inputs and "
                f"{data.outputs.shape[1]} outputs, and is taken as {largest}: ridge regression"
            )
        relative = np.asarray(self.grid["alpha"], dtype=np.float64)
        ks = sorted({min(int(k), largest) for k in self.grid["k"]})
        return {k: relative * n_inputs * k / largest for k in ks}

    def _of_folds(self, data: FitData):
        """Yield the training rows of each fold, their regression, and the held-out inputs."""
        for fold, (X_train, X_heldout) in enumerate(data.inputs.fold_rows()):
            known = data.folds != fold
            targets = data.targets(fold)[known]
            yield known, KSupportRegression(X_train, targets, self.norm, self.center), X_heldout


def _linear(arrays: Mapping, details: Mapping[str, float] | None = None) -> Fitted:
    return Fitted(arrays, InputKernel("linear", None), details)
