"""Kernel ridge regression of estimators whose rows are too many for a Gram matrix of all pairs.

The solution is h(x) = k(x, L) A + b with m landmarks L instead of all l rows: the minimiser of
eq. (13) of the OFER paper among these functions,

    lambda_0 tr(A' k(L, L) A) + 1/(2 l) sum_i ||t_i - A' k(L, x_i) - b||^2,

which is the exact solution for the approximate Gram matrix k(X, L) k(L, L)^+ k(L, X) (Nystrom;
Williams & Seeger 2001; Rudi, Camoriano & Rosasco 2015), by ridge regression on the features of
`workflow_lib.solvers.landmarks.LandmarkFeatures`. A linear kernel on few columns needs no
approximation: with the unit vectors as L, k(x, L) is x itself.
"""

import warnings
from collections.abc import Callable

import numpy as np

from workflow_lib.core.gram_limit import default_max_gram_rows
from workflow_lib.core.parameters import random_generator
from workflow_lib.solvers.feature_ridge import BLOCK_NUMBERS, FeatureRidge, Targets
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.landmarks import LandmarkFeatures, LinearFeatures, choose_landmarks

LANDMARK_METHOD = "k_means"


class LandmarkSolutionMixin:
    """What estimators with a `kernel` need to go on with landmarks above `max_gram_rows`.

    The estimator has the parameters `kernel`, `gamma`, `center`, `max_gram_rows`, `n_landmarks` and
    `random_state`. Its fitted state is the same with and without landmarks,
    h(x) = k(x, X_fit_) dual_coef_ + intercept_, and `landmarks_`.
    """

    def _exceeds_gram_limit(self, n_rows: int, has_weak_rows: bool = False) -> bool:
        """Return whether `n_rows` rows, some of them weak or none, are too many for a Gram matrix.
        Raises ValueError if they are and landmarks cannot help."""
        limit = self._gram_limit()
        if n_rows <= limit:
            return False
        if self.kernel == "precomputed" or has_weak_rows:
            what = "a precomputed kernel" if self.kernel == "precomputed" else "weak rows"
            raise ValueError(
                f"{n_rows} rows are more than max_gram_rows ({limit}), and landmarks cannot stand "
                f"for {what}. Give fewer rows, or raise max_gram_rows if the memory holds some "
                f"matrices of {8e-9 * n_rows**2:.2g} GB."
            )
        return True

    def _gram_limit(self) -> int:
        return default_max_gram_rows() if self.max_gram_rows is None else self.max_gram_rows

    def _fit_on_landmarks(self, X: np.ndarray, targets: Targets, alpha: float | np.ndarray) -> None:
        """Set the fitted state from inputs `X` (l, q), in blocks of rows.

        Warns, in the name of the caller of `fit`, where the solution is an approximation.

        Raises ValueError if the kernel refuses the inputs.

        Parameters
        ----------
        X : array (l, q)
        targets : array (l, d), or callable from a slice of rows to an array (b, d)
        alpha : float or array (d,)
            lambda_0 of eq. (13), of all columns of the targets or of each.
        """
        _check_kernel_inputs(X, self.kernel, self.gamma)
        n_rows, n_columns = X.shape
        if self.kernel == "linear" and n_columns <= self.n_landmarks:
            self.landmarks_ = None
            features = LinearFeatures(n_columns)
        else:
            warnings.warn(
                f"{n_rows} rows are more than max_gram_rows ({self._gram_limit()}): "
                f"{min(self.n_landmarks, n_rows)} landmarks stand for the Gram matrix of all pairs "
                "of rows, an approximation. Raise n_landmarks to come closer to the exact "
                "solution, or max_gram_rows to compute it.",
                UserWarning,
                stacklevel=3,
            )
            self.landmarks_ = choose_landmarks(
                X,
                self.n_landmarks,
                self.kernel,
                self.gamma,
                LANDMARK_METHOD,
                random_generator(self.random_state),
            )
            features = LandmarkFeatures(self.landmarks_, self.kernel, self.gamma)
        # Nothing is held out; one fold number for all rows would hold out all of them.
        ridge = FeatureRidge(features, X, np.full(n_rows, -1), self.center)
        self.dual_coef_, self.intercept_ = ridge.refit(targets, alpha)
        self.X_fit_ = np.eye(n_columns) if self.landmarks_ is None else self.landmarks_
        # Kernel values and predictions of a block take 16 MB at most.
        self._block_rows = max(1, BLOCK_NUMBERS // max(self.dual_coef_.shape))

    def _fit_without_landmarks(self) -> None:
        """Set what tells that the fitted state belongs to all rows."""
        self.landmarks_ = self._block_rows = None

    def _kernel_predictions(self, X: np.ndarray) -> np.ndarray:
        """Return h(x) (n, d) for inputs `X` (n, q), at once."""
        predictions = gram_matrix(X, self.X_fit_, self.kernel, self.gamma) @ self.dual_coef_
        predictions += self.intercept_
        return predictions

    def _in_blocks(self, function: Callable[[np.ndarray], np.ndarray], X: np.ndarray) -> np.ndarray:
        """Return function(X) for inputs `X` (n, q), with landmarks joined from blocks of rows."""
        if self._block_rows is None:
            return function(X)
        _check_kernel_inputs(X, self.kernel, self.gamma)
        starts = range(0, len(X), self._block_rows)
        return np.concatenate([function(X[start : start + self._block_rows]) for start in starts])


def _check_kernel_inputs(X, kernel, gamma) -> None:
    """Raise what `gram_matrix` finds wrong with the inputs, at the cost of one column. Blocks of
    rows would be refused later, and by row numbers within the block."""
    gram_matrix(X, X[:1], kernel, gamma)
