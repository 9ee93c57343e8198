"""Linear-Gaussian state-space models of series, and their embedding."""

from collections.abc import Mapping
from typing import Any

from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.state_spaces.linear_gaussian import LinearGaussianParameters
from workflow_lib.models.state_spaces.scores import StateSpaceScores
from workflow_lib.models.state_spaces.state_space import StateSpaceModel as Model

BLOCKS = {"reduced": ("initial", "state", "observation")}
PREIMAGES = ("closed_form",)
COVARIANCES = ("spherical", "full")
COUNT_KEY = "state_dim"
TASKS = ("series",)

_ARRAYS = tuple(f"{name}_" for name in LinearGaussianParameters._fields)


def new(arguments: ModelArguments) -> Model:
    """Return an unfitted model, with isotropic noise (as in the paper) for ``spherical``."""
    return Model(
        state_dim=arguments.n_components,
        n_init=arguments.n_init,
        isotropic=arguments.covariance_type == "spherical",
        random_state=arguments.random_state,
        observation_dim=arguments.n_channels,
        prior_variance=arguments.variance_floor,
    )


def to_arrays(model: Model) -> dict[str, Any]:
    """Return a fitted model as arrays."""
    return {name: getattr(model, name) for name in _ARRAYS} | {"n_steps": model.n_steps_}


def from_arrays(arrays: Mapping[str, Any]) -> Model:
    """Return the model of `to_arrays`."""
    model = Model(state_dim=len(arrays["transition_"]))
    for name in _ARRAYS:
        setattr(model, name, arrays[name])
    model.n_steps_ = int(arrays["n_steps"])
    return model


scores = StateSpaceScores
