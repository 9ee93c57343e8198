"""Kernel ridge regression that couples its outputs: fitted values of reduced rank, joint kernels.

Both filter the solution in the eigenbasis of the Gram matrix. Training outputs Z (l, d), less their
mean where there is an intercept, and K = Q diag(s) Q', centred like them, have T = Q'Z; with the
ridge r = 2 l lambda_0 of eq. (13) kernel ridge regression has the dual coefficients Q W,

    W = T / (s + r).

**Fitted values of rank k** (`fitted_ranks`). The minimiser of the same penalised squares under the
constraint that the function has rank k is its projection W V_k V_k' on the leading eigenvectors of

    Z' F = T' diag(s / (s + r)) T,        F = K Q W the fitted values,

as the penalised squares are F*'F* = Z'F for the fitted values F* of the rows that a penalty adds to
ordinary least squares (Izenman 1975; with a penalty Mukherjee & Zhu 2011). Where r is 0, these are
the right singular vectors of F. `workflow_lib.solvers.reduced_rank` reduces the targets instead.

**Joint kernels** k(x, x') B (`joint_kernels`), B (d, d) positive semi-definite. The coefficients C
of the predictions K C B solve K C B + r C = Z. With B = U diag(b) U' they are, in both eigenbases,
T U / (s b' + r), so that K C B has

    W = (T U * b' / (s b' + r)) U' :

directions of the outputs with a large b are penalised less. Here

    B_t = (1 - t) I + t D,

with D of the dependence of the outputs and a unit diagonal; t = 0 is kernel ridge regression. D is
their `correlation`, or (`hsic`) the Hilbert-Schmidt independence criterion of each pair of outputs,

    HSIC_ij = trace(H L_i H L_j) / l^2,   L_i = exp(-(z_i - z_i')^2 / 2),   H = I - 1 1' / l,

divided by the root of HSIC_ii HSIC_jj. HSIC has no sign: so outputs are first turned around where
the leading eigenvector of their correlation is negative. A constant output depends on none.

Outputs are in units of their standard deviation; a full rank and t = 0 are the same in all units.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from workflow_lib.solvers.heldout import Decomposition
from workflow_lib.solvers.ridge import labelled_ridge

DEPENDENCES = ("hsic", "correlation")

BLOCK_ROWS = 64
"""Rows of the Gram matrices of all outputs that are held at a time."""

NO_VARIANCE = 1e-12
"""Of outputs in units of their standard deviation; less is rounding."""

Filter = Callable[[np.ndarray, np.ndarray, float], Iterator[np.ndarray]]
"""From eigenvalues s (m,), rotated outputs T (m, d) and the ridge r, yields W (m, d) of each
candidate."""


class SpectralRidge:
    """Filtered kernel ridge regression of training rows, under one kernel.

    `K` (l, l) is a symmetric positive semi-definite Gram matrix, and `Z` (l, d) are outputs, none
    missing. With `center` they are of mean zero, and an unpenalised intercept is fitted.
    """

    def __init__(self, K: np.ndarray, Z: np.ndarray, center: bool = True) -> None:
        self._decomposition = Decomposition(K, center=center)
        self._means = K.mean(axis=0) if center else np.zeros(len(K))
        self._rotated = self._decomposition.eigenvectors.T @ Z

    def predict(self, K_new: np.ndarray, alphas: Sequence[float], couple: Filter) -> np.ndarray:
        """Return predictions (candidates, penalties, h, d) for rows with the products K_new (h, l).

        `alphas` are values of lambda_0; infinity predicts zero, the mean.
        """
        rows = (K_new - self._means) @ self._decomposition.eigenvectors
        predictions = [[rows @ W for W in self._filtered(alpha, couple)] for alpha in alphas]
        return np.array(predictions).swapaxes(0, 1)

    def solution(self, alpha: float, couple: Filter) -> tuple[np.ndarray, np.ndarray]:
        """Return dual coefficients (l, d) and intercepts (d,) of the first candidate."""
        dual = self._decomposition.eigenvectors @ next(self._filtered(alpha, couple))
        return dual, -self._means @ dual

    def _filtered(self, alpha: float, couple: Filter) -> Iterator[np.ndarray]:
        ridge = labelled_ridge(len(self._means), alpha)
        self._decomposition.check_ridge(ridge)
        return couple(self._decomposition.eigenvalues, self._rotated, ridge)


def fitted_ranks(ranks: Sequence[int]) -> Filter:
    """Return the filter of fitted values of each rank.

    A rank above that of the fitted values is kernel ridge regression.
    """

    def couple(s: np.ndarray, T: np.ndarray, ridge: float) -> Iterator[np.ndarray]:
        W = T / (s + ridge)[:, None]
        fitted = np.sqrt(s / (s + ridge))[:, None] * T
        _, _, directions = np.linalg.svd(fitted, full_matrices=False)
        for rank in ranks:
            V = directions[:rank]
            yield (W @ V.T) @ V

    return couple


def joint_kernels(Z: np.ndarray, couplings: Sequence[float], dependence: str) -> Filter:
    """Return the filter of the joint kernels of outputs `Z` (l, d), for values t from 0 to 1.

    They are those of the training rows alone, in units of their standard deviation, none missing.
    """
    values, U = np.linalg.eigh(dependence_matrix(Z, dependence))

    def couple(s: np.ndarray, T: np.ndarray, ridge: float) -> Iterator[np.ndarray]:
        rotated = T @ U
        for t in couplings:
            b = (1.0 - t) + t * np.maximum(values, 0.0)
            yield (rotated * (b / (np.outer(s, b) + ridge))) @ U.T

    return couple


def dependence_matrix(Z: np.ndarray, dependence: str) -> np.ndarray:
    """Return D (d, d), positive semi-definite with a unit diagonal; see the module.

    Raises ValueError if `dependence` is unknown.
    """
    if dependence not in DEPENDENCES:
        raise ValueError(f"dependence must be one of {DEPENDENCES}; found {dependence!r}.")
    deviations = Z - Z.mean(axis=0)
    correlation = _normalised(deviations.T @ deviations / len(Z))
    if dependence == "correlation":
        return correlation
    signs = np.where(np.linalg.eigh(correlation)[1][:, -1] < 0, -1.0, 1.0)
    return _normalised(independence_criteria(Z)) * np.outer(signs, signs)


def independence_criteria(Z: np.ndarray) -> np.ndarray:
    """Return the Hilbert-Schmidt independence criteria (d, d) of all pairs of columns of `Z`."""
    n_rows, dimension = Z.shape
    products, sums = np.zeros((dimension, dimension)), np.zeros((dimension, n_rows))
    for begin in range(0, n_rows, BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        L = np.exp(-0.5 * (Z.T[:, rows, None] - Z.T[:, None, :]) ** 2)
        sums[:, rows] = L.sum(axis=2)
        L = L.reshape(dimension, -1)
        products += L @ L.T
    means = sums / n_rows
    totals = means.mean(axis=1)
    return products / n_rows**2 - 2.0 * means @ means.T / n_rows + np.outer(totals, totals)


def _normalised(matrix: np.ndarray) -> np.ndarray:
    """Return a Gram matrix with a unit diagonal; without products where it has no variance."""
    diagonal = np.diag(matrix)
    roots = np.sqrt(np.where(diagonal > NO_VARIANCE, diagonal, np.inf))
    normalised = matrix / np.outer(roots, roots)
    np.fill_diagonal(normalised, 1.0)
    return normalised
