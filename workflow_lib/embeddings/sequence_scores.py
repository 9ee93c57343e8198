"""Shares of words of letters as features: the spectrum (Leslie, Eskin & Noble 2002).

The features take the rows of `workflow_lib.features.item_rows`, and standardise each column over
the training rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.features.item_rows import sequences_in

SMALLEST_DEVIATION = 1e-10
"""Standard deviation of a column, relative to its largest value, below which it is constant."""


MOST_WORDS = 10_000
"""Columns of `WordShares` above which they would not fit into memory for a few thousand rows."""


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


class WordShares(Standardised):
    """Shares of the words of some successive letters among those of a sequence: its spectrum.

    Words with an unknown letter are not counted.

    Parameters
    ----------
    word_length : int, default=3
        Letters of a word k.
    n_symbols : int or None, default=None
        Number of letters V; there are V to the power of k columns, at most `MOST_WORDS`. None: as
        the dataset says.
    """

    def __init__(self, word_length: int = 3, n_symbols: int | None = None) -> None:
        self.word_length, self.n_symbols = word_length, n_symbols

    def fit(self, X, y=None) -> WordShares:
        """Standardise the columns of rows `X` (n, longest length); `y` is ignored.

        Raises
        ------
        ValueError
            If a row is no sequence of such letters, or there are too many words.
        """
        n_words = self.n_symbols**self.word_length
        if n_words > MOST_WORDS:
            raise ValueError(
                f"There are {n_words} words of {self.word_length} of {self.n_symbols} letters; at "
                f"most {MOST_WORDS} can be columns."
            )
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
