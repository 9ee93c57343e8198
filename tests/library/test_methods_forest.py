"""The stages of a random forest equal scikit-learn's forest with the same choice."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import average_relative_error, reference_errors
from workflow_lib.solvers.forest import FORESTS

N_TREES, FOLD_TREES = 12, 2
"""Trees of a fit, and ten per cent of them, rounded up, of the forests of the folds."""


def error_of(X, Y, folds, max_features, seed):
    errors = np.zeros(Y.shape[1])
    for fold in range(4):
        kept = folds != fold
        preparation = fit_preparation(X[kept], "standard")
        forest = RandomForestRegressor(FOLD_TREES, max_features=max_features, random_state=seed)
        forest.fit(preparation.apply(X[kept]), Y[kept] if Y.shape[1] > 1 else Y[kept, 0])
        predictions = forest.predict(preparation.apply(X[~kept])).reshape(-1, Y.shape[1])
        errors += ((predictions - Y[~kept]) ** 2).sum(axis=0)
    return average_relative_error(errors, reference_errors(Y, folds))


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_predictions_and_choice_equal_those_of_scikit_learn(tmp_path, n_outputs):
    X, Y = regression_data(70)
    Y = Y[:, :n_outputs]
    stages = Stages(tmp_path, X, Y, scale="standard").forest(
        max_features=(0.3, 1.0), n_trees=N_TREES
    )
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
            N_TREES, max_features=item["max_features"], random_state=stages.seed
        ).fit(preparation.apply(X[rows]), Y[rows] if n_outputs > 1 else Y[rows, 0])
        expected = forest.predict(preparation.apply(X[split["test"]])).reshape(-1, n_outputs)
        np.testing.assert_allclose(item["outputs"], expected, rtol=1e-12)


def with_missing(Y, share=0.2):
    """Return the outputs with some of them missing, in every column."""
    return np.where(np.random.default_rng(6).random(Y.shape) < share, np.nan, Y)


@pytest.mark.parametrize("kind", FORESTS)
def test_training_rows_are_predicted_without_their_fold(tmp_path, kind):
    X, Y = regression_data(70)
    Y = with_missing(Y)
    stages = Stages(tmp_path, X, Y, scale="standard").forest(
        (0.5,), n_trees=N_TREES, regressor=kind
    )
    split = stages.tree("split")
    for size in (20, 30):
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        item = stages.tree("regression")[f"n-{size}_w-0_C-selected"]
        for fold in range(4):
            kept, heldout = rows[folds != fold], rows[folds == fold]
            known = np.where(np.isnan(Y[kept]), np.nanmean(Y[kept], axis=0), Y[kept])
            preparation = fit_preparation(X[kept], "standard")
            forest = FORESTS[kind](FOLD_TREES, max_features=0.5, random_state=stages.seed)
            forest.fit(preparation.apply(X[kept]), known)
            expected = forest.predict(preparation.apply(X[heldout]))
            found = item["heldout_outputs"][folds == fold]
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_missing_outputs_take_the_mean_of_the_current_training_rows(tmp_path):
    X, Y = regression_data(70)
    Y = with_missing(Y)
    stages = Stages(tmp_path, X, Y, scale="standard").forest(
        max_features=(0.3, 1.0), n_trees=N_TREES
    )
    split = stages.tree("split")
    for size in (20, 30):
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        scores = {}
        for max_features in (0.3, 1.0):
            errors = np.zeros(3)
            for fold in range(4):
                kept, heldout = rows[folds != fold], rows[folds == fold]
                known = np.where(np.isnan(Y[kept]), np.nanmean(Y[kept], axis=0), Y[kept])
                preparation = fit_preparation(X[kept], "standard")
                forest = RandomForestRegressor(
                    FOLD_TREES, max_features=max_features, random_state=stages.seed
                ).fit(preparation.apply(X[kept]), known)
                misses = forest.predict(preparation.apply(X[heldout])) - Y[heldout]
                errors += np.nansum(misses**2, axis=0)
            scores[max_features] = average_relative_error(errors, reference_errors(Y[rows], folds))
        item = stages.tree("predictions")[f"n-{size}_w-0_C-selected"]
        assert item["max_features"] == min(scores, key=scores.get)
        assert item["score"] == pytest.approx(min(scores.values()), rel=1e-12)
        known = np.where(np.isnan(Y[rows]), np.nanmean(Y[rows], axis=0), Y[rows])
        preparation = fit_preparation(X[rows], "standard")
        forest = RandomForestRegressor(
            N_TREES, max_features=item["max_features"], random_state=stages.seed
        ).fit(preparation.apply(X[rows]), known)
        expected = forest.predict(preparation.apply(X[split["test"]]))
        np.testing.assert_allclose(item["outputs"], expected, rtol=1e-12)
