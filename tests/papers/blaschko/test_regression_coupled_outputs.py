"""Ridge regression that couples outputs: its normal equations, its optimum, and m-KRR as a case."""

import numpy as np
import pytest
from each_case import each_case
from small_folds import ALPHAS, N_ROWS, ridge_predictions

from workflow_lib.papers.blaschko.coupled_outputs import (
    DEPENDENCES,
    SpectralRidge,
    dependence_matrix,
    fitted_ranks,
    independence_criteria,
    joint_kernels,
)
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.ridge import labelled_ridge

ALPHA = ALPHAS[1]
RIDGE = labelled_ridge(N_ROWS, ALPHA)


def small_data(n_outputs=6):
    """Return inputs (30, 4) and standardised outputs of two strong directions and some noise."""
    generator = np.random.default_rng(1)
    X = generator.normal(size=(N_ROWS, 4))
    Y = np.tanh(X @ generator.normal(size=(4, 2))) @ generator.normal(size=(2, n_outputs))
    Y += 0.3 * generator.normal(size=Y.shape)
    return X, (Y - Y.mean(axis=0)) / Y.std(axis=0)


def fitted(X, Z, couple, alpha=ALPHA, center=True):
    """Return the Gram matrix, the dual coefficients and the intercepts."""
    K = gram_matrix(X, gamma=0.2)
    return K, *SpectralRidge(K, Z, center).solution(alpha, couple)


@each_case("center", [True, False])
@each_case("alpha", ALPHAS)
@each_case("n_outputs", [1, 6, 40])
def test_full_rank_and_no_coupling_are_kernel_ridge(n_outputs, alpha, center):
    X, Z = small_data(n_outputs)
    X_new = np.random.default_rng(2).normal(size=(7, 4))
    K, K_new = gram_matrix(X, gamma=0.2), gram_matrix(X_new, X, gamma=0.2)
    expected = ridge_predictions(X, Z, X_new, alpha, center)
    ridge = SpectralRidge(K, Z, center)
    filters = [fitted_ranks([n_outputs, 100])]
    filters += [joint_kernels(Z, [0.0], dependence) for dependence in DEPENDENCES]
    for couple in filters:
        for predicted in ridge.predict(K_new, [alpha], couple)[:, 0]:
            np.testing.assert_allclose(predicted, expected, atol=1e-10)
        dual, intercept = ridge.solution(alpha, couple)
        np.testing.assert_allclose(K_new @ dual + intercept, expected, atol=1e-10)


@each_case("center", [True, False])
@each_case("dependence", DEPENDENCES)
@each_case("coupling", [0.3, 0.9])
def test_a_joint_kernel_satisfies_its_normal_equations(coupling, dependence, center):
    X, Z = small_data()
    K, dual, intercept = fitted(X, Z, joint_kernels(Z, [coupling], dependence), center=center)
    B = (1.0 - coupling) * np.eye(6) + coupling * dependence_matrix(Z, dependence)
    C = np.linalg.solve(B, dual.T).T
    np.testing.assert_allclose(K @ C @ B + RIDGE * C + intercept, Z, atol=1e-10)
    np.testing.assert_allclose(C.sum(axis=0) if center else intercept, 0.0, atol=1e-10)
    # It is the solution of the Kronecker product, and another one than without coupling.
    if not center:
        system = np.kron(K, B) + RIDGE * np.eye(Z.size)
        np.testing.assert_allclose(np.linalg.solve(system, Z.ravel()), C.ravel(), atol=1e-9)
    without = fitted(X, Z, joint_kernels(Z, [0.0], dependence), center=center)[1]
    assert np.abs(K @ (dual - without)).max() > 1e-2


def objective(K, dual, intercept, Z):
    residual = Z - K @ dual - intercept
    return (residual**2).sum() + RIDGE * np.trace(dual.T @ K @ dual)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_fitted_values_have_the_rank_and_the_least_penalised_squares(rank, center):
    X, Z = small_data()
    K, dual, intercept = fitted(X, Z, fitted_ranks([rank]), center=center)
    values = K @ dual + intercept
    assert np.linalg.matrix_rank(values, tol=1e-8) == rank
    least = objective(K, dual, intercept, Z)
    # Alternating least squares over functions A W' of the same rank do not get lower.
    generator = np.random.default_rng(3)
    center_rows = np.eye(N_ROWS) - center / N_ROWS
    G = center_rows @ K @ center_rows
    for _ in range(3):
        W = np.linalg.qr(generator.normal(size=(6, rank)))[0]
        for _ in range(300):
            A = np.linalg.solve(G + RIDGE * np.eye(N_ROWS), Z @ W)
            W = np.linalg.qr(Z.T @ G @ A)[0]
        A = np.linalg.solve(G + RIDGE * np.eye(N_ROWS), Z @ W) @ W.T
        found = ((Z - G @ A) ** 2).sum() + RIDGE * np.trace(A.T @ G @ A)
        assert found >= least * (1 - 1e-10)
        assert found == pytest.approx(least, rel=1e-3)
    # Neither do the right singular vectors of the fitted values, which leave out the penalty.
    full = fitted(X, Z, fitted_ranks([6]), center=center)[1]
    V = np.linalg.svd(G @ full)[2][:rank]
    other = full @ V.T @ V
    assert ((Z - G @ other) ** 2).sum() + RIDGE * np.trace(other.T @ G @ other) >= least - 1e-12


def test_without_a_penalty_the_directions_are_those_of_the_fitted_values():
    X, Z = small_data()
    K = X @ X.T
    dual, intercept = SpectralRidge(K, Z).solution(1e-9, fitted_ranks([2]))
    centred = X - X.mean(axis=0)
    least_squares = centred @ np.linalg.lstsq(centred, Z, rcond=None)[0]
    V = np.linalg.svd(least_squares)[2][:2]
    np.testing.assert_allclose(K @ dual + intercept, least_squares @ V.T @ V, atol=1e-6)


def test_criteria_are_those_of_centred_gram_matrices():
    Z = small_data(n_outputs=4)[1]
    H = np.eye(N_ROWS) - 1.0 / N_ROWS
    grams = [H @ gram_matrix(column[:, None], gamma=0.5) @ H for column in Z.T]
    expected = [[(first * second).sum() / N_ROWS**2 for second in grams] for first in grams]
    np.testing.assert_allclose(independence_criteria(Z), expected, atol=1e-12)
    # More rows than a block.
    many = np.tile(Z, (5, 1))
    np.testing.assert_allclose(independence_criteria(many), expected, atol=1e-12)


@pytest.mark.parametrize("dependence", DEPENDENCES)
def test_dependence_is_a_kernel_that_follows_the_signs_of_outputs(dependence):
    Z = small_data()[1]
    D = dependence_matrix(Z, dependence)
    np.testing.assert_allclose(np.diag(D), 1.0)
    assert np.linalg.eigvalsh(D).min() > -1e-12
    signs = np.array([1, -1, 1, 1, -1, 1])
    turned = dependence_matrix(Z * signs, dependence)
    np.testing.assert_allclose(turned, D * np.outer(signs, signs), atol=1e-12)
    twice = dependence_matrix(np.column_stack([Z[:, 0], -Z[:, 0], np.zeros(N_ROWS)]), dependence)
    np.testing.assert_allclose(twice, [[1, -1, 0], [-1, 1, 0], [0, 0, 1]], atol=1e-12)


def test_an_unknown_dependence_is_refused():
    with pytest.raises(ValueError, match="one of .*; found 'distance'"):
        dependence_matrix(np.eye(3), "distance")
