"""Expected statistics from pykalman's filter and smoother, one series after the other.

Meant for one long series and as an independent reference; the batched engines are thousands of
times faster on many short series.
"""

import numpy as np

from workflow_lib.models.state_spaces.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
)
from workflow_lib.models.state_spaces.series import SeriesBatch


class PykalmanSeries:
    """Series prepared for pykalman.

    Raises ValueError if a step is observed in part, which pykalman would treat as wholly missing.
    """

    def __init__(self, series: SeriesBatch) -> None:
        seen = series.observed.any(axis=2)
        if (seen & ~series.observed.all(axis=2)).any():
            raise ValueError(
                "pykalman drops a step of which any number is missing. Use engine='batched', which "
                "keeps the other numbers, or mark the whole step as missing."
            )
        self._series = [
            np.ma.masked_array(
                values[:length], np.repeat(~steps[:length, None], values.shape[1], axis=1)
            )
            for values, steps, length in zip(series.values, seen, series.lengths)
        ]

    def statistics(self, parameters: LinearGaussianParameters) -> ExpectedStatistics:
        """Return the expected statistics of these series."""
        total = None
        for observations in self._series:
            of_series = _one_series(parameters, observations)
            total = of_series if total is None else total + of_series
        return total


def _one_series(parameters, observations) -> ExpectedStatistics:
    from pykalman import KalmanFilter

    A, C, Q, R, mean, covariance = parameters
    peer = KalmanFilter(
        transition_matrices=A,
        observation_matrices=C,
        transition_covariance=Q,
        observation_covariance=R,
        initial_state_mean=mean,
        initial_state_covariance=covariance,
    )
    _, filtered = peer.filter(observations)
    means, covariances = peer.smooth(observations)
    predicted = A @ filtered[:-1] @ A.T + Q
    gains = np.linalg.solve(predicted, A @ filtered[:-1]).swapaxes(-1, -2)
    next_covariances = covariances[1:] @ gains.swapaxes(-1, -2)
    seen = ~np.ma.getmaskarray(observations).any(axis=1)
    z = np.asarray(observations.data)[seen]
    moments = covariances + means[:, :, None] * means[:, None, :]
    return ExpectedStatistics(
        log_likelihood=float(peer.loglikelihood(observations)),
        n_series=1,
        n_transitions=len(means) - 1,
        n_observed_steps=int(seen.sum()),
        initial_sum=means[0],
        initial_moment=moments[0],
        next_moment=moments[1:].sum(axis=0),
        transition_moment=next_covariances.sum(axis=0) + means[1:].T @ means[:-1],
        previous_moment=moments[:-1].sum(axis=0),
        state_moment=moments[seen].sum(axis=0),
        observation_state_moment=z.T @ means[seen],
        observation_moment=z.T @ z,
    )
