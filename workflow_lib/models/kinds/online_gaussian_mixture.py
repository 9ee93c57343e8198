"""Mixtures of Gaussians that learn in batches by stepwise EM, and their embedding."""

from collections.abc import Mapping
from typing import Any

from workflow_lib.models.kinds import gaussian_mixture
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.online_mixture import OnlineGaussianMixtureModel as Model
from workflow_lib.models.mixtures.scores import MixtureScores

BLOCKS = {"reduced": ("pi", "mu"), "full": ("pi", "mu", "sigma")}
PREIMAGES = ("closed_form", "projected", "gradient")
COVARIANCES = ("spherical", "diag")
COUNT_KEY = "n_components"
TASKS = ("regression", "series", "classes")


def new(arguments: ModelArguments) -> Model:
    """Return an unfitted mixture; without a size of batches, with the usual one."""
    sizes = {} if arguments.batch_size is None else {"batch_size": arguments.batch_size}
    return Model(
        n_components=arguments.n_components,
        covariance_type=arguments.covariance_type,
        variance_floor=arguments.variance_floor,
        random_state=arguments.random_state,
        **sizes,
    )


def from_arrays(arrays: Mapping[str, Any]) -> Model:
    """Return the mixture of `to_arrays`, which cannot learn further."""
    return gaussian_mixture.from_arrays(arrays, Model)


to_arrays = gaussian_mixture.to_arrays
scores = MixtureScores
