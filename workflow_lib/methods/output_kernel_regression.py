"""Output kernel regression: kernel ridge regression of the features of an output kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.grid_choice import GridChoice, GridComparison
from workflow_lib.fitting.input_kernels import Grid, InputKernel, KernelGrid
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.output_decoding import (
    DENSITY_PREIMAGES,
    OutputDecoder,
    OutputKernel,
    preimage_weights,
    read_output_kernel,
)
from workflow_lib.fitting.prepared_inputs import PreparedInputs
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.items.group_names import item_kernel
from workflow_lib.measures.metrics import (
    reference_errors,
    relative_error,
    squared_error_sums,
)
from workflow_lib.methods.contract import base
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

REGRESSORS = ("output_kernel_regression",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 3, "grams": 60, "cubic_minutes": 0.8}
READS = ("dataset", "split", "features", "alignments")

N_SEARCHED = 12
"""Kernels and penalties from which the mean shift is searched while settings are chosen."""


@dataclass
class Method(base.Method):
    """Select and fit output kernel regression (IOKR, OFER-density).

    Kernel ridge regression of the feature vectors of an output kernel, as in
    `workflow_lib.solvers.iokr.IOKRegressor`. With the preimage ``candidates`` a prediction is
    the nearest training output; with ``minimiser`` (Gaussian kernel only) the local optimum above
    it, which selection approximates. The exact optimum of the linear kernel would be kernel ridge
    regression of the outputs themselves.

    With the preimages ``mean`` (linear kernel) and ``mean_shift`` (Gaussian kernel) the predicted
    weights are projected on the simplex first: OFER with every training output as a component of
    its own, see `workflow_lib.models.density`. Selection approximates the mean shift, and searches
    it only for the `N_SEARCHED` kernels and penalties whose weighted means have the lowest errors:
    the means are where it begins, and what it tends to as the output kernel becomes wider.

    A missing training output takes the mean of that output over the rows of the fit; errors
    count the observed outputs only.

    Attributes
    ----------
    kernel, kernels, widths, alphas
        As of `workflow_lib.fitting.input_kernels.KernelGrid.of_method`.
    output_kernel : str
        As of `workflow_lib.fitting.output_decoding.OutputKernel`; ``dtw`` and ``gak`` need the
        artifact of alignments.
    output_widths : sequence of float
        Widths in units of `output_unit` of the training outputs; not used where the output kernel
        is linear.
    preimage : str
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    output_kernel: str
    output_widths: Sequence[float]
    preimage: str
    center: bool
    metric: str
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        """Return the best grid point.

        Raises UserError if the artifact of alignments is of another output kernel.
        """
        kernel_of_outputs = self._kernel_of_outputs(data)
        inputs, rows = data.inputs, data.output_rows
        grid = KernelGrid.of_method(self.kernel, self.kernels, self.widths, self.alphas, inputs)
        curves = KernelErrors(grid.unit)
        choice, edges = grid.search_one(
            lambda part: self._best(data, part, curves), extends=bool(self.kernels)
        )
        heldout = heldout_predictions(
            inputs, kernel_of_outputs, rows, choice, self.preimage, self.center
        )
        entries = {
            "score": choice.score,
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "alpha_rest": choice.alpha_rest,
            **choice.settings,
            "edges": edges or None,
        }
        entries |= curves.entry_of(choice.kernel, choice.alpha_rest, entries)
        return base.Selection(heldout, entries)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel = InputKernel(item_kernel(chosen, self.kernel), chosen.get("width"))
        dual, intercept = fit_dual_coefficients(
            data.inputs.training_gram(*kernel),
            np.eye(data.size),
            labelled_ridge(data.size, chosen["alpha_rest"]),
            self.center,
        )
        decoder = self._kernel_of_outputs(data).decoder(
            data.output_rows, chosen.get("output_width")
        )
        return Fitted(dual, intercept, kernel, decoder, self.preimage)

    def _best(self, data: FitData, grid: Grid, curves: KernelErrors) -> GridChoice:
        """Return the grid point with the lowest error after the pre-image.

        The widths of the output kernel are learned without the fold that is held out, whose outputs
        are no candidates either. All errors are added to `curves`.
        """
        output_kernel, rows = self._kernel_of_outputs(data), data.output_rows
        outputs, folds = output_kernel.outputs[rows], data.folds
        comparison = GridComparison(outputs, folds, self.metric, curves)
        if self.preimage == "mean_shift":
            grid = self._promising(data, grid, outputs)
        # They do not depend on the inputs, so that all input widths and penalties share them.
        decoders = {
            output_width: [
                output_kernel.decoder(rows[folds != fold], output_width)
                for fold in data.fold_numbers
            ]
            for output_width in ([None] if self.output_kernel == "linear" else self.output_widths)
        }
        best = None
        for kernel, alphas in grid.items():
            weights = self._weights(data, kernel, alphas)
            for output_width, by_fold in decoders.items():
                errors = np.zeros((len(alphas), outputs.shape[1]))
                for fold, (decoder, fold_weights) in enumerate(zip(by_fold, weights)):
                    for index, row_weights in enumerate(fold_weights):
                        predictions = decoder.decode(row_weights, self.preimage, quick=True)
                        errors[index] += squared_error_sums(outputs[folds == fold], predictions)
                width = {"output_width": [output_width]}
                best = comparison.best_of(kernel, width, alphas, errors) or best
        return best

    def _promising(self, data: FitData, grid: Grid, outputs: np.ndarray) -> Grid:
        """Return the `N_SEARCHED` points of a grid whose weighted means have the lowest errors."""
        folds, found = data.folds, []
        reference = reference_errors(outputs, folds)
        means = [impute_mean(outputs[folds != fold]) for fold in data.fold_numbers]
        for kernel, alphas in grid.items():
            errors = sum(
                np.array(
                    [squared_error_sums(outputs[folds == fold], rows) for rows in weights @ of]
                )
                for fold, (weights, of) in enumerate(
                    zip(self._weights(data, kernel, alphas), means, strict=True)
                )
            )
            scores = relative_error(errors, reference, self.metric)
            scores = np.where(np.isfinite(scores), scores, np.inf)
            found += zip(scores.tolist(), [kernel] * len(alphas), alphas, strict=True)
        kept: Grid = {}
        for _, kernel, alpha in sorted(found, key=lambda point: point[0])[:N_SEARCHED]:
            kept.setdefault(kernel, []).append(alpha)
        return {kernel: sorted(kept[kernel]) for kernel in grid if kernel in kept}

    def _weights(self, data: FitData, kernel: InputKernel, alphas) -> list[np.ndarray]:
        """Return, for each fold, the weights (n_penalties, h, l) that the pre-image starts from."""
        return [
            preimage_weights(weights, self.preimage)
            for weights in heldout_weights(data.inputs, *kernel, alphas, self.center)
        ]

    def _kernel_of_outputs(self, data: FitData) -> OutputKernel:
        split, paths = data.split, data.split.paths
        if "alignments" not in paths:
            return OutputKernel(self.output_kernel, split.dataset["outputs"])
        arguments = self.output_kernel, paths["dataset"], paths["alignments"]
        return split.once("output kernel", None, lambda: read_output_kernel(*arguments))[0]


