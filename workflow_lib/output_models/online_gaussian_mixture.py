"""Mixtures of Gaussians that learn in batches by stepwise EM, and their embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workflow_lib.embeddings.mixture import MixtureScores
from workflow_lib.generative.online_mixture import OnlineGaussianMixtureModel as Model
from workflow_lib.output_models import gaussian
from workflow_lib.output_models.base import ModelArguments

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
    n_kept, n_dropped = len(arrays["weights"]), int(arrays["n_dropped"])
    model = Model(
        n_kept + n_dropped,
        arrays["covariance_type"],
        variance_floor=float(arrays["variance_floor"]),
    )
    model.n_components_, model.n_dropped_ = n_kept, n_dropped
    model.weights_, model.means_ = arrays["weights"], arrays["means"]
    model.covariances_ = arrays["covariances"]
    return model


to_arrays = gaussian.to_arrays
scores = MixtureScores
