"""Laplacians of graphs by which unpaired rows smooth: of nearest neighbours, or of all pairs."""

import numpy as np

from workflow_lib.solvers.laplacian import graph_laplacian

ALL_PAIRS = 0
"""The number of neighbours that stands for the graph of all pairs."""


def laplacian_of(K: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Return the normalised Laplacian (N, N) of a graph of the rows of a Gram matrix (N, N).

    It is that of `workflow_lib.solvers.laplacian.graph_laplacian`, or `gaussian_laplacian` for
    `ALL_PAIRS`; distances are those of the feature space.
    """
    return gaussian_laplacian(K) if n_neighbours == ALL_PAIRS else graph_laplacian(K, n_neighbours)


def gaussian_laplacian(K: np.ndarray) -> np.ndarray:
    """Return I - D^(-1/2) W D^(-1/2) of the Gaussian kernel W of all pairs, with row sums D.

    Blaschko (2014), section 4.1.3: W_ij = exp(-d_ij^2 / (2 sigma^2)), and sigma is the median
    distance between two rows. A row is also joined to itself, as W is the whole kernel matrix; the
    exponents of D are printed there with one sign missing.
    """
    squared_lengths = np.diag(K)
    distances = np.maximum(squared_lengths[:, None] + squared_lengths - 2.0 * K, 0.0)
    np.fill_diagonal(distances, 0.0)
    pairs = np.sqrt(distances[np.triu_indices(len(K), 1)])
    sigma = np.median(pairs) if len(pairs) else 0.0
    # Without a unit all rows are alike.
    weights = np.exp(-0.5 * distances / sigma**2) if sigma > 0 else np.ones_like(distances)
    scale = 1.0 / np.sqrt(weights.sum(axis=1))
    laplacian = -np.outer(scale, scale) * weights
    laplacian[np.diag_indices(len(K))] += 1.0
    return laplacian
