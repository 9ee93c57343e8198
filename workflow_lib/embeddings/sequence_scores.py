"""Score spaces of sequences of letters as features, learned in every fold.

`SequenceScores` are the scores of hidden Markov models (`workflow_lib.embeddings.score_space`),
`WordShares` the shares of words, the spectrum (Leslie, Eskin & Noble 2002). Both take the rows of
`workflow_lib.features.item_rows`, and standardise each column over the training rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.embeddings.letter_models import fitted_models
from workflow_lib.embeddings.score_space import ScoreSpace
from workflow_lib.embeddings.score_space_storage import model_from_tree
from workflow_lib.features.item_rows import sequences_in

SMALLEST_DEVIATION = 1e-10
"""Standard deviation of a column, relative to its largest value, below which it is constant."""


class Standardised(TransformerMixin, BaseEstimator):
    """Features whose columns are centred and divided by their standard deviations.

    Constant columns become zero. A subclass computes the columns in `_columns`.
    """

    needs_all_columns = True
    """Also those that are constant: the place of a letter counts."""

    def _standardise(self, columns: np.ndarray) -> None:
        self.mean_ = columns.mean(axis=0)
        deviation = columns.std(axis=0)
        varies = deviation > SMALLEST_DEVIATION * np.abs(columns).max(axis=0)
        self.scale_ = np.where(varies, deviation, np.inf)
        self._n_features_out = len(self.mean_)

    def transform(self, X) -> np.ndarray:
        """Return the standardised columns (n, m) of rows (n, longest length).

        Raises
        ------
        ValueError
            If a row is no sequence of letters.
        """
        check_is_fitted(self)
        return (self._columns(sequences_in(X)) - self.mean_) / self.scale_


class SequenceScores(Standardised):
    """Scores of sequences of letters under one hidden Markov model, or one of each class.

    Parameters
    ----------
    kind, level, posterior, parametrization, divide_by_length
        As of `workflow_lib.embeddings.score_space.ScoreSpace`.
    class_models : bool, default=True
        Whether a model is fitted to the sequences of each class, the last class first; else one to
        all.
    n_states, n_symbols, prior, n_init, random_state
        As of `workflow_lib.generative.hidden_markov.HiddenMarkovModel`.

    Attributes
    ----------
    models_ : list of dict
        The fitted models as trees of arrays.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).integers(0, 4, (20, 9))
    >>> scores = SequenceScores(n_states=2, n_symbols=4)
    >>> scores.fit_transform(rows, np.arange(20) % 2).shape
    (20, 32)
    """

    def __init__(
        self,
        kind: str = "free_energy",
        level: str = "state",
        posterior: str = "exact",
        parametrization: str = "softmax",
        divide_by_length: bool | None = None,
        class_models: bool = True,
        n_states: int = 4,
        n_symbols: int | None = None,
        prior: float = 0.5,
        n_init: int = 3,
        random_state=0,
    ) -> None:
        self.kind, self.level, self.posterior = kind, level, posterior
        self.parametrization, self.divide_by_length = parametrization, divide_by_length
        self.class_models, self.n_states, self.n_symbols = class_models, n_states, n_symbols
        self.prior, self.n_init, self.random_state = prior, n_init, random_state

    @property
    def needs_classes(self) -> bool:
        """Whether `fit` takes the classes of the rows."""
        return self.class_models

    def fit(self, X, y=None) -> SequenceScores:
        """Fit the models to rows `X` (n, longest length) of classes `y` (n,).

        Raises
        ------
        ValueError
            If a row is no sequence of letters, or there are models of classes and no two classes.
        """
        sequences = sequences_in(X)
        subsets = [np.arange(len(sequences))]
        if self.class_models:
            classes = np.unique(y)
            if y is None or len(classes) < 2:
                raise ValueError("Models of classes need rows of two classes.")
            subsets = [np.flatnonzero(np.asarray(y) == label) for label in classes[::-1]]
        self.models_ = fitted_models(self, sequences, subsets)
        self._standardise(self._columns(sequences))
        return self

    def _columns(self, sequences: list[np.ndarray]) -> np.ndarray:
        space = ScoreSpace(
            [model_from_tree(tree) for tree in self.models_],
            self.kind,
            self.level,
            self.posterior,
            self.parametrization,
            self.divide_by_length,
        )
        return space.transform(sequences)


class WordShares(Standardised):
    """Shares of the words of some successive letters among those of a sequence: its spectrum.

    Words with an unknown letter are not counted.

    Parameters
    ----------
    word_length : int, default=3
        Letters of a word k.
    n_symbols : int or None, default=None
        Number of letters V; there are V to the power of k columns. None: as the dataset says.
    """

    def __init__(self, word_length: int = 3, n_symbols: int | None = None) -> None:
        self.word_length, self.n_symbols = word_length, n_symbols

    def fit(self, X, y=None) -> WordShares:
        """Standardise the columns of rows `X` (n, longest length); `y` is ignored."""
        self._standardise(self._columns(sequences_in(X)))
        return self

    def _columns(self, sequences: list[np.ndarray]) -> np.ndarray:
        k, n_words = self.word_length, self.n_symbols**self.word_length
        weights = self.n_symbols ** np.arange(k)[::-1]
        shares = np.zeros((len(sequences), n_words))
        for row, sequence in zip(shares, sequences):
            if (sequence >= self.n_symbols).any():
                raise ValueError(f"A letter is not below n_symbols={self.n_symbols}.")
            if len(sequence) < k:
                continue
            windows = np.lib.stride_tricks.sliding_window_view(sequence, k)
            known = windows[(windows >= 0).all(axis=1)]
            row += np.bincount(known @ weights, minlength=n_words) / max(len(known), 1)
        return shares
