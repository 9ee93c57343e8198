"""The length of a sequence as its only feature: what scores that grow with length may give away."""

from __future__ import annotations

import numpy as np

from workflow_lib.embeddings.sequence_scores import Standardised
from workflow_lib.features.item_rows import sequences_in


class SequenceLength(Standardised):
    """The standardised number of letters of a sequence.

    Parameters
    ----------
    log : bool, default=False
        Whether the length is replaced by its logarithm, for lengths over several orders.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 2.0], [3.0, -2.0, -2.0]])
    >>> SequenceLength().fit_transform(rows)
    array([[ 1.],
           [-1.]])
    """

    def __init__(self, log: bool = False) -> None:
        self.log = log

    def fit(self, X, y=None) -> SequenceLength:
        """Standardise the lengths of rows `X` (n, longest length); `y` is ignored."""
        self._standardise(self._columns(sequences_in(X)))
        return self

    def _columns(self, sequences: list[np.ndarray]) -> np.ndarray:
        lengths = np.array([[len(sequence)] for sequence in sequences], dtype=np.float64)
        return np.log(lengths) if self.log else lengths
