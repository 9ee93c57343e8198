"""The projection on the simplex is the nearest probability vector."""

import numpy as np
import pytest
from scipy.optimize import minimize

from workflow_lib.models.simplex import project_on_simplex


@pytest.mark.parametrize("n_components", [1, 2, 3, 10])
def test_projections_are_probabilities(n_components):
    weights = 3 * np.random.default_rng(0).normal(size=(5, 7, n_components))
    projected = project_on_simplex(weights)
    assert projected.shape == weights.shape
    assert projected.min() >= 0
    np.testing.assert_allclose(projected.sum(axis=-1), 1.0, rtol=1e-12)


def test_probabilities_stay_where_they_are():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    np.testing.assert_allclose(project_on_simplex(weights), weights, atol=1e-15)
    np.testing.assert_array_equal(project_on_simplex(np.eye(4)), np.eye(4))


def test_nearest_point_by_another_solver():
    for weights in np.random.default_rng(0).normal(size=(5, 4)):
        theirs = minimize(
            lambda p, w=weights: ((p - w) ** 2).sum(),
            np.full(4, 0.25),
            jac=lambda p, w=weights: 2 * (p - w),
            bounds=[(0, 1)] * 4,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(project_on_simplex(weights), theirs.x, atol=1e-6)


def test_optimality_conditions():
    # p = max(w - t, 0) for one threshold t.
    weights = np.random.default_rng(1).normal(size=(50, 6))
    projected = project_on_simplex(weights)
    for w, p in zip(weights, projected):
        thresholds = (w - p)[p > 0]
        np.testing.assert_allclose(thresholds, thresholds[0], atol=1e-12)
        assert (w[p == 0] <= thresholds[0] + 1e-12).all()


@pytest.mark.parametrize("size", [1e8, 1e17, 1e300])
def test_large_weights_pick_the_largest(size):
    weights = size * np.array([[-1.0, 2.0, 1.0], [3.0, -1.0, 0.0]])
    np.testing.assert_array_equal(project_on_simplex(weights), [[0, 1, 0], [1, 0, 0]])


def test_ties_are_shared():
    np.testing.assert_allclose(project_on_simplex(np.array([5.0, 5.0, 0.0])), [0.5, 0.5, 0.0])
