"""A factored logistic model with dropout: classes from few latent linear features."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
"""Of Adam (Kingma and Ba 2015): its usual values."""


class FactoredClassifier(ClassifierMixin, BaseEstimator):
    """Multinomial logistic regression on d latent linear features, learned with dropout.

    For inputs x (q,) and K classes (Bzdok et al. 2015; Mensch et al. 2018),

        p(y | x) = softmax(W_2'(m_2 * W_1'(m_1 * x)) + b)_y ,

    without a nonlinearity: a logistic model of reduced rank where d < K. The masks m_1 (q,) and
    m_2 (d,) drop each input, or latent feature, with a probability in each step of learning, and
    divide the others by its complement; predictions use none. Dropout lets d be larger than K. What
    is minimised is the mean negative log probability plus `alpha` / 2 times the squares of W_1 and
    W_2, by Adam with batches; the last half of the iterates is averaged.

    Parameters
    ----------
    n_latent : int, default=20
        d.
    input_dropout, dropout : float, default=0.25, 0.5
        Probabilities, from 0 to less than 1, of inputs and of latent features.
    alpha : float, default=1e-4
        Penalty of squares.
    max_iter : int, default=100
        Passes over the rows, at least; batches are at least `MIN_STEPS`.
    batch_size : int, default=32
    learning_rate : float, default=1e-2
    random_state : int, default=0
        Of the first weights, the order of rows and the masks.

    Attributes
    ----------
    classes_ : array (K,)
    first_, second_, intercept_ : arrays (q, d), (d, K), (K,)
        W_1, W_2 and b.
    n_iter_ : int
        Passes over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    >>> FactoredClassifier(2).fit(X, np.repeat([0, 1], 20)).predict(np.eye(2)).tolist()
    [0, 1]
    """

    safe_to_load = True

    MIN_STEPS = 500

    def __init__(
        self,
        n_latent: int = 20,
        input_dropout: float = 0.25,
        dropout: float = 0.5,
        alpha: float = 1e-4,
        max_iter: int = 100,
        batch_size: int = 32,
        learning_rate: float = 1e-2,
        random_state: int = 0,
    ) -> None:
        self.n_latent, self.input_dropout, self.dropout = n_latent, input_dropout, dropout
        self.alpha, self.max_iter, self.batch_size = alpha, max_iter, batch_size
        self.learning_rate, self.random_state = learning_rate, random_state

    def fit(self, X, y) -> FactoredClassifier:
        """Learn from rows `X` (n, q) and their classes `y` (n,).

        Raises ValueError for a single class, or a probability out of range.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("A factored model needs at least two classes; found one class.")
        if not (0.0 <= self.input_dropout < 1.0 and 0.0 <= self.dropout < 1.0):
            raise ValueError(
                f"input_dropout={self.input_dropout}, dropout={self.dropout}; expected "
                "probabilities from 0 to less than 1."
            )
        random = np.random.default_rng(self.random_state)
        targets, d = np.eye(len(self.classes_))[labels], self.n_latent
        weights = [
            random.normal(size=(X.shape[1], d)) / np.sqrt(X.shape[1]),
            random.normal(size=(d, targets.shape[1])) / np.sqrt(d),
            np.zeros(targets.shape[1]),
        ]
        first, second, mean = ([np.zeros_like(each) for each in weights] for _ in range(3))
        n_batches = -(-len(X) // self.batch_size)
        n_passes = max(self.max_iter, -(-self.MIN_STEPS // n_batches))
        step, n_steps = 0, n_passes * n_batches
        for _ in range(n_passes):
            for rows in np.array_split(random.permutation(len(X)), n_batches):
                step += 1
                masks = (
                    _mask(random, (len(rows), X.shape[1]), self.input_dropout),
                    _mask(random, (len(rows), d), self.dropout),
                )
                _, gradients = loss_and_gradients(
                    weights, X[rows], targets[rows], self.alpha, masks
                )
                for place, gradient in enumerate(gradients):
                    first[place] += (1.0 - BETA_1) * (gradient - first[place])
                    second[place] += (1.0 - BETA_2) * (gradient**2 - second[place])
                    scale = np.sqrt(second[place] / (1.0 - BETA_2**step)) + EPSILON
                    moved = self.learning_rate * first[place] / (1.0 - BETA_1**step) / scale
                    weights[place] = weights[place] - moved
                    if 2 * step > n_steps:
                        mean[place] += (weights[place] - mean[place]) / (step - n_steps // 2)
        self.first_, self.second_, self.intercept_ = mean
        self.n_iter_ = n_passes
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities of the classes (n, K)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return softmax(X @ self.first_ @ self.second_ + self.intercept_, axis=1)

    def predict(self, X) -> np.ndarray:
        """Return the most probable class of each row (n,)."""
        found = self.predict_proba(X)
        return self.classes_[found.argmax(axis=1)]


def loss_and_gradients(
    weights: list[np.ndarray],
    X: np.ndarray,
    targets: np.ndarray,
    alpha: float,
    masks: tuple[np.ndarray | float, np.ndarray | float] = (1.0, 1.0),
) -> tuple[float, list[np.ndarray]]:
    """Return the penalised mean negative log probability and its gradients.

    `weights` are W_1 (q, d), W_2 (d, K) and b (K,), `targets` (n, K) the indicators of the classes,
    and inputs and latent features are multiplied by the `masks` (n, q) and (n, d), or 1.0.
    """
    first, second, intercept = weights
    inputs = X * masks[0]
    latent = (inputs @ first) * masks[1]
    logs = log_softmax(latent @ second + intercept, axis=1)
    penalty = 0.5 * alpha * (np.vdot(first, first) + np.vdot(second, second))
    errors = (np.exp(logs) - targets) / len(X)
    backward = (errors @ second.T) * masks[1]
    gradients = [inputs.T @ backward + alpha * first, latent.T @ errors + alpha * second]
    return float(-np.vdot(targets, logs) / len(X) + penalty), [*gradients, errors.sum(axis=0)]


def _mask(random: np.random.Generator, shape: tuple[int, int], probability: float):
    if not probability:
        return 1.0
    return (random.random(shape) >= probability) / (1.0 - probability)
