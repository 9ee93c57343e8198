"""Out-of-bag predictions of forests, and how forests are selected where outputs are missing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from small_data import regression_data

from workflow_lib.baselines.forest import (
    fitted_forest,
    out_of_bag_predictions,
    select_max_features,
)
from workflow_lib.metrics import average_relative_error, reference_errors


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_out_of_bag_predictions_equal_those_of_scikit_learn(n_outputs):
    X, Y = regression_data(40)
    Y = Y[:, :n_outputs]
    forest = RandomForestRegressor(60, max_features=0.5, random_state=3, oob_score=True)
    forest.fit(X, Y if n_outputs > 1 else Y[:, 0])
    expected = forest.oob_prediction_.reshape(40, n_outputs)
    ours = out_of_bag_predictions(fitted_forest(X, Y, 60, 0.5, 3), X, Y)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("n_trees", [2, 30])
def test_the_prediction_of_a_row_does_not_depend_on_its_own_output(n_trees):
    X, Y = regression_data(25)
    before = out_of_bag_predictions(fitted_forest(X, Y, n_trees, 1.0, 0), X, Y)
    changes = 0
    for row in range(len(Y)):
        changed = Y.copy()
        changed[row] += 50.0
        after = out_of_bag_predictions(fitted_forest(X, changed, n_trees, 1.0, 0), X, changed)
        np.testing.assert_allclose(after[row], before[row], rtol=1e-12)
        changes += (after != before).any(axis=1).sum()
    # Others depend on it.
    assert changes > len(Y)


def test_rows_that_every_tree_drew_take_the_mean_of_the_others():
    X, Y = regression_data(20)
    forest = fitted_forest(X, Y, 1, 1.0, 0)
    drawn = np.unique(forest.estimators_samples_[0])
    outside = np.setdiff1d(np.arange(20), drawn)
    ours = out_of_bag_predictions(forest, X, Y)
    for row in drawn:
        np.testing.assert_allclose(ours[row], np.delete(Y, row, axis=0).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(ours[outside], forest.predict(X[outside]), rtol=1e-12)


def test_missing_outputs_train_with_their_filling_and_count_in_no_error():
    X, Y = regression_data(32)
    folds = np.arange(32) % 4
    Y[np.random.default_rng(2).random(Y.shape) < 0.2] = np.nan
    targets = []
    for fold in range(4):
        means = np.nanmean(Y[folds != fold], axis=0)
        targets.append(np.where(np.isnan(Y), means, Y))
    errors = np.zeros(3)
    for fold, filled in enumerate(targets):
        kept = folds != fold
        forest = RandomForestRegressor(5, max_features=0.5, random_state=1)
        predictions = forest.fit(X[kept], filled[kept]).predict(X[~kept])
        errors += np.nansum((Y[~kept] - predictions) ** 2, axis=0)
        # What the fold is not to train on changes nothing.
        filled[~kept] = np.nan
    reference = reference_errors(Y, folds)
    parts = [(X[folds != fold], X[folds == fold]) for fold in range(4)]
    chosen, score = select_max_features(parts, folds, Y, targets, reference, [0.5], 5, 1)
    assert chosen == 0.5
    assert score == pytest.approx(average_relative_error(errors, reference), rel=1e-12)
