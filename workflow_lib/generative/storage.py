"""Fitted generative models as plain trees of arrays, for artifacts, and back."""

from __future__ import annotations

from workflow_lib.generative.gaussian import GaussianModel
from workflow_lib.generative.mixture import GaussianMixtureModel

MODEL_KINDS = {"gaussian": GaussianModel, "gaussian_mixture": GaussianMixtureModel}


def new_model(kind: str, covariance_type: str, variance_floor: float, **parameters):
    """Return an unfitted model of a kind: ``gaussian`` or ``gaussian_mixture``.

    Further parameters (n_components, n_init, random_state) go to mixtures and are ignored by a
    single Gaussian, which has no use for them.
    """
    if kind == "gaussian":
        parameters = {}
    return MODEL_KINDS[kind](
        covariance_type=covariance_type, variance_floor=variance_floor, **parameters
    )


def model_to_tree(model) -> dict:
    """Return the parameters of a fitted model as a tree of arrays and scalars."""
    kind = next(kind for kind, cls in MODEL_KINDS.items() if type(model) is cls)
    return {
        "kind": kind,
        "covariance_type": model.covariance_type,
        "variance_floor": float(model.variance_floor),
        "n_dropped": int(getattr(model, "n_dropped_", 0)),
        "weights": model.weights_,
        "means": model.means_,
        "covariances": model.covariances_,
    }


def model_from_tree(tree: dict):
    """Return the fitted model that `model_to_tree` stored."""
    parameters = {}
    if tree["kind"] == "gaussian_mixture":
        parameters["n_components"] = len(tree["weights"]) + int(tree["n_dropped"])
    model = new_model(
        tree["kind"], tree["covariance_type"], float(tree["variance_floor"]), **parameters
    )
    model.weights_, model.means_ = tree["weights"], tree["means"]
    model.covariances_ = tree["covariances"]
    if tree["kind"] == "gaussian_mixture":
        model.n_components_ = len(tree["weights"])
        model.n_dropped_ = int(tree["n_dropped"])
    return model
