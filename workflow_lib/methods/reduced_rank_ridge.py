"""The regression stage of kernel ridge regression with outputs of reduced rank."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.metrics import SMALLEST_GAIN, reference_errors, relative_error
from workflow_lib.regression.principal_components import first_least
from workflow_lib.regression.reduced_rank import (
    fit_reduced_rank_ridge,
    heldout_outputs,
    heldout_rank_errors,
)

REGRESSORS = ("reduced_rank_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 16, "cubic_minutes": 0.3}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    ranks: Sequence[int],
    center: bool,
    metric: str,
) -> None:
    """Select and fit the rank and the penalty for every training size.

    A missing training output takes the mean of that output over the training rows at hand; errors
    count the observed outputs only.

    Writes the "regression" artifact: for each item what was chosen, the dual coefficients and
    intercepts of the outputs, the held-out outputs of the training rows and the predicted outputs
    of the test rows; and the seconds of each item, as JSON. See
    `workflow_lib.regression.reduced_rank` for the method.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    split_features = read_artifact(features, "features")
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        inputs = prepared_inputs(split_features, partition["folds"][size_group(size)], size)
        started = time.perf_counter()
        choice = select(
            inputs,
            Y,
            kernel,
            widths if kernel == "rbf" else [None],
            penalties,
            ranks,
            center,
            metric,
        )
        selected = time.perf_counter()
        K = inputs.training_gram(kernel, choice.width)
        dual, intercept, rank = fit_reduced_rank_ridge(
            K, filled(Y), choice.rank, choice.penalty, center
        )
        fitted = time.perf_counter()
        predictions = inputs.test_gram(kernel, choice.width) @ dual + intercept
        predicted = time.perf_counter()
        items.add(
            size,
            predictions,
            choice.heldout_outputs,
            (started, selected, fitted, predicted),
            score=choice.score,
            width=choice.width,
            rank=rank,
            penalty_mu=choice.penalty,
            dual_coefficients=dual,
            intercept=intercept,
        )
    items.write(output, timings, [dataset, split, features])


@dataclass(frozen=True)
class RankChoice:
    """A grid point, its cross-validated error and its held-out predictions.

    Attributes
    ----------
    width : float or None
        Kernel width in units of `rbf_gamma`; None for kernels without one.
    rank : int
        Number of output components asked for; a fit may have fewer.
    penalty : float
        lambda_0 of eq. (13).
    score : float
        Relative error of the held-out outputs, their squared errors summed over folds.
    heldout_outputs : array (n, d)
        Prediction of each training row without its fold.
    """

    width: float | None
    rank: int
    penalty: float
    score: float
    heldout_outputs: np.ndarray


def select(
    inputs: PreparedInputs,
    outputs: np.ndarray,
    kernel: str,
    widths: Sequence[float | None],
    penalties: Sequence[float],
    ranks: Sequence[int],
    center: bool,
    metric: str,
) -> RankChoice:
    """Return the width, rank and penalty with the lowest error of `metric`.

    Of equal grid points the first is kept, so the smallest of equal ranks.
    """
    folds = inputs.folds
    reference = reference_errors(outputs, folds)
    outputs_by_fold = [filled(outputs, folds != fold) for fold in range(folds.max() + 1)]
    best = None
    for width in widths:
        solver = inputs.heldout_solver(kernel, width, center)
        errors = heldout_rank_errors(outputs, outputs_by_fold, solver, penalties, ranks)
        scores = relative_error(errors, reference, metric).reshape(-1, 1)
        scores = np.where(np.isfinite(scores), scores, np.inf)
        (index,) = first_least(scores, SMALLEST_GAIN)
        score = float(scores[index, 0])
        if best is None or score < best.score * (1.0 - SMALLEST_GAIN):
            rank_index, penalty_index = divmod(int(index), len(penalties))
            rank, penalty = int(ranks[rank_index]), float(penalties[penalty_index])
            heldout = heldout_outputs(outputs_by_fold, solver, penalty, rank)
            best = RankChoice(width, rank, penalty, score, heldout)
    return best
