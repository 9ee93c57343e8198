"""Fitted support vector machines, used without scikit-learn."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SupportVectorMachines:
    """One fitted machine for every class, against the rest."""

    dual: np.ndarray
    """Array (l, K): coefficients of the l training rows, zero for those that are not support
    vectors."""

    intercept: np.ndarray
    """Array (K,)."""

    known: np.ndarray
    """Bool array (K,): which classes have a training row."""

    def scores(self, K_others: np.ndarray) -> np.ndarray:
        """Return the decision functions (m, K) of rows, from their Gram matrix (m, l).

        That of a class without a training row is -1, the wrong side of the margin, or the lowest
        of the row.
        """
        scores = K_others @ self.dual + self.intercept
        lowest = scores[:, self.known].min(axis=1, keepdims=True)
        return np.where(self.known, scores, np.minimum(lowest, -1.0))
