"""Gaussian process regression with a width per input, as a scikit-learn estimator."""

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.validation import check_is_fitted, validate_data


class WidthPerInputGaussianProcess(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Gaussian process with the kernel v exp(-sum_j (x_j - x'_j)^2 / (2 w_j^2)) + noise.

    v, the noise and a width w_j for each input maximise the marginal likelihood of all outputs,
    which share them (Rasmussen & Williams 2006, section 5.1); a wide w_j leaves an input out. The
    outputs are standardised for that. scikit-learn's `GaussianProcessRegressor` fits; its kernel
    needs the number of inputs, which a file of settings cannot give.

    Parameters
    ----------
    n_restarts_optimizer : int, default=0
        Further random starts of the search. None by default: the search is over q + 2 numbers, and
        a start at widths of sqrt(q), the usual distance of standardised inputs, serves.
    random_state : int, RandomState or None, default=None
        Of the further starts.

    Attributes
    ----------
    process_ : the fitted GaussianProcessRegressor
    """

    safe_to_load = True

    def __init__(self, n_restarts_optimizer=0, random_state=None):
        self.n_restarts_optimizer = n_restarts_optimizer
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to inputs `X` (n, q) and outputs `y` (n,) or (n, d)."""
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        n_inputs = X.shape[1]
        widths = RBF(np.full(n_inputs, np.sqrt(n_inputs)), (1e-1, 1e4))
        kernel = ConstantKernel(1.0, (1e-2, 1e3)) * widths + WhiteKernel(0.1, (1e-4, 1e1))
        self.process_ = GaussianProcessRegressor(
            kernel,
            n_restarts_optimizer=self.n_restarts_optimizer,
            normalize_y=True,
            random_state=self.random_state,
        ).fit(X, y)
        return self

    def predict(self, X):
        """Return the predicted outputs (n,) or (n, d) of inputs `X` (n, q)."""
        check_is_fitted(self)
        return self.process_.predict(validate_data(self, X, reset=False, dtype=np.float64))
