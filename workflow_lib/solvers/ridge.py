"""Kernel ridge regression with an intercept, on weighted rows: the solver behind every method.

The problem of eq. (13) and, with weak rows, of eq. (14) of the OFER paper has for each block of
targets T the solution h(x) = sum_i k(x, x_i) alpha_i + b with

    [ K + Lambda  1 ] [alpha]   [T]
    [ 1'          0 ] [  b' ] = [0]

where Lambda is diagonal: 2 l lambda_0 for the l labelled rows of eq. (13); lambda_0 / lambda_2
for the weak rows of eq. (14). The second row is the unpenalised intercept; without centring,
b = 0 and the first row alone is solved.
"""

from collections.abc import Mapping

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve


def labelled_ridge(n_rows: float, alpha: float) -> float:
    """Return the diagonal term 2 l lambda_0 of `n_rows` labelled rows (eq. (13)).

    Of rows with weights, `n_rows` is the sum of these.
    """
    return 2.0 * n_rows * alpha


def weak_ridge(alpha: float, weak_weight: float) -> float:
    """Return the diagonal term lambda_0 / lambda_2 of weak rows (eq. (14))."""
    return alpha / weak_weight


def not_positive_definite(ridge: float) -> LinAlgError:
    """Return the error, a ValueError, for a Gram matrix and a ridge that cannot be factorised."""
    return LinAlgError(
        f"The Gram matrix plus its ridge (smallest {ridge:.3g}) is not positive definite. Raise "
        "alpha, or check that the kernel is positive semi-definite."
    )


def fit_blocks(
    K: np.ndarray,
    targets: np.ndarray,
    blocks: Mapping[str, slice],
    alphas: Mapping[str, float],
    center: bool = True,
    weak_targets: Mapping[str, np.ndarray] | None = None,
    weak_weight: float = 1.0,
    row_weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the dual coefficients (l + w, m) and intercepts (m,) of all blocks of the targets.

    Each block is the solution of eq. (13) with a penalty of its own, or of eq. (14) where weak rows
    join it; elsewhere the coefficients of weak rows are zero.

    Parameters
    ----------
    K : array (l + w, l + w)
        Gram matrix of the labelled, then the weak rows.
    targets : array (l, m)
        Of the labelled rows.
    blocks : mapping of str to slice
        Columns of each block.
    alphas : mapping of str to float
        lambda_0 of each block; infinity predicts its mean.
    center : bool, default=True
        Fit an unpenalised intercept.
    weak_targets : mapping of str to array (w, columns), optional
        Targets of the weak rows in the blocks that they join.
    weak_weight : float, default=1.0
        Weight of a weak row relative to a labelled one, 2 l lambda_2; positive.
    row_weights : array (l,) or None, default=None
        Positive weights w_i of the labelled rows, whose ridges are 2 sum(w) lambda_0 / w_i. None
        for 1. Not together with weak rows.
    """
    n_labelled, n_rows = len(targets), len(K)
    dual, intercept = np.zeros((n_rows, targets.shape[1])), np.zeros(targets.shape[1])
    for name, columns in blocks.items():
        block, rows = targets[:, columns], slice(0, n_labelled)
        ridge = np.full(n_labelled, labelled_ridge(n_labelled, alphas[name]))
        weights = np.ones(n_rows)
        if row_weights is not None:
            weights = row_weights
            ridge = labelled_ridge(weights.sum(), alphas[name]) / weights
        if weak_targets and name in weak_targets:
            block, rows = np.vstack([block, weak_targets[name]]), slice(0, n_rows)
            weak = weak_ridge(alphas[name], weak_weight / (2.0 * n_labelled))
            ridge = np.append(ridge, np.full(n_rows - n_labelled, weak))
            weights[n_labelled:] = weak_weight
        dual[rows, columns], intercept[columns] = fit_dual_coefficients(
            K[rows, rows], block, ridge, center, weights[rows]
        )
    return dual, intercept


def fit_dual_coefficients(
    K: np.ndarray, T: np.ndarray, ridge, center: bool = True, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the dual coefficients (n, m) and the intercepts (m,) for targets `T` (n, m).

    Raises ValueError if K + Lambda is not positive definite; the message names the remedy.

    Parameters
    ----------
    K : array (n, n)
        Symmetric positive semi-definite Gram matrix.
    T : array (n, m)
        Targets.
    ridge : float or array (n,)
        Diagonal of Lambda, positive. Finite ridges give each row the weight 1 / ridge; infinity
        everywhere gives h = b, the mean of the targets.
    center : bool, default=True
        Fit an unpenalised intercept.
    weights : array (n,) or None, default=None
        Weights of the rows in that mean, which infinite ridges cannot tell; None means equal.
    """
    n_rows = len(K)
    ridge = np.broadcast_to(np.asarray(ridge, dtype=np.float64), (n_rows,))
    if np.isinf(ridge).all():
        intercept = np.average(T, axis=0, weights=weights) if center else np.zeros(T.shape[1])
        return np.zeros_like(T), intercept
    return RidgeSystem(K, ridge, center).solve(T)


class RidgeSystem:
    """The system of the module for any targets, with its matrix factorised once.

    Parameters are those of `fit_dual_coefficients`; ridges are finite.
    """

    def __init__(self, K: np.ndarray, ridge: np.ndarray, center: bool = True) -> None:
        try:
            self._factor = cho_factor(K + np.diag(ridge), lower=True)
        except LinAlgError as error:
            raise not_positive_definite(ridge.min()) from error
        self._center = center

    def solve(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the dual coefficients (n, m) and the intercepts (m,) for targets `T` (n, m)."""
        if not self._center:
            return cho_solve(self._factor, T), np.zeros(T.shape[1])
        solved = cho_solve(self._factor, np.column_stack([T, np.ones(len(T))]))
        solved_targets, solved_ones = solved[:, :-1], solved[:, -1]
        intercept = solved_targets.sum(axis=0) / solved_ones.sum()
        return solved_targets - np.outer(solved_ones, intercept), intercept
