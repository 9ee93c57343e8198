"""Held-out predictions of ridge regression on features, for more rows than a Gram matrix allows.

With features Z (l, r) of the training rows, kernel ridge regression with the kernel z'z and the
ridge 2 l lambda_0 of eq. (13) of the OFER paper is

    h(x) = W'z + b,    (Zc'Zc + 2 l lambda_0 I) W = Zc'T,    b = mean(T) - W' mean(Z)

with Zc the centred features (without centring, Zc = Z and b = 0). Z'Z, Z'T and the means are sums
over rows. So `FeatureRidge` reads the rows in blocks, computes their features anew in each pass,
and keeps sums only: memory does not grow with the number of rows. Sums over the rows of each fold,
added up without one of them, serve every fold from one pass; one eigendecomposition of an r by r
matrix a fold serves every penalty.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsyrk

from workflow_lib.solvers.heldout import Decomposition, fold_rows
from workflow_lib.solvers.ridge import labelled_ridge

# Numbers in one block of features or of predictions (16 MB).
BLOCK_NUMBERS = 2**21

Targets = np.ndarray | Callable[[slice], np.ndarray]


class FeatureBlocks:
    """The features of rows, computed block by block whenever they are iterated over.

    Parameters
    ----------
    features : LandmarkFeatures or LinearFeatures
        Anything that has `n_features` and `transform`.
    X : array (n, q)
        Inputs; anything that gives arrays for slices, such as a memory map.
    block_rows : int or None, default=None
        Rows of a block. None means 16 MB of features: larger blocks are no faster, smaller ones
        spend their time on adding up sums.
    """

    def __init__(self, features, X: np.ndarray, block_rows: int | None = None) -> None:
        self.features = features
        self.X = X
        self.block_rows = block_rows or max(1, BLOCK_NUMBERS // features.n_features)

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray]]:
        for start in range(0, len(self.X), self.block_rows):
            rows = slice(start, min(start + self.block_rows, len(self.X)))
            yield rows, self.features.transform(self.X[rows])


@dataclass(frozen=True)
class PreparedTargets:
    """What ridge regression needs of the targets of every fold: sums over its training rows."""

    cross_products: list[np.ndarray]
    """List of array (r, m): features, relative to the origin of the `FeatureRidge`, times
    targets."""

    sums: list[np.ndarray]
    """List of array (m,): sums of the targets."""


class FeatureRidge:
    """Held-out predictions of ridge regression on features that are read in blocks.

    Held-out rows take no part in a fit. Features that were chosen with their inputs (landmarks
    drawn from all rows) have seen these, but never a target.

    Raises ValueError if `blocks` can be read only once, fold numbers are below -1, or, in a pass,
    the blocks do not hold all rows.

    Parameters
    ----------
    blocks : iterable of (slice, array (b, r))
        Consecutive rows and their features, anew for every pass, as `FeatureBlocks` gives them.
    folds : int array (n,)
        Fold number of every row; -1 for rows that no fold holds out.
    center : bool, default=True
        Fit an unpenalised intercept.

    Attributes
    ----------
    heldout : list of int array
        The rows of every fold.

    Notes
    -----
    Memory: for k folds, 2 k + 2 matrices (r, r); the weights of a grid of penalties, k arrays
    (r, n_penalties m); and a few blocks.

    With an intercept, sums are taken relative to the mean of the first block, which keeps the
    digits of features far from zero.
    """

    def __init__(
        self, blocks: Iterable[tuple[slice, np.ndarray]], folds: np.ndarray, center: bool = True
    ) -> None:
        if iter(blocks) is blocks:
            raise ValueError("blocks must start anew for every pass; found an iterator.")
        self.folds = np.asarray(folds)
        if self.folds.min() < -1:
            raise ValueError("Fold numbers must not be below -1.")
        self.heldout = fold_rows(self.folds)
        self.center = center
        self._blocks = blocks
        self._origin: np.ndarray | float | None = None
        self._squares: list[np.ndarray] | None = None
        self._sums: np.ndarray | None = None
        self._systems: dict[int | None, tuple[int, np.ndarray, Decomposition]] = {}

    def prepare(self, targets: Sequence[Targets]) -> PreparedTargets:
        """Return the sums over the training rows of every fold, in one pass over the blocks.

        Raises ValueError if a fold has no training rows, or targets are not given for every fold.

        Parameters
        ----------
        targets : sequence of array (n, m), or of callables from a slice of rows to an array (b, m)
            Targets of each fold; held-out rows are ignored. `m` may differ from fold to fold. One
            object given for all folds costs no more than the targets of one.
        """
        n_folds = len(self.heldout)
        if len(targets) != n_folds:
            raise ValueError(f"targets must be given for {n_folds} folds; found {len(targets)}.")
        if any(len(rows) == len(self.folds) for rows in self.heldout):
            raise ValueError("A fold holds out all rows; there must be two folds at least.")
        if all(fold_targets is targets[0] for fold_targets in targets):
            products, sums = self._pass_by_heldout_fold(targets[0])
            return PreparedTargets(
                [_sum_without(products, fold) for fold in range(n_folds)],
                [_sum_without(sums, fold) for fold in range(n_folds)],
            )
        return PreparedTargets(*self._pass_by_training_rows(targets))

    def predictions(
        self, prepared: PreparedTargets, alphas: Sequence[float | np.ndarray]
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield (fold, rows (b,), predictions (n_penalties, b, m)), in one pass over the blocks.

        Every row comes once, with the predictions made without its fold, in pieces of 16 MB or of
        a block's rows of a fold, whichever is less.

        Parameters
        ----------
        prepared : PreparedTargets
            From `prepare`.
        alphas : sequence of float or array (m,)
            lambda_0 of eq. (13), for all columns of the targets or for each; the ridge is
            2 l lambda_0 with l the fold's training rows. Infinity predicts the training mean (zero
            without centring).
        """
        solutions = [
            self._solve(fold, products, sums, alphas)
            for fold, (products, sums) in enumerate(
                zip(prepared.cross_products, prepared.sums, strict=True)
            )
        ]
        for rows, Z in self._blocks:
            block_folds = self.folds[rows]
            for fold, (weights, intercepts) in enumerate(solutions):
                chosen = np.flatnonzero(block_folds == fold)
                step = max(1, BLOCK_NUMBERS // max(1, intercepts.size))
                for start in range(0, len(chosen), step):
                    piece = chosen[start : start + step]
                    predicted = (Z[piece] @ weights).reshape(len(piece), *intercepts.shape)
                    predicted += intercepts
                    yield fold, rows.start + piece, predicted.transpose(1, 0, 2)

    def predict(
        self, targets: Sequence[Targets], alphas: Sequence[float | np.ndarray]
    ) -> list[np.ndarray]:
        """Return, for each fold, the predictions (n_penalties, n_fold, m) of its held-out rows.

        As `workflow_lib.solvers.heldout.SharedGram.predict` with the Gram matrix Z Z'; the
        arguments are those of `prepare` and `predictions`. All predictions are in memory at once.
        """
        prepared = self.prepare(targets)
        result = [
            np.empty((len(alphas), len(rows), len(sums)))
            for rows, sums in zip(self.heldout, prepared.sums, strict=True)
        ]
        for fold, rows, predicted in self.predictions(prepared, alphas):
            result[fold][:, np.searchsorted(self.heldout[fold], rows)] = predicted
        return result

    def refit(self, targets: Targets, alpha: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights W (r, m) and intercepts b (m,) learned from all rows.

        Parameters
        ----------
        targets : array (n, m), or callable from a slice of rows to an array (b, m)
        alpha : float or array (m,)
            lambda_0 of all columns or of each; infinity leaves the mean (zero without centring).
        """
        products, sums = self._pass_by_heldout_fold(targets)
        weights, intercepts = self._solve(None, sum(products), sum(sums), [alpha])
        return weights, intercepts[0]

    def _pass_by_heldout_fold(self, targets):
        """Return Z'T (r, m) and the sums of T (m,) over the rows that each fold holds out. The last
        are those of the rows that no fold holds out."""
        n_groups = len(self.heldout) + 1
        products, sums = [0.0] * n_groups, [0.0] * n_groups
        for rows, order, places, Z in self._blocks_by_fold():
            T = _block_of(targets, rows)[order]
            for fold, index in enumerate(places):
                # Transposed: with few targets, BLAS is half again as fast this way round.
                products[fold] += T[index].T @ Z[index]
                sums[fold] += T[index].sum(axis=0)
        return [product.T for product in products], sums

    def _pass_by_training_rows(self, targets):
        """Return, for the targets of every fold, Z'T and the sums of T over its training rows."""
        products, sums = [0.0] * len(targets), [0.0] * len(targets)
        for rows, order, places, Z in self._blocks_by_fold():
            for fold, (fold_targets, index) in enumerate(zip(targets, places[:-1], strict=True)):
                T = _block_of(fold_targets, rows)[order]
                T[index] = 0.0
                products[fold] += T.T @ Z
                sums[fold] += T.sum(axis=0)
        return [product.T for product in products], sums

    def _blocks_by_fold(self):
        """Yield (rows, order, places, Z): the rows of each block sorted by fold, Z centred. `order`
        sorts the rows of the block, `places` are the slices of the folds among the sorted rows, and
        last that of the rows which no fold holds out. The first full pass also takes the sums of
        the features alone."""
        n_groups = len(self.heldout) + 1
        squares = sums = None
        n_seen = 0
        for rows, Z in self._blocks:
            Z = np.asarray(Z, dtype=np.float64)
            if self._origin is None:
                self._origin = Z.mean(axis=0) if self.center else np.zeros(Z.shape[1])
            # Rows that no fold holds out come last.
            groups = np.where(self.folds[rows] < 0, n_groups - 1, self.folds[rows])
            order = np.argsort(groups, kind="stable")
            borders = np.searchsorted(groups[order], np.arange(n_groups + 1))
            places = [slice(*pair) for pair in zip(borders[:-1], borders[1:], strict=True)]
            Z = Z[order]
            Z -= self._origin
            if self._squares is None:
                if squares is None:
                    shape = (Z.shape[1], Z.shape[1])
                    squares = [np.zeros(shape, order="F") for _ in range(n_groups)]
                    sums = np.zeros((n_groups, Z.shape[1]))
                for fold, index in enumerate(places):
                    if index.start < index.stop:
                        # In place and the lower half only: with NumPy's product and sum, small
                        # blocks would spend their time on reading and writing r^2 numbers.
                        dsyrk(1.0, Z[index].T, 1.0, squares[fold], lower=1, overwrite_c=1)
                        sums[fold] += Z[index].sum(axis=0)
            n_seen += len(order)
            yield rows, order, places, Z
        if n_seen != len(self.folds):
            raise ValueError(f"The blocks hold {n_seen} rows; there are {len(self.folds)}.")
        if self._squares is None:
            self._squares, self._sums = squares, sums

    def _system(self, fold):
        """Return l, mean(Z) (r,) and the decomposition of Zc'Zc of the training rows of a fold."""
        if fold not in self._systems:
            squares = np.tril(_sum_without(self._squares, fold))
            squares += np.tril(squares, -1).T
            n_rows = len(self.folds) - (0 if fold is None else len(self.heldout[fold]))
            mean = _sum_without(self._sums, fold) / n_rows
            if self.center:
                squares -= n_rows * np.outer(mean, mean)
            self._systems[fold] = n_rows, mean, Decomposition(squares)
        return self._systems[fold]

    def _solve(self, fold, products, sums, alphas):
        """Return the weights (r, n_penalties * m) and the intercepts (n_penalties, m). `fold` is
        left out; None leaves no row out."""
        n_rows, mean, decomposition = self._system(fold)
        s, Q = decomposition.eigenvalues, decomposition.eigenvectors
        shape = (len(alphas), len(sums))
        ridges = np.empty(shape)
        for index, alpha in enumerate(alphas):
            ridges[index] = labelled_ridge(n_rows, np.asarray(alpha, dtype=np.float64))
            decomposition.check_ridge(ridges[index].min())
        if self.center:
            products = products - np.outer(mean, sums)
        scaled = (Q.T @ products)[:, None, :] / (s[:, None, None] + ridges)
        weights = Q @ scaled.reshape(len(s), -1)
        if not self.center:
            return weights, np.zeros(shape)
        return weights, sums / n_rows - ((mean + self._origin) @ weights).reshape(shape)


class SeparateFeatureRidges:
    """As `FeatureRidge`, where every fold has features of its own.

    Parameters
    ----------
    blocks_by_fold : sequence of iterables of (slice, array (b, r))
        All rows as each fold sees them; the number of features may differ.
    folds : int array (n,)
        Fold number of every row.
    center : bool, default=True
        Fit an unpenalised intercept.
    """

    def __init__(
        self,
        blocks_by_fold: Sequence[Iterable[tuple[slice, np.ndarray]]],
        folds: np.ndarray,
        center: bool = True,
    ) -> None:
        self.heldout = fold_rows(folds)
        self.center = center
        self._ridges = [
            FeatureRidge(blocks, np.where(folds == fold, 0, -1), center)
            for fold, blocks in enumerate(blocks_by_fold)
        ]

    def prepare(self, targets: Sequence[Targets]) -> list[PreparedTargets]:
        """As `FeatureRidge.prepare`, in one pass for each fold."""
        return [
            ridge.prepare([fold_targets])
            for ridge, fold_targets in zip(self._ridges, targets, strict=True)
        ]

    def predictions(
        self, prepared: Sequence[PreparedTargets], alphas: Sequence[float | np.ndarray]
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """As `FeatureRidge.predictions`, in one pass for each fold."""
        for fold, (ridge, fold_prepared) in enumerate(zip(self._ridges, prepared, strict=True)):
            for _, rows, predicted in ridge.predictions(fold_prepared, alphas):
                yield fold, rows, predicted


def _block_of(targets: Targets, rows: slice) -> np.ndarray:
    """Return the targets (b, m) of a block of rows."""
    return np.asarray(targets(rows) if callable(targets) else targets[rows], dtype=np.float64)


def _sum_without(parts, fold):
    """Return the sum of the parts of all folds but one (None: of all). A difference from the sum of
    all would let what is held out round into the rest."""
    return sum(part for other, part in enumerate(parts) if other != fold)
