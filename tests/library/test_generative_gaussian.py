"""The single Gaussian: maximum likelihood, and equal to a mixture of one component."""

import numpy as np
import pytest
from small_data import COVARIANCE_TYPES, clustered_outputs

from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel


def test_full_gaussian_is_the_sample_mean_and_covariance():
    Y = clustered_outputs(50)
    model = GaussianModel("full", variance_floor=1e-9).fit(Y)
    np.testing.assert_allclose(model.mean_, Y.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(model.covariance_, np.cov(Y.T, ddof=0), rtol=1e-12)


def test_spherical_variance_is_the_mean_of_the_output_variances():
    Y = clustered_outputs(50)
    for covariance_type in ("spherical", "tied_spherical"):
        model = GaussianModel(covariance_type).fit(Y)
        assert model.covariance_ == pytest.approx(Y.var(axis=0).mean())


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_equal_to_a_mixture_of_one_component(covariance_type):
    Y = clustered_outputs(50)
    gaussian = GaussianModel(covariance_type).fit(Y)
    mixture = GaussianMixtureModel(1, covariance_type).fit(Y)
    np.testing.assert_allclose(gaussian.means_, mixture.means_, rtol=1e-13)
    np.testing.assert_allclose(gaussian.covariances_, mixture.covariances_, rtol=1e-13)
    np.testing.assert_allclose(gaussian.score_samples(Y), mixture.score_samples(Y), rtol=1e-12)
    np.testing.assert_array_equal(gaussian.responsibilities(Y), np.ones((50, 1)))
    assert gaussian.n_components_ == 1


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_one_row_and_constant_outputs_have_the_floor_as_variance(covariance_type):
    for Y in (np.array([[1.0, 2.0]]), np.full((5, 2), 3.0)):
        model = GaussianModel(covariance_type, variance_floor=0.2).fit(Y)
        expected = 0.2 * np.eye(2) if covariance_type == "full" else 0.2
        np.testing.assert_allclose(model.covariance_, expected, atol=1e-15)
        assert np.isfinite(model.score_samples(Y)).all()
