"""Held-out predictions of ridge regression on features, for more rows than a Gram matrix allows.

With features Z (l, r) of the training rows, kernel ridge regression with the kernel z'z and the
ridge 2 l lambda_0 of eq. (13) of the OFER paper is

    h(x) = W'z + b,    (Zc'Zc + 2 l lambda_0 I) W = Zc'T,    b = mean(T) - W' mean(Z)

with Zc the centred features (without centring, Zc = Z and b = 0). Z'Z, Z'T and the means are sums
over rows (`workflow_lib.solvers.feature_sums`), which one pass over blocks of rows takes for all
folds: memory does not grow with the number of rows. Added up without a fold they give its solutions
for every penalty, and those of the fold itself the squared errors, if its targets are those of the
others. Predictions need a pass of their own, which costs little more than the kernel values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from workflow_lib.solvers.feature_sums import FeatureSums
from workflow_lib.solvers.heldout import fold_rows
from workflow_lib.solvers.landmarks import Features

# Numbers in one block of features or of predictions (16 MB). Larger blocks are no faster, smaller
# ones spend their time on adding up sums.
BLOCK_NUMBERS = 2**21

Targets = np.ndarray | Callable[[slice], np.ndarray]


@dataclass(frozen=True)
class FoldSolutions:
    """The solutions of every fold, learned without it, for every penalty."""

    weights: list[np.ndarray]
    """List of array (m, n_penalties, d): of the features' values (`Features.values`)."""

    intercepts: list[np.ndarray]
    """List of array (n_penalties, d)."""

    squared_errors: list[np.ndarray] | None
    """List of array (n_penalties, d): of the held-out rows, summed over them; None where folds have
    targets of their own."""

    def of_penalties(self, chosen: Sequence[int]) -> FoldSolutions:
        """Return the solutions of some of the penalties."""
        return FoldSolutions(
            [weights[:, chosen] for weights in self.weights],
            [intercepts[chosen] for intercepts in self.intercepts],
            None,
        )


