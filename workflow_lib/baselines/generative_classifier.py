"""The class of the most probable hidden Markov model: the MAP rule."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.embeddings.letter_models import fitted_models
from workflow_lib.embeddings.score_space_storage import model_from_tree
from workflow_lib.features.item_rows import sequences_in


class HiddenMarkovClassifier(ClassifierMixin, BaseEstimator):
    """Classifies sequences of letters by p(c | x), from a hidden Markov model of each class.

    p(c | x) is proportional to p(c) p(x | c), with the shares of the classes among the training
    rows as p(c).

    Parameters
    ----------
    n_states, n_symbols, prior, n_init, random_state
        As of `workflow_lib.generative.hidden_markov.HiddenMarkovModel`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).integers(0, 4, (20, 9))
    >>> HiddenMarkovClassifier(n_states=2).fit(rows, np.arange(20) % 2).predict_proba(rows).shape
    (20, 2)
    """

    def __init__(
        self,
        n_states: int = 4,
        n_symbols: int | None = None,
        prior: float = 0.5,
        n_init: int = 3,
        random_state=0,
    ) -> None:
        self.n_states, self.n_symbols, self.prior = n_states, n_symbols, prior
        self.n_init, self.random_state = n_init, random_state

    def fit(self, X, y) -> HiddenMarkovClassifier:
        """Fit a model to the rows of each class.

        Parameters
        ----------
        X : array (n, longest length)
            Rows of `workflow_lib.features.item_rows`.
        y : array (n,)

        Raises
        ------
        ValueError
            If a row is no sequence of letters.
        """
        sequences = sequences_in(X)
        self.classes_, labels = np.unique(y, return_inverse=True)
        subsets = [np.flatnonzero(labels == label) for label in range(len(self.classes_))]
        self.models_ = fitted_models(self, sequences, subsets)
        self.log_shares_ = np.log(np.bincount(labels) / len(labels))
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Return p(c | x) (n, classes)."""
        check_is_fitted(self)
        sequences = sequences_in(X)
        log_p = np.column_stack(
            [model_from_tree(tree).score_samples(sequences) for tree in self.models_]
        )
        log_p += self.log_shares_
        p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    def predict(self, X) -> np.ndarray:
        """Return the most probable class (n,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
