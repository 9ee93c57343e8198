"""The regression stage of the training mean, to which all relative errors refer."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import SELECTED, UNBOUNDED_ENTRIES, item_group, size_group
from workflow_lib.experiments.stage_timings import stage_seconds, write_timings
from workflow_lib.metrics import means_of_observed


def run(dataset: Path, split: Path, output: Path, timings: Path, metric: str) -> None:
    """Predict the mean of the training outputs, for every training size.

    Missing outputs count nowhere. Writes the "regression" artifact: for each item the predicted
    outputs of the test rows, those of each training row (the mean of the rows outside its fold)
    and their relative error, which is 1; and the seconds of each item, as JSON.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    tree: dict = {}
    seconds: dict = {}
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        folds = partition["folds"][size_group(size)]
        item = item_group(size, 0, SELECTED)
        started = time.perf_counter()
        heldout = fold_means(Y, folds)
        score = heldout_error(Y, heldout, folds, metric)
        scored = time.perf_counter()
        mean = means_of_observed(Y)
        fitted = time.perf_counter()
        predictions = np.tile(mean, (len(partition["test"]), 1))
        predicted = time.perf_counter()
        tree[item] = {
            "training_size": size,
            "weak_size": 0,
            "components": SELECTED,
            "score": score,
            "test_embedding": predictions,
            "heldout_outputs": heldout,
        }
        seconds[item] = stage_seconds(started, scored, fitted, predicted)
        print(f"{item}: error {score:.3f}")
    write_artifact(output, tree, "regression", inputs=[dataset, split], allow_nan=UNBOUNDED_ENTRIES)
    write_timings(timings, seconds)


def fold_means(Y: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return for each row of `Y` (n, d) the mean of the rows outside its fold: (n, d)."""
    means = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        means[folds == fold] = means_of_observed(Y[folds != fold])
    return means
