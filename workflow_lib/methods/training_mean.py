"""The regression stage of the training mean, to which all relative errors refer."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.metrics import means_of_observed

REGRESSORS = ("training_mean",)
TASKS = ("regression", "series")
NEEDS = {}


def run(dataset: Path, split: Path, output: Path, timings: Path, metric: str) -> None:
    """Predict the mean of the training outputs, for every training size.

    Missing outputs count nowhere. Writes the "regression" artifact: for each item the predicted
    outputs of the test rows, those of each training row (the mean of the rows outside its fold)
    and their relative error, which is 1; and the seconds of each item, as JSON.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        folds = partition["folds"][size_group(size)]
        started = time.perf_counter()
        heldout = fold_means(Y, folds)
        score = heldout_error(Y, heldout, folds, metric)
        scored = time.perf_counter()
        mean = means_of_observed(Y)
        fitted = time.perf_counter()
        predictions = np.tile(mean, (len(partition["test"]), 1))
        predicted = time.perf_counter()
        items.add(size, predictions, heldout, (started, scored, fitted, predicted), score=score)
    items.write(output, timings, [dataset, split])


def fold_means(Y: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return for each row of `Y` (n, d) the mean of the rows outside its fold: (n, d)."""
    means = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        means[folds == fold] = means_of_observed(Y[folds != fold])
    return means
