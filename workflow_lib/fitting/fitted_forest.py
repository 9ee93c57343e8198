"""A fitted forest of scikit-learn, stored as plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from workflow_lib.fitting.fitted import Fitted
from workflow_lib.solvers.stored.forest import StoredForest, forest_tree


class FittedForest(Fitted):
    """A forest that predicts outputs, or probabilities of classes.

    Parameters
    ----------
    forest : forest of scikit-learn, or StoredForest
    directions : function
        Returns `FitData.directions`; called where they are needed, because they cost a
        decomposition.
    known : bool array (K,) or None, default=None
        Which classes have a training row, each with a column of the predictions; the probability
        of the others is zero. None for outputs.
    """

    is_faster = True

    def __init__(
        self,
        forest: object,
        directions: Callable[[], Mapping[str, np.ndarray]],
        known: np.ndarray | None = None,
    ) -> None:
        self._forest, self._directions, self._known = forest, directions, known

    def predict(self, rows):
        X = rows.vectors(self._directions)
        if isinstance(self._forest, StoredForest):
            predicted = self._forest.predict(X)
        elif self._known is None:
            from workflow_lib.solvers.forest import forest_predictions

            predicted = forest_predictions(self._forest, X)
        else:
            predicted = self._forest.predict_proba(X)
        if self._known is None:
            return predicted
        scores = np.zeros((len(X), len(self._known)))
        scores[:, self._known] = predicted
        return scores

    def to_arrays(self):
        arrays = {"forest": forest_tree(self._forest)} | self._directions()
        return arrays if self._known is None else arrays | {"known": self._known}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedForest:
        return cls(StoredForest(arrays["forest"]), lambda: arrays, arrays.get("known"))
