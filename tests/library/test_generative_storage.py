"""A model that goes through an artifact comes back the same."""

from __future__ import annotations

import numpy as np
import pytest
from small_data import COVARIANCE_TYPES, clustered_outputs, fitted_model

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.fisher import FisherEmbedding
from workflow_lib.generative.gaussian import GaussianModel
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.output_scaling import fit_output_scaling
from workflow_lib.generative.state_space import StateSpaceModel
from workflow_lib.generative.storage import model_from_tree, model_to_tree, scaling_from_tree
from workflow_lib.output_models import registry
from workflow_lib.output_models.base import ModelArguments


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_round_trip_through_an_artifact(tmp_path, covariance_type, n_components):
    Y = clustered_outputs()
    model = fitted_model(covariance_type, n_components, Y)
    write_artifact(
        tmp_path / "model.h5",
        {"model": model_to_tree(model, fit_output_scaling(Y, "none"))},
        "models",
    )
    back = model_from_tree(read_artifact(tmp_path / "model.h5", "models")["model"])
    assert type(back) is type(model)
    assert back.covariance_type == covariance_type
    assert back.n_components_ == model.n_components_
    np.testing.assert_array_equal(back.score_samples(Y), model.score_samples(Y))
    np.testing.assert_array_equal(back.responsibilities(Y), model.responsibilities(Y))


def test_dropped_components_are_remembered():
    Y = clustered_outputs(3)
    with pytest.warns(UserWarning):
        model = GaussianMixtureModel(5).fit(Y)
    back = model_from_tree(model_to_tree(model, fit_output_scaling(Y, "none")))
    assert (back.n_components, back.n_components_, back.n_dropped_) == (5, 3, 2)


def test_kinds_of_models():
    shared = {"variance_floor": 0.1, "n_components": 3, "n_init": 2, "random_state": 1}
    diagonal = ModelArguments("diag", **shared)
    assert isinstance(registry.load("gaussian").new(diagonal), GaussianModel)
    mixture = registry.load("gaussian_mixture").new(diagonal)
    assert isinstance(mixture, GaussianMixtureModel)
    assert mixture.get_params()["n_components"] == 3
    series = registry.load("state_space").new(ModelArguments("full", n_channels=2, **shared))
    assert isinstance(series, StateSpaceModel)
    assert (series.state_dim, series.isotropic, series.observation_dim) == (3, False, 2)


@pytest.mark.parametrize("isotropic", [True, False])
def test_round_trip_of_a_state_space_model(tmp_path, isotropic):
    Z = np.random.default_rng(0).normal(size=(30, 4, 2)).cumsum(axis=1)
    model = StateSpaceModel(n_iter=5, n_init=1, isotropic=isotropic, observation_dim=2).fit(Z)
    scaling = fit_output_scaling(Z.reshape(30, -1), "center")
    write_artifact(tmp_path / "model.h5", {"model": model_to_tree(model, scaling)}, "models")
    stored = read_artifact(tmp_path / "model.h5", "models")["model"]
    back = model_from_tree(stored)
    np.testing.assert_array_equal(back.score_samples(Z), model.score_samples(Z))
    np.testing.assert_array_equal(scaling_from_tree(stored).offset, scaling.offset)
    H = FisherEmbedding(model).transform(Z)
    np.testing.assert_array_equal(FisherEmbedding(back).transform(Z), H)
    np.testing.assert_allclose(FisherEmbedding(back).inverse_transform(H), Z, atol=1e-9)
