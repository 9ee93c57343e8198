"""Principal components of the rows of bags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.items.kinds.bags import some_rows

MAX_ROWS = 50_000
"""Rows of all bags, drawn at random, that give the principal components."""


class Projection(NamedTuple):
    """Principal components of rows: a shift (d,) and directions (d, k)."""

    shift: np.ndarray
    directions: np.ndarray

    def of(self, bags: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the bags (m_i, k) of bags (m_i, d)."""
        return [(bag - self.shift) @ self.directions for bag in bags]


def fitted_projection(
    bags: Sequence[np.ndarray],
    n_dimensions: int | None,
    has_own_units: bool,
    generator: np.random.Generator,
) -> Projection:
    """Return the projection of the rows, where columns have units of their own after scaling. Each
    column is then divided by its standard deviation; one that is constant stays."""
    rows = some_rows(bags, MAX_ROWS, generator)
    width, scales = rows.shape[1], np.ones(rows.shape[1])
    if has_own_units:
        deviations = rows.std(axis=0)
        scales = np.where(deviations > 0, deviations, 1.0)
    if n_dimensions is None or n_dimensions >= min(rows.shape):
        shift = rows.mean(axis=0) if has_own_units else np.zeros(width)
        return Projection(shift, np.diag(1.0 / scales))
    from sklearn.decomposition import PCA

    found = PCA(n_dimensions, svd_solver="covariance_eigh").fit(rows / scales)
    return Projection(found.mean_ * scales, found.components_.T / scales[:, None])
