"""Held-out predictions of kernel ridge regression for a whole grid of penalties.

`SharedGram` serves every penalty, fold and set of targets from one eigendecomposition of the Gram
matrix, by the identity (An, Liu & Venkatesh 2007; Rifkin & Lippert 2007 for single rows)

    h_F = -(G_FF)^-1 (G T0)_F,    G = (K + ridge I)^-1,   T0 = targets with the rows F set to zero,

which holds for targets that differ from fold to fold; so the generative model can be fitted anew
without each fold. With an intercept, G becomes the leading block of the inverse of the bordered
matrix, G - G 1 1' G / (1' G 1).

`SeparateGrams` takes one eigendecomposition a fold, for inputs whose preparation (imputation,
scaling) is learned in the fold, so that the Gram matrices differ.

Both refuse penalties too small for the spectrum: the error grows like eps * s_max / ridge.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from workflow_lib.regression.ridge import labelled_ridge

# Under this fraction of the largest eigenvalue, held-out predictions keep fewer than six digits.
SMALLEST_RELATIVE_RIDGE = 1e-10


def fold_rows(folds: np.ndarray) -> list[np.ndarray]:
    """Return the row numbers held out by each fold, from the fold number of every row (n,)."""
    return [np.flatnonzero(folds == fold) for fold in range(int(folds.max()) + 1)]


class Decomposition:
    """The eigendecomposition K = Q diag(s) Q' of a Gram matrix, eigenvalues clipped at zero."""

    def __init__(self, K: np.ndarray) -> None:
        eigenvalues, self.eigenvectors = eigh(K, check_finite=False, driver="evd")
        self.eigenvalues = np.maximum(eigenvalues, 0.0)

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
    """

    def __init__(self, K: np.ndarray, folds: np.ndarray, center: bool = True) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._decomposition = Decomposition(K)

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
        """
        s, Q = self._decomposition.eigenvalues, self._decomposition.eigenvectors
        ones = Q.sum(axis=0)
        predictions = []
        for rows, fold_targets in zip(self.heldout, targets, strict=True):
            known = np.array(fold_targets, dtype=np.float64)
            known[rows] = 0.0
            n_known = len(known) - len(rows)
            mean = known.sum(axis=0) / n_known
            rotated = Q.T @ known
            Q_rows = Q[rows]
            fold_predictions = np.empty((len(penalties), len(rows), known.shape[1]))
            for index, penalty in enumerate(penalties):
                if np.isinf(penalty):
                    fold_predictions[index] = mean if self.center else 0.0
                    continue
                ridge = labelled_ridge(n_known, penalty)
                self._decomposition.check_ridge(ridge)
                inverse = 1.0 / (s + ridge)
                weighted = Q_rows * inverse
                G_rows = weighted @ Q_rows.T
                G_targets = weighted @ rotated
                if self.center:
                    G_ones = weighted @ ones
                    total = (inverse * ones) @ ones
                    G_rows -= np.outer(G_ones, G_ones) / total
                    G_targets -= np.outer(G_ones, (inverse * ones) @ rotated) / total
                fold_predictions[index] = -cho_solve(cho_factor(G_rows), G_targets)
            predictions.append(fold_predictions)
        return predictions


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
            fold_predictions = np.empty((len(penalties), len(rows), known.shape[1]))
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
