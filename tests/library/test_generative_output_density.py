"""Densities of outputs as priors, and shrunk covariances."""

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf
from small_data import clustered_outputs

from workflow_lib.models.output_density import fit_output_density, shrunk_covariance

KINDS = [("gaussian", None), ("mixture", 3), ("mixture_full", 3), ("kernel", 0.3)]


@pytest.mark.parametrize(("n_rows", "dimension"), [(5, 20), (50, 3), (200, 12), (3, 1)])
def test_the_shrunk_covariance_is_that_of_scikit_learn(n_rows, dimension):
    random = np.random.default_rng(0)
    Y = random.normal(size=(n_rows, dimension)) @ random.normal(size=(dimension, dimension))
    Y -= Y.mean(axis=0)
    expected, _ = ledoit_wolf(Y, assume_centered=True)
    np.testing.assert_allclose(shrunk_covariance(Y).covariance, expected, rtol=1e-9)


def test_outputs_that_do_not_vary_have_a_covariance():
    np.testing.assert_array_equal(shrunk_covariance(np.zeros((4, 2))).covariance, np.eye(2))
    for kind, setting in KINDS:
        density = fit_output_density(np.full((4, 2), 7.0), kind, setting)
        np.testing.assert_allclose(density.weights @ density.means, [7.0, 7.0])
        covariances = np.atleast_3d(density.covariances)
        assert (np.trace(covariances, axis1=-2, axis2=-1) > 0).all()


@pytest.mark.parametrize(("kind", "setting"), KINDS)
def test_means_and_variances_are_those_of_the_outputs(kind, setting):
    Y = clustered_outputs(90, 3, spread=1.5)
    weights, means, covariances, shape, _ = fit_output_density(Y, kind, setting)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(weights @ means, Y.mean(axis=0), atol=1e-6)
    if shape == "full":
        centred = means - weights @ means
        total = np.einsum("c,ci,cj->ij", weights, centred, centred)
        total += np.einsum("c,cij->ij", weights, covariances)
        assert np.trace(total) == pytest.approx(np.trace(np.cov(Y.T, bias=True)), rel=1e-3)
    else:
        assert covariances == pytest.approx(setting**2 * Y.var(axis=0).mean())


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of"):
        fit_output_density(np.ones((2, 2)), "box")


def test_covariances_of_components_are_their_own_with_many_rows_and_shared_with_few():
    random = np.random.default_rng(0)
    wide, narrow = random.normal(size=(2, 400, 2)) * [[[3.0, 0.1]], [[0.1, 3.0]]]
    Y = np.vstack([wide - 30.0, narrow + 30.0])
    found = fit_output_density(Y, "mixture_full", 2)
    for covariance, mean in zip(found.covariances, found.means, strict=True):
        expected = np.cov((wide if mean[0] < 0 else narrow).T, bias=True)
        np.testing.assert_allclose(covariance, expected, atol=0.1)
    assert found.shrinkage < 0.02
    few = fit_output_density(Y[[0, 1, 2, -1, -2, -3]], "mixture_full", 2)
    assert few.shrinkage > 0.1
