"""Densities of outputs as priors: one Gaussian, a mixture, or a kernel density of all outputs.

They serve the posterior pre-image (`workflow_lib.embeddings.posterior`), and need not have Fisher
scores. Covariances are shrunk (`shrunk_covariance`), since directions in which few outputs happen
not to vary would otherwise count as impossible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workflow_lib.generative.mixture import GaussianMixtureModel

DENSITIES = ("gaussian", "mixture", "kernel")


class OutputDensity(NamedTuple):
    """A mixture of Gaussians, in the form of `workflow_lib.generative.covariance`."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray | float
    covariance_type: str


def fit_output_density(
    Y: np.ndarray, kind: str, setting: float | None = None, random_state: int = 0
) -> OutputDensity:
    """Return a density of outputs.

    Parameters
    ----------
    Y : array (n, d)
        Outputs of comparable units.
    kind : {"gaussian", "mixture", "kernel"}
        ``gaussian``: one Gaussian with a shrunk covariance. ``mixture``: components of a mixture of
        tied spherical variance, and one covariance within components, shrunk. ``kernel``: a
        Gaussian of equal variance around each output.
    setting : float or None, default=None
        Components of the mixture; standard deviation of the kernel relative to the root mean
        variance of the outputs.
    random_state : int, default=0
        Of the starts of the mixture.

    Raises
    ------
    ValueError
        If the kind is unknown.
    """
    if kind == "gaussian":
        mean = Y.mean(axis=0)
        return OutputDensity(np.ones(1), mean[None], shrunk_covariance(Y - mean)[None], "full")
    if kind == "mixture":
        n_components = min(int(setting), len(np.unique(Y, axis=0)))
        model = GaussianMixtureModel(
            n_components, "tied_spherical", n_init=3, random_state=random_state
        ).fit(Y)
        q = model.responsibilities(Y)
        root = np.sqrt(q)[:, :, None] * (Y[:, None, :] - model.means_)
        within = shrunk_covariance(root.reshape(-1, Y.shape[1]), n_rows=len(Y))
        covariances = np.broadcast_to(within, (len(model.weights_), *within.shape))
        return OutputDensity(model.weights_, model.means_, covariances, "full")
    if kind == "kernel":
        variance = float(Y.var(axis=0).mean()) or 1.0
        weights = np.full(len(Y), 1.0 / len(Y))
        return OutputDensity(weights, Y, setting**2 * variance, "tied_spherical")
    raise ValueError(f"kind must be one of {DENSITIES}; found {kind!r}.")


def shrunk_covariance(residuals: np.ndarray, n_rows: int | None = None) -> np.ndarray:
    """Return the covariance (d, d) of Ledoit & Wolf (2004): (1 - s) S + s (tr S / d) I.

    The weight s minimises the expected squared error in the Frobenius norm; it tends to zero as
    rows are added. Where nothing varies, the identity is returned.

    Parameters
    ----------
    residuals : array (n, d)
        Rows of mean zero.
    n_rows : int or None, default=None
        The number of observations, where the residuals of one observation are several rows
        weighted by its memberships; None: each row is one.
    """
    n_rows = n_rows or len(residuals)
    dimension = residuals.shape[1]
    S = residuals.T @ residuals / n_rows
    level = np.trace(S) / dimension
    if not level > 0:
        return np.eye(dimension)
    from_identity = ((S - level * np.eye(dimension)) ** 2).sum()
    fourth_moments = ((residuals**2).sum(axis=1) ** 2).sum() / n_rows
    of_sample = max(fourth_moments - (S**2).sum(), 0.0) / n_rows
    # With one direction only, S is a multiple of the identity already.
    share = min(of_sample / from_identity, 1.0) if from_identity > 0 else 0.0
    return (1.0 - share) * S + share * level * np.eye(dimension)
