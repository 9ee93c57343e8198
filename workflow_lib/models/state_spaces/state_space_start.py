"""Where EM for a state-space model starts: from lagged moments, and at random.

A start with A = a I would never leave it when p < d, because directions that no observation sees
stay unseen; so every start has an observable pair (A, C).
"""

import numpy as np

from workflow_lib.models.state_spaces.linear_gaussian import (
    LinearGaussianParameters,
    spectral_radius,
)
from workflow_lib.models.state_spaces.series import SeriesBatch

# Weak directions of the lagged moments start at no less than this fraction of the strongest.
MIN_SINGULAR_VALUE = 0.05

# A start must be observable: smallest over largest singular value of [C; C A; ..; C A^(d-1)].
OBSERVABLE = 1e-3

# Share of the series' variance that starts as noise of the states, and of the observations.
NOISE_SHARE = 0.3


def starting_parameters(
    series: SeriesBatch, state_dim: int, largest_radius: float, variance: float, n_starts: int, rng
) -> list[LinearGaussianParameters]:
    """Return `n_starts` starts: the first from lagged moments where these suffice, then random."""
    pairs = []
    subspace = subspace_pair(series, state_dim)
    if subspace is not None:
        pairs.append(subspace)
    while len(pairs) < n_starts:
        pairs.append(random_pair(series.values.shape[2], state_dim, rng))
    return [_complete(series, A, C, largest_radius, variance) for A, C in pairs[:n_starts]]


def subspace_pair(series: SeriesBatch, state_dim: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return A and C from the lagged moments E[z_{t+k} z_t'] = C A^k E[m_t m_t'] C', k >= 1.

    These hold no observation noise. Their block Hankel matrix factors into observability times
    controllability; a singular value decomposition gives both (Ho & Kalman 1966). None where the
    series are too short for `state_dim` states, or do not have that many directions.
    """
    p = series.values.shape[2]
    columns = -(-state_dim // p)
    rows = columns + 1
    if rows + columns - 1 > series.values.shape[1] - 1:
        return None
    lagged = [_lagged_moment(series, lag) for lag in range(1, rows + columns)]
    hankel = np.block([[lagged[i + j] for j in range(columns)] for i in range(rows)])
    left, singular_values, _ = np.linalg.svd(hankel)
    singular_values = singular_values[:state_dim]
    if not singular_values[0] > 0:
        return None
    floor = MIN_SINGULAR_VALUE * singular_values[0]
    observability = left[:, :state_dim] * np.sqrt(np.maximum(singular_values, floor))
    A = np.linalg.lstsq(observability[:-p], observability[p:], rcond=None)[0]
    C = observability[:p]
    return (A, C) if is_observable(A, C) else None


def _lagged_moment(series: SeriesBatch, lag: int) -> np.ndarray:
    """Return the mean of z_{t+lag} z_t' over the pairs of observed numbers (zero without any)."""
    p = series.values.shape[2]
    later, earlier = series.values[:, lag:].reshape(-1, p), series.values[:, :-lag].reshape(-1, p)
    seen_later = series.observed[:, lag:].reshape(-1, p).astype(np.float64)
    seen_earlier = series.observed[:, :-lag].reshape(-1, p).astype(np.float64)
    return later.T @ earlier / np.maximum(seen_later.T @ seen_earlier, 1.0)


def random_pair(observation_dim: int, state_dim: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return a random observable pair: Gaussian A of a random spectral radius, Gaussian C."""
    while True:
        A = rng.normal(size=(state_dim, state_dim))
        C = rng.normal(size=(observation_dim, state_dim))
        A *= rng.uniform(0.3, 0.95) / spectral_radius(A)
        if is_observable(A, C):
            return A, C


def is_observable(A: np.ndarray, C: np.ndarray) -> bool:
    """Return whether every state direction shows, well above rounding, in the observations."""
    blocks = [C]
    for _ in range(len(A) - 1):
        blocks.append(blocks[-1] @ A)
    # Rescaled block by block, so that fast decay alone is not taken for invisibility.
    scaled = [block / max(np.linalg.norm(block), np.finfo(float).tiny) for block in blocks]
    singular_values = np.linalg.svd(np.vstack(scaled), compute_uv=False)
    return bool(singular_values[-1] >= OBSERVABLE * singular_values[0])


def _complete(series, A, C, largest_radius, variance) -> LinearGaussianParameters:
    """Return a start with scales from the data: states of about the variance of the series."""
    p, d = C.shape
    radius = spectral_radius(A)
    if radius > 0.98 * largest_radius:
        A = A * (0.98 * largest_radius / radius)
    C = C * np.sqrt(p) / np.linalg.norm(C)
    seen = np.maximum(series.observed.sum(axis=0), 1)
    means = series.values.sum(axis=0) / seen
    steps = min(len(means), d)
    blocks = [C]
    for _ in range(steps - 1):
        blocks.append(blocks[-1] @ A)
    initial_mean = np.linalg.lstsq(np.vstack(blocks), means[:steps].reshape(-1), rcond=1e-2)[0]
    return LinearGaussianParameters(
        A,
        C,
        NOISE_SHARE * variance * np.eye(d),
        NOISE_SHARE * variance * np.eye(p),
        initial_mean,
        variance * np.eye(d),
    )
