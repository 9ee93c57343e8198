"""Principal coordinates: feature vectors for inputs of which only inner products are kept."""

import numpy as np
from scipy.linalg import eigh

# The number that latent semantic analysis commonly keeps for a small collection of texts.
N_COORDINATES = 60

# Relative to the largest eigenvalue; a smaller eigenvalue is a rounding error.
MIN_EIGENVALUE = 1e-10


def principal_coordinates(products: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    """Return the leading coordinates (l, k) of training rows, and those (m, k) of other rows.

    With K = Q diag(s) Q' the coordinates of the training rows are Q sqrt(s) and those of a row
    with the products k' against them k' Q / sqrt(s): the truncated singular value decomposition of
    the inputs (latent semantic analysis), learned from the training rows alone. `products` (l, l)
    are those of the training rows, and `others` (m, l) those of other rows against them.
    """
    eigenvectors, roots = principal_directions(products)
    return [eigenvectors * roots, *(matrix @ eigenvectors / roots for matrix in others)]


def principal_directions(
    products: np.ndarray, n_coordinates: int = N_COORDINATES
) -> tuple[np.ndarray, np.ndarray]:
    """Return Q (l, k) and sqrt(s) (k,) of `principal_coordinates`, k at most `n_coordinates`.

    Where all products are zero, Q is a column of zeros and s is 1.
    """
    n_rows = len(products)
    first = max(n_rows - n_coordinates, 0)
    eigenvalues, eigenvectors = eigh(products, subset_by_index=(first, n_rows - 1))
    kept = eigenvalues > MIN_EIGENVALUE * max(eigenvalues[-1], np.finfo(float).tiny)
    if not kept.any():
        return np.zeros((n_rows, 1)), np.ones(1)
    # Largest first, each with its largest entry positive: eigenvectors have no sign of their own.
    eigenvalues, eigenvectors = eigenvalues[kept][::-1], eigenvectors[:, kept][:, ::-1]
    largest = np.abs(eigenvectors).argmax(axis=0)
    eigenvectors = eigenvectors * np.sign(eigenvectors[largest, np.arange(len(eigenvalues))])
    # Always in the same memory order, so that products with it are reproducible.
    return np.ascontiguousarray(eigenvectors), np.sqrt(eigenvalues)
