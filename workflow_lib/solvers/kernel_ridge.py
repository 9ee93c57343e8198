"""Kernel ridge regression with an intercept as a scikit-learn estimator."""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from workflow_lib.core.array_arguments import as_numbers, masked_as_nan, refuse_text
from workflow_lib.core.parameters import check_parameters, checks
from workflow_lib.solvers.gram import KERNELS, gram_matrix
from workflow_lib.solvers.landmark_solution import LandmarkSolutionMixin
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

KERNEL_PARAMETERS = checks(positive_or_none="gamma", flag="center", kernel=KERNELS)
"""The checks of the parameters of all estimators with a kernel on inputs."""


class KernelInputMixin:
    """What scikit-learn must know of an estimator with a `kernel` on inputs and several outputs."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "tanimoto"
        tags.target_tags.multi_output = True
        return tags

    def score(self, X, y, sample_weight=None):
        """Return the coefficient of determination of the predictions, as in scikit-learn."""
        return super().score(X, checked_outputs(y), sample_weight)


def checked_inputs(X, name: str = "X"):
    """Return inputs with NaN where masked, for scikit-learn to check; ValueError for text."""
    refuse_text(X, name)
    return masked_as_nan(X)


def checked_outputs(Y):
    """Return outputs as numbers, with NaN where masked; None, which scikit-learn reports, as is."""
    return None if Y is None else as_numbers(Y, "Y")


def known_outputs(Y, name: str = "y") -> np.ndarray:
    """Return outputs as numbers, NaN where missing; ValueError for what is infinite or no array."""
    Y = checked_outputs(Y)
    return check_array(Y, ensure_2d=False, ensure_all_finite="allow-nan", input_name=name)


class KernelRidgeRegressor(KernelInputMixin, LandmarkSolutionMixin, RegressorMixin, BaseEstimator):
    """Multi-output kernel ridge regression (m-KRR), the baseline that OFER must beat.

    Minimises alpha ||h||^2 + 1/(2 l) sum_i ||y_i - h(x_i) - b||^2, eq. (13) of the OFER paper with
    the outputs themselves as targets and an unpenalised intercept b.

    Parameters
    ----------
    kernel : {"rbf", "linear", "precomputed", "tanimoto"}, default="rbf"
    gamma : float or None, default=None
        Inverse squared width of the rbf kernel; None means 1 / number of inputs.
    alpha : float, default=1.0
        lambda_0 of eq. (13). The system solved is (K + 2 l alpha I), with l the number of rows:
        scikit-learn's ``KernelRidge(alpha=2 * l * alpha)``, which has no intercept.
    center : bool, default=True
        Fit the intercept. scikit-learn's KernelRidge corresponds to False.
    max_gram_rows : int or None, default=None
        Most rows in `fit` for which the Gram matrix of all pairs is made; see the notes. None: as
        many as three Gram matrices fit into a quarter of the machine's memory, and 10,000 at most.
    n_landmarks : int, default=1000
        Landmarks m above that limit. Time grows with l m^2 and m^3, the error falls with m.
    random_state : int, Generator, RandomState or None, default=0
        Of the draw of the landmarks.

    Attributes
    ----------
    dual_coef_ : array (l, d), or (m, d) above `max_gram_rows`
        Coefficients of the rows of `X_fit_`: h(x) = k(x, X_fit_) dual_coef_ + intercept_.
    intercept_ : array (d,)
    X_fit_ : array (l, q), or the Gram matrix where precomputed
        Above `max_gram_rows` the landmarks, or the unit vectors where there are none.
    landmarks_ : array (m, q) or None
        None where the solution is exact.

    Notes
    -----
    With more than `max_gram_rows` rows, `fit` warns once and puts landmarks L (m, q), centres of
    k-means, instead of the rows: h(x) = k(x, L) A + b is the exact solution for the
    approximate Gram matrix (Nystrom)

        K ~ k(X, L) k(L, L)^+ k(L, X).

    Rows are read in blocks, so memory grows with the data only. A linear kernel on
    `n_landmarks` columns at most needs no landmarks: the same solution is found, without a warning,
    from the columns themselves.
    """

    safe_to_load = True
    allowed: ClassVar = KERNEL_PARAMETERS | checks(
        penalty="alpha", limit_or_none="max_gram_rows", whole="n_landmarks", seed="random_state"
    )

    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        alpha=1.0,
        center=True,
        max_gram_rows=None,
        n_landmarks=1000,
        random_state=0,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.center = center
        self.max_gram_rows = max_gram_rows
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to inputs `X` (l, q), or a Gram matrix (l, l), and outputs `y` (l,) or (l, d).

        Raises
        ------
        ValueError
            If the data are not finite, alpha is not positive, the Gram matrix is not positive
            semi-definite, or a precomputed one has more than `max_gram_rows` rows.
        """
        check_parameters(self)
        X, y = checked_inputs(X), checked_outputs(y)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._vector_output = y.ndim == 1
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if self._exceeds_gram_limit(len(X)):
            self._fit_on_landmarks(X, targets, self.alpha)
            return self
        K = gram_matrix(X, None, self.kernel, self.gamma)
        check_square(K, self.kernel)
        ridge = labelled_ridge(len(K), self.alpha)
        self.dual_coef_, self.intercept_ = fit_dual_coefficients(K, targets, ridge, self.center)
        self.X_fit_ = X
        self._fit_without_landmarks()
        return self

    def predict(self, X):
        """Return predictions (n,) or (n, d) for inputs `X` (n, q), or a Gram matrix (n, l)."""
        check_is_fitted(self)
        X = validate_data(self, checked_inputs(X), reset=False, dtype=np.float64)
        predictions = self._in_blocks(self._kernel_predictions, X)
        return predictions[:, 0] if self._vector_output else predictions


def check_square(K: np.ndarray, kernel: str) -> None:
    """Raise ValueError unless a precomputed training Gram matrix is square."""
    if kernel == "precomputed" and K.shape[0] != K.shape[1]:
        raise ValueError(
            f"A precomputed Gram matrix must be square in fit; found the shape {K.shape}. "
            "Precomputed matrices are not square feature tables: pass kernel values k(x_i, x_j)."
        )
