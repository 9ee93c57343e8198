"""Held-out predictions of kernel ridge regression for a whole grid of penalties.

`SharedGram` serves every penalty, fold and set of targets from one eigendecomposition of the Gram
matrix, by the identity (An, Liu & Venkatesh 2007; Rifkin & Lippert 2007 for single rows)

    h_F = -(G_FF)^-1 (G T0)_F,    G = (K + ridge I)^-1,   T0 = targets with the rows F set to zero,

which holds for targets that differ from fold to fold; so the generative model can be fitted anew
without each fold. With an intercept, G becomes the leading block of the inverse of the bordered
matrix, G - G 1 1' G / (1' G 1): that is sum q q' / (s + ridge) over the eigenvectors q of the
centred Gram matrix, without the constant one.

`SeparateGrams` takes one eigendecomposition a fold, for inputs whose preparation (imputation,
scaling) is learned in the fold, so that the Gram matrices differ; and for rows with weights w. With
C = diag(sqrt(w)) their problem is the one without weights for C K C and C T, in which sqrt(w) takes
the place of the constant vector; the ridge is 2 sum(w) lambda_0, over the fold's training rows.

Both warn of penalties too small for the spectrum: the error grows like eps * s_max / ridge.

`SharedGram` can work in float32, at half the cost where that is large. Its errors come from the
decomposition alone: it is the exact one of a matrix that differs from K by about eps * s_max, so
that predictions differ by about eps * s_max / (s_min + ridge); the products that follow lose
nothing of note. Where this is too much, G is one inverse in float64.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.linalg.blas import dsyrk, ssyrk
from scipy.linalg.lapack import dposv, dpotrf, dpotri, sposv

from workflow_lib.solvers.ridge import labelled_ridge, not_positive_definite

# Under this fraction of the largest eigenvalue, held-out predictions keep fewer than six digits.
MIN_RELATIVE_RIDGE = 1e-10

PRECISIONS = ("float64", "float32")

# Where the smallest eigenvalue and the ridge together are under this fraction of the largest one, a
# decomposition in float32 is not used. Measured on smooth outputs, on ones without noise and on
# noise alone, on kernels of several widths and ranks and 200 to 2000 rows: at this fraction the
# norm of the errors is 3e-3 of that of the predictions or less in half of the problems, 1e-2 in the
# worst, and it is inverse to the fraction. Scores, which are sums of squares, changed by 1e-4 at
# most, and the chosen grid point by none. Above the largest eigenvalue, ridges make predictions
# small: then errors are 1e-6 of the targets.
MIN_RELATIVE_RIDGE_FLOAT32 = 1e-4
# An eigendecomposition costs as much as four to five inverses.
MAX_INVERSES = 4

# Products of half a matrix with its own transpose, and solutions with a half matrix.
_ROUTINES = {"d": (dsyrk, dposv), "f": (ssyrk, sposv)}


def fold_rows(folds: np.ndarray) -> list[np.ndarray]:
    """Return the row numbers held out by each fold, from the fold number of every row (n,)."""
    n_folds = int(folds.max()) + 1
    order = np.argsort(folds, kind="stable")
    ends = np.searchsorted(folds[order], np.arange(n_folds), side="right")
    begins = np.searchsorted(folds[order], np.arange(n_folds))
    return [order[begin:end] for begin, end in zip(begins, ends, strict=True)]


class Decomposition:
    """The eigendecomposition K = Q diag(s) Q' of a Gram matrix, eigenvalues clipped at zero.

    Parameters
    ----------
    K : array (n, n)
        Symmetric.
    overwrite : bool, default=False
        Overwrite `K` with the eigenvectors: one Gram matrix less in memory.
    center : bool, default=False
        Decompose the centred Gram matrix H K H, H = I - 1 1'/n, and leave out the constant
        eigenvector: n - 1 eigenvalues.
    weights : array (n,) or None, default=None
        Positive weights w of the rows: decompose C K C with C = diag(sqrt(w)), or if centred
        C H K H' C with H = I - 1 w'/sum(w), without the eigenvector sqrt(w). None for 1.
    """

    def __init__(
        self,
        K: np.ndarray,
        overwrite: bool = False,
        center: bool = False,
        weights: np.ndarray | None = None,
    ) -> None:
        if not overwrite and (center or weights is not None):
            K, overwrite = K.copy(), True
        if center:
            _center(K, weights)
        roots = None if weights is None else np.sqrt(weights)
        if weights is not None:
            K *= roots
            K *= roots[:, None]
        if center:
            _raise_constant(K, roots)
        # A symmetric matrix in the order of rows is the same one in the order of columns, which
        # LAPACK can overwrite.
        eigenvalues, eigenvectors = eigh(
            K.T, overwrite_a=overwrite, check_finite=False, driver="evd"
        )
        # The constant eigenvector is the last.
        kept = slice(0, len(K) - 1 if center else len(K))
        self.eigenvalues = np.maximum(eigenvalues[kept], 0.0)
        self.eigenvectors = eigenvectors[:, kept]

    def check_ridge(self, ridge: float) -> None:
        """Warn when a ridge is too small for trustworthy held-out predictions."""
        # A single row leaves no eigenvalue when it is centred.
        largest = self.eigenvalues.max(initial=0.0)
        if ridge < MIN_RELATIVE_RIDGE * largest:
            warnings.warn(
                f"The ridge {ridge:.2g} is under {MIN_RELATIVE_RIDGE:g} of the largest "
                f"eigenvalue {largest:.2g}; its scores are not reliable. "
                "Leave such penalties out of the grid.",
                RuntimeWarning,
                stacklevel=3,
            )


def _center(K: np.ndarray, weights: np.ndarray | None = None) -> None:
    """Centre a Gram matrix in place, by the weighted means of its rows."""
    means = np.average(K, axis=0, weights=weights)
    K -= means
    K -= (means - np.average(means, weights=weights))[:, None]


def _raise_constant(K: np.ndarray, roots: np.ndarray | None) -> None:
    """Give the constant vector, or that of the roots of weights, the largest eigenvalue in place.
    Its own eigenvalue is zero, which it would share with others of a matrix without full rank."""
    # No eigenvalue is larger than the largest sum of absolute values of a row; row by row, so that
    # no second matrix is made.
    highest = max(max(np.abs(row).sum() for row in K), np.finfo(np.float64).tiny)
    if roots is None:
        K += 2.0 * highest / len(K)
    else:
        K += np.outer(roots, roots * (2.0 * highest / (roots**2).sum()))


class RoughDecomposition(Decomposition):
    """The eigendecomposition of a Gram matrix in float32; the matrix is kept, in float64.

    Parameters
    ----------
    K : array (n, n)
        Symmetric. It is centred in float64, in place if it may be overwritten.
    overwrite, center
        As of `Decomposition`.

    Attributes
    ----------
    eigenvalues : float64 array
    eigenvectors : float32 array
    valid : bool
        False where the constant vector could not be distinguished from the others, because the
        matrix has negative eigenvalues.
    """

    def __init__(self, K: np.ndarray, overwrite: bool = False, center: bool = False) -> None:
        self._gram = K if overwrite or not center else K.copy()
        self._center = center
        if center:
            _center(self._gram)
        norm = max(np.linalg.norm(self._gram), np.finfo(np.float64).tiny)
        trace = np.trace(self._gram)
        # The mean of the eigenvalues, each weighing as much as it is large. Every number between
        # the ridges and the largest eigenvalue would do: the constant vector then has an eigenvalue
        # far from all others, and the matrix that is rounded is no larger.
        self._constant = min(norm * (norm / trace), norm) if trace > 0 else norm
        scaled = np.empty(K.shape, dtype=np.float32)
        np.multiply(self._gram, 1.0 / norm, out=scaled, casting="same_kind")
        if center:
            scaled -= np.float32(self._constant / norm / len(K))
        eigenvalues, eigenvectors = eigh(
            scaled.T, overwrite_a=True, check_finite=False, driver="evd"
        )
        # The constant eigenvector is the first, as all others have no negative eigenvalues.
        kept = slice(1 if center else 0, len(K))
        self.valid = not center or abs(eigenvectors[:, 0].sum()) > 0.999 * np.sqrt(len(K))
        self.eigenvalues = np.maximum(eigenvalues[kept].astype(np.float64) * norm, 0.0)
        self.eigenvectors = eigenvectors[:, kept]

    def is_precise(self, ridge: float) -> bool:
        """Return whether predictions with a ridge are good to two digits or more."""
        smallest, largest = self.eigenvalues[[0, -1]]
        return smallest + ridge >= MIN_RELATIVE_RIDGE_FLOAT32 * largest

    def inverse(self, ridge: float) -> np.ndarray:
        """Return (K + ridge I)^-1 in float64, without the part of the constant vector if centred.

        Raises LinAlgError if the matrix is not positive definite.
        """
        n_rows = len(self._gram)
        ridged = self._gram + self._constant / n_rows if self._center else self._gram.copy()
        ridged[np.diag_indices(n_rows)] += ridge
        factor, fault = dpotrf(ridged.T, lower=True, overwrite_a=True)
        if not fault:
            inverse, fault = dpotri(factor, lower=True, overwrite_c=True)
        if fault:
            raise not_positive_definite(ridge)
        _mirror(inverse)
        if self._center:
            inverse -= 1.0 / (n_rows * (self._constant + ridge))
        return inverse

    def exactly(self) -> Decomposition:
        """Return the decomposition in float64, which destroys the matrix."""
        return Decomposition(self._gram, overwrite=True, center=self._center)


def _mirror(lower: np.ndarray, block: int = 256) -> None:
    """Copy the lower triangle of a matrix to its upper one."""
    for begin in range(0, len(lower), block):
        rows = slice(begin, begin + block)
        corner = lower[rows, rows]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        lower[rows, begin + block :] = lower[begin + block :, rows].T


class SharedGram:
    """Held-out predictions where all folds share one Gram matrix.

    Raises ValueError if `precision` is unknown.

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
    precision : {"float64", "float32"}, default="float64"
        ``float32``: decompose and multiply in float32, which is enough to rank the points of a
        grid, but not to fit with. Predictions are good to two digits or more: ridges that leave
        fewer (`MIN_RELATIVE_RIDGE_FLOAT32`) take an inverse in float64 each; and if there are
        many of them, everything is decomposed anew in float64. Without `center` and `overwrite`,
        `K` must not change until the last prediction. `SeparateGrams` and `WeakGrams` always
        work in float64.
    """

    def __init__(
        self,
        K: np.ndarray,
        folds: np.ndarray,
        center: bool = True,
        overwrite: bool = False,
        precision: str = "float64",
    ) -> None:
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {PRECISIONS}; found {precision!r}.")
        self.heldout = fold_rows(folds)
        self.center = center
        self._n_rows = len(K)
        if precision == "float64":
            self._decomposition = Decomposition(K, overwrite, center)
        else:
            self._decomposition = RoughDecomposition(K, overwrite, center)

    def predict(self, targets: Sequence[np.ndarray], alphas: Sequence[float]) -> list[np.ndarray]:
        """Return, for each fold, the predictions (n_penalties, n_fold, m) of its held-out rows.

        Parameters
        ----------
        targets : sequence of array (n, m)
            Targets of each fold; held-out rows are ignored. `m` may differ from fold to fold.
        alphas : sequence of float
            lambda_0 of eq. (13); the ridge is 2 l lambda_0 with l the fold's training rows.
            Infinity predicts the training mean (zero without centring).

        Notes
        -----
        Folds of one row with the same targets (the same array) are solved together.
        """
        for alpha in alphas:
            self._decomposition.check_ridge(self._ridge(self.heldout[0], alpha))
        if isinstance(self._decomposition, RoughDecomposition):
            try:
                predictions = self._predict_roughly(targets, alphas)
            except LinAlgError:
                predictions = None
            if predictions is not None:
                return predictions
            self._decomposition = self._decomposition.exactly()
        return self._predict(targets, alphas)

    def _predict(self, targets, alphas) -> list[np.ndarray]:
        """Return the result of `predict`, by the decomposition."""
        if self._is_single_rows(targets):
            by_row = self._predict_single_rows(targets[0], alphas)
            return [by_row[:, rows[0] : rows[0] + 1] for rows in self.heldout]
        return [
            self._predict_fold(rows, fold_targets, alphas)
            for rows, fold_targets in zip(self.heldout, targets, strict=True)
        ]

    def _is_single_rows(self, targets) -> bool:
        same = all(fold_targets is targets[0] for fold_targets in targets)
        return same and all(len(rows) == 1 for rows in self.heldout)

    def _predict_roughly(self, targets, alphas) -> list[np.ndarray] | None:
        """Return predictions in float32 where these are precise and by inverses elsewhere. None
        where so many inverses would be needed that they cost more than a decomposition."""
        decomposition = self._decomposition
        # Folds of equal size have the same ridge; the largest fold has the smallest one.
        sizes = {len(rows): rows for rows in self.heldout}
        precise = np.array(
            [decomposition.is_precise(self._ridge(sizes[max(sizes)], alpha)) for alpha in alphas]
        )
        n_inverses = np.count_nonzero(~precise) * len(sizes)
        if not decomposition.valid or n_inverses > MAX_INVERSES:
            return None
        found = self._predict(targets, np.asarray(alphas)[precise])
        if not n_inverses:
            return found
        predictions = [_row_major(len(alphas), *each.shape[1:]) for each in found]
        for each, part in zip(predictions, found):
            each[precise] = part
        for index in np.flatnonzero(~precise):
            for size, rows in sizes.items():
                ridge = self._ridge(rows, alphas[index])
                G = decomposition.inverse(ridge)
                if self._is_single_rows(targets):
                    known = np.asarray(targets[0], dtype=np.float64)
                    by_row = known - (G @ known) / G.diagonal()[:, None]
                    for each, own in zip(predictions, self.heldout):
                        each[index] = by_row[own]
                    continue
                for each, own, fold_targets in zip(predictions, self.heldout, targets):
                    if len(own) == size:
                        each[index] = self._predict_by_inverse(own, fold_targets, G, ridge)
        return predictions

    def _predict_by_inverse(self, rows, targets, G, ridge) -> np.ndarray:
        known = np.array(targets, dtype=np.float64)
        known[rows] = 0.0
        _, solved, fault = dposv(G[np.ix_(rows, rows)], G[rows] @ known, lower=True)
        if fault:
            raise not_positive_definite(ridge)
        return -solved

    def _ridge(self, rows: np.ndarray, alpha: float) -> float:
        return labelled_ridge(self._n_rows - len(rows), alpha)

    def _predict_fold(self, rows, targets, alphas) -> np.ndarray:
        s, Q = self._decomposition.eigenvalues, self._decomposition.eigenvectors
        syrk, posv = _ROUTINES[Q.dtype.char]
        known = np.array(targets, dtype=np.float64)
        known[rows] = 0.0
        n_known = len(known) - len(rows)
        mean = known.sum(axis=0) / n_known if self.center else 0.0
        if Q.dtype == np.float32 and self.center:
            # float32 has no digits to spare for a mean far from zero.
            known -= mean
            known[rows] = 0.0
        rotated, Q_rows = Q.T @ known.astype(Q.dtype, copy=False), Q[rows]
        predictions = _row_major(len(alphas), len(rows), known.shape[1])
        for index, alpha in enumerate(alphas):
            if np.isinf(alpha):
                predictions[index] = mean
                continue
            ridge = self._ridge(rows, alpha)
            root = 1.0 / np.sqrt(s + ridge)
            if Q.dtype == np.float32:
                # Predictions heed no factor of G; this one keeps it in the range of float32.
                root = (root * np.sqrt(ridge)).astype(np.float32)
            weighted = Q_rows * root
            # Half of a symmetric matrix is enough, and is half the work.
            G_rows = syrk(1.0, weighted.T, trans=True, lower=True)
            G_targets = weighted @ (root[:, None] * rotated)
            _, solved, fault = posv(G_rows, G_targets, lower=True, overwrite_a=True)
            if fault:
                raise not_positive_definite(ridge)
            predictions[index] = -solved
            if Q.dtype == np.float32:
                predictions[index] += mean
        return predictions

    def _predict_single_rows(self, targets, alphas) -> np.ndarray:
        """Return the predictions (n_penalties, n, m) of every row without itself. For single rows
        the identity is h_i = t_i - (G T)_i / G_ii."""
        s, Q = self._decomposition.eigenvalues, self._decomposition.eigenvectors
        known = np.asarray(targets, dtype=np.float64)
        shift = known.mean(axis=0) if Q.dtype == np.float32 and self.center else 0.0
        rotated = Q.T @ (known - shift).astype(Q.dtype, copy=False)
        ridges = np.array([self._ridge(self.heldout[0], alpha) for alpha in alphas])
        inverses = 1.0 / (s[:, None] + ridges)
        if Q.dtype == np.float32:
            inverses = (np.where(np.isinf(ridges), 1.0, ridges) * inverses).astype(np.float32)
        diagonals = (Q**2) @ inverses
        # All penalties side by side: one product of matrices instead of one for each.
        scaled = (inverses[:, :, None] * rotated[:, None, :]).reshape(len(s), -1)
        predictions = (Q @ scaled).reshape(len(known), len(alphas), known.shape[1])
        with np.errstate(invalid="ignore"):
            predictions /= diagonals[:, :, None]
        predictions = (known[:, None, :] - predictions).transpose(1, 0, 2)
        for index in np.flatnonzero(np.isinf(ridges)):
            others = (known.sum(axis=0) - known) / (len(known) - 1)
            predictions[index] = others if self.center else 0.0
        return predictions


def _row_major(n_penalties: int, n_rows: int, n_columns: int) -> np.ndarray:
    """Return an empty array of these axes in which all penalties of a row lie side by side. Sums
    over rows are then products of whole matrices."""
    return np.empty((n_rows, n_penalties, n_columns)).transpose(1, 0, 2)


class SeparateGrams:
    """Held-out predictions where every fold has Gram matrices of its own, in float64.

    Parameters
    ----------
    grams : sequence of (array (l, l), array (h, l))
        For each fold, the Gram matrix of its training rows, and that of its held-out rows against
        them.
    folds : int array (n,)
        Fold number of every row.
    center : bool, default=True
        Fit an unpenalised intercept.
    weights : array (n,) or None, default=None
        Positive weights of the rows in the loss of every fold; None for 1.
    """

    def __init__(
        self,
        grams: Sequence[tuple[np.ndarray, np.ndarray]],
        folds: np.ndarray,
        center: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._weights = [
            None if weights is None else np.delete(weights, rows) for rows in self.heldout
        ]
        # Centred, a kernel that is nearly constant keeps the digits of what varies.
        self._grams = [
            (
                Decomposition(K, center=center, weights=known),
                K_heldout - np.average(K, axis=0, weights=known) if center else K_heldout,
            )
            for (K, K_heldout), known in zip(grams, self._weights, strict=True)
        ]

    def predict(self, targets: Sequence[np.ndarray], alphas: Sequence[float]) -> list[np.ndarray]:
        """As `SharedGram.predict`; with weights, means and numbers of rows are weighted."""
        predictions = []
        for rows, fold_targets, weights, (decomposition, K_heldout) in zip(
            self.heldout, targets, self._weights, self._grams, strict=True
        ):
            known = np.delete(np.asarray(fold_targets, dtype=np.float64), rows, axis=0)
            mean = np.zeros(known.shape[1])
            if self.center and known.size:
                mean = np.average(known, axis=0, weights=weights)
            total = len(known) if weights is None else weights.sum()
            s, Q = decomposition.eigenvalues, decomposition.eigenvectors
            if weights is not None:
                Q = np.sqrt(weights)[:, None] * Q
            # No eigenvector of a centred matrix has a constant part.
            rotated, heldout = Q.T @ (known - mean), K_heldout @ Q
            fold_predictions = _row_major(len(alphas), len(rows), known.shape[1])
            for index, alpha in enumerate(alphas):
                ridge = labelled_ridge(total, alpha)
                decomposition.check_ridge(ridge)
                fold_predictions[index] = (heldout / (s + ridge)) @ rotated + mean
            predictions.append(fold_predictions)
        return predictions
