"""Shares of words of letters as features: the spectrum (Leslie, Eskin & Noble 2002)."""

import numpy as np

from workflow_lib.inputs.standardised import Standardised
from workflow_lib.items.kinds.letters import sequences_in

MAX_WORDS = 10_000
"""Columns of `WordShares` above which they would not fit into memory for a few thousand rows."""


class WordShares(Standardised):
    """Shares of the words of some successive letters among those of a sequence: its spectrum.

    Words with an unknown letter are not counted. Rows are letters (n, longest length) of
    `workflow_lib.items.kinds.letters`.

    Parameters
    ----------
    word_length : int, default=3
        Letters of a word k.
    n_symbols : int or None, default=None
        Number of letters V; there are V to the power of k columns, at most `MAX_WORDS`. None: as
        the dataset says.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, -2.0]])
    >>> WordShares(word_length=2, n_symbols=2).fit_transform(rows).shape
    (2, 4)
    """

    def __init__(self, word_length: int = 3, n_symbols: int | None = None) -> None:
        self.word_length, self.n_symbols = word_length, n_symbols

    def columns(self, rows):
        k, n_words = self.word_length, self.n_symbols**self.word_length
        if n_words > MAX_WORDS:
            raise ValueError(
                f"There are {n_words} words of {k} of {self.n_symbols} letters; at most "
                f"{MAX_WORDS} can be columns."
            )
        weights = self.n_symbols ** np.arange(k)[::-1]
        sequences = sequences_in(rows)
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
