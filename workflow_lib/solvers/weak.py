"""Held-out predictions of the weakly supervised problem, eq. (14), for a grid of two penalties.

The ridge is a = 2 l lambda_0 on the l labelled rows and c = lambda_0 / lambda_2 on the w weak
rows. One eigendecomposition K_ww = Q diag(s) Q' serves every pair: eliminating the weak rows
leaves the Schur complement, a system of l rows only,

    S = K_ss + a I - P diag(1 / (s + c)) P',    P = K_sw Q.

All but a I depends on c alone, which is the same for many pairs of a regular grid and is computed
once for them. All weak rows train in every fold; only labelled rows are held out.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dposv

from workflow_lib.solvers.heldout import Decomposition, fold_rows
from workflow_lib.solvers.ridge import labelled_ridge, not_positive_definite, weak_ridge


class WeakGrams:
    """Held-out predictions of labelled rows that are trained together with weak rows.

    Parameters
    ----------
    grams : sequence of (array (l + w, l + w), array (h, l + w))
        For each fold, the Gram matrix of its l labelled training rows followed by the w weak
        rows, and that of its held-out rows against them.
    n_weak : int
        Number of weak rows, at least one.
    folds : int array (n,)
        Fold number of every labelled row.
    center : bool, default=True
        Fit an unpenalised intercept (of the weighted problem).
    shared : bool, default=False
        True when the weak rows' Gram matrix is the same in every fold: it is then decomposed once.
    decomposition : Decomposition or None, default=None
        Of that shared matrix, where another problem with the same weak rows has made it.
    """

    def __init__(
        self,
        grams: Sequence[tuple[np.ndarray, np.ndarray]],
        n_weak: int,
        folds: np.ndarray,
        center: bool = True,
        shared: bool = False,
        decomposition: Decomposition | None = None,
    ) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._n_weak = n_weak
        self._grams = []
        for K, K_heldout in grams:
            if decomposition is None or not shared:
                decomposition = Decomposition(K[-n_weak:, -n_weak:])
            self._grams.append((K[:-n_weak], K_heldout, decomposition))
        self.decomposition = decomposition if shared else None

    def predict(
        self,
        targets: Sequence[np.ndarray],
        weak_targets: Sequence[np.ndarray],
        candidates: Sequence[tuple[float, float]],
    ) -> list[np.ndarray]:
        """Return, for each fold, the predictions (n_candidates, n_fold, m) of its held-out rows.

        Parameters
        ----------
        targets : sequence of array (n, m)
            Targets of the labelled rows for each fold; held-out rows are ignored.
        weak_targets : sequence of array (w, m)
            Targets of the weak rows for each fold.
        candidates : sequence of (lambda_0, relative weight)
            Each pair of a penalty and the weight of a weak row relative to a labelled one,
            that is lambda_2 = weight / (2 l).
        """
        predictions = []
        for rows, known, weak, gram in zip(
            self.heldout, targets, weak_targets, self._grams, strict=True
        ):
            known = np.delete(np.asarray(known, dtype=np.float64), rows, axis=0)
            predictions.append(self._predict_fold(gram, known, weak, candidates))
        return predictions

    def _predict_fold(self, gram, known, weak, candidates):
        K_rows, K_heldout, decomposition = gram
        n_labelled, n_weak = len(known), self._n_weak
        K_ss = K_rows[:, :n_labelled]
        s, Q = decomposition.eigenvalues, decomposition.eigenvectors
        P = K_rows[:, n_labelled:] @ Q
        heldout_weak = K_heldout[:, n_labelled:] @ Q
        # The last column carries the ones of the intercept through the same elimination, and the
        # last held-out row adds up the coefficients.
        right_labelled = np.column_stack([known, np.ones(n_labelled)])
        right_weak = Q.T @ np.column_stack([weak, np.ones(n_weak)])
        heldout_labelled = np.vstack([K_heldout[:, :n_labelled], np.ones(n_labelled)])
        heldout_weak = np.vstack([heldout_weak, Q.sum(axis=0)])
        predictions = np.empty((len(candidates), len(K_heldout), known.shape[1]))
        for ridge_of_weak, members in _by_weak_ridge(candidates, n_labelled).items():
            if np.isinf(ridge_of_weak):
                for index in members:
                    weight = candidates[index][1]
                    total = n_labelled + weight * n_weak
                    mean = (known.sum(axis=0) + weight * weak.sum(axis=0)) / total
                    predictions[index] = mean if self.center else 0.0
                continue
            inverse = 1.0 / (s + ridge_of_weak)
            weighted = P * np.sqrt(inverse)
            eliminated = dsyrk(-1.0, weighted.T, trans=True, lower=True)
            right = right_labelled - (P * inverse) @ right_weak
            through_weak = heldout_weak * inverse
            of_labelled = heldout_labelled - through_weak @ P.T
            of_weak = through_weak @ right_weak
            for index in members:
                ridge = labelled_ridge(n_labelled, candidates[index][0])
                schur = K_ss + eliminated
                schur[np.diag_indices(n_labelled)] += ridge
                # Only the lower half is what it should be, and only it is read.
                _, labelled, fault = dposv(schur, right, lower=True)
                if fault:
                    raise not_positive_definite(ridge)
                solution = of_labelled @ labelled + of_weak
                solution, totals = solution[:-1], solution[-1]
                if self.center:
                    intercept = totals[:-1] / totals[-1]
                    correction = np.outer(solution[:, -1], intercept)
                    predictions[index] = solution[:, :-1] - correction + intercept
                else:
                    predictions[index] = solution[:, :-1]
        return predictions


def _by_weak_ridge(
    candidates: Sequence[tuple[float, float]], n_labelled: int
) -> dict[float, list[int]]:
    """Return the numbers of the candidates by the ridge of their weak rows, equal but for rounding.
    Infinite penalties stand together under infinity."""
    members: dict[str, list[int]] = {}
    ridges: dict[str, float] = {}
    for index, (alpha, relative_weight) in enumerate(candidates):
        ridge = weak_ridge(alpha, relative_weight / (2.0 * n_labelled))
        key = f"{ridge:.12e}"
        ridges.setdefault(key, ridge)
        members.setdefault(key, []).append(index)
    return {ridges[key]: numbers for key, numbers in members.items()}
