"""The graph, and ridge regression under its penalty, equal plain loops and normal equations."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.laplacian import (
    deformation,
    deformed_grams,
    fit_laplacian_ridge,
    graph_laplacian,
)
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

N_LABELLED, N_UNLABELLED, N_OTHERS = 12, 9, 5
N_ROWS = N_LABELLED + N_UNLABELLED


def small_data():
    """Return inputs of labelled and unlabelled rows (21, 3), others (5, 3) and outputs (12, 2)."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_ROWS, 3))
    Y = np.tanh(X[:N_LABELLED] @ generator.normal(size=(3, 2))) + 4.0
    return X, generator.normal(size=(N_OTHERS, 3)), Y


def laplacian_by_loops(distances, n_neighbours):
    """Return the normalised Laplacian from squared distances without ties."""
    n_rows = len(distances)
    joined = np.zeros((n_rows, n_rows), dtype=bool)
    for row in range(n_rows):
        order = [other for other in np.argsort(distances[row]) if other != row]
        for other in order[:n_neighbours]:
            joined[row, other] = joined[other, row] = True
    unit = distances[joined].mean()
    weights = np.where(joined, np.exp(-distances / unit), 0.0)
    root = np.diag(1.0 / np.sqrt(weights.sum(axis=1)))
    return np.eye(n_rows) - root @ weights @ root


def squared_distances(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


# The graph.


@pytest.mark.parametrize("n_neighbours", [1, 4, N_ROWS - 1])
def test_laplacian_equals_loops(n_neighbours):
    X, _, _ = small_data()
    expected = laplacian_by_loops(squared_distances(X), n_neighbours)
    ours = graph_laplacian(gram_matrix(X, kernel="linear"), n_neighbours)
    np.testing.assert_allclose(ours, expected, atol=1e-12)


def test_distances_are_those_of_the_kernel():
    X, _, _ = small_data()
    K = gram_matrix(X, gamma=0.4)
    expected = laplacian_by_loops(2.0 - 2.0 * np.exp(-0.4 * squared_distances(X)), 3)
    np.testing.assert_allclose(graph_laplacian(K, 3), expected, atol=1e-12)


def test_more_neighbours_than_rows_are_all_of_them():
    K = gram_matrix(small_data()[0])
    np.testing.assert_array_equal(graph_laplacian(K, 500), graph_laplacian(K, N_ROWS - 1))


def test_order_of_the_rows_does_not_matter_although_distances_are_equal():
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1], [0, 1]], dtype=float)
    order = np.random.default_rng(0).permutation(len(corners))
    first, second = (
        graph_laplacian(gram_matrix(rows, kernel="linear"), 1) for rows in (corners, corners[order])
    )
    np.testing.assert_allclose(first[np.ix_(order, order)], second, atol=1e-14)
    # The first corner has two nearest neighbours, one of them duplicated.
    np.testing.assert_array_equal(np.flatnonzero(first[0]), [0, 1, 2, 6])


def test_equal_inputs_have_equal_weights():
    ours = graph_laplacian(np.ones((4, 4)), 2)
    np.testing.assert_allclose(ours, np.eye(4) * 4 / 3 - np.ones((4, 4)) / 3, atol=1e-15)


def test_an_input_too_far_for_any_weight_has_no_penalty():
    X = np.concatenate([np.random.default_rng(0).normal(size=(2000, 1)), [[1e6]]])
    laplacian = graph_laplacian(gram_matrix(X, kernel="linear"), 1)
    assert np.isfinite(laplacian).all()
    np.testing.assert_array_equal(laplacian[-1], 0.0)
    assert (np.diag(laplacian)[:-1] == 1.0).all()


def test_a_single_row_has_no_penalty():
    np.testing.assert_array_equal(graph_laplacian(np.ones((1, 1)), 5), 0.0)


# The kernel.


@pytest.mark.parametrize("weight", [0.1, 3.0])
def test_deformed_kernel_equals_its_formula(weight):
    X, others, _ = small_data()
    K, K_others = gram_matrix(X), gram_matrix(others, X)
    laplacian = graph_laplacian(K, 4)
    ours = deformed_grams(K, K_others, deformation(laplacian @ K, weight, N_LABELLED))
    middle = np.linalg.inv(np.eye(N_ROWS) + weight * laplacian @ K) @ (weight * laplacian)
    expected = (K - K @ middle @ K)[:N_LABELLED, :N_LABELLED]
    np.testing.assert_allclose(ours[0], expected, atol=1e-12)
    np.testing.assert_array_equal(ours[0], ours[0].T)
    assert np.linalg.eigvalsh(ours[0]).min() > -1e-12
    expected = (K_others - K_others @ middle @ K)[:, :N_LABELLED]
    np.testing.assert_allclose(ours[1], expected, atol=1e-12)


# The problem.


def solution_of_normal_equations(K, Y, laplacian, weight, alpha, center):
    """Return coefficients on all rows and intercepts that minimise the module's problem."""
    n_labelled = len(Y)
    K_labelled = K[:n_labelled]
    ridge = 2.0 * n_labelled * alpha
    square = K_labelled.T @ K_labelled + ridge * (K + weight * K @ laplacian @ K)
    if not center:
        return np.linalg.solve(square, K_labelled.T @ Y), np.zeros(Y.shape[1])
    sums = K_labelled.sum(axis=0)
    system = np.block([[square, sums[:, None]], [sums[None], np.array([[n_labelled]])]])
    solved = np.linalg.solve(system, np.vstack([K_labelled.T @ Y, Y.sum(axis=0)]))
    return solved[:-1], solved[-1]


@each_case("n_unlabelled", [0, N_UNLABELLED])
@each_case("center", [True, False])
@each_case("weight", [0.05, 2.0, 30.0])
def test_fit_solves_the_normal_equations(n_unlabelled, center, weight):
    X, others, Y = small_data()
    X = X[: N_LABELLED + n_unlabelled]
    K, K_others = gram_matrix(X, gamma=1.0), gram_matrix(others, X, gamma=1.0)
    alpha = 1e-3
    ours = fit_laplacian_ridge(K, Y, 4, weight, labelled_ridge(N_LABELLED, alpha), center)
    expected = solution_of_normal_equations(K, Y, graph_laplacian(K, 4), weight, alpha, center)
    np.testing.assert_allclose(ours[1], expected[1], atol=1e-8)
    np.testing.assert_allclose(
        K_others @ ours[0] + ours[1], K_others @ expected[0] + expected[1], atol=1e-8
    )


@each_case("center", [True, False])
@each_case("alpha", [1e-4, 0.1, np.inf])
@each_case("weight", [0.0, 1e-12])
def test_without_weight_it_is_kernel_ridge(center, alpha, weight):
    X, others, Y = small_data()
    ridge = labelled_ridge(N_LABELLED, alpha)
    dual, intercept = fit_laplacian_ridge(gram_matrix(X), Y, 4, weight, ridge, center)
    labelled = X[:N_LABELLED]
    expected = fit_dual_coefficients(gram_matrix(labelled), Y, ridge, center)
    np.testing.assert_allclose(
        gram_matrix(others, X) @ dual + intercept,
        gram_matrix(others, labelled) @ expected[0] + expected[1],
        atol=1e-8,
    )
