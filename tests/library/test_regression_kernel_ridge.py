"""Kernel ridge regression equals scikit-learn without and a bordered system with intercept."""

import numpy as np
import pytest
from each_case import each_case
from sklearn.kernel_ridge import KernelRidge
from small_data import regression_data

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge, weak_ridge

ALPHAS = [1e-4, 1e-2, 1.0, 100.0]


def bordered_solution(K, T, ridge):
    """Solve [[K + Lambda, 1], [1', 0]] [a; b] = [T; 0] as one dense system."""
    n_rows = len(K)
    system = np.ones((n_rows + 1, n_rows + 1))
    system[:n_rows, :n_rows] = K + np.diag(np.broadcast_to(ridge, (n_rows,)))
    system[n_rows, n_rows] = 0.0
    solution = np.linalg.solve(system, np.vstack([T, np.zeros(T.shape[1])]))
    return solution[:-1], solution[-1]


@each_case("kernel", ["rbf", "linear"])
@each_case("alpha", ALPHAS)
def test_without_centring_equal_to_scikit_learn(kernel, alpha):
    X, Y = regression_data()
    ours = KernelRidgeRegressor(kernel, gamma=0.4, alpha=alpha, center=False).fit(X, Y)
    theirs = KernelRidge(kernel=kernel, gamma=0.4, alpha=2 * len(X) * alpha).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)
    np.testing.assert_array_equal(ours.intercept_, np.zeros(3))


@each_case("kernel", ["rbf", "linear", "tanimoto"])
@each_case("alpha", ALPHAS)
def test_with_centring_equal_to_the_bordered_system(kernel, alpha):
    X, Y = regression_data()
    X = np.abs(X)
    model = KernelRidgeRegressor(kernel, gamma=0.4, alpha=alpha).fit(X[:30], Y[:30])
    K = gram_matrix(X[:30], None, kernel, 0.4)
    dual, intercept = bordered_solution(K, Y[:30], 2 * 30 * alpha)
    expected = gram_matrix(X[30:], X[:30], kernel, 0.4) @ dual + intercept
    np.testing.assert_allclose(model.predict(X[30:]), expected, atol=1e-10)


def test_with_centring_a_linear_kernel_is_ridge_regression_with_intercept():
    from sklearn.linear_model import Ridge

    X, Y = regression_data()
    ours = KernelRidgeRegressor("linear", alpha=0.01).fit(X, Y)
    theirs = Ridge(alpha=2 * len(X) * 0.01).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-10)


def test_infinite_penalty_predicts_the_mean():
    X, Y = regression_data()
    predictions = KernelRidgeRegressor(alpha=np.inf).fit(X, Y).predict(X[:2])
    np.testing.assert_allclose(predictions, np.tile(Y.mean(axis=0), (2, 1)), rtol=1e-14)
    predictions = KernelRidgeRegressor(alpha=np.inf, center=False).fit(X, Y).predict(X[:2])
    np.testing.assert_array_equal(predictions, np.zeros((2, 3)))
    nearly = KernelRidgeRegressor(alpha=1e12).fit(X, Y).predict(X[:2])
    np.testing.assert_allclose(nearly, np.tile(Y.mean(axis=0), (2, 1)), atol=1e-9)


def test_duplicated_rows_and_vectors():
    X, Y = regression_data()
    doubled = KernelRidgeRegressor(alpha=0.01).fit(np.vstack([X, X]), np.vstack([Y, Y]))
    single = KernelRidgeRegressor(alpha=0.01).fit(X, Y)
    np.testing.assert_allclose(doubled.predict(X), single.predict(X), atol=1e-9)
    vector = KernelRidgeRegressor(alpha=0.01).fit(X, Y[:, 0]).predict(X)
    assert vector.shape == (len(X),)
    np.testing.assert_allclose(vector, single.predict(X)[:, 0], atol=1e-12)


def test_a_matrix_that_is_no_kernel_is_refused():
    _, Y = regression_data()
    indefinite = np.array([[1.0, 30.0], [30.0, 1.0]])
    with pytest.raises(ValueError, match="not positive definite. Raise alpha"):
        KernelRidgeRegressor("precomputed", alpha=0.1).fit(indefinite, Y[:2])


def test_rows_of_different_ridge_solve_the_bordered_system():
    X, Y = regression_data()
    K = gram_matrix(X)
    ridge = np.random.default_rng(0).uniform(0.1, 10, len(X))
    dual, intercept = fit_dual_coefficients(K, Y, ridge)
    expected_dual, expected_intercept = bordered_solution(K, Y, ridge)
    np.testing.assert_allclose(dual, expected_dual, atol=1e-11)
    np.testing.assert_allclose(intercept, expected_intercept, atol=1e-11)
    np.testing.assert_allclose(dual.sum(axis=0), 0.0, atol=1e-11)
    dual, intercept = fit_dual_coefficients(K, Y, ridge, center=False)
    np.testing.assert_allclose(dual, np.linalg.solve(K + np.diag(ridge), Y), atol=1e-11)
    np.testing.assert_array_equal(intercept, np.zeros(3))


def test_infinite_ridges_give_the_weighted_mean_as_large_ones_do():
    X, Y = regression_data()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    _, nearly = fit_dual_coefficients(gram_matrix(X), Y, 1e12 / weights)
    dual, intercept = fit_dual_coefficients(gram_matrix(X), Y, np.inf, weights=weights)
    np.testing.assert_array_equal(dual, np.zeros_like(Y))
    np.testing.assert_allclose(intercept, nearly, rtol=1e-9)


def test_terms_of_the_diagonal():
    assert labelled_ridge(10, 0.3) == pytest.approx(6.0)
    assert weak_ridge(0.3, 0.1) == pytest.approx(3.0)
