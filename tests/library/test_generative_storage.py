"""A model that is stored in an artifact is restored unchanged."""

import pytest
from small_data import clustered_outputs

from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.state_spaces.state_space import StateSpaceModel
from workflow_lib.models.storage import model_from_tree, model_to_tree


def test_dropped_components_are_remembered():
    Y = clustered_outputs(3)
    with pytest.warns(UserWarning):
        model = GaussianMixtureModel(5).fit(Y)
    back = model_from_tree(model_to_tree(model, fit_output_scaling(Y, "none")))
    assert (back.n_components, back.n_components_, back.n_dropped_) == (5, 3, 2)


def test_kinds_of_models():
    shared = {"variance_floor": 0.1, "n_components": 3, "n_init": 2, "random_state": 1}
    diagonal = ModelArguments("diag", **shared)
    assert isinstance(OUTPUT_MODELS.load("gaussian").new(diagonal), GaussianModel)
    mixture = OUTPUT_MODELS.load("gaussian_mixture").new(diagonal)
    assert isinstance(mixture, GaussianMixtureModel)
    assert mixture.get_params()["n_components"] == 3
    series = OUTPUT_MODELS.load("state_space").new(ModelArguments("full", n_channels=2, **shared))
    assert isinstance(series, StateSpaceModel)
    assert (series.state_dim, series.isotropic, series.observation_dim) == (3, False, 2)
