"""Fitted generative models as plain trees of arrays, for artifacts, and back."""

from __future__ import annotations

from workflow_lib.generative.gaussian import GaussianModel
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.output_scaling import OutputScaling
from workflow_lib.generative.state_space import StateSpaceModel

MODEL_KINDS = {
    "gaussian": GaussianModel,
    "gaussian_mixture": GaussianMixtureModel,
    "state_space": StateSpaceModel,
}

STATE_SPACE_ARRAYS = (
    "transition_",
    "observation_",
    "state_covariance_",
    "observation_covariance_",
    "initial_mean_",
    "initial_covariance_",
)


def new_model(
    kind: str,
    covariance_type: str,
    variance_floor: float,
    n_components: int,
    n_init: int,
    random_state: int,
    n_channels: int = 1,
    batch_size: int | None = None,
):
    """Return an unfitted model.

    Parameters
    ----------
    kind : {"gaussian", "gaussian_mixture", "state_space"}
    covariance_type : str
        Shape of the covariances; for state-space models ``spherical`` (isotropic noise, as in the
        paper) or ``full``.
    variance_floor : float
        Smallest variance relative to that of the outputs; for state-space models the variance of
        their prior.
    n_components : int
        Components of a mixture, or dimensions of the hidden state; a single Gaussian has neither.
    n_init : int
        Starts of EM, not used by a single Gaussian.
    random_state : int
    n_channels : int, default=1
        Numbers per time step; for state-space models.
    batch_size : int or None, default=None
        Rows of a batch of stepwise EM; for mixtures. None for EM on all rows.
    """
    if kind == "gaussian":
        return GaussianModel(covariance_type, variance_floor)
    if kind == "state_space":
        return StateSpaceModel(
            state_dim=n_components,
            n_init=n_init,
            isotropic=covariance_type == "spherical",
            random_state=random_state,
            observation_dim=n_channels,
            prior_variance=variance_floor,
        )
    return GaussianMixtureModel(
        n_components=n_components,
        covariance_type=covariance_type,
        variance_floor=variance_floor,
        n_init=n_init,
        random_state=random_state,
        batch_size=batch_size,
    )


def model_to_tree(model, scaling: OutputScaling) -> dict:
    """Return a fitted model, and the units it was fitted in, as a tree of arrays and scalars."""
    kind = next(kind for kind, cls in MODEL_KINDS.items() if type(model) is cls)
    tree = {"kind": kind, "output_offset": scaling.offset, "output_scale": scaling.scale}
    if kind == "state_space":
        arrays = {name: getattr(model, name) for name in STATE_SPACE_ARRAYS}
        return tree | arrays | {"n_steps": model.n_steps_}
    return tree | {
        "covariance_type": model.covariance_type,
        "variance_floor": float(model.variance_floor),
        "n_dropped": int(getattr(model, "n_dropped_", 0)),
        "weights": model.weights_,
        "means": model.means_,
        "covariances": model.covariances_,
    }


def scaling_from_tree(tree: dict) -> OutputScaling:
    """Return the units of the outputs that `model_to_tree` stored."""
    return OutputScaling(tree["output_offset"], tree["output_scale"])


def model_from_tree(tree: dict):
    """Return the fitted model that `model_to_tree` stored."""
    if tree["kind"] == "state_space":
        return _state_space_from_tree(tree)
    covariance_type, floor = tree["covariance_type"], float(tree["variance_floor"])
    if tree["kind"] == "gaussian":
        model = GaussianModel(covariance_type, floor)
    else:
        n_kept, n_dropped = len(tree["weights"]), int(tree["n_dropped"])
        model = GaussianMixtureModel(n_kept + n_dropped, covariance_type, floor)
        model.n_components_, model.n_dropped_ = n_kept, n_dropped
    model.weights_, model.means_ = tree["weights"], tree["means"]
    model.covariances_ = tree["covariances"]
    return model


def _state_space_from_tree(tree: dict) -> StateSpaceModel:
    model = StateSpaceModel(state_dim=len(tree["transition_"]))
    for name in STATE_SPACE_ARRAYS:
        setattr(model, name, tree[name])
    model.n_steps_ = int(tree["n_steps"])
    return model
