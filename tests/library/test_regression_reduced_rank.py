"""Ridge regression of the first output components equals explicit loops; all of them m-KRR."""

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
from workflow_lib.solvers.reduced_rank import (
    fit_reduced_rank_ridge,
    heldout_outputs,
    heldout_rank_errors,
)
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

RANKS = [1, 2, 3, 5, 100]


def small_data(n_outputs=6):
    """Return inputs (30, 4) and outputs of two strong directions and some noise."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(N_ROWS, 4))
    signal = np.tanh(X @ generator.normal(size=(4, 2))) * [3.0, 1.5]
    Y = signal @ generator.normal(size=(2, n_outputs)) + 5.0
    return X, Y + 0.5 * generator.normal(size=Y.shape)


def reduced_predictions(X, Y, X_new, rank, alpha, center=True):
    return component_predictions(X, Y, X_new, [alpha] * rank, center)


def heldout_loop(X, Y, rank, alpha, center=True):
    return heldout_component_predictions(X, Y, [alpha] * rank, center)


# Held-out predictions.


@each_case("solver_of", [shared_solver, separate_solver])
@each_case("center", [True, False])
@each_case("n_outputs", [1, 6, 40])
def test_errors_are_those_of_an_explicit_loop(solver_of, center, n_outputs):
    X, Y = small_data(n_outputs)
    solver = solver_of(X, center)
    errors = heldout_rank_errors(Y, [Y] * N_FOLDS, solver, ALPHAS, RANKS)
    assert errors.shape == (len(RANKS), len(ALPHAS), n_outputs)
    for by_alpha, rank in zip(errors, RANKS, strict=True):
        for error, alpha in zip(by_alpha, ALPHAS, strict=True):
            predicted = heldout_loop(X, Y, rank, alpha, center)
            np.testing.assert_allclose(error, ((Y - predicted) ** 2).sum(axis=0), rtol=1e-9)
            ours = heldout_outputs([Y] * N_FOLDS, solver, alpha, rank)
            np.testing.assert_allclose(ours, predicted, atol=1e-9)


def test_missing_outputs_count_nowhere():
    X, Y = small_data()
    observed = np.random.default_rng(2).random(Y.shape) > 0.2
    solver = shared_solver(X)
    errors = heldout_rank_errors(
        np.where(observed, Y, np.nan), [Y] * N_FOLDS, solver, ALPHAS, RANKS
    )
    predicted = heldout_outputs([Y] * N_FOLDS, solver, ALPHAS[1], RANKS[2])
    expected = np.where(observed, (Y - predicted) ** 2, 0.0).sum(axis=0)
    np.testing.assert_allclose(errors[2, 1], expected, rtol=1e-10)


def test_every_fold_learns_from_its_own_outputs():
    X, Y = small_data()
    generator = np.random.default_rng(3)
    by_fold = [Y + generator.normal(size=Y.shape) for _ in range(N_FOLDS)]
    ours = heldout_outputs(by_fold, shared_solver(X), 0.01, 2)
    for fold, outputs in enumerate(by_fold):
        rows = FOLDS == fold
        expected = heldout_loop(X, outputs, 2, 0.01)[rows]
        np.testing.assert_allclose(ours[rows], expected, atol=1e-9)


# Refit.


@each_case("n_outputs", [1, 6, 40])
@each_case("alpha", ALPHAS)
def test_a_fit_of_all_components_is_kernel_ridge(n_outputs, alpha):
    X, Y = small_data(n_outputs)
    K = gram_matrix(X, gamma=0.2)
    dual, intercept, rank = fit_reduced_rank_ridge(K, Y, 100, alpha)
    assert rank == min(n_outputs, N_ROWS - 1)
    expected = fit_dual_coefficients(K, Y, labelled_ridge(N_ROWS, alpha))
    np.testing.assert_allclose(K @ dual + intercept, K @ expected[0] + expected[1], atol=1e-10)
    np.testing.assert_allclose(intercept, expected[1], atol=1e-10)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_a_fit_keeps_the_first_components_only(center, rank):
    X, Y = small_data()
    X_new = np.random.default_rng(9).normal(size=(7, 4))
    dual, intercept, used = fit_reduced_rank_ridge(gram_matrix(X, gamma=0.2), Y, rank, 0.01, center)
    assert used == rank
    predictions = gram_matrix(X_new, X, gamma=0.2) @ dual + intercept
    expected = reduced_predictions(X, Y, X_new, rank, 0.01, center)
    np.testing.assert_allclose(predictions, expected, atol=1e-9)
    deviations = predictions - Y.mean(axis=0)
    assert np.linalg.matrix_rank(deviations, tol=1e-8) == rank


def test_constant_outputs_have_no_component():
    X, _ = small_data()
    Y = np.full((N_ROWS, 2), 0.1)
    for solver in (shared_solver(X), separate_solver(X)):
        errors = heldout_rank_errors(Y, [Y] * N_FOLDS, solver, ALPHAS, RANKS)
        np.testing.assert_allclose(errors, 0.0, atol=1e-25)
    dual, intercept, rank = fit_reduced_rank_ridge(gram_matrix(X), Y, 3, 0.01)
    assert rank == 0
    np.testing.assert_array_equal(dual, 0.0)
    np.testing.assert_allclose(intercept, 0.1)
