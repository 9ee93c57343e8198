"""The M-step of a linear-Gaussian state-space model, with a prior and a bound on the dynamics.

The objective is the log-likelihood plus a log prior on each covariance S of size k in
{Q, R, Sigma_0}: an inverse Wishart density, for isotropic covariances an inverse gamma one,

    log prior(S) = -nu/2 [log det(S / s) + tr(s S^-1) - k],

which is zero at its mode S = s I. It acts like nu further steps of variance s, so the estimate is
(scatter + nu s I) / (count + nu): finite for any number of series. (Fraley & Raftery, Journal of
Classification 24, 2007, do the same for mixtures.)
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.models.covariance import clip_eigenvalues
from workflow_lib.models.state_spaces.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
    inverse_and_log_determinant,
    shrunk_to_radius,
    solved,
    symmetric,
)

# Fractions of the way to the bounded maximiser of A that are tried.
STEPS = (1.0, 0.3, 0.1, 0.03)


class Restrictions(NamedTuple):
    """Constraints on the estimates."""

    isotropic: bool  # Q and R are multiples of the identity.
    strength: float  # nu, in steps; 0 is maximum likelihood.
    variance: float  # s, in squared units of the series.
    floor: float  # Smallest eigenvalue of a covariance; matters without a prior only.
    largest_radius: float  # Bound on the spectral radius of A.

    def covariance(self, scatter: np.ndarray, count: float, isotropic: bool) -> np.ndarray:
        """Return the maximiser for a scatter matrix (k, k), a sum of `count` outer products."""
        size = len(scatter)
        total = count + self.strength
        # The prior alone may keep every eigenvalue above the floor.
        safe = self.strength * self.variance >= self.floor * total
        if isotropic:
            variance = (scatter.trace() / size + self.strength * self.variance) / total
            return (variance if safe else max(variance, self.floor)) * np.eye(size)
        estimate = symmetric(scatter) + self.strength * self.variance * np.eye(size)
        estimate /= total
        return estimate if safe else clip_eigenvalues(estimate, self.floor)

    def log_prior(self, parameters: LinearGaussianParameters) -> float:
        """Return the log prior of the three covariances, zero at its mode."""
        if self.strength == 0:
            return 0.0
        inverse, log_determinant = inverse_and_log_determinant(self._relative(parameters))
        return -0.5 * self.strength * float(log_determinant + inverse.trace() - len(inverse))

    def rescaled(
        self, parameters: LinearGaussianParameters
    ) -> tuple[LinearGaussianParameters, float]:
        """Return the model in the units of the states that the prior likes best, and its log prior.

        States sqrt(k) m have the covariances k Q and k Sigma_0, and C / sqrt(k); no likelihood
        changes. The log prior is highest at k = s tr(Q^-1 + Sigma_0^-1) / (2 d). EM alone would
        creep there, because the M-step moves Q given C and C given Q. (An expansion of the
        parameters, Liu, Rubin & Wu, Biometrika 85, 1998.)
        """
        if self.strength == 0:
            return parameters, 0.0
        A, C, Q, R, mean, covariance = parameters
        inverse, log_determinant = inverse_and_log_determinant(self._relative(parameters))
        traces = inverse.diagonal()
        n_states = 2 * len(Q)
        k = float(traces[:n_states].mean())
        excess = log_determinant + n_states * np.log(k) + traces[n_states:].sum() - len(R)
        root = k**0.5
        rescaled = LinearGaussianParameters(A, C / root, k * Q, R, root * mean, k * covariance)
        return rescaled, -0.5 * self.strength * float(excess)

    def _relative(self, parameters: LinearGaussianParameters) -> np.ndarray:
        """Return Q / s, Sigma_0 / s and R / s as the blocks of one diagonal matrix. Its log
        determinant and the trace of its inverse are the sums of theirs, for one call."""
        Q, R = parameters.state_covariance, parameters.observation_covariance
        d, p = len(Q), len(R)
        joint = np.zeros((2 * d + p, 2 * d + p))
        joint[:d, :d] = Q
        joint[d : 2 * d, d : 2 * d] = parameters.initial_covariance
        joint[2 * d :, 2 * d :] = R
        return joint / self.variance


def maximise(
    statistics: ExpectedStatistics, current: LinearGaussianParameters, restrictions: Restrictions
) -> LinearGaussianParameters:
    """Return the parameters that maximise the expected log density plus the log prior.

    Where the maximiser's spectral radius is above the bound, A is only improved (see
    `_bounded_transition`); the objective of EM still never falls.

    Raises numpy.linalg.LinAlgError if the states' moments are singular.
    """
    s = statistics
    initial_mean = s.initial_sum / s.n_series
    initial_scatter = s.initial_moment - s.n_series * initial_mean[:, None] * initial_mean
    observation = _regression(s.observation_state_moment, s.state_moment)
    residual = _residual(
        observation, s.observation_moment, s.observation_state_moment, s.state_moment
    )
    transition = _regression(s.transition_moment, s.previous_moment)
    bound = restrictions.largest_radius
    if shrunk_to_radius(transition, bound) is not transition:
        transition = _bounded_transition(transition, current, s.previous_moment, bound)
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
    return solved(within, across.T)[0].T


def _residual(coefficients, total, across, within) -> np.ndarray:
    """Return the scatter (a, a) of what `coefficients` (a, d) leave unexplained."""
    explained = across @ coefficients.T
    return total - explained - explained.T + coefficients @ within @ coefficients.T


def _bounded_transition(free, current, previous_moment, bound) -> np.ndarray:
    """Return a transition within the bound that is at least as good as the current one.

    For the current Q the expected log density is -1/2 tr(Q^-1 (A - F) P (A - F)') plus a constant,
    F being the free maximiser and P the previous states' moment. The step goes to its maximiser
    under the bound made linear at the current A. It ends shrunk into the bound, whose surface is
    curved, and is shortened until it is an improvement. Repeated, this converges to the maximiser;
    only where two equal eigenvalues of it lie at the bound may it stop short.
    """
    A, Q_inverse = current.transition, np.linalg.inv(current.state_covariance)

    def distance(transition) -> float:
        difference = transition - free
        return float(np.vdot(Q_inverse @ difference, difference @ previous_moment))

    try:
        target = _linearly_bounded(free, current, previous_moment, bound)
    except np.linalg.LinAlgError:  # A has no basis of eigenvectors
        target = free
    for step in STEPS:
        stepped = shrunk_to_radius(A + step * (target - A), bound)
        if distance(stepped) <= distance(A):
            return stepped
    return A


def _linearly_bounded(free, current, previous_moment, bound) -> np.ndarray:
    """Return the maximiser under |l_i| + <G_i, A - current> <= bound for the eigenvalues l_i. G_i =
    Re(conj(l_i) / |l_i| w_i u_i') is the gradient of |l_i|, where u_i and w_i are the eigenvectors
    from the right and the left with w_i' u_i = 1. The maximiser is F - sum_i n_i Q G_i P^-1, with
    multipliers n_i >= 0 that are zero for bounds that are not met."""
    A, Q = current.transition, current.state_covariance
    eigenvalues, right = np.linalg.eig(A)
    left = np.linalg.inv(right)
    moduli = np.abs(eigenvalues)
    directions = eigenvalues.conj() / np.maximum(moduli, np.finfo(float).tiny)
    gradients = (left[:, :, None] * (directions * right).T[:, None, :]).real
    moves = Q @ gradients @ np.linalg.inv(previous_moment)
    gradients, moves = gradients.reshape(len(A), -1), moves.reshape(len(A), -1)
    excess = moduli - bound + gradients @ (free - A).ravel()
    # Of a conjugate pair, one says it all.
    met = np.flatnonzero((excess > 0) & (eigenvalues.imag >= 0))
    while len(met):
        multipliers, _ = solved(gradients[met] @ moves[met].T, excess[met])
        if multipliers.min() >= 0:
            return free - (multipliers @ moves[met]).reshape(A.shape)
        met = np.delete(met, multipliers.argmin())
    return free
