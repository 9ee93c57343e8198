"""Joint kernel support on features of inputs and outputs, as a scikit-learn estimator."""

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from workflow_lib.core.parameters import check_parameters, checks
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.papers.blaschko.mirrored_support import (
    fit_mirrored_support,
    fit_stochastic_support,
    largest_penalty,
)
from workflow_lib.solvers.landmarks import LandmarkFeatures, choose_landmarks
from workflow_lib.solvers.output_kernels import output_unit

BLOCK_NUMBERS = 2**22
"""Scores of inputs and candidates that are held at once (32 MB)."""

MAX_UNIT_ROWS = 1000
"""Different outputs from which the unit of the width of their kernel is computed."""


class JointSupportRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """The training output whose pair with an input scores highest (Blaschko 2014, section 3.1).

    The pairs are fitted by the binary machine of `workflow_lib.papers.blaschko.mirrored_support`.
    Gaussian kernels on inputs and outputs are the inner products of features from landmarks, exact
    where no more rows, or different outputs, than landmarks are given. Time and memory then grow in
    proportion to the rows, where a one-class machine needs a Gram matrix of all pairs of rows.

    Parameters
    ----------
    width : float, default=1.0
        Of the kernel on inputs, as of kernel ridge regression: gamma = width / (2 q).
    output_width : float, default=1.0
        Of the kernel on outputs, in units of the root of their median squared distance.
    penalty : float, default=0.5
        Above 0 and at most 1: the share of the penalty from which on all pairs have one weight.
        The smaller, the fewer pairs count as outliers.
    training : {"stochastic", "exact"}, default="stochastic"
        Stochastic subgradients, or the quadratic program of libsvm on a Gram matrix of the rows.
    n_landmarks : int, default=300
        Of the inputs and of the outputs, each; by k-means.
    tolerance : float, default=0.01
        Duality gap at which stochastic training stops, as a share of the objective.
    random_state : int, RandomState or None, default=None
        Of landmarks and of the order of rows.

    Attributes
    ----------
    weights_ : array (p, q)
        Of the products of features.
    candidates_ : array (c, d)
        The different training outputs.
    gap_ : float
        Duality gap as a share of the objective; 0 of exact training, which stops by a tolerance of
        its own.
    """

    safe_to_load = True
    allowed = checks(
        positive="width output_width tolerance",
        share="penalty",
        whole="n_landmarks",
        training=("stochastic", "exact"),
    )

    def __init__(
        self,
        width=1.0,
        output_width=1.0,
        penalty=0.5,
        training="stochastic",
        n_landmarks=300,
        tolerance=0.01,
        random_state=None,
    ):
        self.width = width
        self.output_width = output_width
        self.penalty = penalty
        self.training = training
        self.n_landmarks = n_landmarks
        self.tolerance = tolerance
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # A training output is a poor prediction of numbers.
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X, y):
        """Fit to inputs `X` (n, q) and outputs `y` (n,) or (n, d)."""
        check_parameters(self)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._is_flat = y.ndim == 1
        outputs = y.reshape(len(y), -1)
        seed = check_random_state(self.random_state).randint(2**31)
        generator = np.random.default_rng(seed)
        self.candidates_, numbers = np.unique(outputs, axis=0, return_inverse=True)
        shown = self.candidates_
        if len(shown) > MAX_UNIT_ROWS:
            shown = generator.choice(shown, MAX_UNIT_ROWS, replace=False)
        unit = output_unit(shown)
        self._of_inputs = self._features(X, rbf_gamma(self.width, X.shape[1]), generator)
        of_outputs = self._features(self.candidates_, (self.output_width * unit) ** -2.0, generator)
        Z = self._of_inputs.transform(X)
        self._of_candidates = of_outputs.transform(self.candidates_)
        E = self._of_candidates[numbers.ravel()]
        penalty = self.penalty * largest_penalty(Z, E)
        if self.training == "exact":
            alpha, nu = fit_mirrored_support((Z @ Z.T) * (E @ E.T), penalty)
            self.weights_, self.gap_ = Z.T @ (alpha[:, None] * E) * (nu / penalty), 0.0
        else:
            fitted = fit_stochastic_support(Z, E, penalty, generator, self.tolerance)
            self.weights_, self.gap_ = fitted.weights, fitted.gap / fitted.objective
        return self

    def _features(self, rows, gamma, generator) -> LandmarkFeatures:
        landmarks = choose_landmarks(rows, self.n_landmarks, "rbf", gamma, "k_means", generator)
        return LandmarkFeatures(landmarks, "rbf", gamma)

    def scores(self, X) -> np.ndarray:
        """Return the scores (m, c) of the candidates for inputs `X` (m, q)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return self._of_inputs.transform(X) @ self.weights_ @ self._of_candidates.T

    def predict(self, X):
        """Return the candidates of the highest score (m,) or (m, d) for inputs `X` (m, q)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        step = max(BLOCK_NUMBERS // len(self.candidates_), 1)
        blocks = np.split(X, range(step, len(X), step))
        best = np.concatenate([self.scores(block).argmax(axis=1) for block in blocks])
        predicted = self.candidates_[best]
        return predicted[:, 0] if self._is_flat else predicted
