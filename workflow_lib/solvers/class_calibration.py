"""Probabilities of classes from scores of any unit, and convex combinations of them.

Scores become probabilities by a softmax with one inverse temperature b, which maximises the
likelihood of rows that the scores did not learn from (Guo et al., ICML 2017), and of one more row
that has each class with the same weight and the scores of each row in turn: without it b would be
infinite, and every class certain, where every row is right. Scores that are themselves shares (of
trees, say) have their logarithms in its place, p^b / sum p^b, where that is more likely: a softmax
of shares cannot be as certain as they are.

A linear opinion pool of several methods has the weights with the least log loss on such rows, by
the EM algorithm for the weights of a mixture whose components are known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

LOG_TEMPERATURES = (-8.0, 8.0)
"""Range of the logarithm of the inverse temperature, in units of the spread of the scores."""

MIN_SHARE = 1e-3
"""Smaller scores count as this much where logarithms are taken: no tree of a few hundred that votes
for a class does not make it impossible."""

MIN_PROBABILITY = 1e-12
"""Smallest probability in a log loss."""

N_STEPS = 200
"""Steps of EM; the loss then changes by rounding, or by weights that do not matter."""

MIN_WEIGHT = 1e-3
"""Weight under which a method is left out: EM reaches zero never."""


@dataclass(frozen=True)
class Calibration:
    """How scores become probabilities."""

    inverse_temperature: float = 1.0

    of_logarithms: bool = False
    """Whether logarithms of the scores take their place."""

    @classmethod
    def fit(
        cls, scores: np.ndarray, classes: np.ndarray, weights: np.ndarray | None = None
    ) -> Calibration:
        """Return the most likely calibration of scores (m, K), higher is better.

        Parameters
        ----------
        scores : array (m, K)
            Of rows that the method did not learn from. Logarithms compete where none is negative.
        classes : int array (m,)
            The true classes.
        weights : array (m,) or None, default=None
            Of the rows; None: equal.
        """
        if not len(scores):
            return cls()
        weights = np.ones(len(scores)) if weights is None else weights
        kinds = (False, True) if scores.min() >= 0.0 else (False,)
        fits = [_most_likely(_units(scores, kind), classes, weights) for kind in kinds]
        best = min(range(len(fits)), key=lambda kind: fits[kind][0])
        return cls(fits[best][1], kinds[best])

    @classmethod
    def from_tree(cls, tree: Mapping) -> Calibration:
        """Return the calibration that `tree` stores."""
        return cls(float(tree["inverse_temperature"]), bool(tree.get("of_logarithms", False)))

    def log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithms (m, K) of the probabilities of the classes with these scores."""
        return log_softmax(self.inverse_temperature * _units(scores, self.of_logarithms), axis=1)


def pool_weights(probabilities: Sequence[np.ndarray], classes: np.ndarray) -> np.ndarray:
    """Return the weights (k,) of k methods whose pooled probabilities have the least log loss.

    They are not negative and sum to one; methods that predict the same have equal weights, and
    those with less than `MIN_WEIGHT` none.

    Parameters
    ----------
    probabilities : sequence of k arrays (n, K)
        Of rows that no method learned from.
    classes : int array (n,)
        The true classes.
    """
    own = np.column_stack([each[np.arange(len(classes)), classes] for each in probabilities])
    own = np.maximum(own, MIN_PROBABILITY)
    weights = np.full(own.shape[1], 1.0 / own.shape[1])
    for _ in range(N_STEPS):
        parts = weights * own
        weights = (parts / parts.sum(axis=1, keepdims=True)).mean(axis=0)
    weights[weights < MIN_WEIGHT] = 0.0
    return weights / weights.sum()


def _units(scores: np.ndarray, of_logarithms: bool) -> np.ndarray:
    return np.log(np.maximum(scores, MIN_SHARE)) if of_logarithms else scores


def _most_likely(
    scores: np.ndarray, classes: np.ndarray, weights: np.ndarray
) -> tuple[float, float]:
    """Return the least loss and its inverse temperature."""
    unit = float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0
    own = np.arange(len(classes)), classes

    def loss(logarithm: float) -> float:
        found = log_softmax(math.exp(logarithm) / unit * scores, axis=1)
        return -float(weights @ found[own] + found.mean())

    optimum = minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded")
    return float(optimum.fun), math.exp(float(optimum.x)) / unit
