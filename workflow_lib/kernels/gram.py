"""Gram matrices of the input kernels."""

from __future__ import annotations

import numpy as np

KERNELS = ("rbf", "linear", "tanimoto", "precomputed")


def gram_matrix(X, Z=None, kernel: str = "rbf", gamma: float | None = None) -> np.ndarray:
    """Return k(x_i, z_j) for all rows of `X` (n, q) and `Z` (m, q): an array (n, m).

    Parameters
    ----------
    X : array (n, q)
    Z : array (m, q) or None
        None means `X` itself; the result is then exactly symmetric.
    kernel : {"rbf", "linear", "tanimoto", "precomputed"}, default="rbf"
        ``rbf``: exp(-gamma ||x - z||^2). ``linear``: x'z. ``tanimoto``: x'z / (x'x + z'z - x'z)
        for non-negative features, with k(0, 0) = 1 and k(0, z) = 0 (Ralaivola et al. 2005).
        ``precomputed``: `X` is the Gram matrix and is returned as float64.
    gamma : float or None, default=None
        Inverse squared width of ``rbf``; None means 1 / q, as in scikit-learn.

    Raises
    ------
    ValueError
        If the kernel is unknown, `gamma` is not positive, or a Tanimoto feature is negative.
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {KERNELS}; found {kernel!r}.")
    X = np.asarray(X, dtype=np.float64)
    if kernel == "precomputed":
        return X
    Z_given = Z is not None
    Z = np.asarray(Z, dtype=np.float64) if Z_given else X
    if kernel == "linear":
        gram = X @ Z.T
    elif kernel == "rbf":
        gram = _rbf(X, Z, 1.0 / X.shape[1] if gamma is None else gamma)
    else:
        gram = _tanimoto(X, Z)
    return gram if Z_given else (gram + gram.T) / 2


def _rbf(X, Z, gamma):
    if not gamma > 0:
        raise ValueError(f"gamma must be positive; found {gamma}.")
    # Centring first keeps the difference of large squares from losing digits.
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    distances = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2.0 * (X @ Z.T)
    return np.exp(-gamma * np.maximum(distances, 0.0))


def _tanimoto(X, Z):
    for matrix in (X, Z):
        if matrix.size and matrix.min() < 0:
            row = int(np.flatnonzero((matrix < 0).any(axis=1))[0])
            raise ValueError(
                f"Negative values in data: row {row}. The Tanimoto kernel needs non-negative "
                "features; use counts or bits, or the rbf kernel."
            )
    product = X @ Z.T
    union = (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - product
    both_empty = union == 0
    return np.where(both_empty, 1.0, product / np.where(both_empty, 1.0, union))
