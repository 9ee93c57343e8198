"""How forests are selected where outputs are missing."""

import numpy as np
import pytest
from small_data import regression_data

from workflow_lib.measures.metrics import average_relative_error, reference_errors
from workflow_lib.solvers.forest import (
    FORESTS,
    fitted_forest,
    forest_predictions,
    grown,
    new_forest,
    select_max_features,
)


@pytest.mark.parametrize("kind", FORESTS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_forest_is_that_of_scikit_learn_to_the_last_bit(kind, n_outputs):
    X, Y = regression_data(40)
    Y = Y[:, 0] if n_outputs == 1 else Y
    forest = grown(new_forest(kind, 6, 0.5, seed=3), X, Y)
    expected = new_forest(kind, 6, 0.5, seed=3).fit(X, Y)
    predicted = expected.predict(X).reshape(len(X), -1)
    np.testing.assert_array_equal(forest_predictions(forest, X), predicted)
    for own, other in zip(forest.estimators_, expected.estimators_, strict=True):
        np.testing.assert_array_equal(own.tree_.threshold, other.tree_.threshold)
        assert own.get_params() == other.get_params() and list(vars(own)) == list(vars(other))
    assert vars(forest).keys() == vars(expected).keys()
    assert forest.get_params() == expected.get_params()


@pytest.mark.parametrize("kind", FORESTS)
def test_missing_outputs_are_filled_for_training_and_left_out_of_errors(kind):
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
        # Fifteen per cent of the trees of a fit, rounded up.
        forest = FORESTS[kind](1, max_features=0.5, random_state=1)
        predictions = forest.fit(X[kept], filled[kept]).predict(X[~kept])
        errors += np.nansum((Y[~kept] - predictions) ** 2, axis=0)
        # Rows that the fold does not train on change nothing.
        filled[~kept] = np.nan
    reference = reference_errors(Y, folds)
    parts = [(X[folds != fold], X[folds == fold]) for fold in range(4)]
    choice = select_max_features(kind, parts, folds, Y, targets, reference, [0.5], 5, 1)
    assert choice.max_features == 0.5
    assert choice.score == pytest.approx(average_relative_error(errors, reference), rel=1e-12)


@pytest.mark.parametrize("kind", FORESTS)
def test_units_of_outputs_do_not_decide_a_forest(kind):
    X, Y = regression_data(60)
    # Powers of two, so that scaling rounds nothing.
    units = np.array([1024.0, 1.0, 1.0 / 1024])

    def predictions(Y, scale):
        return forest_predictions(fitted_forest(kind, X[:40], Y[:40], 5, 0.5, 1, scale), X[40:])

    expected = predictions(Y, "standard")
    np.testing.assert_array_equal(predictions(Y * units, "standard"), expected * units)
    changed = predictions(Y * units, "none") / units - predictions(Y, "none")
    assert np.abs(changed).max() > 1e-3
