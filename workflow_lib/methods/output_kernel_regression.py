"""The regression stage of output kernel regression: nested selection, refit, predicted outputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.input_kernels import (
    Grid,
    InputKernel,
    KernelGrid,
    single_choice,
)
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.output_decoding import (
    OutputKernel,
    preimage_weights,
    read_output_kernel,
)
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.metrics import SMALLEST_GAIN, reference_errors, relative_error, squared_error_sums
from workflow_lib.regression.ridge import fit_dual_coefficients, labelled_ridge

REGRESSORS = ("output_kernel_regression",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 3, "grams": 60, "cubic_minutes": 0.8}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    output_kernel: str,
    output_widths: Sequence[float],
    preimage: str,
    center: bool,
    metric: str,
    kernels: Sequence[str] | None = None,
    alignments: Path | None = None,
) -> None:
    """Select and fit output kernel regression (IOKR, OFER-density) for every training size.

    Kernel ridge regression of the feature vectors of an output kernel, as in
    `workflow_lib.baselines.iokr.IOKRegressor`. With the preimage ``candidates`` a prediction is
    the nearest training output; with ``minimiser`` (Gaussian kernel only) the local optimum above
    it, which selection approximates. The exact optimum of the linear kernel would be kernel ridge
    regression of the outputs themselves.

    With the preimages ``mean`` (linear kernel) and ``mean_shift`` (Gaussian kernel) the predicted
    weights are projected on the simplex first: OFER with every training output as a component of
    its own, see `workflow_lib.embeddings.density`. Selection approximates the mean shift.

    A missing training output takes the mean of that output over the training rows at hand; errors
    count the observed outputs only.

    Writes the "regression" artifact: for each item what was chosen, the predicted outputs of the
    test rows, and those of each training row without its fold; and the seconds of each item, as
    JSON, those of prediction with the pre-image.

    Parameters
    ----------
    alignments : path or None
        Artifact of the output kernels ``dtw`` and ``gak``; None for the others.
    kernel, kernels, widths, penalties
        As of `workflow_lib.experiments.input_kernels.KernelGrid.of_method`.
    output_widths : sequence of float
        Grid of widths in units of `output_unit` of the training outputs; not used where the
        output kernel is linear.

    Raises
    ------
    UserError
        If the artifact of alignments is of another output kernel.
    """
    kernel_of_outputs = read_output_kernel(output_kernel, dataset, alignments)
    partition = read_artifact(split, "split")
    split_features = read_artifact(features, "features")
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        rows = partition["train"][:size]
        inputs = prepared_inputs(split_features, partition["folds"][size_group(size)], size)
        started = time.perf_counter()
        grid = KernelGrid.of_method(kernel, kernels, widths, penalties, inputs.n_columns)
        of_outputs = [None] if output_kernel == "linear" else output_widths
        single = single_choice(
            select,
            inputs=inputs,
            output_kernel=kernel_of_outputs,
            rows=rows,
            output_widths=of_outputs,
            preimage=preimage,
            center=center,
            metric=metric,
        )
        found, extension = grid.search(single, extends=bool(kernels))
        choice = found[None]
        heldout = heldout_predictions(inputs, kernel_of_outputs, rows, choice, preimage, center)
        selected = time.perf_counter()
        dual, intercept = fit_dual_coefficients(
            inputs.training_gram(*choice.kernel),
            np.eye(size),
            labelled_ridge(size, choice.penalty_mu),
            center,
        )
        decoder = kernel_of_outputs.decoder(rows, choice.output_width)
        fitted = time.perf_counter()
        weights = inputs.test_gram(*choice.kernel) @ dual + intercept
        predictions = decoder.decode(preimage_weights(weights, preimage), preimage)
        predicted = time.perf_counter()
        items.add(
            size,
            predictions,
            heldout,
            (started, selected, fitted, predicted),
            score=choice.score,
            kernel=choice.kernel.name,
            width=choice.kernel.width,
            penalty_mu=choice.penalty_mu,
            output_width=choice.output_width,
            edges=grid.edges_of(choice, extension) or None,
        )
    items.write(output, timings, [dataset, split, features, alignments])


@dataclass(frozen=True)
class OutputKernelChoice:
    """A grid point and its cross-validated error.

    Attributes
    ----------
    kernel : InputKernel
        That of the inputs.
    penalty_mu : float
        lambda_0 of eq. (13).
    output_width : float or None
        Width of the output kernel in units of `output_unit`; None for the linear one.
    score : float
        Relative error of the held-out outputs, their squared errors summed over folds.
    penalty_pi : float
        NaN: there is no leading block.
    """

    kernel: InputKernel
    penalty_mu: float
    output_width: float | None
    score: float
    penalty_pi: float = np.nan


def select(
    inputs: PreparedInputs,
    output_kernel: OutputKernel,
    rows: np.ndarray,
    grid: Grid,
    output_widths: Sequence[float | None],
    preimage: str,
    center: bool,
    metric: str,
) -> OutputKernelChoice:
    """Return the grid point with the lowest error of `metric`, after the pre-image.

    `rows` (n,) are the row numbers, in the dataset, of the training rows of `inputs`. The widths
    of the output kernel are learned without the fold that is held out, whose outputs are no
    candidates either.
    """
    outputs = output_kernel.outputs[rows]
    folds = inputs.folds
    reference = reference_errors(outputs, folds)
    # They do not depend on the inputs, so that all input widths and penalties share them.
    decoders = {
        output_width: [
            output_kernel.decoder(rows[folds != fold], output_width)
            for fold in range(folds.max() + 1)
        ]
        for output_width in output_widths
    }
    best = None
    for kernel, penalties in grid.items():
        weights = [
            preimage_weights(fold_weights, preimage)
            for fold_weights in heldout_weights(inputs, *kernel, penalties, center)
        ]
        for output_width, by_fold in decoders.items():
            errors = np.zeros((len(penalties), outputs.shape[1]))
            for fold, (decoder, fold_weights) in enumerate(zip(by_fold, weights)):
                for index, row_weights in enumerate(fold_weights):
                    predictions = decoder.decode(row_weights, preimage, quick=True)
                    errors[index] += squared_error_sums(outputs[folds == fold], predictions)
            scores = relative_error(errors, reference, metric)
            scores = np.where(np.isfinite(scores), scores, np.inf)
            index = int(scores.argmin())
            # Grid points equal by algebra differ by rounding; the earlier one is kept.
            if best is None or scores[index] < best.score * (1.0 - SMALLEST_GAIN):
                best = OutputKernelChoice(
                    kernel, float(penalties[index]), output_width, float(scores[index])
                )
    return best


def heldout_predictions(
    inputs: PreparedInputs,
    output_kernel: OutputKernel,
    rows: np.ndarray,
    choice: OutputKernelChoice,
    preimage: str,
    center: bool,
) -> np.ndarray:
    """Return the predictions (n, d) of each training row without its fold, by the chosen fit.

    Where selection approximated the pre-image, this one is searched to the end.
    """
    folds = inputs.folds
    predictions = np.empty((len(rows), output_kernel.outputs.shape[1]))
    weights = heldout_weights(inputs, *choice.kernel, [choice.penalty_mu], center)
    for fold, fold_weights in enumerate(weights):
        decoder = output_kernel.decoder(rows[folds != fold], choice.output_width)
        predictions[folds == fold] = decoder.decode(
            preimage_weights(fold_weights[0], preimage), preimage
        )
    return predictions


def heldout_weights(
    inputs: PreparedInputs,
    kernel: str,
    width: float | None,
    penalties: Sequence[float],
    center: bool,
) -> list[np.ndarray]:
    """Return, for each fold, the weights (n_penalties, h, l) of its training rows.

    The prediction for a held-out row is linear in the training targets; with unit vectors as
    targets it is the weight of each.
    """
    folds = inputs.folds
    n_folds = folds.max() + 1
    solver = inputs.heldout_solver(kernel, width, center)
    predictions = solver.predict([np.eye(len(folds))] * n_folds, penalties)
    return [predictions[fold][:, :, folds != fold] for fold in range(n_folds)]
