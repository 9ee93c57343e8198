"""The regression stage of Laplacian-regularised kernel ridge regression on unlabelled inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.metrics import SMALLEST_GAIN, reference_errors, relative_error, sum_of_observed
from workflow_lib.regression.heldout import SeparateGrams
from workflow_lib.regression.laplacian import (
    deformation,
    deformed_grams,
    fit_laplacian_ridge,
    graph_laplacian,
)
from workflow_lib.regression.principal_components import first_least
from workflow_lib.regression.ridge import labelled_ridge

REGRESSORS = ("laplacian_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 40, "cubic_minutes": 1.0}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    laplacian_weights: Sequence[float],
    neighbours: Sequence[int],
    center: bool,
    metric: str,
) -> None:
    """Select and fit the method for every training size and number of unlabelled rows.

    The unlabelled rows are those of the weak pool, of which only the inputs are used: as many as
    each weak size of the split, or none where it has no weak size. A fold's graph holds its
    training rows and the unlabelled ones, never its held-out rows or the test rows. A missing
    training output takes the mean of that output over the training rows at hand; errors count the
    observed outputs only.

    Writes the "regression" artifact: for each item what was chosen, the dual coefficients of the
    training and the unlabelled rows, the intercepts, the held-out outputs of the training rows and
    the predicted outputs of the test rows; and the seconds of each item, as JSON. See
    `workflow_lib.regression.laplacian` for the method.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    split_features = read_artifact(features, "features")
    weak_sizes = [int(weak_size) for weak_size in partition["weak_sizes"]] or [0]
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        inputs = prepared_inputs(split_features, partition["folds"][size_group(size)], size)
        for weak_size in weak_sizes:
            started = time.perf_counter()
            choice = select(
                inputs,
                Y,
                weak_size,
                kernel,
                widths if kernel == "rbf" else [None],
                penalties,
                laplacian_weights,
                neighbours,
                center,
                metric,
            )
            selected = time.perf_counter()
            dual, intercept = fit_laplacian_ridge(
                inputs.training_gram(kernel, choice.width, weak_size),
                filled(Y),
                choice.neighbours,
                choice.laplacian_weight,
                labelled_ridge(size, choice.penalty),
                center,
            )
            fitted = time.perf_counter()
            predictions = inputs.test_gram(kernel, choice.width, weak_size) @ dual + intercept
            predicted = time.perf_counter()
            items.add(
                size,
                predictions,
                choice.heldout_outputs,
                (started, selected, fitted, predicted),
                weak_size,
                score=choice.score,
                width=choice.width,
                laplacian_weight=choice.laplacian_weight,
                neighbours=choice.neighbours,
                penalty_mu=choice.penalty,
                dual_coefficients=dual,
                intercept=intercept,
            )
    items.write(output, timings, [dataset, split, features])


@dataclass(frozen=True)
class LaplacianChoice:
    """A grid point, its cross-validated error and its held-out predictions.

    Attributes
    ----------
    width : float or None
        Kernel width in units of `rbf_gamma`; None for kernels without one.
    neighbours : int
        Neighbours of each input in the graph.
    laplacian_weight : float
        gamma, the weight of the graph's penalty relative to that of the kernel.
    penalty : float
        lambda_0 of eq. (13).
    score : float
        Relative error of the held-out outputs, their squared errors summed over folds.
    heldout_outputs : array (n, d)
        Prediction of each training row without its fold.
    """

    width: float | None
    neighbours: int
    laplacian_weight: float
    penalty: float
    score: float
    heldout_outputs: np.ndarray


def select(
    inputs: PreparedInputs,
    outputs: np.ndarray,
    weak_size: int,
    kernel: str,
    widths: Sequence[float | None],
    penalties: Sequence[float],
    laplacian_weights: Sequence[float],
    neighbours: Sequence[int],
    center: bool,
    metric: str,
) -> LaplacianChoice:
    """Return the grid point with the lowest error of `metric`, the first of equal ones."""
    folds = inputs.folds
    reference = reference_errors(outputs, folds)
    outputs_by_fold = [filled(outputs, folds != fold) for fold in range(folds.max() + 1)]
    best = None
    for width in widths:
        for count, weight, solver in _deformed_solvers(
            inputs, weak_size, kernel, width, laplacian_weights, neighbours, center
        ):
            predictions = solver.predict(outputs_by_fold, penalties)
            errors = sum(
                sum_of_observed((outputs[rows] - predicted) ** 2)
                for rows, predicted in zip(solver.heldout, predictions, strict=True)
            )
            scores = relative_error(errors, reference, metric)[:, None]
            scores = np.where(np.isfinite(scores), scores, np.inf)
            (index,) = first_least(scores, SMALLEST_GAIN)
            score = float(scores[index, 0])
            if best is None or score < best.score * (1.0 - SMALLEST_GAIN):
                heldout = np.empty_like(outputs)
                for rows, predicted in zip(solver.heldout, predictions, strict=True):
                    heldout[rows] = predicted[index]
                penalty = float(penalties[index])
                best = LaplacianChoice(width, count, weight, penalty, score, heldout)
    return best


def _deformed_solvers(
    inputs: PreparedInputs,
    weak_size: int,
    kernel: str,
    width: float | None,
    laplacian_weights: Sequence[float],
    neighbours: Sequence[int],
    center: bool,
) -> Iterator[tuple[int, float, SeparateGrams]]:
    """Yield each number of neighbours and weight, with the solver of held-out predictions."""
    grams = list(inputs.fold_grams(kernel, width, weak_size))
    for count in neighbours:
        smoothness = [graph_laplacian(K, count) @ K for K, _ in grams]
        for weight in laplacian_weights:
            deformed = [
                deformed_grams(
                    K, K_heldout, deformation(fold_smoothness, weight, len(K) - weak_size)
                )
                for (K, K_heldout), fold_smoothness in zip(grams, smoothness, strict=True)
            ]
            yield int(count), float(weight), SeparateGrams(deformed, inputs.folds, center)
