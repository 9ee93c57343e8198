"""The stages of a random forest equal scikit-learn's forest with the same choice."""

import numpy as np
import pytest
from small_data import regression_data
from small_folds import heldout, score_of
from small_pipeline import Stages

from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.solvers.forest import FORESTS

N_TREES, FOLD_TREES = 12, 2
"""Trees of a fit, and ten per cent of them, rounded up, of the forests of the folds."""


OF_FOLDS = "random_forest", FOLD_TREES


def with_missing(Y, share=0.2):
    """Return the outputs with some of them missing, in every column."""
    return np.where(np.random.default_rng(6).random(Y.shape) < share, np.nan, Y)


def predictions(X, Y, X_new, kind, n_trees, **settings):
    """Return those of a forest of scikit-learn, missing outputs being the means of the others."""
    known = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
    preparation = fit_preparation(X, "standard")
    forest = FORESTS[kind](n_trees, **settings)
    forest.fit(preparation.apply(X), known if Y.shape[1] > 1 else known[:, 0])
    return forest.predict(preparation.apply(X_new)).reshape(-1, Y.shape[1])


@pytest.mark.parametrize(("n_outputs", "missing"), [(1, 0.0), (3, 0.0), (3, 0.2)])
def test_predictions_and_choice_equal_those_of_scikit_learn(tmp_path, n_outputs, missing):
    X, Y = regression_data(70)
    Y = with_missing(Y[:, :n_outputs], missing)
    stages = Stages(tmp_path, X, Y, scale="standard").forest(
        max_features=(0.3, 1.0), n_trees=N_TREES
    )
    split = stages.tree("split")
    for size in (20, 30):
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        scores = {}
        for share in (0.3, 1.0):
            settings = {"max_features": share, "random_state": stages.seed}
            known = heldout(predictions, X[rows], Y[rows], folds, *OF_FOLDS, **settings)
            scores[share] = score_of(Y[rows], known, folds, "arrmse")
        item = stages.tree("predictions")[f"n-{size}_w-0_C-selected"]
        assert item["max_features"] == min(scores, key=scores.get)
        assert item["score"] == pytest.approx(min(scores.values()), rel=1e-12)
        chosen = {"max_features": item["max_features"], "random_state": stages.seed}
        arguments = X[rows], Y[rows], X[split["test"]]
        expected = predictions(*arguments, "random_forest", N_TREES, **chosen)
        np.testing.assert_allclose(item["outputs"], expected, rtol=1e-12)


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
        settings = {"max_features": 0.5, "random_state": stages.seed}
        expected = heldout(predictions, X[rows], Y[rows], folds, kind, FOLD_TREES, **settings)
        np.testing.assert_allclose(item["heldout_outputs"], expected, rtol=1e-12)
