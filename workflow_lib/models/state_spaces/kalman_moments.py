"""Expected statistics of complete series of one length, from one matrix of their moments.

Without missing numbers the smoothed states are the same affine map of every series of a length,

    E[x | z] = B [1; z],   x = (m_1, .., m_T),  z = (z_1, .., z_T),

and Cov(x | z) = V is the same matrix for all. So all sums over series follow from
G = sum [1; z] [1; z]', computed once: an EM iteration costs the same for 10 and for 10^6 series.
With P the (block tridiagonal) precision of the states' prior and H = I_T (x) C,

    V = (P + H' R^-1 H)^-1,      B = V [P mu, H' R^-1],
    log p(z) = -1/2 [T p log 2 pi + log det of R_T, P^-1 and V^-1
                     + z' R_T^-1 (z - H E[x|z]) - mu' P (E[x|z] - mu)]

where R_T = I_T (x) R and P mu = (Sigma_0^-1 mu_0, 0, .., 0).
"""

import numpy as np

from workflow_lib.models.state_spaces.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
    inverse_and_log_determinant,
)
from workflow_lib.models.state_spaces.series import SeriesBatch

LOG_TWO_PI = float(np.log(2.0 * np.pi))


class LengthMoments:
    """The moment matrix of all complete series of one length.

    Parameters
    ----------
    values : array (n, T, p)
        Series without missing numbers, T >= 2.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.n_series, self.n_steps, self.observation_dim = values.shape
        extended = np.column_stack([np.ones(self.n_series), values.reshape(self.n_series, -1)])
        self.matrix = extended.T @ extended
        steps = values.reshape(-1, self.observation_dim)
        self.observation_moment = steps.T @ steps

    def statistics(self, parameters: LinearGaussianParameters) -> ExpectedStatistics:
        """Return the expected statistics of these series; see the module's equations."""
        A, C, Q, R, mean, covariance = parameters
        n, n_steps, d = self.n_series, self.n_steps, len(A)
        initial_precision, log_initial = inverse_and_log_determinant(covariance)
        Q_inverse, log_Q = inverse_and_log_determinant(Q)
        R_inverse, log_R = inverse_and_log_determinant(R)
        weights = C.T @ R_inverse
        V, log_precision = inverse_and_log_determinant(
            _posterior_precision(A, Q_inverse, initial_precision, weights @ C, n_steps)
        )
        initial_pull = initial_precision @ mean
        B = np.empty((n_steps * d, len(self.matrix)))
        B[:, 0] = V[:, :d] @ initial_pull
        B[:, 1:] = (V.reshape(-1, d) @ weights).reshape(n_steps * d, -1)

        state_by_data = B @ self.matrix
        moment = state_by_data @ B.T
        moment += n * V
        moment = moment.reshape(n_steps, d, n_steps, d)
        same_step = state_by_data[:, 1:].reshape(n_steps, d, n_steps, -1)
        observation_state_moment = np.einsum("tdtp->pd", same_step)
        initial_sum = state_by_data[:d, 0]
        first, last = moment[0, :, 0], moment[-1, :, -1]
        state_moment = np.einsum("titj->ij", moment)

        residual_moment = self.observation_moment - observation_state_moment @ C.T
        quadratic = (R_inverse * residual_moment).sum()
        quadratic -= initial_pull @ (initial_sum - n * mean)
        log_determinants = n_steps * log_R + log_initial + (n_steps - 1) * log_Q + log_precision
        constant = n_steps * self.observation_dim * LOG_TWO_PI
        return ExpectedStatistics(
            log_likelihood=-0.5 * (n * (constant + log_determinants) + float(quadratic)),
            n_series=n,
            n_transitions=n * (n_steps - 1),
            n_observed_steps=n * n_steps,
            initial_sum=initial_sum,
            initial_moment=first,
            next_moment=state_moment - first,
            transition_moment=np.einsum("titj->ij", moment[1:, :, :-1]),
            previous_moment=state_moment - last,
            state_moment=state_moment,
            observation_state_moment=observation_state_moment,
            observation_moment=self.observation_moment,
        )


def _posterior_precision(A, Q_inverse, initial_precision, information, n_steps) -> np.ndarray:
    """Return P + H' R^-1 H, the precision (T d, T d) of all states given the observations."""
    d = len(A)
    pulled = Q_inverse @ A
    precision = np.zeros((n_steps, d, n_steps, d))
    diagonal = np.einsum("titj->tij", precision)
    diagonal[:] = information
    diagonal[:-1] += A.T @ pulled
    diagonal[1:] += Q_inverse
    diagonal[0] += initial_precision
    np.einsum("titj->tij", precision[1:, :, :-1])[:] = -pulled
    np.einsum("titj->tij", precision[:-1, :, 1:])[:] = -pulled.T
    return precision.reshape(n_steps * d, n_steps * d)


def moments_by_length(series: SeriesBatch) -> list[LengthMoments]:
    """Return one moment matrix for every distinct length of complete series."""
    return [
        LengthMoments(series.values[series.lengths == length, :length])
        for length in np.unique(series.lengths)
    ]
