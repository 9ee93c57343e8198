"""Densities of outputs as priors: one Gaussian, a mixture, or a kernel density of all outputs.

They serve the posterior pre-image (`workflow_lib.models.posterior`), and need not have Fisher
scores. Covariances are shrunk (`shrunk_covariance`), since directions in which few outputs happen
not to vary would otherwise count as impossible.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

DENSITIES = ("gaussian", "mixture", "mixture_full", "kernel")


class OutputDensity(NamedTuple):
    """A mixture of Gaussians, in the form of `workflow_lib.models.covariance`."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray | float
    covariance_type: str
    shrinkage: float = 0.0
    """Share of the target in the covariances, from 0 to 1; the mean over components."""


class Shrunk(NamedTuple):
    """A covariance (d, d), and the share of the target in it."""

    covariance: np.ndarray
    share: float


def fit_output_density(
    Y: np.ndarray,
    kind: str,
    setting: float | None = None,
    random_state: int = 0,
    mixtures: dict | None = None,
) -> OutputDensity:
    """Return a density of outputs.

    Raises ValueError if the kind is unknown.

    Parameters
    ----------
    Y : array (n, d)
        Outputs of comparable units.
    kind : {"gaussian", "mixture", "mixture_full", "kernel"}
        ``gaussian``: one Gaussian with a shrunk covariance. ``mixture``: components of a mixture of
        tied spherical variance, and one covariance within components, shrunk. ``mixture_full``: the
        same with a covariance of each component, shrunk towards that one. ``kernel``: a Gaussian of
        equal variance around each output.
    setting : float or None, default=None
        Components of the mixture; standard deviation of the kernel relative to the root mean
        variance of the outputs.
    random_state : int, default=0
        Of the starts of the mixture.
    mixtures : dict or None, default=None
        Mixtures of these outputs by number of components, to which those that are fitted are added.
    """
    if kind == "gaussian":
        mean = Y.mean(axis=0)
        covariance, share = shrunk_covariance(Y - mean)
        return OutputDensity(np.ones(1), mean[None], covariance[None], "full", share)
    if kind in ("mixture", "mixture_full"):
        n_components = min(int(setting), len(np.unique(Y, axis=0)))
        mixtures = {} if mixtures is None else mixtures
        if n_components not in mixtures:
            mixtures[n_components] = GaussianMixtureModel(
                n_components, "tied_spherical", n_init=3, random_state=random_state
            ).fit(Y)
        model = mixtures[n_components]
        q = model.responsibilities(Y)
        root = np.sqrt(q)[:, :, None] * (Y[:, None, :] - model.means_)
        within, share = shrunk_covariance(root.reshape(-1, Y.shape[1]), len(Y))
        covariances = np.broadcast_to(within, (len(model.weights_), *within.shape))
        if kind == "mixture_full":
            of_components = [
                shrunk_covariance(residuals, n_rows, within)
                for residuals, n_rows in zip(root.swapaxes(0, 1), q.sum(axis=0), strict=True)
            ]
            covariances = np.stack([shrunk.covariance for shrunk in of_components])
            share = float(np.mean([shrunk.share for shrunk in of_components]))
        return OutputDensity(model.weights_, model.means_, covariances, "full", share)
    if kind == "kernel":
        variance = float(Y.var(axis=0).mean()) or 1.0
        weights = np.full(len(Y), 1.0 / len(Y))
        return OutputDensity(weights, Y, setting**2 * variance, "tied_spherical")
    raise ValueError(f"kind must be one of {DENSITIES}; found {kind!r}.")


def shrunk_covariance(
    residuals: np.ndarray, n_rows: float | None = None, target: np.ndarray | None = None
) -> Shrunk:
    """Return (1 - s) S + s T, with the covariance S of residuals, and the weight s.

    The weight is that of Ledoit & Wolf (2004): it minimises the expected squared error in the
    Frobenius norm where the target T is given, and tends to zero as rows are added. A
    given target counts one row at least, so that the covariance is not singular. Where nothing
    varies it is the target, or the identity if none is given.

    Parameters
    ----------
    residuals : array (n, d)
        Rows of mean zero.
    n_rows : float or None, default=None
        The number of observations, where residuals are weighted by the square roots of memberships;
        None: each row is one.
    target : array (d, d) or None, default=None
        T; None: (tr S / d) I.
    """
    n_rows = n_rows or len(residuals)
    dimension = residuals.shape[1]
    S = residuals.T @ residuals / n_rows
    level = np.trace(S) / dimension
    if not level > 0:
        return Shrunk(np.eye(dimension) if target is None else target, 1.0)
    is_given = target is not None
    target = target if is_given else level * np.eye(dimension)
    from_target = ((S - target) ** 2).sum()
    fourth_moments = ((residuals**2).sum(axis=1) ** 2).sum() / n_rows
    of_sample = max(fourth_moments - (S**2).sum(), 0.0) / n_rows
    # With one direction only, S is a multiple of the identity already.
    share = float(min(of_sample / from_target, 1.0)) if from_target > 0 else 0.0
    if is_given:
        # Of few rows that happen to be alike the weight would be zero, and S is singular.
        share = max(share, 1.0 / (1.0 + n_rows))
    return Shrunk((1.0 - share) * S + share * target, share)
