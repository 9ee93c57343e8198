"""The M-step of a linear-Gaussian state-space model, with a prior and a bound on the dynamics.

The objective is the log-likelihood plus a log prior on each covariance S of size k in
{Q, R, Sigma_0}: an inverse Wishart density, for isotropic covariances an inverse gamma one,

    log prior(S) = -nu/2 [log det(S / s) + tr(s S^-1) - k],

which is zero at its mode S = s I. It acts like nu further steps of variance s, so the estimate is
(scatter + nu s I) / (count + nu): finite for any number of series. (Fraley & Raftery, Journal of
Classification 24, 2007, do the same for mixtures.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workflow_lib.generative.covariance import clip_eigenvalues
from workflow_lib.generative.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
    log_determinant,
    spectral_radius,
    symmetric,
)

# Halvings in the search for the longest step that keeps the spectral radius under its bound.
BISECTIONS = 30


class Restrictions(NamedTuple):
    """What the estimates must obey, beside the data."""

    isotropic: bool
    """Q and R are multiples of the identity."""

    strength: float
    """nu, in steps; 0 is maximum likelihood."""

    variance: float
    """s, in squared units of the series."""

    floor: float
    """Smallest eigenvalue of a covariance, in squared units; matters without a prior only."""

    largest_radius: float
    """Bound on the spectral radius of A."""

    def covariance(self, scatter: np.ndarray, count: float, isotropic: bool) -> np.ndarray:
        """Return the maximiser for a scatter matrix (k, k), a sum of `count` outer products."""
        size = len(scatter)
        total = count + self.strength
        # The prior alone may keep every eigenvalue above the floor.
        safe = self.strength * self.variance >= self.floor * total
        if isotropic:
            variance = (np.trace(scatter) / size + self.strength * self.variance) / total
            return (variance if safe else max(variance, self.floor)) * np.eye(size)
        estimate = symmetric(scatter) + self.strength * self.variance * np.eye(size)
        estimate /= total
        return estimate if safe else clip_eigenvalues(estimate, self.floor)

    def log_prior(self, parameters: LinearGaussianParameters) -> float:
        """Return the log prior of the three covariances, zero at its mode."""
        if self.strength == 0:
            return 0.0
        excess = 0.0
        for covariance in (
            parameters.state_covariance,
            parameters.observation_covariance,
            parameters.initial_covariance,
        ):
            relative = covariance / self.variance
            excess += log_determinant(relative) + np.trace(np.linalg.inv(relative)) - len(relative)
        return -0.5 * self.strength * float(excess)


def maximise(
    statistics: ExpectedStatistics,
    current: LinearGaussianParameters,
    restrictions: Restrictions,
) -> LinearGaussianParameters:
    """Return the parameters that maximise the expected log density plus the log prior.

    Where the maximiser's spectral radius is above the bound, A is only improved (see
    `_bounded_transition`); the objective of EM still never falls.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the states' moments are singular.
    """
    s = statistics
    initial_mean = s.initial_sum / s.n_series
    initial_scatter = s.initial_moment - s.n_series * np.outer(initial_mean, initial_mean)
    observation = _regression(s.observation_state_moment, s.state_moment)
    residual = _residual(
        observation, s.observation_moment, s.observation_state_moment, s.state_moment
    )
    transition = _regression(s.transition_moment, s.previous_moment)
    if not _is_within(transition, restrictions.largest_radius):
        transition = _bounded_transition(transition, current.transition, s, restrictions)
    noise = _residual(transition, s.next_moment, s.transition_moment, s.previous_moment)
    isotropic = restrictions.isotropic
    return LinearGaussianParameters(
        transition,
        observation,
        restrictions.covariance(noise, s.n_transitions, isotropic),
        restrictions.covariance(residual, s.n_observed_steps, isotropic),
        initial_mean,
        restrictions.covariance(initial_scatter, s.n_series, isotropic=False),
    )


def _regression(across: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return the coefficients (a, d) that predict from the states: across within^-1."""
    return np.linalg.solve(within, across.T).T


def _residual(coefficients, total, across, within) -> np.ndarray:
    """Return the scatter (a, a) of what `coefficients` (a, d) leave unexplained."""
    explained = across @ coefficients.T
    return total - explained - explained.T + coefficients @ within @ coefficients.T


def _is_within(matrix: np.ndarray, radius: float) -> bool:
    # The Frobenius norm bounds the spectral radius and is much cheaper.
    return bool((matrix * matrix).sum() <= radius**2) or spectral_radius(matrix) <= radius


def _bounded_transition(free, current, statistics, restrictions) -> np.ndarray:
    """Return a transition within the bound that is at least as good as the current one.

    The expected log density is concave in A, so every point between the current A (within the
    bound) and the free maximiser is an improvement; the furthest one within the bound is a
    candidate. The other is the free maximiser, shrunk; it can move where the first is stuck.
    """
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if _is_within(current + middle * (free - current), restrictions.largest_radius):
            low = middle
        else:
            high = middle
    # The last digit of the shrunk one must not lie beyond the bound.
    shrunk = free * (restrictions.largest_radius * (1.0 - 1e-12) / spectral_radius(free))
    candidates = (current + low * (free - current), shrunk)
    return max(candidates, key=lambda A: _transition_objective(A, statistics, restrictions))


def _transition_objective(A, statistics, restrictions) -> float:
    """Return the expected log density of the transitions with the best Q for A, plus a constant."""
    s = statistics
    noise = _residual(A, s.next_moment, s.transition_moment, s.previous_moment)
    Q = restrictions.covariance(noise, s.n_transitions, restrictions.isotropic)
    scatter = noise + restrictions.strength * restrictions.variance * np.eye(len(A))
    count = s.n_transitions + restrictions.strength
    return -0.5 * (count * log_determinant(Q) + float(np.trace(np.linalg.solve(Q, scatter))))
