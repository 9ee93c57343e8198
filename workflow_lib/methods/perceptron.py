"""A perceptron with one hidden layer that classifies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from workflow_lib.fitting.class_selection import squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.point_selection import Point, select_point
from workflow_lib.methods.contract import base
from workflow_lib.solvers.stored.perceptron import perceptron_probabilities, perceptron_tree

REGRESSORS = ("perceptron",)
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the penalty on the squared weights, and fit the perceptron to feature vectors.

    The scores are probabilities; the grid point is that with the least `squared_error` of those
    of held-out rows.

    Attributes
    ----------
    grid : mapping
        List ``l2_penalty``.
    one_example : mapping
        Its value with one example per class; the first of the list where it is missing.
    seed : int
        Of the first weights.
    """

    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    seed: int

    def select(self, data: FitData) -> base.Selection:
        error_of = partial(squared_error, labels=data.labels)
        tried = partial(self._tried, data)
        return select_point(data, self.grid, self.one_example, tried, error_of)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        penalty = selection.entries["l2_penalty"]
        weights = self._weights(data, data.vectors[0], data.labels, penalty)
        return Fitted(weights, data.directions)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted(entries, data.directions)

    def _tried(self, data: FitData, grid: Mapping[str, Sequence[float]]) -> Iterator[Point]:
        """Yield each grid point with the class scores (n, K) of the training rows held out."""
        rows = list(data.inputs.fold_rows())
        for penalty in grid["l2_penalty"]:
            scores = np.empty((data.size, data.n_classes))
            for fold, (X, X_heldout) in enumerate(rows):
                weights = self._weights(data, X, data.labels[data.folds != fold], penalty)
                scores[data.folds == fold] = perceptron_probabilities(weights, X_heldout)
            yield {"l2_penalty": penalty}, scores

    def _weights(
        self, data: FitData, X: np.ndarray, labels: np.ndarray, penalty: float
    ) -> dict[str, np.ndarray]:
        from workflow_lib.solvers.classifiers import fit_perceptron

        return perceptron_tree(fit_perceptron(X, labels, penalty, self.seed), data.n_classes)


class Fitted(base.Fitted):
    """The weights of a perceptron, as `workflow_lib.solvers.stored.perceptron` names them."""

    ARRAYS = (
        *("known", "hidden_weights", "hidden_intercept"),
        *("output_weights", "output_intercept"),
    )

    def __init__(
        self, weights: Mapping[str, np.ndarray], directions: Callable[[], Mapping]
    ) -> None:
        self._weights = {name: weights[name] for name in self.ARRAYS}
        self._directions = directions

    def predict(self, rows):
        return perceptron_probabilities(self._weights, rows.vectors(self._directions))

    def entries(self):
        # Many steps of a search that is stopped early: on another processor a second fit would
        # end elsewhere.
        return dict(self._weights)

    def to_arrays(self):
        return self._weights | self._directions()

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        return cls(arrays, lambda: arrays)
