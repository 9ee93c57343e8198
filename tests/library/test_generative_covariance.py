"""Covariances of components: densities, precisions, floors and constrained maximisers."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from small_data import COVARIANCE_TYPES, clustered_outputs

from workflow_lib.models.covariance import (
    ComponentPrecision,
    absolute_floor,
    estimate_covariances,
    log_gaussian_densities,
    squared_distances,
)


def random_covariances(covariance_type, n_components, dimension, seed=0):
    generator = np.random.default_rng(seed)
    if covariance_type == "tied_spherical":
        return 0.7
    if covariance_type == "spherical":
        return generator.uniform(0.5, 2.0, n_components)
    if covariance_type == "diag":
        return generator.uniform(0.5, 2.0, (n_components, dimension))
    factors = generator.normal(size=(n_components, dimension, dimension))
    return factors @ factors.transpose(0, 2, 1) + np.eye(dimension)


def dense(covariances, covariance_type, component, dimension):
    if covariance_type == "tied_spherical":
        return covariances * np.eye(dimension)
    if covariance_type == "spherical":
        return covariances[component] * np.eye(dimension)
    if covariance_type == "diag":
        return np.diag(covariances[component])
    return covariances[component]


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_log_densities_equal_those_of_scipy(covariance_type):
    Y = clustered_outputs(20)
    means = clustered_outputs(2, seed=5)
    covariances = random_covariances(covariance_type, 2, 3)
    theirs = np.stack(
        [
            multivariate_normal(means[j], dense(covariances, covariance_type, j, 3)).logpdf(Y)
            for j in range(2)
        ],
        axis=1,
    )
    ours = log_gaussian_densities(Y, means, covariances, covariance_type)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_squared_distances_are_those_of_differences_even_far_from_the_origin(offset):
    Y, means = clustered_outputs(30) + offset, clustered_outputs(4, seed=5) + offset
    direct = ((Y[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(Y, means), direct, rtol=1e-9)
    assert squared_distances(Y, Y).min() >= 0.0
    assert np.diag(squared_distances(Y, Y)).max() <= 1e-12 * direct.max()


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_common_offset_changes_neither_densities_nor_covariances(covariance_type):
    Y, means = clustered_outputs(20), clustered_outputs(2, seed=5)
    responsibilities = np.random.default_rng(1).dirichlet([1, 1], size=20)
    covariances = random_covariances(covariance_type, 2, 3)
    near, far = (
        log_gaussian_densities(Y + offset, means + offset, covariances, covariance_type)
        for offset in (0.0, 1e5)
    )
    np.testing.assert_allclose(far, near, rtol=1e-8)
    near, far = (
        estimate_covariances(Y + offset, responsibilities, means + offset, covariance_type, 1e-9)
        for offset in (0.0, 1e5)
    )
    np.testing.assert_allclose(far, near, rtol=1e-8)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_precision_is_the_inverse(covariance_type):
    covariances = random_covariances(covariance_type, 1, 3)
    matrix = dense(covariances, covariance_type, 0, 3)
    stored = covariances if covariance_type == "tied_spherical" else covariances[0]
    precision = ComponentPrecision(stored)
    np.testing.assert_allclose(precision.dense(3) @ matrix, np.eye(3), atol=1e-12)


def test_covariance_that_is_not_positive_definite_names_the_remedy():
    with pytest.raises(ValueError, match="Raise variance_floor, lower n_components"):
        ComponentPrecision(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_estimates_without_floor_are_weighted_sample_covariances():
    Y = clustered_outputs(30)
    responsibilities = np.random.default_rng(1).dirichlet([1, 1], size=30)
    counts = responsibilities.sum(axis=0)
    means = responsibilities.T @ Y / counts[:, None]
    full = np.stack(
        [np.cov(Y.T, aweights=responsibilities[:, j], ddof=0, bias=True) for j in range(2)]
    )
    variances = np.stack([np.diag(matrix) for matrix in full])
    expected = {
        "full": full,
        "diag": variances,
        "spherical": variances.mean(axis=1),
        "tied_spherical": counts @ variances.mean(axis=1) / 30,
    }
    for covariance_type in COVARIANCE_TYPES:
        ours = estimate_covariances(Y, responsibilities, means, covariance_type, 1e-9)
        np.testing.assert_allclose(ours, expected[covariance_type], rtol=1e-12)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_no_eigenvalue_falls_below_the_floor(covariance_type):
    Y = clustered_outputs(6)
    responsibilities = np.eye(6)[:, :2] + 1e-3
    means = Y[:2]
    covariances = estimate_covariances(Y, responsibilities, means, covariance_type, floor=50.0)
    for j in range(2):
        eigenvalues = np.linalg.eigvalsh(dense(covariances, covariance_type, j, 3))
        assert eigenvalues.min() >= 50.0 * (1 - 1e-12)


def test_floor_is_relative_to_the_mean_output_variance():
    Y = clustered_outputs()
    assert absolute_floor(Y, 0.1) == pytest.approx(0.1 * Y.var(axis=0).mean())
    assert absolute_floor(1000 * Y, 0.1) == pytest.approx(1e6 * absolute_floor(Y, 0.1))
    assert absolute_floor(np.zeros((4, 2)), 0.1) == 0.1


@pytest.mark.parametrize("variance_floor", [0.0, -1.0, np.nan])
def test_floor_must_be_positive(variance_floor):
    with pytest.raises(ValueError, match="variance_floor must be positive"):
        absolute_floor(clustered_outputs(), variance_floor)
