"""Naive Bayes of sequences of letters: independent letters at each position, given the class."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.items.kinds.letters import sequences_in


class PositionNaiveBayes(ClassifierMixin, BaseEstimator):
    """Classifies sequences by the probabilities of each letter at each position in each class.

    With a pseudo-count a, V letters and n_ckv training sequences of class c that have letter v at
    position k, p(v | c, k) = (n_ckv + a) / (sum_v n_ckv + a V). The shares of the classes among the
    training rows are p(c). Positions are counted from the beginning; a sequence says nothing about
    positions after its end, and an unknown letter nothing about its position.

    Parameters
    ----------
    pseudo_count : float, default=1.0
        Above zero. The default is Laplace's.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0], [0.0, -2.0], [1.0, 1.0], [1.0, 0.0]])
    >>> PositionNaiveBayes().fit(rows, [0, 0, 1, 1]).predict_proba(rows[:1]).round(3)
    array([[0.8, 0.2]])
    """

    safe_to_load = True

    def __init__(self, pseudo_count: float = 1.0) -> None:
        self.pseudo_count = pseudo_count

    def fit(self, X, y) -> PositionNaiveBayes:
        """Count the letters of each class.

        Raises ValueError if a row is no sequence of letters, or the pseudo-count is not above zero.

        Parameters
        ----------
        X : array (n, longest length)
            Rows of letters of `workflow_lib.items.kinds.letters`.
        y : array (n,)
        """
        if not self.pseudo_count > 0:
            raise ValueError(f"pseudo_count must be positive; found {self.pseudo_count!r}.")
        codes = _codes(X)
        self.classes_, labels = np.unique(y, return_inverse=True)
        indicators = np.eye(len(self.classes_))[labels]
        n_symbols = max(int(codes.max()) + 1, 1)
        counts = np.stack([indicators.T @ (codes == letter) for letter in range(n_symbols)], axis=2)
        counts += self.pseudo_count
        self.log_probabilities_ = np.log(counts / counts.sum(axis=2, keepdims=True))
        self.log_shares_ = np.log(indicators.mean(axis=0))
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Return p(c | x) (n, classes); letters that no training row has are unknown."""
        check_is_fitted(self)
        codes = _codes(X)
        log_p = np.tile(self.log_shares_, (len(codes), 1))
        for letter, by_class in enumerate(np.moveaxis(self.log_probabilities_, 2, 0)):
            log_p += (codes == letter) @ by_class.T
        p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X) -> np.ndarray:
        """Return the most probable class (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _codes(X) -> np.ndarray:
    """Return rows of letters as whole numbers; ValueError where they are none."""
    sequences_in(X)
    return np.rint(X).astype(np.int64)
