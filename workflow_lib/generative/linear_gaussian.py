"""What the engines of a linear-Gaussian state-space model share: parameters and statistics.

    m_1 ~ N(mu_0, Sigma_0),   m_t ~ N(A m_{t-1}, Q),   z_t ~ N(C m_t, R)

Q and R are covariances. (The paper's section 3.3 prints them as noise factors in one line and as
covariances in the next; the densities, which everything rests on, have covariances.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LinearGaussianParameters(NamedTuple):
    """Parameters of the model with d states and p observed numbers per step."""

    transition: np.ndarray
    """A (d, d)"""

    observation: np.ndarray
    """C (p, d)"""

    state_covariance: np.ndarray
    """Q (d, d)"""

    observation_covariance: np.ndarray
    """R (p, p)"""

    initial_mean: np.ndarray
    """mu_0 (d,)"""

    initial_covariance: np.ndarray
    """Sigma_0 (d, d)"""


class ExpectedStatistics(NamedTuple):
    """Sums over series and steps of what the M-step needs, given the observed numbers.

    Expectations are over the states and over missing numbers of steps that are observed in part.
    Steps without any observed number are left out of the observation's sums.
    """

    log_likelihood: float
    """log p(observed numbers), in nats, summed over series"""

    n_series: float
    n_transitions: float
    n_observed_steps: float

    initial_sum: np.ndarray
    """sum E[m_1] (d,)"""

    initial_moment: np.ndarray
    """sum E[m_1 m_1'] (d, d)"""

    next_moment: np.ndarray
    """sum over t >= 2 of E[m_t m_t'] (d, d)"""

    transition_moment: np.ndarray
    """sum over t >= 2 of E[m_t m_{t-1}'] (d, d)"""

    previous_moment: np.ndarray
    """sum over t >= 2 of E[m_{t-1} m_{t-1}'] (d, d)"""

    state_moment: np.ndarray
    """sum over observed steps of E[m_t m_t'] (d, d)"""

    observation_state_moment: np.ndarray
    """sum over observed steps of E[z_t m_t'] (p, d)"""

    observation_moment: np.ndarray
    """sum over observed steps of E[z_t z_t'] (p, p)"""

    def __add__(self, other: ExpectedStatistics) -> ExpectedStatistics:
        """Return the statistics of both sets of series together."""
        return ExpectedStatistics(*(mine + its for mine, its in zip(self, other)))


def symmetric(matrices: np.ndarray) -> np.ndarray:
    """Return the symmetric part of matrices (..., k, k), against drift by rounding."""
    return 0.5 * (matrices + matrices.swapaxes(-1, -2))


def log_determinant(covariance: np.ndarray) -> float:
    """Return log det of one positive definite matrix."""
    return 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(covariance))).sum())


def spectral_radius(matrix: np.ndarray) -> float:
    """Return the largest modulus of the eigenvalues of a square matrix."""
    return float(np.abs(np.linalg.eigvals(matrix)).max())
