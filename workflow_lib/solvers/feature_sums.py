"""Sums over rows from which ridge regression, and its errors on other rows, follow.

With the values v (m,) and the targets t (d,) of a row, both relative to an origin, a set of rows
has the sums A = sum v v', B = sum v t', a = sum v, b = sum t, c = sum t^2 and their number n. Those
of two sets add. The ridge regression of a set needs A, B, a, b and n; a linear prediction W'v + e
of another set has the squared errors

    sum (t - W'v - e)^2 = c - 2 W.B + W.(A W) - 2 e b + 2 e W'a + n e^2

for each target (W.B multiplies elements and sums over columns), so that no row is read again.

Where the values are those k = k(x, L) of a kernel at landmarks L, features z = F^-1 k with
k(L, L) = F F' need no product for each row: their sums are F^-1 A F^-T and F^-1 B. But rounding of
A is then divided by the small eigenvalues of k(L, L), and predictions lose about as many digits as
its condition number has; `LandmarkFeatures.factor` is None where that is too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm, dsyrk
from scipy.linalg.lapack import dsygst

from workflow_lib.solvers.heldout import Decomposition
from workflow_lib.solvers.ridge import labelled_ridge


@dataclass
class FeatureSums:
    """The sums of a set of rows, in float64.

    ``vars`` gives arrays to store, of which ``FeatureSums(**arrays)`` makes the same sums again.
    For sums that are equal to the last bit, add blocks of rows in a fixed order.
    """

    origin: np.ndarray
    """Array (m,): what is subtracted from values; near their mean, sums of squares keep digits."""

    target_origin: np.ndarray
    """Array (d,): what is subtracted from targets."""

    squares: np.ndarray | None
    """Array (m, m), of which the lower half counts: A; None where it is known already."""

    products: np.ndarray
    """Array (m, d): B."""

    sums: np.ndarray
    """Array (m,): a."""

    target_sums: np.ndarray
    """Array (d,): b."""

    target_squares: np.ndarray
    """Array (d,): c."""

    n_rows: int = 0

    @classmethod
    def of_no_rows(
        cls, origin: np.ndarray, target_origin: np.ndarray, has_squares: bool = True
    ) -> FeatureSums:
        """Return the sums of no rows, to which others are added."""
        m, d = len(origin), len(target_origin)
        squares = np.zeros((m, m), order="F") if has_squares else None
        zeros = np.zeros((m, d)), np.zeros(m), np.zeros(d), np.zeros(d)
        return cls(origin, target_origin, squares, *zeros)

    def add(self, values: np.ndarray, targets: np.ndarray) -> None:
        """Add rows with values (b, m) and targets (b, d)."""
        values, targets = values - self.origin, targets - self.target_origin
        if self.squares is not None:
            # In place and the lower half only: with NumPy's product and sum, small blocks would
            # spend their time on reading and writing m^2 numbers.
            dsyrk(1.0, values.T, 1.0, self.squares, lower=1, overwrite_c=1)
        # Transposed: with few targets, BLAS is half again as fast this way round.
        self.products += (targets.T @ values).T
        self.sums += values.sum(axis=0)
        self.target_sums += targets.sum(axis=0)
        self.target_squares += (targets**2).sum(axis=0)
        self.n_rows += len(values)

    def __add__(self, other: FeatureSums) -> FeatureSums:
        """Return the sums of both sets of rows; ValueError if their origins differ."""
        summed = dict(vars(self))
        for name, mine in vars(self).items():
            others = getattr(other, name)
            if "origin" in name:
                if not np.array_equal(mine, others):
                    raise ValueError("Sums add up only with equal origins; these differ.")
            elif mine is not None:
                summed[name] = mine + others
        return FeatureSums(**summed)

    def of_targets(self, columns: slice) -> FeatureSums:
        """Return the sums with some of the targets."""
        return replace(
            self,
            target_origin=self.target_origin[columns],
            products=self.products[:, columns],
            target_sums=self.target_sums[columns],
            target_squares=self.target_squares[columns],
        )

    def of_features(self, factor: np.ndarray) -> FeatureSums:
        """Return the sums of z = F^-1 v, for the lower triangular factor F (m, m). The squares are
        overwritten."""

        def solved(right):
            return solve_triangular(factor, right, lower=True, check_finite=False)

        squares = self.squares
        if squares is not None:
            squares = dsygst(squares, factor, lower=1, overwrite_a=1)[0]
        return replace(
            self,
            origin=solved(self.origin),
            squares=squares,
            products=solved(self.products),
            sums=solved(self.sums),
        )

    def squared_errors(self, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Return the squared errors (n_penalties, d) of linear predictions, summed over the rows.

        Parameters
        ----------
        weights : array (m, n_penalties d)
        intercepts : array (n_penalties, d)
        """
        shape = len(weights), *intercepts.shape
        constants = intercepts - self.target_origin + (self.origin @ weights).reshape(shape[1:])
        products = dsymm(1.0, self.squares, weights, lower=1).reshape(shape)
        products -= 2.0 * self.products[:, None]
        errors = self.target_squares + np.einsum("mpd,mpd->pd", weights.reshape(shape), products)
        slopes = (self.sums @ weights).reshape(shape[1:]) - self.target_sums
        errors += constants * (2.0 * slopes + self.n_rows * constants)
        return np.maximum(errors, 0.0)

    def ridge(
        self, alphas: Sequence[float | np.ndarray], center: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights (m, n_penalties d) and intercepts (n_penalties, d) of ridge regression
        for every penalty, from one eigendecomposition.

        Parameters
        ----------
        alphas : sequence of float or array (d,)
            lambda_0 of eq. (13) of the OFER paper, for all targets or for each; the ridge is
            2 n lambda_0. Infinity predicts the mean (zero without an intercept).
        center : bool, default=True
            Fit an unpenalised intercept. Without one, both origins must be zero.
        """
        squares, products = self.squares, self.products
        if center:
            squares = squares - np.outer(self.sums, self.sums / self.n_rows).T
            products = products - np.outer(self.sums, self.target_sums / self.n_rows)
        decomposition = Decomposition(squares.T, overwrite=center)
        s, Q = decomposition.eigenvalues, decomposition.eigenvectors
        ridges = np.empty((len(alphas), len(self.target_sums)))
        for index, alpha in enumerate(alphas):
            ridges[index] = labelled_ridge(self.n_rows, np.asarray(alpha, dtype=np.float64))
            decomposition.check_ridge(ridges[index].min())
        scaled = (Q.T @ products)[:, None, :] / (s[:, None, None] + ridges)
        weights = Q @ scaled.reshape(len(s), -1)
        if not center:
            return weights, np.zeros(ridges.shape)
        means = (self.origin + self.sums / self.n_rows) @ weights
        targets = self.target_origin + self.target_sums / self.n_rows
        return weights, targets - means.reshape(ridges.shape)
