"""Kalman filter and Rauch-Tung-Striebel smoother of many series at once, numbers may be missing.

The covariances depend on the parameters and on which numbers are missing, not on the numbers: the
recursion carries one covariance for each pattern of missing numbers (G of them) and one mean for
each series (N). Arrays are time-major. Updates are in Joseph's form, sums of positive
semi-definite terms, and are symmetrised, so that covariances stay covariances.

A missing number is an observation with a zero row of C and a variance of its own: its innovation
is zero, and so is what it adds to the likelihood.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.models.state_spaces.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
    symmetric,
)
from workflow_lib.models.state_spaces.series import SeriesBatch, missing_patterns

LOG_TWO_PI = float(np.log(2.0 * np.pi))


class Filtered(NamedTuple):
    """The states given the observations up to their own step."""

    log_likelihoods: np.ndarray  # (N,) log p(observed numbers) of each series, in nats
    predicted_means: np.ndarray  # (T, N, d), given the steps before
    predicted_covariances: np.ndarray  # (T, G, d, d)
    means: np.ndarray  # (T, N, d)
    covariances: np.ndarray  # (T, G, d, d)


class Smoothed(NamedTuple):
    """The states given all observations of their series."""

    means: np.ndarray  # (T, N, d)
    covariances: np.ndarray  # (T, G, d, d)
    next_covariances: np.ndarray  # (T - 1, G, d, d): Cov(m_{t+1}, m_t)


class SeriesRecursion:
    """A batch of series prepared for the recursion."""

    def __init__(self, series: SeriesBatch) -> None:
        self.patterns = missing_patterns(series)
        self.values = np.ascontiguousarray(series.values.transpose(1, 0, 2))
        self.n_steps, self.n_series, self.observation_dim = self.values.shape
        self.observed = np.ascontiguousarray(self.patterns.observed.transpose(1, 0, 2))
        self.observed_numbers = series.observed.sum(axis=(1, 2))
        self.in_length = np.ascontiguousarray(self.patterns.in_length.T)
        self.any_missing = not self.observed.all()
        self.seen = self.observed.any(axis=2)
        self.any_missing_in_part = bool((self.seen & ~self.observed.all(axis=2)).any())

    def by_series(self, of_patterns: np.ndarray) -> np.ndarray:
        """Return an array (T, G, ...) as (T, N, ...)."""
        return of_patterns[:, self.patterns.index]

    def _masked(self, C, R):
        """Return C (T, G, p, d) and R (T, G, p, p) as seen through the missing numbers."""
        shape = (self.n_steps, len(self.patterns.counts))
        if not self.any_missing:
            return np.broadcast_to(C, (*shape, *C.shape)), np.broadcast_to(R, (*shape, *R.shape))
        mask = self.observed[..., None].astype(np.float64)
        both = mask * mask.swapaxes(-1, -2)
        return mask * C, both * R + np.eye(len(R)) * (1.0 - mask)

    def _apply(self, gains: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Return the gain (G, a, b) of each series' pattern times its vector (N, b)."""
        if len(gains) == 1:
            return vectors @ gains[0].T
        return np.einsum("nab,nb->na", gains[self.patterns.index], vectors)

    def filter(self, parameters: LinearGaussianParameters) -> Filtered:
        """Return the filtered states and the log-likelihood of every series."""
        A, C, Q, R, mean, covariance = parameters
        n_patterns, d = len(self.patterns.counts), len(A)
        C_seen, R_seen = self._masked(C, R)
        predicted_covariances = np.empty((self.n_steps, n_patterns, d, d))
        covariances = np.empty_like(predicted_covariances)
        innovation_covariances = np.empty((self.n_steps, n_patterns, len(C), len(C)))
        predicted_means = np.empty((self.n_steps, self.n_series, d))
        means = np.empty_like(predicted_means)
        quadratics = np.zeros(self.n_series)
        identity = np.eye(d)
        predicted_covariances[0], predicted_means[0] = covariance, mean
        for t in range(self.n_steps):
            P, H = predicted_covariances[t], C_seen[t]
            projected = P @ H.swapaxes(-1, -2)
            innovation_covariances[t] = symmetric(H @ projected + R_seen[t])
            inverse = np.linalg.inv(innovation_covariances[t])
            gain = projected @ inverse
            kept = identity - gain @ H
            covariances[t] = symmetric(
                kept @ P @ kept.swapaxes(-1, -2) + gain @ R_seen[t] @ gain.swapaxes(-1, -2)
            )
            innovations = self.values[t] - predicted_means[t] @ C.T
            if self.any_missing:
                innovations *= self.observed[t][self.patterns.index]
            means[t] = predicted_means[t] + self._apply(gain, innovations)
            quadratics += np.einsum("np,np->n", innovations, self._apply(inverse, innovations))
            if t + 1 < self.n_steps:
                predicted_covariances[t + 1] = symmetric(A @ covariances[t] @ A.T + Q)
                predicted_means[t + 1] = means[t] @ A.T
        # A missing number's variance of 1 has the logarithm 0.
        log_determinants = np.linalg.slogdet(innovation_covariances)[1].sum(axis=0)
        log_likelihoods = -0.5 * (
            self.observed_numbers * LOG_TWO_PI + log_determinants[self.patterns.index] + quadratics
        )
        return Filtered(log_likelihoods, predicted_means, predicted_covariances, means, covariances)

    def smooth(self, parameters: LinearGaussianParameters, filtered: Filtered) -> Smoothed:
        """Return the smoothed states, by a pass backwards through the filtered ones."""
        A, Q = parameters.transition, parameters.state_covariance
        earlier = filtered.covariances[:-1]
        gains = np.linalg.solve(filtered.predicted_covariances[1:], A @ earlier).swapaxes(-1, -2)
        kept = np.eye(len(A)) - gains @ A
        gains_transposed = gains.swapaxes(-1, -2)
        noise = kept @ earlier @ kept.swapaxes(-1, -2) + gains @ Q @ gains_transposed
        means, covariances = filtered.means.copy(), filtered.covariances.copy()
        for t in range(self.n_steps - 2, -1, -1):
            covariances[t] = symmetric(
                noise[t] + gains[t] @ covariances[t + 1] @ gains_transposed[t]
            )
            means[t] += self._apply(gains[t], means[t + 1] - filtered.predicted_means[t + 1])
        return Smoothed(means, covariances, covariances[1:] @ gains_transposed)

    def statistics(self, parameters: LinearGaussianParameters) -> ExpectedStatistics:
        """Return the expected statistics of these series."""
        filtered = self.filter(parameters)
        smoothed = self.smooth(parameters, filtered)
        means, covariances = smoothed.means, smoothed.covariances
        counts = self.patterns.counts
        seen_means = means
        later, earlier = means[1:], means[:-1]
        if self.any_missing:
            seen_means = means * self.by_series(self.seen)[..., None]
            transitions = self.by_series(self.in_length[1:])[..., None]
            later, earlier = later * transitions, earlier * transitions
        transition_counts, seen_counts = self.in_length[1:] * counts, self.seen * counts
        observations, observation_moment, observation_state_moment = self._observations(
            parameters, means, covariances, seen_counts
        )
        observation_state_moment = observation_state_moment + _outer(observations, seen_means)
        return ExpectedStatistics(
            log_likelihood=float(filtered.log_likelihoods.sum()),
            n_series=self.n_series,
            n_transitions=int(transition_counts.sum()),
            n_observed_steps=int(seen_counts.sum()),
            initial_sum=means[0].sum(axis=0),
            initial_moment=_outer(means[:1], means[:1]) + _weighted(counts[None], covariances[:1]),
            next_moment=_outer(later, later) + _weighted(transition_counts, covariances[1:]),
            transition_moment=_outer(later, earlier)
            + _weighted(transition_counts, smoothed.next_covariances),
            previous_moment=_outer(earlier, earlier)
            + _weighted(transition_counts, covariances[:-1]),
            state_moment=_outer(seen_means, seen_means) + _weighted(seen_counts, covariances),
            observation_state_moment=observation_state_moment,
            observation_moment=observation_moment + _outer(observations, observations),
        )

    def _observations(self, parameters, means, covariances, seen_counts):
        """Return the expected observations (T, N, p), which are zero at steps without any observed
        number, and the sums of the conditional covariances of z (p, p), and of z and m (p, d).

        A missing number of a step that is observed in part follows from the state and, through
        R, from the other results: E[z | m, seen] = D m + J z and Cov(z | m, seen) = R - J R,
        with J = R M (M R M)^-1 M, D = C - J C and M the choice of the observed numbers.
        """
        if not self.any_missing_in_part:
            return self.values, 0.0, 0.0
        C, R = parameters.observation, parameters.observation_covariance
        mask = self.observed[..., None].astype(np.float64)
        _, R_seen = self._masked(C, R)
        J = (R @ (mask * np.linalg.inv(R_seen))) * mask.swapaxes(-1, -2)
        D = C - J @ C
        J_series, D_series = self.by_series(J), self.by_series(D)
        observations = np.einsum("tnij,tnj->tni", J_series, self.values)
        observations += np.einsum("tnij,tnj->tni", D_series, means)
        observations *= self.by_series(self.seen)[..., None]
        from_states = D @ covariances
        uncertainty = from_states @ D.swapaxes(-1, -2) + symmetric(R - J @ R)
        return (
            observations,
            _weighted(seen_counts, uncertainty),
            _weighted(seen_counts, from_states),
        )


def _outer(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sum over steps and series of the outer products of (T, N, a) and (T, N, b)."""
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


def _weighted(weights: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return the sum over steps and patterns of weights (T, G) times matrices (T, G, a, b)."""
    return np.einsum("tg,tgab->ab", weights.astype(np.float64), matrices)
