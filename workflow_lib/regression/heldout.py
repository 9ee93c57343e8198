"""Held-out predictions of kernel ridge regression for a whole grid of penalties.

`SharedGram` serves every penalty, fold and set of targets from one eigendecomposition of the Gram
matrix, by the identity (An, Liu & Venkatesh 2007; Rifkin & Lippert 2007 for single rows)

    h_F = -(G_FF)^-1 (G T0)_F,    G = (K + ridge I)^-1,   T0 = targets with the rows F set to zero,

which holds for targets that differ from fold to fold; so the generative model can be fitted anew
without each fold. With an intercept, G becomes the leading block of the inverse of the bordered
matrix, G - G 1 1' G / (1' G 1): that is sum q q' / (s + ridge) over the eigenvectors q of the
centred Gram matrix, without the constant one.

`SeparateGrams` takes one eigendecomposition a fold, for inputs whose preparation (imputation,
scaling) is learned in the fold, so that the Gram matrices differ.

Both warn of penalties too small for the spectrum: the error grows like eps * s_max / ridge.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dposv

from workflow_lib.regression.ridge import labelled_ridge

# Under this fraction of the largest eigenvalue, held-out predictions keep fewer than six digits.
SMALLEST_RELATIVE_RIDGE = 1e-10


def fold_rows(folds: np.ndarray) -> list[np.ndarray]:
    """Return the row numbers held out by each fold, from the fold number of every row (n,)."""
    return [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]


class Decomposition:
    """The eigendecomposition K = Q diag(s) Q' of a Gram matrix, eigenvalues clipped at zero.

    Parameters
    ----------
    K : array (n, n)
        Symmetric.
    overwrite : bool, default=False
        Put the eigenvectors in the place of `K`: one Gram matrix less in memory.
    center : bool, default=False
        Decompose the centred Gram matrix H K H, H = I - 1 1'/n, and leave out the constant
        eigenvector: n - 1 eigenvalues.
    """

    def __init__(self, K: np.ndarray, overwrite: bool = False, center: bool = False) -> None:
        if center:
            K = K if overwrite else K.copy()
            _center_with_high_constant(K)
        # A symmetric matrix in the order of rows is the same one in the order of columns, which
        # LAPACK can overwrite.
        eigenvalues, eigenvectors = eigh(
            K.T, overwrite_a=overwrite or center, check_finite=False, driver="evd"
        )
        # The constant eigenvector is the last.
        kept = slice(0, len(K) - 1 if center else len(K))
        self.eigenvalues = np.maximum(eigenvalues[kept], 0.0)
        self.eigenvectors = eigenvectors[:, kept]

    def check_ridge(self, ridge: float) -> None:
        """Warn when a ridge is too small for trustworthy held-out predictions."""
        if ridge < SMALLEST_RELATIVE_RIDGE * self.eigenvalues[-1]:
            warnings.warn(
                f"The ridge {ridge:.2g} is under {SMALLEST_RELATIVE_RIDGE:g} of the largest "
                f"eigenvalue {self.eigenvalues[-1]:.2g}; its scores are not reliable. "
                "Leave such penalties out of the grid.",
                RuntimeWarning,
                stacklevel=3,
            )


def _center_with_high_constant(K: np.ndarray) -> None:
    """Centre a Gram matrix in place, and give the constant vector the largest eigenvalue.

    Its own eigenvalue is zero, which it would share with others of a matrix without full rank.
    """
    means = K.mean(axis=0)
    K -= means
    K -= (means - means.mean())[:, None]
    # No eigenvalue is larger than the largest sum of absolute values of a row.
    highest = max(np.linalg.norm(K, np.inf), np.finfo(np.float64).tiny)
    K += 2.0 * highest / len(K)


class SharedGram:
    """Held-out predictions where all folds share one Gram matrix.

    Parameters
    ----------
    K : array (n, n)
        Gram matrix of all training rows.
    folds : int array (n,)
        Fold number of every row.
    center : bool, default=True
        Fit an unpenalised intercept.
    overwrite : bool, default=False
        Destroy `K`, which saves the memory of a copy.
    """

    def __init__(
        self, K: np.ndarray, folds: np.ndarray, center: bool = True, overwrite: bool = False
    ) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._n_rows = len(K)
        self._decomposition = Decomposition(K, overwrite, center)

    def predict(
        self, targets: Sequence[np.ndarray], penalties: Sequence[float]
    ) -> list[np.ndarray]:
        """Return, for each fold, the predictions (n_penalties, n_fold, m) of its held-out rows.

        Parameters
        ----------
        targets : sequence of array (n, m)
            Targets of each fold; held-out rows are ignored. `m` may differ from fold to fold.
        penalties : sequence of float
            lambda_0 of eq. (13); the ridge is 2 l lambda_0 with l the fold's training rows.
            Infinity predicts the training mean (zero without centring).

        Notes
        -----
        Folds of one row with the same targets (the same array) are solved together.
        """
        for penalty in penalties:
            self._decomposition.check_ridge(self._ridge(self.heldout[0], penalty))
        same = all(fold_targets is targets[0] for fold_targets in targets)
        if same and all(len(rows) == 1 for rows in self.heldout):
            by_row = self._predict_single_rows(targets[0], penalties)
            return [by_row[:, rows] for rows in self.heldout]
        return [
            self._predict_fold(rows, fold_targets, penalties)
            for rows, fold_targets in zip(self.heldout, targets, strict=True)
        ]

    def _ridge(self, rows: np.ndarray, penalty: float) -> float:
        return labelled_ridge(self._n_rows - len(rows), penalty)

    def _predict_fold(self, rows, targets, penalties) -> np.ndarray:
        s, Q = self._decomposition.eigenvalues, self._decomposition.eigenvectors
        known = np.array(targets, dtype=np.float64)
        known[rows] = 0.0
        rotated, Q_rows = Q.T @ known, Q[rows]
        predictions = _row_major(len(penalties), len(rows), known.shape[1])
        for index, penalty in enumerate(penalties):
            if np.isinf(penalty):
                n_known = len(known) - len(rows)
                predictions[index] = known.sum(axis=0) / n_known if self.center else 0.0
                continue
            root = 1.0 / np.sqrt(s + self._ridge(rows, penalty))
            weighted = Q_rows * root
            # Half of a symmetric matrix is enough, and is half the work.
            G_rows = dsyrk(1.0, weighted.T, trans=True, lower=True)
            G_targets = weighted @ (root[:, None] * rotated)
            _, solved, fault = dposv(G_rows, G_targets, lower=True, overwrite_a=True)
            if fault:
                raise LinAlgError(f"The ridge {self._ridge(rows, penalty):.3g} is too small.")
            predictions[index] = -solved
        return predictions

    def _predict_single_rows(self, targets, penalties) -> np.ndarray:
        """Return the predictions (n_penalties, n, m) of every row without itself.

        For single rows the identity is h_i = t_i - (G T)_i / G_ii.
        """
        s, Q = self._decomposition.eigenvalues, self._decomposition.eigenvectors
        known = np.asarray(targets, dtype=np.float64)
        rotated = Q.T @ known
        ridges = np.array([self._ridge(self.heldout[0], penalty) for penalty in penalties])
        inverses = 1.0 / (s[:, None] + ridges)
        diagonals = (Q**2) @ inverses
        predictions = np.empty((len(penalties), *known.shape))
        for index, penalty in enumerate(penalties):
            if np.isinf(penalty):
                others = (known.sum(axis=0) - known) / (len(known) - 1)
                predictions[index] = others if self.center else 0.0
                continue
            G_targets = Q @ (inverses[:, index, None] * rotated)
            predictions[index] = known - G_targets / diagonals[:, index, None]
        return predictions


def _row_major(n_penalties: int, n_rows: int, n_columns: int) -> np.ndarray:
    """Return an empty array of these axes in which all penalties of a row lie side by side.

    Sums over rows are then products of whole matrices.
    """
    return np.empty((n_rows, n_penalties, n_columns)).transpose(1, 0, 2)


class SeparateGrams:
    """Held-out predictions where every fold has Gram matrices of its own.

    Parameters
    ----------
    grams : sequence of (array (l, l), array (h, l))
        For each fold, the Gram matrix of its training rows, and that of its held-out rows against
        them.
    folds : int array (n,)
        Fold number of every row.
    center : bool, default=True
        Fit an unpenalised intercept.
    """

    def __init__(
        self,
        grams: Sequence[tuple[np.ndarray, np.ndarray]],
        folds: np.ndarray,
        center: bool = True,
    ) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._grams = [(Decomposition(K), K_heldout) for K, K_heldout in grams]

    def predict(
        self, targets: Sequence[np.ndarray], penalties: Sequence[float]
    ) -> list[np.ndarray]:
        """As `SharedGram.predict`."""
        predictions = []
        for rows, fold_targets, (decomposition, K_heldout) in zip(
            self.heldout, targets, self._grams, strict=True
        ):
            known = np.delete(np.asarray(fold_targets, dtype=np.float64), rows, axis=0)
            s, Q = decomposition.eigenvalues, decomposition.eigenvectors
            rotated, ones, heldout = Q.T @ known, Q.sum(axis=0), K_heldout @ Q
            fold_predictions = _row_major(len(penalties), len(rows), known.shape[1])
            for index, penalty in enumerate(penalties):
                if np.isinf(penalty):
                    fold_predictions[index] = known.mean(axis=0) if self.center else 0.0
                    continue
                ridge = labelled_ridge(len(known), penalty)
                decomposition.check_ridge(ridge)
                inverse = 1.0 / (s + ridge)
                if self.center:
                    weighted_ones = inverse * ones
                    intercept = (weighted_ones @ rotated) / (weighted_ones @ ones)
                else:
                    intercept = np.zeros(known.shape[1])
                centred = rotated - np.outer(ones, intercept)
                fold_predictions[index] = (heldout * inverse) @ centred + intercept
            predictions.append(fold_predictions)
        return predictions
