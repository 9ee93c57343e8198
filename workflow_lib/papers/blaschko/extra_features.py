"""The numbers beside each graph of a dataset as features."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class NumbersBeside(TransformerMixin, BaseEstimator):
    """The last columns of rows, which hold numbers beside each graph, such as a fingerprint.

    Rows are graphs of `workflow_lib.items.kinds.graphs`.

    Parameters
    ----------
    n_beside : int or None, default=None
        How many numbers b there are. None: as the dataset says.

    Examples
    --------
    >>> import numpy as np
    >>> NumbersBeside(n_beside=2).fit_transform(np.array([[1.0, 0.0, 6.0, 0.0, 1.0]])).tolist()
    [[0.0, 1.0]]
    """

    safe_to_load = True

    needs_all_columns = True
    """Also inputs that are constant: the position of a number in a row matters."""

    def __init__(self, n_beside: int | None = None) -> None:
        self.n_beside = n_beside

    def fit(self, X, y=None) -> NumbersBeside:
        """Check rows `X` (n, q); `y` is ignored.

        Raises ValueError if there are no numbers beside the graphs.
        """
        if not self.n_beside or self.n_beside > np.shape(X)[1]:
            raise ValueError(
                f"n_beside={self.n_beside}: these graphs have no such numbers beside them."
            )
        self._n_features_out = self.n_beside
        return self

    def transform(self, X) -> np.ndarray:
        """Return the numbers (n, b) of rows `X` (n, q)."""
        return np.asarray(X, dtype=np.float64)[:, -self.n_beside :]
