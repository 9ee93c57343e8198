"""The graph of all pairs of rows: its weights, its spectrum, and rows that are alike."""

import numpy as np
from scipy.spatial.distance import pdist, squareform

from workflow_lib.papers.blaschko.pairwise_graphs import gaussian_laplacian, laplacian_of
from workflow_lib.solvers.laplacian import graph_laplacian


def test_weights_are_a_gaussian_kernel_of_the_median_distance():
    X = np.random.default_rng(0).normal(size=(15, 4))
    distances = squareform(pdist(X))
    W = np.exp(-(distances**2) / (2.0 * np.median(pdist(X)) ** 2))
    degrees = W.sum(axis=1)
    expected = np.diag(degrees**-0.5) @ (np.diag(degrees) - W) @ np.diag(degrees**-0.5)
    laplacian = laplacian_of(X @ X.T, 0)
    np.testing.assert_allclose(laplacian, expected, atol=1e-12)
    values = np.linalg.eigvalsh(laplacian)
    assert abs(values[0]) < 1e-12 and values[-1] < 2.0
    np.testing.assert_allclose(laplacian @ np.sqrt(degrees), 0.0, atol=1e-12)
    np.testing.assert_array_equal(laplacian_of(X @ X.T, 5), graph_laplacian(X @ X.T, 5))


def test_rows_that_are_alike_are_joined_alike():
    np.testing.assert_allclose(gaussian_laplacian(np.ones((3, 3))), np.eye(3) - 1.0 / 3.0)
