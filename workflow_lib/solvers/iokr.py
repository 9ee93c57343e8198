"""Input Output Kernel Regression as a scikit-learn estimator."""

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from workflow_lib.core.array_arguments import as_numbers
from workflow_lib.core.parameters import check_parameters, checks
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.kernel_ridge import (
    KERNEL_PARAMETERS,
    KernelInputMixin,
    check_square,
    checked_inputs,
    checked_outputs,
)
from workflow_lib.solvers.output_kernels import minimise_rbf_distance, nearest_candidates
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

PREIMAGES = ("candidates", "gradient")
VECTOR_KERNELS = ("rbf", "linear")


class IOKRegressor(KernelInputMixin, RegressorMixin, BaseEstimator):
    """Input Output Kernel Regression (IOKR; Brouard, Szafranski & d'Alche-Buc, JMLR 2016).

    Regresses the feature vector psi(y) of an output kernel k from the input by kernel ridge
    regression, h(x) = sum_i a_i(x) psi(y_i), and returns the output y that minimises
    k(y, y) - 2 sum_i a_i(x) k(y, y_i).

    Parameters
    ----------
    kernel : {"rbf", "linear", "precomputed", "tanimoto"}, default="rbf"
        Input kernel.
    gamma : float or None, default=None
        Inverse squared width of the input rbf kernel; None means 1 / number of inputs.
    alpha : float, default=1.0
        lambda_0 of eq. (13) of the OFER paper: the system solved is (K + 2 l alpha I).
    center : bool, default=True
        Fit an unpenalised intercept in the feature space; the weights a(x) then sum to one.
    output_kernel : {"rbf", "linear"}, default="rbf"
    output_gamma : float or None, default=None
        Inverse squared width of the output rbf kernel; None means 1 / number of outputs.
    preimage : {"gradient", "candidates"}, default="gradient"
        ``candidates``: the best of the training outputs, or of those given to `predict`.
        ``gradient``: from there to the nearest local optimum (the rbf kernel), or the exact
        solution sum_i a_i(x) y_i (the linear kernel).

    Attributes
    ----------
    smoother_ : array (l, l)
        Dual coefficients of the training rows: a(x) = smoother_' k(x) + intercept_.
    intercept_ : array (l,)
    X_fit_, Y_fit_ : training inputs and outputs
    """

    safe_to_load = True
    allowed: ClassVar = KERNEL_PARAMETERS | checks(
        penalty="alpha",
        positive_or_none="output_gamma",
        output_kernel=VECTOR_KERNELS,
        preimage=PREIMAGES,
    )

    def __init__(
        self,
        kernel="rbf",
        gamma=None,
        alpha=1.0,
        center=True,
        output_kernel="rbf",
        output_gamma=None,
        preimage="gradient",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.center = center
        self.output_kernel = output_kernel
        self.output_gamma = output_gamma
        self.preimage = preimage

    def fit(self, X, Y):
        """Fit to inputs `X` (l, q), or a Gram matrix (l, l), and outputs `Y` (l,) or (l, d).

        Raises
        ------
        ValueError
            If the data are not finite, or a parameter is out of range.
        """
        check_parameters(self)
        X, Y = checked_inputs(X), checked_outputs(Y)
        X, Y = validate_data(self, X, Y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._vector_output = Y.ndim == 1
        self.Y_fit_ = np.asarray(Y, dtype=np.float64).reshape(len(Y), -1)
        K = gram_matrix(X, None, self.kernel, self.gamma)
        check_square(K, self.kernel)
        ridge = labelled_ridge(len(K), self.alpha)
        self.smoother_, self.intercept_ = fit_dual_coefficients(
            K, np.eye(len(K)), ridge, self.center
        )
        self.X_fit_ = X
        return self

    def predict_weights(self, X) -> np.ndarray:
        """Return the weights a_i(x) (n, l) of the training outputs for inputs `X` (n, q)."""
        check_is_fitted(self)
        X = validate_data(self, checked_inputs(X), reset=False, dtype=np.float64)
        K = gram_matrix(X, self.X_fit_, self.kernel, self.gamma)
        return K @ self.smoother_ + self.intercept_

    def predict(self, X, candidates=None):
        """Return predicted outputs (n,) or (n, d) for inputs `X` (n, q).

        Parameters
        ----------
        X : array (n, q), or the Gram matrix (n, l) against the training rows
        candidates : array (c, d), or (c,) where the outputs are a vector, or None
            Outputs to choose from, or to start the search at; None means the training outputs.
            The exact solution of the linear kernel needs no start and leaves them unused.

        Raises
        ------
        ValueError
            If the inputs or candidates are not finite or have another number of columns.
        """
        weights = self.predict_weights(X)
        predictions = self._preimages(weights, candidates)
        return predictions[:, 0] if self._vector_output else predictions

    def _preimages(self, weights, candidates):
        candidates = self.Y_fit_ if candidates is None else self._check_candidates(candidates)
        if self.output_kernel == "linear" and self.preimage == "gradient":
            return weights @ self.Y_fit_
        gamma = self.output_gamma
        if gamma is None:
            gamma = 1.0 / self.Y_fit_.shape[1]
        cross = gram_matrix(candidates, self.Y_fit_, self.output_kernel, gamma)
        diagonal = np.ones(len(candidates))
        if self.output_kernel == "linear":
            diagonal = (candidates**2).sum(axis=1)
        start = candidates[nearest_candidates(weights, cross, diagonal)]
        if self.preimage == "candidates":
            return start
        return minimise_rbf_distance(weights, self.Y_fit_, gamma, start)

    def _check_candidates(self, candidates):
        candidates = as_numbers(candidates, "candidates")
        if self._vector_output and candidates.ndim == 1:
            candidates = candidates[:, None]
        candidates = check_array(candidates, dtype=np.float64, input_name="candidates")
        # One column would be broadcast against the training outputs without an error.
        if candidates.shape[1] != self.Y_fit_.shape[1]:
            raise ValueError(
                f"candidates must have {self.Y_fit_.shape[1]} columns, as the outputs in fit; "
                f"found {candidates.shape[1]}."
            )
        return candidates
