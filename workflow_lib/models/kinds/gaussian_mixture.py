"""Mixtures of Gaussians fitted by expectation-maximisation, and their embedding."""

from collections.abc import Mapping
from typing import Any

from workflow_lib.models.kinds import gaussian
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel as Model
from workflow_lib.models.mixtures.scores import MixtureScores

BLOCKS = {"reduced": ("pi", "mu"), "full": ("pi", "mu", "sigma")}
PREIMAGES = ("closed_form", "projected", "gradient")
COVARIANCES = ("spherical", "tied_spherical", "diag", "full")
COUNT_KEY = "n_components"
TASKS = ("regression", "series", "classes")


def new(arguments: ModelArguments) -> Model:
    """Return an unfitted mixture."""
    return Model(
        n_components=arguments.n_components,
        covariance_type=arguments.covariance_type,
        variance_floor=arguments.variance_floor,
        n_init=arguments.n_init,
        random_state=arguments.random_state,
        batch_size=arguments.batch_size,
    )


def from_arrays(arrays: Mapping[str, Any], model_class: type[Model] = Model) -> Model:
    """Return the mixture of `to_arrays`, of a class of mixtures."""
    n_kept, n_dropped = len(arrays["weights"]), int(arrays["n_dropped"])
    floor = float(arrays["variance_floor"])
    model = model_class(n_kept + n_dropped, arrays["covariance_type"], variance_floor=floor)
    model.n_components_, model.n_dropped_ = n_kept, n_dropped
    model.weights_, model.means_ = arrays["weights"], arrays["means"]
    model.covariances_ = arrays["covariances"]
    return model


to_arrays = gaussian.to_arrays
scores = MixtureScores
