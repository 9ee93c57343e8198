"""What the engines of a linear-Gaussian state-space model share: parameters and statistics.

    m_1 ~ N(mu_0, Sigma_0),   m_t ~ N(A m_{t-1}, Q),   z_t ~ N(C m_t, R)

Q and R are covariances. (The paper's section 3.3 prints them as noise factors in one line and as
covariances in the next; the densities, which everything rests on, have covariances.)
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np


class LinearGaussianParameters(NamedTuple):
    """Parameters of the model with d states and p observed numbers per step."""

    transition: np.ndarray  # A (d, d)
    observation: np.ndarray  # C (p, d)
    state_covariance: np.ndarray  # Q (d, d)
    observation_covariance: np.ndarray  # R (p, p)
    initial_mean: np.ndarray  # mu_0 (d,)
    initial_covariance: np.ndarray  # Sigma_0 (d, d)


class ExpectedStatistics(NamedTuple):
    """Sums over series and steps of what the M-step needs, given the observed numbers.

    Expectations are over the states and over missing numbers of steps that are observed in part.
    Steps without any observed number are left out of the observation's sums.
    """

    log_likelihood: float  # log p(observed numbers), in nats, summed over series
    n_series: float
    n_transitions: float
    n_observed_steps: float
    initial_sum: np.ndarray  # sum E[m_1] (d,)
    initial_moment: np.ndarray  # sum E[m_1 m_1'] (d, d)
    next_moment: np.ndarray  # sum over t >= 2 of E[m_t m_t'] (d, d)
    transition_moment: np.ndarray  # sum over t >= 2 of E[m_t m_{t-1}'] (d, d)
    previous_moment: np.ndarray  # sum over t >= 2 of E[m_{t-1} m_{t-1}'] (d, d)
    state_moment: np.ndarray  # sum over observed steps of E[m_t m_t'] (d, d)
    observation_state_moment: np.ndarray  # sum over observed steps of E[z_t m_t'] (p, d)
    observation_moment: np.ndarray  # sum over observed steps of E[z_t z_t'] (p, p)

    def __add__(self, other: ExpectedStatistics) -> ExpectedStatistics:
        """Return the statistics of both sets of series together."""
        return ExpectedStatistics(*(mine + its for mine, its in zip(self, other)))


def symmetric(matrices: np.ndarray) -> np.ndarray:
    """Return the symmetric part of matrices (..., k, k), against drift by rounding."""
    return 0.5 * (matrices + matrices.swapaxes(-1, -2))


# The matrices of an EM iteration are so small that calls cost more than arithmetic, so those that
# every iteration makes go to LAPACK directly: numpy's take two to five times as long.


@cache
def _lapack():
    """Return scipy's interface to LAPACK."""
    # Not at the top: jobs of other models load this file too, and most of them take less time
    # than loading scipy.linalg.
    from scipy.linalg import lapack

    return lapack


def solved(covariance: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float]:
    """Return S^-1 B (k, a) and log det S for one positive definite S (k, k) and B (k, a).

    Raises numpy.linalg.LinAlgError if the matrix is not positive definite.
    """
    factor, solution, failed = _lapack().dposv(covariance, right)
    log_determinant = np.nan if failed else 2.0 * float(np.log(factor.diagonal()).sum())
    # LAPACK lets numbers that are not finite pass.
    if not math.isfinite(log_determinant):
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return solution, log_determinant


def inverse_and_log_determinant(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Return S^-1 and log det S of one positive definite matrix S (k, k); see `solved`."""
    return solved(covariance, _identity(len(covariance)))


@lru_cache(maxsize=16)
def _identity(size: int) -> np.ndarray:
    identity = np.eye(size)
    identity.flags.writeable = False
    return identity


def spectral_radius(matrix: np.ndarray) -> float:
    """Return the largest modulus of the eigenvalues of a square matrix.

    Raises numpy.linalg.LinAlgError if a number is not finite.
    """
    if not np.isfinite(matrix.sum()):
        raise np.linalg.LinAlgError("the matrix is not finite")
    real, imaginary, _, _, failed = _lapack().dgeev(matrix, compute_vl=False, compute_vr=False)
    if failed:
        raise np.linalg.LinAlgError("the eigenvalues did not converge")
    return float(np.hypot(real, imaginary).max())


def shrunk_to_radius(matrix: np.ndarray, radius: float) -> np.ndarray:
    """Return the matrix itself, or the multiple of it whose spectral radius is `radius`."""
    # The Frobenius norm bounds the spectral radius and is much cheaper.
    if (matrix * matrix).sum() <= radius**2:
        return matrix
    found = spectral_radius(matrix)
    # The last digit must not lie beyond the bound.
    return matrix if found <= radius else matrix * (radius * (1.0 - 1e-12) / found)