class Fitted(base.Fitted):
    """Weights K(x, training rows) A + b of the training outputs, and how these are decoded."""

    def __init__(
        self,
        dual_coefficients: np.ndarray,
        intercept: np.ndarray,
        kernel: InputKernel,
        decoder: OutputDecoder,
        preimage: str,
    ) -> None:
        self._dual, self._intercept, self._kernel = dual_coefficients, intercept, kernel
        self._decoder, self._preimage = decoder, preimage

    @property
    def has_training_error(self):
        """Not where a search for each row is the pre-image."""
        return self._preimage not in ("minimiser", "mean_shift")

    def predict(self, rows):
        weights = rows.test_gram(*self._kernel) @ self._dual + self._intercept
        return self._decoder.decode(preimage_weights(weights, self._preimage), self._preimage)

    def to_arrays(self):
        arrays = {"dual_coefficients": self._dual, "intercept": self._intercept}
        arrays |= {"outputs": self._decoder.outputs, "preimage": self._preimage}
        if self._preimage not in DENSITY_PREIMAGES:
            arrays["gram"] = self._decoder.gram
        if self._decoder.gamma is not None:
            arrays["gamma"] = float(self._decoder.gamma)
        return arrays | kernel_arrays(self._kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        decoder = OutputDecoder(arrays["outputs"], arrays.get("gram"), arrays.get("gamma"))
        solution = arrays["dual_coefficients"], arrays["intercept"]
        return cls(*solution, kernel_in(arrays)[0], decoder, arrays["preimage"])


def heldout_predictions(
    inputs: PreparedInputs,
    output_kernel: OutputKernel,
    rows: np.ndarray,
    choice: GridChoice,
    preimage: str,
    center: bool,
) -> np.ndarray:
    """Return the predictions (n, d) of each training row without its fold, by the chosen fit.

    Where selection approximated the pre-image, this one is searched to the end.
    """
    folds = inputs.folds
    predictions = np.empty((len(rows), output_kernel.outputs.shape[1]))
    weights = heldout_weights(inputs, *choice.kernel, [choice.alpha_rest], center)
    for fold, fold_weights in enumerate(weights):
        decoder = output_kernel.decoder(rows[folds != fold], choice.settings["output_width"])
        predictions[folds == fold] = decoder.decode(
            preimage_weights(fold_weights[0], preimage), preimage
        )
    return predictions


def heldout_weights(
    inputs: PreparedInputs, kernel: str, width: float | None, alphas: Sequence[float], center: bool
) -> list[np.ndarray]:
    """Return, for each fold, the weights (n_penalties, h, l) of its training rows.

    The prediction for a held-out row is linear in the training targets; with unit vectors as
    targets it is the weight of each.
    """
    folds = inputs.folds
    n_folds = folds.max() + 1
    solver = inputs.heldout_solver(kernel, width, center)
    predictions = solver.predict([np.eye(len(folds))] * n_folds, alphas)
    return [predictions[fold][:, :, folds != fold] for fold in range(n_folds)]
