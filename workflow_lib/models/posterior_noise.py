"""The noise of the posterior pre-image, from predictions of rows that were held out."""

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
    """Of the posterior means of held-out rows."""

    means: np.ndarray
    """Posterior means (n, d) of the training rows, each without its fold."""


def residual_variances(outputs: np.ndarray, heldout: np.ndarray) -> np.ndarray:
    """Return the mean squared errors (d,) of held-out predictions, without the missing outputs."""
    return np.nanmean((outputs - heldout) ** 2, axis=0)


def choose_noise(
    outputs: np.ndarray,
    heldout: np.ndarray,
    folds: np.ndarray,
    posteriors: Sequence[Callable[[np.ndarray, np.ndarray], np.ndarray]],
    factors: Sequence[float] = FACTORS,
    error: Callable[[np.ndarray], float] | None = None,
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
    posteriors : sequence of functions
        For each fold, E[y | y_hat] (k, d) of predictions (k, d) of its rows and variances (d,) of
        the noise, under a prior that was learned without the outputs of the fold.
    factors : sequence of float, default=FACTORS
        Increasing.
    error : function or None, default=None
        Returns the error of predictions (n, d) of the training rows. None: the mean over the
        outputs of the root mean squared error, relative to the standard deviation.
    """
    variances = residual_variances(outputs, heldout)
    measure = error or (lambda predicted: _mean_relative_error(outputs, predicted))
    best = None
    for factor in factors:
        means = heldout
        if factor > 0:
            means = np.empty_like(heldout)
            for fold, posterior in enumerate(posteriors):
                rows = folds == fold
                means[rows] = posterior(heldout[rows], factor * variances)
        found = measure(means)
        if best is None or found < best.error:
            best = Noise(factor * variances, factor, found, means)
    return best


def _mean_relative_error(outputs: np.ndarray, predicted: np.ndarray) -> float:
    spread = np.nanvar(outputs, axis=0)
    varies = spread > 0
    if not varies.any():
        return 0.0
    ratios = residual_variances(outputs, predicted)[varies] / spread[varies]
    return float(np.sqrt(ratios).mean())
