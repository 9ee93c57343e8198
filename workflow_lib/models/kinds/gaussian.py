"""One Gaussian, and its embedding."""

from collections.abc import Mapping
from typing import Any

from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.gaussian import GaussianModel as Model
from workflow_lib.models.mixtures.scores import MixtureScores

BLOCKS = {"reduced": ("mu",), "full": ("mu", "sigma")}
PREIMAGES = ("closed_form", "projected", "gradient")
COVARIANCES = ("spherical", "tied_spherical", "diag", "full")
COUNT_KEY = None
TASKS = ("regression", "series", "classes")


def new(arguments: ModelArguments) -> Model:
    """Return an unfitted Gaussian."""
    return Model(arguments.covariance_type, arguments.variance_floor)


def to_arrays(model: Model) -> dict[str, Any]:
    """Return a fitted Gaussian, or mixture, as arrays."""
    return {
        "covariance_type": model.covariance_type,
        "variance_floor": float(model.variance_floor),
        "n_dropped": int(getattr(model, "n_dropped_", 0)),
        "weights": model.weights_,
        "means": model.means_,
        "covariances": model.covariances_,
    }


def from_arrays(arrays: Mapping[str, Any]) -> Model:
    """Return the Gaussian of `to_arrays`."""
    model = Model(arrays["covariance_type"], float(arrays["variance_floor"]))
    model.weights_, model.means_ = arrays["weights"], arrays["means"]
    model.covariances_ = arrays["covariances"]
    return model


scores = MixtureScores
