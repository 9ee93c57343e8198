"""Gram matrices of the input kernels."""

import numpy as np

from workflow_lib.core.parameters import check_kind

KERNELS = ("rbf", "laplacian", "linear", "tanimoto", "precomputed")

# Rows of a Gram matrix that are processed at a time, few enough to stay in the cache.
BLOCK_ROWS = 64


def gram_matrix(X, Z=None, kernel: str = "rbf", gamma: float | None = None) -> np.ndarray:
    """Return k(x_i, z_j) for all rows of `X` (n, q) and `Z` (m, q): an array (n, m).

    Raises ValueError if the kernel is unknown, `gamma` is not positive, or a Tanimoto feature is
    negative.

    Parameters
    ----------
    X : array (n, q)
    Z : array (m, q) or None
        None means `X` itself; the result is then exactly symmetric.
    kernel : {"rbf", "laplacian", "linear", "tanimoto", "precomputed"}, default="rbf"
        ``rbf``: exp(-gamma ||x - z||^2). ``laplacian``: exp(-gamma sum_j |x_j - z_j|), which suits
        outputs that change abruptly, and inputs of a few levels. ``linear``: x'z.
        ``tanimoto``: x'z / (x'x + z'z - x'z) for non-negative features, with k(0, 0) = 1 and
        k(0, z) = 0 (Ralaivola et al. 2005).
        ``precomputed``: `X` is the Gram matrix and is returned as float64.
    gamma : float or None, default=None
        Inverse squared width of ``rbf``, inverse width of ``laplacian``; None means 1 / q, as in
        scikit-learn.
    """
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {KERNELS}; found {kernel!r}.")
    X = np.asarray(X, dtype=np.float64)
    if kernel == "precomputed":
        return X
    # The product of a matrix with its own transpose is exactly symmetric, and all later steps
    # treat both halves alike.
    Z = X if Z is None else np.asarray(Z, dtype=np.float64)
    if kernel == "linear":
        return X @ Z.T
    if kernel in ("rbf", "laplacian"):
        gamma = 1.0 / X.shape[1] if gamma is None else gamma
        if kernel == "rbf":
            return _rbf(X, Z, gamma)
        return laplacian_of(absolute_distances(X, Z), gamma)
    return _tanimoto(X, Z)


def gram_from_products(
    products: np.ndarray,
    squared_lengths: np.ndarray,
    column_squared_lengths: np.ndarray,
    kernel: str,
    gamma: float | None = None,
) -> np.ndarray:
    """Return the Gram matrix (n, m) of inputs of which only the inner products are known.

    Raises ValueError if the kernel is another, or `gamma` is not positive.

    Parameters
    ----------
    products : array (n, m)
        x_i'z_j.
    squared_lengths, column_squared_lengths : arrays (n,) and (m,)
        x_i'x_i and z_j'z_j; ``linear`` does not use them.
    kernel : {"linear", "rbf"}
        ``rbf``: exp(-gamma (x'x + z'z - 2 x'z)).
    gamma : float or None, default=None
        Inverse squared width of ``rbf``.
    """
    if kernel == "linear":
        return products
    if kernel != "rbf":
        raise ValueError(f"kernel must be 'linear' or 'rbf' for inner products; found {kernel!r}.")
    check_kind("penalty", "gamma", gamma)
    return _exponential(squared_lengths, column_squared_lengths, 2.0 * products, gamma)


def _rbf(X, Z, gamma):
    check_kind("penalty", "gamma", gamma)
    # Inputs are centred first, so that the difference of large squares loses no digits.
    centre = Z.mean(axis=0)
    centred = X - centre
    others = centred if Z is X else Z - centre
    products = centred @ others.T
    products *= 2.0
    return _exponential((centred**2).sum(axis=1), (others**2).sum(axis=1), products, gamma)


def absolute_distances(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return sum_j |x_j - z_j| (n, m) for all rows of `X` (n, q) and `Z` (m, q)."""
    # Imported here, so that jobs with other kernels do not load it.
    from scipy.spatial.distance import cdist

    return cdist(X, Z, "cityblock")


def laplacian_of(distances: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(-gamma D) of `absolute_distances` D; ValueError unless gamma is positive.

    The distances take most of the time of a Laplacian kernel, and can be shared between widths.
    """
    check_kind("penalty", "gamma", gamma)
    values = -gamma * distances
    return np.exp(values, out=values)


def _exponential(squared_lengths, column_squared_lengths, twice_products, gamma):
    """Return exp(-gamma (x'x + z'z - 2 x'z)), overwriting the array of 2 x'z to save memory."""
    for begin in range(0, len(twice_products), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        block = squared_lengths[rows, None] + column_squared_lengths
        block -= twice_products[rows]
        np.maximum(block, 0.0, out=block)
        block *= -gamma
        np.exp(block, out=twice_products[rows])
    return twice_products


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
