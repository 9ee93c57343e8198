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

REGRESSORS = ("perceptron",)
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the penalty on the squared weights, and fit the perceptron to feature vectors.

    The scores are probabilities; the grid point is that with the least `squared_error` of those
    of held-out rows.
    """

    grid: Mapping[str, Sequence[float]]
    """List ``l2_penalty``."""

    one_example: Mapping[str, float]
    """Its value with one example per class; the first of the list where it is missing."""

    seed: int
    """Of the first weights."""

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
    """The weights of a perceptron, as `perceptron_tree` names them."""

    ARRAYS = ("known", "hidden_weights", "hidden_intercept", "output_weights", "output_intercept")

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


def perceptron_tree(perceptron, n_classes: int) -> dict[str, np.ndarray]:
    """Return a fitted perceptron of scikit-learn as a tree of arrays.

    Returns a dict: ``known`` (K,), which classes have a training row; ``hidden_weights`` (q, u) and
    ``hidden_intercept`` (u,); ``output_weights`` (u, k) and ``output_intercept`` (k,), where k is
    the number of known classes, and 1 for two of them: the log odds of the second.

    Parameters
    ----------
    perceptron : MLPClassifier
        With one hidden layer of rectified units, fitted to classes that are numbers from 0.
    n_classes : int
        K, including classes without a training row.
    """
    (hidden, output), intercepts = perceptron.coefs_, perceptron.intercepts_
    return {
        "known": np.isin(np.arange(n_classes), perceptron.classes_),
        "hidden_weights": hidden,
        "hidden_intercept": intercepts[0],
        "output_weights": output,
        "output_intercept": intercepts[1],
    }


def perceptron_probabilities(tree: Mapping[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return the class probabilities (m, K) of rows `X` (m, q), zero for classes without a row.

    The steps are those of scikit-learn, so that the numbers are the same to the last bit.

    Parameters
    ----------
    tree : mapping
        As from `perceptron_tree`.
    X : array (m, q)
        Prepared inputs, none of them missing.
    """
    known = tree["known"]
    probabilities = np.zeros((len(X), len(known)))
    if known.sum() == 1:
        probabilities[:, known] = 1.0
        return probabilities
    hidden = np.maximum(X @ tree["hidden_weights"] + tree["hidden_intercept"], 0.0)
    decisions = hidden @ tree["output_weights"] + tree["output_intercept"]
    if known.sum() == 2:
        from scipy.special import expit

        second = expit(decisions[:, 0])
        probabilities[:, known] = np.column_stack([1 - second, second])
        return probabilities
    shares = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    probabilities[:, known] = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
