"""Kernel ridge regression that outputs without inputs join, each with an input drawn for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, unpaired_specs
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.kernel_ridge_fit import ridge_of_outputs, shared_selection
from workflow_lib.fitting.missing_outputs import impute_mean_from
from workflow_lib.fitting.prepared_inputs import PreparedRows, kernel_gamma
from workflow_lib.items.group_names import fold_group
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.solvers.back_translation import JointRidge, drawn_inputs
from workflow_lib.solvers.gram import gram_matrix

REGRESSORS = ("back_translation",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 3, "grams": 14, "cubic_minutes": 0.3}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select kernel ridge regression, then the weight of outputs without inputs.

    Kernel, width and penalty are those that kernel ridge regression of the labelled rows selects.
    The penalty alpha refers to the labelled rows alone, as in eq. (14): the ridge is 2 l alpha
    whatever the weight. Each fold, and the refit, fits the regression of inputs on outputs to its
    own training rows and draws inputs from it anew. Of equal weights the smaller is taken. With the
    weight 0 the method is kernel ridge regression.

    Attributes
    ----------
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`.
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
    grid : mapping
        The list ``unpaired_weight``.
    seed : int
        Of the draws of inputs.
    precision : {"float64", "float32"}, default="float64"
        Of the selection of kernel ridge regression, as of
        `workflow_lib.methods.kernel_ridge.Method`.
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    center: bool
    metric: str
    grid: Mapping[str, Sequence]
    seed: int
    precision: str = "float64"
    kernels: Sequence[str] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size with all unpaired outputs, and with fewer as a study."""
        return unpaired_specs(split.sizes, split.unpaired_sizes)

    def select(self, data: FitData) -> base.Selection:
        return shared_selection(data, self._select)

    def _select(self, data: FitData) -> base.Selection:
        (fit, choice), seconds = ridge_of_outputs(data, self)
        more = {"selection_seconds": seconds}
        weights = [weight for weight in self.grid["unpaired_weight"] if weight > 0]
        best, score, heldout = 0.0, choice.score, choice.heldout_outputs
        if len(data.unpaired_outputs) and np.isfinite(score):
            by_weight = self._heldout(data, choice.kernel, choice.alpha_rest, weights)
            for weight, predicted in zip(weights, by_weight, strict=True):
                error = heldout_error(data.outputs, predicted, data.folds, self.metric)
                if error < score * (1.0 - MIN_GAIN):
                    best, score, heldout = weight, error, predicted
        entries = fit.entries_of(choice) | {
            "edges": fit.edges_of(choice) or None,
            "score": score,
            "unpaired_weight": best,
            "unpaired_size": len(data.unpaired_outputs),
        }
        return base.Selection(heldout, entries, more_seconds=more, fitting=(fit, choice))

    def fit(self, data: FitData, selection: base.Selection) -> base.Fitted:
        fit, choice = selection.fitting
        weight = selection.entries["unpaired_weight"]
        if not weight:
            return fit.fitted(choice)
        K, (X, _) = data.inputs.training_gram(*choice.kernel), data.inputs.refit_rows()
        ridge = self._joined(data, None, choice.kernel, K, X)
        return Fitted(*ridge.solve(choice.alpha_rest, weight), choice.kernel)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _heldout(self, data: FitData, kernel: InputKernel, alpha: float, weights) -> np.ndarray:
        """Return the predictions (weights, n, d) of the training rows, each without its fold."""
        predictions = np.empty((len(weights), *data.outputs.shape))
        folds = zip(data.inputs.fold_grams(*kernel), data.inputs.fold_rows(), strict=True)
        for fold, ((K, K_heldout), (X, _)) in enumerate(folds):
            ridge = self._joined(data, fold, kernel, K, X)
            for index, weight in enumerate(weights):
                dual, intercept = ridge.solve(alpha, weight)
                predictions[index, data.folds == fold] = K_heldout @ dual + intercept
        return predictions

    def _joined(self, data: FitData, fold: int | None, kernel: InputKernel, K, X) -> JointRidge:
        """Return the regression of a fold's training rows, and of unpaired outputs. `X` (l, q) are
        prepared rows; of texts and inner products they are coordinates in the span of the training
        rows, in which drawn inputs lie, too."""
        rows = slice(None) if fold is None else data.folds != fold
        known = data.outputs[rows]
        outputs, unpaired = (
            impute_mean_from(values, known) for values in (known, data.unpaired_outputs)
        )
        generator = np.random.default_rng(derive_seed(self.seed, "inputs", fold_group(fold)))
        drawn = drawn_inputs(X, outputs, unpaired, generator)
        if kernel.name == "tanimoto":
            # It is for features that are not negative.
            drawn = np.maximum(drawn, 0.0)
        # Coordinates of texts are as many as the rows, and do not count as their columns.
        is_rows = isinstance(data.inputs, PreparedRows)
        n_columns = X.shape[1] if is_rows else data.inputs.n_columns
        further = gram_matrix(drawn, X, kernel.name, kernel_gamma(*kernel, n_columns))
        return JointRidge(K, outputs, further, unpaired, self.center)
