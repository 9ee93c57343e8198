"""The noise of the posterior pre-image, from predictions of rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

FACTORS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Multiples of the residual variances that compete. The residuals hold the error that shrinkage
causes as well as the noise, and the prior may fit well or badly, so that no multiple is right for
all data; zero leaves the predictions as they are."""


class Noise(NamedTuple):
    """The noise of a posterior pre-image, and how well it did."""

    variances: np.ndarray
    """Of the outputs (d,)."""

    factor: float
    """Multiple of the held-out residual variances."""

    error: float
    """Mean over the outputs of the root of the held-out squared error, relative to the variance."""


def residual_variances(outputs: np.ndarray, heldout: np.ndarray) -> np.ndarray:
    """Return the mean squared errors (d,) of held-out predictions, without the missing outputs."""
    return np.nanmean((outputs - heldout) ** 2, axis=0)


def choose_noise(
    outputs: np.ndarray,
    heldout: np.ndarray,
    folds: np.ndarray,
    posterior_means: Callable[[int, np.ndarray, np.ndarray], np.ndarray],
    factors: Sequence[float] = FACTORS,
) -> Noise:
    """Return the multiple of the residual variances with the smallest error of held-out rows.

    Of equal errors the smaller multiple is taken.

    Parameters
    ----------
    outputs : array (n, d)
        Outputs of the training rows, NaN where missing.
    heldout : array (n, d)
        Predictions of each row by a fit without its fold.
    folds : int array (n,)
        Fold of each row, from 0.
    posterior_means : function
        Returns E[y | y_hat] (k, d) for a fold, predictions (k, d) of its rows and variances (d,) of
        the noise, under a prior that was learned without the outputs of the fold.
    factors : sequence of float, default=FACTORS
        Increasing.
    """
    variances = residual_variances(outputs, heldout)
    spread = np.nanvar(outputs, axis=0)
    varies = spread > 0
    best = None
    for factor in factors:
        means = heldout
        if factor > 0:
            means = np.empty_like(heldout)
            for fold in range(folds.max() + 1):
                rows = folds == fold
                means[rows] = posterior_means(fold, heldout[rows], factor * variances)
        ratios = residual_variances(outputs, means)[varies] / spread[varies]
        error = float(np.sqrt(ratios).mean()) if varies.any() else 0.0
        if best is None or error < best.error:
            best = Noise(factor * variances, factor, error)
    return best
