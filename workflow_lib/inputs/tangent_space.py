"""Covariance matrices as inputs: their coordinates in the tangent space at the training mean.

The Fisher information of a normal distribution of mean zero makes the covariance matrices a curved
space, whose distances do not change when the variables are mixed by any invertible matrix. At the
mean M the coordinates of a covariance C are (Tuzel, Porikli & Meer 2008; Barachant et al. 2013)

    vec(log(M^(-1/2) C M^(-1/2))),

off-diagonal entries times the root of two, so that lengths are Frobenius norms. To first order in
C - M they are the Fisher scores of C under M, whitened by the Fisher information.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

MIN_EIGENVALUE = 1e-10
"""Smallest eigenvalue of a covariance after shrinkage, relative to its mean eigenvalue."""


class TangentSpace(TransformerMixin, BaseEstimator):
    """Coordinates of covariance matrices in the tangent space at their geometric mean.

    The mean M of the training covariances minimises the sum of the squared distances
    |log(M^(-1/2) C_i M^(-1/2))|^2, and is found by the fixed point iteration of its gradient
    (Moakher 2005).

    Parameters
    ----------
    of_series : bool, default=False
        Whether rows are series instead of covariances: their covariance is computed first.
    n_channels : int or None, default=None
        Channels p of the series, whose rows hold p values of the first step, then of the next.
    shrinkage : float, default=0.1
        Each covariance C becomes (1 - s) C + s tr(C) / p I. Above 0 where a series has
        no more steps than channels.
    n_iterations : int, default=50
        Largest number of iterations for the mean.
    tolerance : float, default=1e-10
        Mean squared coordinate of the gradient at which they stop.

    Attributes
    ----------
    mean_ : array (p, p)
        M.
    n_channels_ : int

    Examples
    --------
    >>> import numpy as np
    >>> series = np.random.default_rng(0).normal(size=(20, 30 * 3))
    >>> TangentSpace(of_series=True, n_channels=3).fit_transform(series).shape
    (20, 6)
    """

    safe_to_load = True

    needs_all_columns = True
    """Also those that are constant: the position of a column counts."""

    def __init__(
        self,
        of_series: bool = False,
        n_channels: int | None = None,
        shrinkage: float = 0.1,
        n_iterations: int = 50,
        tolerance: float = 1e-10,
    ) -> None:
        self.of_series, self.n_channels, self.shrinkage = of_series, n_channels, shrinkage
        self.n_iterations, self.tolerance = n_iterations, tolerance

    def fit(self, X, y=None) -> TangentSpace:
        """Find the mean of the covariances of the rows of `X`; `y` is ignored.

        Rows (n, p (p + 1) / 2) are lower triangles of covariances, row by row; with `of_series`
        rows (n, T p) are series.

        Raises ValueError if the number of columns is none of these, or a covariance is not positive
        definite after the shrinkage.
        """
        X = validate_data(self, X, dtype=np.float64)
        covariances = self._covariances(X)
        mean = covariances.mean(axis=0)
        for _ in range(self.n_iterations):
            root, inverse_root = _roots(mean)
            gradient = _of_eigenvalues(inverse_root @ covariances @ inverse_root, np.log).mean(
                axis=0
            )
            mean = root @ _of_eigenvalues(gradient, np.exp) @ root
            mean = (mean + mean.T) / 2.0
            if (gradient**2).mean() < self.tolerance:
                break
        self.mean_, self.n_channels_ = mean, len(mean)
        self._n_features_out = len(mean) * (len(mean) + 1) // 2
        return self

    def transform(self, X) -> np.ndarray:
        """Return the coordinates (n, p (p + 1) / 2) of rows as in `fit`."""
        check_is_fitted(self)
        covariances = self._covariances(validate_data(self, X, reset=False, dtype=np.float64))
        _, inverse_root = _roots(self.mean_)
        logarithms = _of_eigenvalues(inverse_root @ covariances @ inverse_root, np.log)
        rows, columns = np.tril_indices(self.n_channels_)
        return logarithms[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))

    def _covariances(self, X: np.ndarray) -> np.ndarray:
        """Return the shrunk covariances (n, p, p) of rows."""
        found = self._of_series(X) if self.of_series else self._of_triangles(X)
        p = found.shape[1]
        scale = np.trace(found, axis1=1, axis2=2)[:, None, None] / p
        found = (1.0 - self.shrinkage) * found + self.shrinkage * scale * np.eye(p)
        smallest = np.linalg.eigvalsh(found)[:, 0]
        wrong = np.flatnonzero(smallest <= MIN_EIGENVALUE * scale[:, 0, 0])
        if len(wrong):
            raise ValueError(
                f"The covariance of row {wrong[0]} is not positive definite (smallest eigenvalue "
                f"{smallest[wrong[0]]:.3g}); raise shrinkage, now {self.shrinkage:g}."
            )
        return found

    def _of_series(self, X: np.ndarray) -> np.ndarray:
        p = self.n_channels or 0
        if p < 1 or X.shape[1] % p or X.shape[1] < 2 * p:
            raise ValueError(
                f"Rows of {X.shape[1]} values are no series of two steps or more with n_channels="
                f"{self.n_channels}."
            )
        series = X.reshape(len(X), -1, p)
        series = series - series.mean(axis=1, keepdims=True)
        return np.einsum("ntp,ntq->npq", series, series) / series.shape[1]

    def _of_triangles(self, X: np.ndarray) -> np.ndarray:
        p = int(np.sqrt(2 * X.shape[1]))
        if p * (p + 1) // 2 != X.shape[1]:
            raise ValueError(
                f"Rows of {X.shape[1]} values are not the lower triangle of a matrix; expected "
                "p (p + 1) / 2 values."
            )
        found = np.zeros((len(X), p, p))
        rows, columns = np.tril_indices(p)
        found[:, rows, columns] = found[:, columns, rows] = X
        return found


def _of_eigenvalues(matrices: np.ndarray, function) -> np.ndarray:
    """Return symmetric matrices (..., p, p) with a function of their eigenvalues."""
    eigenvalues, eigenvectors = np.linalg.eigh((matrices + matrices.swapaxes(-1, -2)) / 2.0)
    return (eigenvectors * function(eigenvalues)[..., None, :]) @ eigenvectors.swapaxes(-1, -2)


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric root of a positive definite matrix, and the inverse root."""
    eigenvalues, eigenvectors = eigh(matrix)
    roots = np.sqrt(eigenvalues)
    return (eigenvectors * roots) @ eigenvectors.T, (eigenvectors / roots) @ eigenvectors.T
