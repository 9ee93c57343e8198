"""Random features approximate the rbf kernel without any row."""

import numpy as np

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.random_features import RandomFeatures, orthogonal_directions

GAMMA = 0.4


def inputs(n_rows=60, n_columns=5):
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


def squared_error(n_directions, seed):
    X = inputs()
    directions = orthogonal_directions(n_directions, 5, np.random.default_rng(seed))
    Z = RandomFeatures(directions, GAMMA).transform(X)
    return ((Z @ Z.T - gram_matrix(X, None, "rbf", GAMMA)) ** 2).mean()


def test_directions_are_orthogonal_in_groups_and_normal():
    directions = orthogonal_directions(12, 5, np.random.default_rng(1))
    assert directions.shape == (12, 5)
    for start, end in ((0, 5), (5, 10), (10, 12)):
        products = directions[start:end] @ directions[start:end].T
        np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
    many = orthogonal_directions(20_000, 5, np.random.default_rng(2))
    np.testing.assert_allclose(many.mean(axis=0), 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(many.T), np.eye(5), atol=0.05)


def test_the_error_falls_as_one_over_the_root_of_the_number_of_directions():
    errors = [np.sqrt(np.mean([squared_error(m, seed) for seed in range(30)])) for m in (20, 320)]
    # Sixteen times as many directions: a quarter of the error.
    assert 3.5 < errors[0] / errors[1] < 4.6


def test_very_many_features_have_the_kernel_as_inner_products():
    directions = orthogonal_directions(20_000, 5, np.random.default_rng(4))
    Z = RandomFeatures(directions, GAMMA).transform(inputs())
    K = gram_matrix(inputs(), None, "rbf", GAMMA)
    np.testing.assert_allclose(Z @ Z.T, K, atol=0.03)
    # Some thousand errors nearly cancel each other.
    assert abs((Z @ Z.T - K).mean()) < 0.001


def test_rows_have_length_one_and_inner_products_do_not_depend_on_the_origin():
    directions = orthogonal_directions(7, 5, np.random.default_rng(3))
    features = RandomFeatures(directions, GAMMA)
    Z, moved = features.transform(inputs()), features.transform(inputs() + 4.0)
    assert features.n_features == Z.shape[1] == 14
    np.testing.assert_allclose((Z**2).sum(axis=1), 1.0)
    np.testing.assert_allclose(moved @ moved.T, Z @ Z.T, atol=1e-10)
