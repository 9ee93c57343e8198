"""Laplacian-regularised kernel ridge regression on labelled and unlabelled inputs.

The problem of Belkin, Niyogi & Sindhwani (JMLR 2006), with the penalties of eq. (13) of the OFER
paper: over functions h = f + b, f in the space of the kernel,

    1 / (2 l) sum_(i <= l) |y_i - h(x_i)|^2 + lambda_0 (|f|_K^2 + gamma f_a' L f_a).

f_a are the values at all N = l + u inputs, the l labelled ones followed by the u unlabelled ones,
and L is the Laplacian of their neighbourhood graph: inputs near each other shall have outputs near
each other, also where no output is known.

The two penalties of f are the norm of f in the space of another kernel (Sindhwani, Niyogi &
Belkin, ICML 2005),

    k~(x, z) = k(x, z) - k(x, a) Z(z),    Z(z) = (I + gamma L K_aa)^-1 gamma L k(a, z),

so this is kernel ridge regression of the labelled rows with k~. New inputs enter through k(x, a)
and are no part of the graph.
"""

import numpy as np
from scipy.linalg import solve

from workflow_lib.solvers.ridge import fit_dual_coefficients


def graph_laplacian(K: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Return the normalised Laplacian (N, N) of the graph of nearest neighbours.

    Two inputs are joined if one is among the nearest neighbours of the other, with the heat weight
    exp(-d^2 / t), where t is the mean of d^2 over the joined pairs. With the weights W and their
    row sums D, L = I - D^(-1/2) W D^(-1/2); the row of an input without any weight is zero.

    Parameters
    ----------
    K : array (N, N)
        Symmetric positive semi-definite Gram matrix. The distances are those of its feature space,
        d^2 = k(x, x) + k(z, z) - 2 k(x, z), so that every kernel has them.
    n_neighbours : int
        At least 1; all others where it is above their number. Inputs as far away as the last
        neighbour are neighbours as well, so that the order of the rows does not matter.
    """
    squared_lengths = np.diag(K)
    distances = np.maximum(squared_lengths[:, None] + squared_lengths - 2.0 * K, 0.0)
    np.fill_diagonal(distances, np.inf)
    last = min(n_neighbours, len(K) - 1) - 1
    radius = np.partition(distances, last, axis=1)[:, last]
    joined = (distances <= radius[:, None]) & np.isfinite(distances)
    joined |= joined.T
    unit = distances[joined].mean() if joined.any() else 0.0
    weights = np.zeros_like(distances)
    # Without a unit all joined inputs are the same.
    weights[joined] = np.exp(-distances[joined] / unit) if unit > 0 else 1.0
    degrees = weights.sum(axis=1)
    linked = degrees > 0
    scale = np.zeros(len(K))
    scale[linked] = 1.0 / np.sqrt(degrees[linked])
    laplacian = -np.outer(scale, scale) * weights
    laplacian[np.diag_indices(len(K))] = linked
    return laplacian


def deformation(smoothness: np.ndarray, weight: float, n_labelled: int) -> np.ndarray:
    """Return Z (N, l) of the module's formula for the labelled rows, the first of all.

    Parameters
    ----------
    smoothness : array (N, N)
        L K_aa, the same for all weights.
    weight : float
        gamma, at least 0; 0 leaves the kernel as it is.
    n_labelled : int
    """
    system = weight * smoothness
    right = system[:, :n_labelled].copy()
    system[np.diag_indices(len(system))] += 1.0
    return solve(system, right, overwrite_a=True, overwrite_b=True, check_finite=False)


def deformed_grams(
    K: np.ndarray, K_others: np.ndarray, Z: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return k~ between the labelled rows (l, l), and of others against them (m, l).

    Parameters
    ----------
    K : array (N, N)
        Gram matrix of the labelled, followed by the unlabelled rows.
    K_others : array (m, N)
        Gram matrix of other rows against those.
    Z : array (N, l)
        Their `deformation`.
    """
    n_labelled = Z.shape[1]
    gram = K[:n_labelled, :n_labelled] - K[:n_labelled] @ Z
    return (gram + gram.T) / 2.0, K_others[:, :n_labelled] - K_others @ Z


def fit_laplacian_ridge(
    K: np.ndarray,
    Y: np.ndarray,
    n_neighbours: int,
    weight: float,
    ridge: float,
    center: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Return dual coefficients (N, d) on all rows, and intercepts (d,): h(x) = k(x, a) dual + b.

    Parameters
    ----------
    K, n_neighbours, weight
        As of `deformed_grams`, `graph_laplacian` and `deformation`.
    Y : array (l, d)
        Outputs of the labelled rows, without missing values.
    ridge : float
        2 l lambda_0; infinity gives the mean of the outputs.
    center : bool, default=True
        Fit the unpenalised intercept b.
    """
    n_labelled = len(Y)
    Z = deformation(graph_laplacian(K, n_neighbours) @ K, weight, n_labelled)
    gram, _ = deformed_grams(K, K[:0], Z)
    labelled_dual, intercept = fit_dual_coefficients(gram, Y, ridge, center)
    dual = -Z @ labelled_dual
    dual[:n_labelled] += labelled_dual
    return dual, intercept
