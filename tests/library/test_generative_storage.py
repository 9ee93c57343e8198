"""A model that goes through an artifact comes back the same."""

from __future__ import annotations

import numpy as np
import pytest
from small_data import COVARIANCE_TYPES, clustered_outputs, fitted_model

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.generative.gaussian import GaussianModel
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.storage import model_from_tree, model_to_tree, new_model


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
@pytest.mark.parametrize("n_components", [None, 1, 3])
def test_round_trip_through_an_artifact(tmp_path, covariance_type, n_components):
    Y = clustered_outputs()
    model = fitted_model(covariance_type, n_components, Y)
    write_artifact(tmp_path / "model.h5", {"model": model_to_tree(model)}, "models")
    back = model_from_tree(read_artifact(tmp_path / "model.h5", "models")["model"])
    assert type(back) is type(model)
    assert back.covariance_type == covariance_type
    assert back.n_components_ == model.n_components_
    np.testing.assert_array_equal(back.score_samples(Y), model.score_samples(Y))
    np.testing.assert_array_equal(back.responsibilities(Y), model.responsibilities(Y))


def test_dropped_components_are_remembered():
    with pytest.warns(UserWarning):
        model = GaussianMixtureModel(5).fit(clustered_outputs(3))
    back = model_from_tree(model_to_tree(model))
    assert (back.n_components, back.n_components_, back.n_dropped_) == (5, 3, 2)


def test_kinds_of_models():
    assert isinstance(new_model("gaussian", "diag", 0.1, n_components=3), GaussianModel)
    mixture = new_model("gaussian_mixture", "diag", 0.1, n_components=3, n_init=2, random_state=1)
    assert isinstance(mixture, GaussianMixtureModel)
    assert mixture.get_params()["n_components"] == 3
    with pytest.raises(KeyError):
        new_model("state_space", "diag", 0.1)
