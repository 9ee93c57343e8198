"""The regression stage of forests: nested selection, fit, predicted outputs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from workflow_lib.artifacts import read_artifact
from workflow_lib.baselines.forest import (
    fitted_forest,
    forest_predictions,
    select_max_features,
)
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import prepared_inputs
from workflow_lib.metrics import reference_errors

REGRESSORS = ("random_forest", "extra_trees")
TASKS = ("regression", "series")
NEEDS = {"minutes": 5, "cubic_minutes": 0.2, "more_mb": 200}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    max_features: Sequence[float],
    n_trees: int,
    metric: str,
    seed: int,
    regressor: str = "random_forest",
) -> None:
    """Select and fit a forest for every training size; artifacts as of kernel ridge.

    `regressor` is a key of `workflow_lib.baselines.forest.FORESTS`. The predictions of the training
    rows (`heldout_outputs`) are those of the folds, by the forests that selection has grown anyway.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    split_features = read_artifact(features, "features")
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        folds = partition["folds"][size_group(size)]
        inputs = prepared_inputs(split_features, folds, size)
        started = time.perf_counter()
        choice = select_max_features(
            regressor,
            list(inputs.fold_rows()),
            folds,
            Y,
            [filled(Y, folds != fold) for fold in range(folds.max() + 1)],
            reference_errors(Y, folds),
            max_features,
            n_trees,
            seed,
            metric,
        )
        selected = time.perf_counter()
        X_train, X_test = inputs.refit_rows()
        forest = fitted_forest(regressor, X_train, filled(Y), n_trees, choice.max_features, seed)
        fitted = time.perf_counter()
        predictions = forest_predictions(forest, X_test)
        items.add(
            size,
            predictions,
            choice.heldout_outputs,
            (started, selected, fitted, time.perf_counter()),
            score=choice.score,
            max_features=choice.max_features,
        )
    items.write(output, timings, [dataset, split, features], seed)
