"""The stages of a random forest equal scikit-learn's forest with the same choice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.features.preparation import fit_preparation
from workflow_lib.metrics import average_relative_error, reference_errors


def error_of(X, Y, folds, max_features, seed):
    errors = np.zeros(Y.shape[1])
    for fold in range(4):
        kept = folds != fold
        preparation = fit_preparation(X[kept], "standard")
        forest = RandomForestRegressor(5, max_features=max_features, random_state=seed)
        forest.fit(preparation.apply(X[kept]), Y[kept] if Y.shape[1] > 1 else Y[kept, 0])
        predictions = forest.predict(preparation.apply(X[~kept])).reshape(-1, Y.shape[1])
        errors += ((predictions - Y[~kept]) ** 2).sum(axis=0)
    return average_relative_error(errors, reference_errors(Y, folds))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_and_choice_equal_those_of_scikit_learn(tmp_path, n_outputs):
    X, Y = regression_data(70)
    Y = Y[:, :n_outputs]
    stages = Stages(tmp_path, X, Y, scale="standard").forest(max_features=(0.3, 1.0))
    split = stages.tree("split")
    for size in (20, 30):
        rows = split["train"][:size]
        folds = split["folds"][f"n-{size}"]
        scores = {m: error_of(X[rows], Y[rows], folds, m, stages.seed) for m in (0.3, 1.0)}
        item = stages.tree("predictions")[f"n-{size}_w-0_C-selected"]
        assert item["max_features"] == min(scores, key=scores.get)
        assert item["score"] == pytest.approx(min(scores.values()), rel=1e-12)
        preparation = fit_preparation(X[rows], "standard")
        forest = RandomForestRegressor(
            5, max_features=item["max_features"], random_state=stages.seed
        ).fit(preparation.apply(X[rows]), Y[rows] if n_outputs > 1 else Y[rows, 0])
        expected = forest.predict(preparation.apply(X[split["test"]])).reshape(-1, n_outputs)
        np.testing.assert_allclose(item["outputs"], expected, rtol=1e-12)


def test_constant_outputs_are_predicted_as_they_are(tmp_path):
    X, Y = regression_data(70)
    stages = Stages(tmp_path, X, np.full_like(Y, 0.1)).forest()
    for item in stages.tree("predictions").values():
        np.testing.assert_allclose(item["outputs"], 0.1, rtol=1e-12)
