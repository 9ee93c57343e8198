"""Columns of a score space as the inputs of a method: standardised, and at most as many as rows.

Scores at every position of a sequence are thousands of numbers, and methods of inner products need
no more columns than training rows. With the standardised training rows Z (l, m), m > l, and the QR
decomposition Z' = Q R, the coordinates of the training rows are R', those of another row z are z'Q
and the length of what is left of z. All inner products and distances with training rows are then
those of the standardised columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

MIN_DEVIATION = 1e-10
"""Standard deviation of a column, relative to its largest value, below which it is constant."""


class ScoreColumns(NamedTuple):
    """A map from columns (n, p) of a score space to inputs (n, k), learned from training rows.

    Attributes
    ----------
    kept : int array (m,)
        Columns that vary over the training rows; all where nothing is standardised.
    mean, scale : arrays (m,)
        Each kept column less its mean is divided by its scale.
    basis : array (m, l)
        Q; with no columns where the kept columns themselves are the inputs.
    unit : float
        Inputs are divided by it: their mean variance over the training rows is then one.
    """

    kept: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    basis: np.ndarray
    unit: float

    @classmethod
    def fit(cls, columns: np.ndarray, standardise: bool = True) -> ScoreColumns:
        """Return the map that training rows `columns` (l, p) give."""
        l_rows, p = columns.shape
        if not standardise:
            return cls(np.arange(p), np.zeros(p), np.ones(p), np.empty((p, 0)), 1.0)
        deviation = columns.std(axis=0)
        kept = np.flatnonzero(deviation > MIN_DEVIATION * np.abs(columns).max(axis=0))
        mean, scale = columns[:, kept].mean(axis=0), deviation[kept]
        m = len(kept)
        if m <= l_rows:
            return cls(kept, mean, scale, np.empty((m, 0)), 1.0)
        basis = np.linalg.qr(((columns[:, kept] - mean) / scale).T)[0]
        return cls(kept, mean, scale, basis, float(np.sqrt(m / (l_rows + 1))))

    def standardised(self, columns: np.ndarray) -> np.ndarray:
        """Return the standardised columns (n, m) of rows (n, p)."""
        return (columns[:, self.kept] - self.mean) / self.scale

    def of(self, columns: np.ndarray) -> np.ndarray:
        """Return the inputs (n, k) of rows (n, p)."""
        Z = self.standardised(columns)
        if not self.basis.shape[1]:
            # Without a column that varies all rows are the same.
            return Z if Z.shape[1] else np.zeros((len(Z), 1))
        found = Z @ self.basis
        # The length of the difference, since that of lengths would lose half of the digits.
        left = np.linalg.norm(Z - found @ self.basis.T, axis=1)
        return np.column_stack([found, left]) / self.unit

    def tree(self) -> dict:
        """Return the map as a group of an artifact."""
        return self._asdict()

    @classmethod
    def from_tree(cls, tree: Mapping) -> ScoreColumns:
        """Return the map that `tree` stores."""
        arrays = (tree[name] for name in ("kept", "mean", "scale", "basis"))
        return cls(*arrays, float(tree["unit"]))
