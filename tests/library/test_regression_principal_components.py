"""Ridge regression of output components equals explicit loops; kernel ridge is a special case."""

import itertools

import numpy as np
import pytest
from each_case import each_case
from small_folds import (
    ALPHAS,
    FOLDS,
    N_FOLDS,
    N_ROWS,
    component_predictions,
    heldout_component_predictions,
    separate_solver,
    shared_solver,
)

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.principal_components import (
    first_least,
    fit_component_ridge,
    fit_output_components,
    select_component_penalties,
)

GAIN = 1e-9


def small_data(n_outputs=3, noise=(0.1, 1.0, 3.0), seed=1):
    """Return inputs (30, 4) and outputs that follow them, each with its own noise."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(N_ROWS, 4))
    Y = np.tanh(X @ generator.normal(size=(4, n_outputs))) * np.linspace(3, 1, n_outputs)
    Y += np.resize(noise, n_outputs) * generator.normal(size=Y.shape)
    return X, Y @ np.linalg.qr(generator.normal(size=(n_outputs, n_outputs)))[0] + 5.0


def directions_of(Y):
    """Return mean and principal directions by decreasing variance, from the covariance."""
    mean = Y.mean(axis=0)
    variances, directions = np.linalg.eigh((Y - mean).T @ (Y - mean))
    order = np.argsort(-variances)[: min(Y.shape[1], len(Y) - 1)]
    return mean, directions[:, order]


def select(Y, solver, alphas):
    """Return the choice and the held-out predictions where no output is missing."""
    return select_component_penalties([Y] * N_FOLDS, solver, alphas, GAIN)


# Components.


@pytest.mark.parametrize("shape", [(20, 3), (6, 9), (2, 4), (20, 1)])
def test_components_are_an_orthonormal_basis_of_the_outputs(shape):
    Y = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1) + 7.0
    components = fit_output_components(Y)
    rank = min(shape[1], shape[0] - 1)
    assert components.directions.shape == (shape[1], rank)
    gram = components.directions.T @ components.directions
    np.testing.assert_allclose(gram, np.eye(rank), atol=1e-12)
    scores = components.scores(Y)
    np.testing.assert_allclose(components.outputs(scores), Y, atol=1e-10)
    covariance = scores.T @ scores
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-9)
    assert (np.diff(np.diag(covariance)) < 0).all()


def test_components_are_as_many_as_the_rank():
    Y = np.random.default_rng(0).normal(size=(40, 2))
    repeated = np.column_stack([Y, Y.sum(axis=1), np.full(40, 0.1)])
    assert fit_output_components(repeated).directions.shape == (4, 2)
    for n_rows in (1, 20, 5000):
        constant = np.full((n_rows, 3), 0.1)
        components = fit_output_components(constant)
        assert components.directions.shape == (3, 0)
        np.testing.assert_allclose(components.outputs(components.scores(constant)), constant)


# Selection.


def test_choice_is_the_best_of_all_combinations():
    X, Y = small_data()
    grid = [1e-4, 0.05, np.inf]
    chosen, predictions = select(Y, shared_solver(X), grid)
    totals = {
        combination: ((heldout_component_predictions(X, Y, combination, True) - Y) ** 2).sum()
        for combination in itertools.product(grid, repeat=3)
    }
    assert tuple(chosen) == min(totals, key=totals.get)
    assert len(set(chosen)) > 1
    assert ((predictions - Y) ** 2).sum() == pytest.approx(min(totals.values()), rel=1e-10)


@each_case("solver_of", [shared_solver, separate_solver])
@each_case("center", [True, False])
@each_case("n_outputs", [1, 3, 40])
def test_predictions_are_those_of_an_explicit_loop(solver_of, center, n_outputs):
    X, Y = small_data(n_outputs)
    chosen, predictions = select(Y, solver_of(X, center), ALPHAS)
    assert set(chosen) <= set(ALPHAS)
    np.testing.assert_allclose(
        predictions, heldout_component_predictions(X, Y, chosen, center), rtol=1e-9, atol=1e-9
    )
    # Folds of 22 and 23 rows: the 22nd component is known to two of them only.
    assert len(chosen) == min(n_outputs, 22)


@pytest.mark.parametrize("solver_of", [shared_solver, separate_solver])
def test_missing_outputs_are_those_that_each_fold_filled(solver_of):
    X, Y = small_data()
    missing = np.random.default_rng(2).random(Y.shape) < 0.2
    known = np.where(missing, np.nan, Y)
    by_fold = [
        np.where(missing, np.nanmean(known[FOLDS != fold], axis=0), Y) for fold in range(N_FOLDS)
    ]
    grid = [1e-4, 0.05, np.inf]
    chosen, predictions = select_component_penalties(by_fold, solver_of(X), grid, GAIN)

    def all_predictions(combination):
        predicted = np.empty(Y.shape)
        for fold, outputs in enumerate(by_fold):
            heldout = FOLDS == fold
            predicted[heldout] = heldout_component_predictions(X, outputs, combination, True)[
                heldout
            ]
        return predicted

    filled = np.empty(Y.shape)
    for fold, outputs in enumerate(by_fold):
        filled[FOLDS == fold] = outputs[FOLDS == fold]
    totals = {
        combination: ((all_predictions(combination) - filled) ** 2).sum()
        for combination in itertools.product(grid, repeat=3)
    }
    assert tuple(chosen) == min(totals, key=totals.get)
    np.testing.assert_allclose(predictions, all_predictions(chosen), rtol=1e-9, atol=1e-9)


def test_constant_outputs_have_no_component():
    X, _ = small_data()
    Y = np.full((N_ROWS, 2), 0.1)
    for solver in (shared_solver(X), separate_solver(X)):
        chosen, predictions = select(Y, solver, ALPHAS)
        assert chosen.shape == (0,)
        np.testing.assert_allclose(predictions, 0.1, rtol=1e-12)
    dual, intercept, alphas = fit_component_ridge(gram_matrix(X), Y, chosen)
    assert alphas.shape == (0,)
    np.testing.assert_array_equal(dual, 0.0)
    np.testing.assert_allclose(intercept, 0.1)


def test_first_of_nearly_equal_values_is_kept():
    values = np.array([[1.0, 2.0, 0.0], [1.0 - 1e-12, 1.0, 0.0], [1.0 - 2e-12, 1.0 - 1e-6, 0.0]])
    np.testing.assert_array_equal(first_least(values, GAIN), [0, 2, 0])


# Refit.


@pytest.mark.parametrize("center", [True, False])
def test_every_component_has_its_own_penalty(center):
    X, Y = small_data()
    X_new = np.random.default_rng(9).normal(size=(7, 4))
    selected = [0.01, np.inf, 0.3]
    dual, intercept, _ = fit_component_ridge(gram_matrix(X, gamma=0.2), Y, selected, center)
    mean, directions = directions_of(Y)
    expected = component_predictions(X, Y, X_new, selected, center)
    predictions = gram_matrix(X_new, X, gamma=0.2) @ dual + intercept
    np.testing.assert_allclose(predictions, expected, atol=1e-9)
    # The second component stays at the mean.
    np.testing.assert_allclose((predictions - mean) @ directions[:, 1], 0.0, atol=1e-10)


def test_components_that_no_fold_has_stay_at_the_mean():
    X, Y = small_data(40)
    K = gram_matrix(X, gamma=0.2)
    dual, intercept, alphas = fit_component_ridge(K, Y, [0.01, 0.1])
    np.testing.assert_array_equal(alphas, [0.01, 0.1] + [np.inf] * (N_ROWS - 3))
    mean, directions = directions_of(Y)
    scores = (K @ dual + intercept - mean) @ directions
    np.testing.assert_allclose(scores[:, 2:], 0.0, atol=1e-9)
    assert (scores[:, :2].std(axis=0) > 0.1).all()


def test_penalties_of_components_that_all_rows_lack_are_left_out():
    X, Y = small_data(2)
    K = gram_matrix(X, gamma=0.2)
    first, second = (fit_component_ridge(K, Y, [0.01, 0.1, *more]) for more in ([], [0.5]))
    for ours, expected in zip(second, first, strict=True):
        np.testing.assert_array_equal(ours, expected)