class FeatureRidge:
    """Ridge regression on the features of rows that are read in blocks.

    Held-out rows take no part in a fit. Features that were chosen with their inputs (landmarks
    drawn from all rows) have seen these, but never a target.

    Raises ValueError if fold numbers are below -1, or not those of all rows.

    Parameters
    ----------
    features : Features
    X : array (n, q)
        Inputs; anything that gives arrays for slices, such as a memory map.
    folds : int array (n,)
        Fold number of every row; -1 for rows that no fold holds out.
    center : bool, default=True
        Fit an unpenalised intercept.
    block_rows : int or None, default=None
        Rows of a block; None for 16 MB of features.

    Attributes
    ----------
    heldout : list of int array
        The rows of every fold.

    Notes
    -----
    Memory: for k folds, k + 1 matrices (m, m) and some more of one fold at a time; the weights of a
    grid of penalties, k arrays (m, n_penalties d); and a few blocks. When folds are solved, one
    matrix (m, m) is kept, for `refit`.

    With an intercept, sums are taken relative to the mean of the first block, which keeps the
    digits of values far from zero.
    """

    def __init__(
        self,
        features: Features,
        X: np.ndarray,
        folds: np.ndarray,
        center: bool = True,
        block_rows: int | None = None,
    ) -> None:
        self.folds = np.asarray(folds)
        if self.folds.min() < -1:
            raise ValueError("Fold numbers must not be below -1.")
        if len(X) != len(self.folds):
            raise ValueError(f"X has {len(X)} rows; fold numbers are given for {len(self.folds)}.")
        self.heldout = fold_rows(self.folds)
        self.center = center
        self.features, self._X = features, X
        self._block_rows = block_rows or max(1, BLOCK_NUMBERS // features.n_features)
        self._total: FeatureSums | None = None
        self._total_targets: Targets | None = None

    def solve(
        self, targets: Targets | list[Targets], alphas: Sequence[float | np.ndarray]
    ) -> FoldSolutions:
        """Return the solutions of every fold, in one pass over the rows.

        Raises ValueError if a fold has no training rows, or targets are not given for every fold.

        Parameters
        ----------
        targets : array (n, d), or callable from a slice of rows to an array (b, d); or a list
            Targets of all folds. A list has those of each, of which held-out rows are ignored; `d`
            may differ from fold to fold.
        alphas : sequence of float or array (d,)
            lambda_0 of eq. (13), for all columns of the targets or for each; the ridge is
            2 l lambda_0 with l the fold's training rows. Infinity predicts the training mean (zero
            without centring).
        """
        n_folds, is_shared = len(self.heldout), not isinstance(targets, list)
        if not is_shared and len(targets) != n_folds:
            raise ValueError(f"targets must be given for {n_folds} folds; found {len(targets)}.")
        if any(len(rows) == len(self.folds) for rows in self.heldout):
            raise ValueError("A fold holds out all rows; there must be two folds at least.")
        self._total = None
        sums = self._sums([targets] if is_shared else targets, is_shared)
        solutions = FoldSolutions([], [], [] if is_shared else None)
        for fold in range(n_folds):
            training = reduce(add, (part for other, part in sums.items() if other != fold))
            if not is_shared:
                training = training.of_targets(self._columns[fold])
            weights, intercepts = training.ridge(alphas, self.center)
            if is_shared:
                solutions.squared_errors.append(sums[fold].squared_errors(weights, intercepts))
            dual = self.features.dual(weights)
            solutions.weights.append(dual.reshape(len(dual), *intercepts.shape))
            solutions.intercepts.append(intercepts)
        self._keep(sums, targets)
        return solutions

    def predictions(self, solutions: FoldSolutions) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (fold, rows (b,), predictions (n_penalties, b, d)), in one pass over the rows.

        Every row comes once, with the predictions made without its fold, in pieces of 16 MB or of
        a block's rows of a fold, whichever is less.
        """
        weights = [of_fold.reshape(len(of_fold), -1) for of_fold in solutions.weights]
        for rows in self._blocks():
            values, block_folds = self.features.values(self._X[rows]), self.folds[rows]
            for fold, intercepts in enumerate(solutions.intercepts):
                chosen = np.flatnonzero(block_folds == fold)
                step = max(1, BLOCK_NUMBERS // max(1, intercepts.size))
                for start in range(0, len(chosen), step):
                    piece = chosen[start : start + step]
                    predicted = (values[piece] @ weights[fold]).reshape(-1, *intercepts.shape)
                    predicted += intercepts
                    yield fold, rows.start + piece, predicted.transpose(1, 0, 2)

    def refit(self, targets: Targets, alpha: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (m, d) of the values and the intercepts (d,) learned from all rows.

        After `solve` with the same targets no row is read; with others, the squares of the features
        are not summed again.

        Parameters
        ----------
        targets : array (n, d), or callable from a slice of rows to an array (b, d)
        alpha : float or array (d,)
            lambda_0 of all columns or of each; infinity leaves the mean (zero without centring).
        """
        if self._total is None or self._total_targets is not targets:
            self._keep(self._sums([targets], is_shared=True), targets)
        weights, intercepts = self._total.ridge([alpha], self.center)
        return self.features.dual(weights), intercepts[0]

    def _blocks(self) -> Iterator[slice]:
        for start in range(0, len(self.folds), self._block_rows):
            yield slice(start, min(start + self._block_rows, len(self.folds)))

    def _sums(self, targets, is_shared) -> dict[int, FeatureSums]:
        """Return the sums of the rows that each fold holds out, and under -1 of the others; with
        the targets side by side. They have no squares where those of all rows are known."""
        features, has_squares = self.features, self._total is None
        values_of = features.transform if features.factor is None else features.values
        sums = {}
        for rows in self._blocks():
            values, block_folds = values_of(self._X[rows]), self.folds[rows]
            parts = [_block_of(of_fold, rows) for of_fold in targets]
            T = np.hstack(parts)
            if not sums:
                ends = np.cumsum([0, *(part.shape[1] for part in parts)])
                self._columns = [slice(*pair) for pair in zip(ends[:-1], ends[1:], strict=True)]
                origin, target_origin = np.zeros(values.shape[1]), np.zeros(T.shape[1])
                if self.center:
                    origin = values.mean(axis=0)
                    target_origin = T.mean(axis=0) if is_shared else target_origin
                for fold in range(self.folds.min(), len(self.heldout)):
                    sums[fold] = FeatureSums.of_no_rows(origin, target_origin, has_squares)
            for fold in np.unique(block_folds):
                chosen = block_folds == fold
                sums[fold].add(values[chosen], T[chosen])
        if features.factor is not None:
            for fold in sums:
                sums[fold] = sums[fold].of_features(features.factor)
        return sums

    def _keep(self, sums, targets) -> None:
        """Keep the sums of all rows."""
        total = reduce(add, sums.values())
        known = self._total
        self._total = total if known is None else replace(total, squares=known.squares)
        self._total_targets = targets


class SeparateFeatureRidges:
    """As `FeatureRidge`, where every fold has features of its own.

    Parameters
    ----------
    ridges : sequence of FeatureRidge
        One for each fold, with the fold number 0 in the rows that it holds out and -1 elsewhere.
    """

    def __init__(self, ridges: Sequence[FeatureRidge]) -> None:
        self.center = ridges[0].center
        self._ridges = ridges

    def solve(
        self, targets: Targets | list[Targets], alphas: Sequence[float | np.ndarray]
    ) -> FoldSolutions:
        """As `FeatureRidge.solve`, in one pass for each fold."""
        is_shared = not isinstance(targets, list)
        parts = [
            ridge.solve(targets if is_shared else targets[fold : fold + 1], alphas)
            for fold, ridge in enumerate(self._ridges)
        ]
        return FoldSolutions(
            [part.weights[0] for part in parts],
            [part.intercepts[0] for part in parts],
            [part.squared_errors[0] for part in parts] if is_shared else None,
        )

    def predictions(self, solutions: FoldSolutions) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """As `FeatureRidge.predictions`, in one pass for each fold."""
        for fold, ridge in enumerate(self._ridges):
            of_fold = FoldSolutions([solutions.weights[fold]], [solutions.intercepts[fold]], None)
            for _, rows, predicted in ridge.predictions(of_fold):
                yield fold, rows, predicted


def _block_of(targets: Targets, rows: slice) -> np.ndarray:
    """Return the targets (b, d) of a block of rows."""
    return np.asarray(targets(rows) if callable(targets) else targets[rows], dtype=np.float64)
