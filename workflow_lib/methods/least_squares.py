"""The regression stage of ordinary least squares on past values, the baseline of forecasts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems

REGRESSORS = ("least_squares",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2}


def run(
    dataset: Path, split: Path, features: Path, output: Path, timings: Path, metric: str
) -> None:
    """Fit the outputs to the past values alone, for every training size.

    Writes the "regression" artifact: for each item the coefficients (k, d) and intercepts (d,),
    the predicted outputs of the test rows, those of each training row without its fold, and the
    relative error of the latter (nothing is selected by it); and the seconds of each item, as JSON.

    Raises
    ------
    UserError
        If the features hold no past values.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    past = _past_of(read_artifact(features, "features"), features)
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        P, Y = past["train"][:size], outputs[partition["train"]][:size]
        started = time.perf_counter()
        folds = partition["folds"][size_group(size)]
        heldout = heldout_predictions(P, Y, folds)
        score = heldout_error(Y, heldout, folds, metric)
        scored = time.perf_counter()
        coefficients, intercept = least_squares(P, filled(Y))
        fitted = time.perf_counter()
        predictions = past["test"] @ coefficients + intercept
        predicted = time.perf_counter()
        items.add(
            size,
            predictions,
            heldout,
            (started, scored, fitted, predicted),
            score=score,
            coefficients=coefficients,
            intercept=intercept,
        )
    items.write(output, timings, [dataset, split, features])


def least_squares(P: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients (k, d) and intercepts (d,) of Y (n, d) on past values P (n, k).

    They minimise sum_i |y_i - B'p_i - b|^2; of several solutions (fewer rows than values, or
    values that repeat each other) the B of least norm. A value that is constant counts for nothing.
    """
    mean, output_mean = P.mean(axis=0), Y.mean(axis=0)
    centred = P - mean
    # The rounding of its mean would pass for a value.
    centred[:, (P == P[0]).all(axis=0)] = 0.0
    coefficients = np.linalg.lstsq(centred, Y - output_mean, rcond=None)[0]
    return coefficients, output_mean - mean @ coefficients


def heldout_predictions(P: np.ndarray, Y: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the predictions (n, d) of each row by least squares without the row's fold.

    Missing outputs (NaN) of `Y` (n, d) are filled from the rows that each fold trains on.
    """
    predictions = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        heldout = folds == fold
        known = filled(Y, ~heldout)[~heldout]
        coefficients, intercept = least_squares(P[~heldout], known)
        predictions[heldout] = P[heldout] @ coefficients + intercept
    return predictions


def _past_of(features: Mapping, place: Path) -> Mapping:
    """Return the past values of the training pool and the test rows."""
    if "past" not in features or features["past"]["train"].shape[1] == 0:
        raise UserError(
            place=str(place),
            found="the features hold no past values",
            expected="the values of the past that least squares predicts from",
            remedy="leave this method out, or choose a dataset with inputs.past: separate or added",
        )
    return features["past"]
