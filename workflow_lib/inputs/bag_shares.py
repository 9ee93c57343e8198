"""Shares of the words of bags as features, standardised over the training rows.

Both take rows of counts (`workflow_lib.items.kinds.counts`), in which the words of each part of an
item may be counted separately.
"""

import numpy as np

from workflow_lib.inputs.standardised import Standardised
from workflow_lib.items.kinds.counts import pack, unpack


class WordHistogram(Standardised):
    """Shares of the words of whole items; an empty bag has zeros.

    Rows are counts (n, parts times W).

    Parameters
    ----------
    n_words : int or None, default=None
        Number of words W. None: as the dataset says.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[1, 0, 2, 1], [0, 4, 0, 0], [1, 1, 1, 1]])
    >>> WordHistogram(n_words=2).fit_transform(counts).shape
    (3, 2)
    """

    def __init__(self, n_words: int | None = None) -> None:
        self.n_words = n_words

    def columns(self, rows):
        counts = unpack(pack(rows, self.n_words))
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)


class WordPyramid(WordHistogram):
    """Shares of the words of whole items and of their parts: a spatial pyramid of two levels.

    The kernel of a pyramid with the finest level 1 is half that of the whole image plus half that
    of its cells (Lazebnik, Schmid & Ponce 2006, eq. 3). So the standardised columns of all parts
    are divided by the root of the number of parts: both levels have the same total variance. There
    are (1 + parts) times W columns.

    Parameters
    ----------
    n_words : int or None, default=None
        Number of words W. None: as the dataset says.
    """

    def transform(self, X) -> np.ndarray:
        """As of the base class, with the columns of parts divided."""
        columns = super().transform(X)
        columns[:, self.n_words :] /= np.sqrt(columns.shape[1] / self.n_words - 1.0)
        return columns

    def columns(self, rows):
        whole = super().columns(rows)
        rows = np.asarray(rows, dtype=np.float64)
        if rows.shape[1] == whole.shape[1]:
            raise ValueError("A pyramid needs counts of the words of parts of an item.")
        return np.hstack([whole, rows / np.maximum(rows.sum(axis=1, keepdims=True), 1.0)])
