"""Probabilities of classes, and sets of classes that hold the true one with a given level.

Scores of the classes become probabilities by a softmax with one inverse temperature, which
maximises the likelihood of test rows, unseen by the method (Guo et al., ICML 2017). A set holds
the classes whose probability is high enough: 1 - p of the true class is the conformal score, and
its quantile the limit. Of all sets of a level these have the fewest classes on average if the
probabilities are right (Sadinle, Lei and Wasserman, Journal of the American Statistical Association
114, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from workflow_lib.experiments.conformal import half_widths, row_weights

LOG_TEMPERATURES = (-8.0, 8.0)
"""Range of the logarithm of the inverse temperature, in units of the spread of the scores."""


@dataclass(frozen=True)
class ClassSets:
    """Calibrated probabilities and sets.

    Attributes
    ----------
    level : float
        Share of new rows whose set should hold their class.
    inverse_temperature : float
    limit : float
        Largest 1 - p of a class in the set; infinite where there are too few rows for a set.
    """

    level: float
    inverse_temperature: float
    limit: float

    @classmethod
    def fit(
        cls, scores: np.ndarray, classes: np.ndarray, rows: np.ndarray, level: float
    ) -> ClassSets:
        """Return sets calibrated on test rows.

        Parameters
        ----------
        scores : array (m, K)
            Of the classes; higher is better.
        classes : int array (m,)
            The true classes.
        rows : int array (m,)
            Numbers of the rows, of which each counts once.
        level : float
        """
        if not len(rows):
            return cls(level, 1.0, math.inf)
        weights = row_weights(rows)
        own = np.arange(len(classes)), classes
        unit = float(np.std(scores - scores.mean(axis=1, keepdims=True))) or 1.0

        def loss(logarithm: float) -> float:
            return -float(weights @ log_softmax(math.exp(logarithm) / unit * scores, axis=1)[own])

        optimum = minimize_scalar(loss, bounds=LOG_TEMPERATURES, method="bounded")
        inverse_temperature = math.exp(float(optimum.x)) / unit
        distances = 1.0 - softmax(inverse_temperature * scores, axis=1)[own]
        limit = half_widths(distances[:, None], level, weights)[0]
        return cls(level, inverse_temperature, float(limit))

    @classmethod
    def from_tree(cls, tree: Mapping) -> ClassSets:
        """Return the sets that `tree` stores."""
        names = ("level", "inverse_temperature", "limit")
        return cls(*(float(tree[name]) for name in names))

    def tree(self) -> dict:
        """Return the attributes as plain numbers."""
        return dict(vars(self))

    @property
    def has_sets(self) -> bool:
        """Whether there were enough rows to make sets."""
        return math.isfinite(self.limit)

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities (m, K) of the classes with these scores."""
        return softmax(self.inverse_temperature * scores, axis=1)

    def members(self, scores: np.ndarray) -> np.ndarray:
        """Return which classes are in the set of each row, as a bool array (m, K).

        The class with the highest score always belongs to it, so that no set is empty.
        """
        chosen = 1.0 - self.probabilities(scores) <= self.limit
        chosen[np.arange(len(scores)), scores.argmax(axis=1)] = True
        return chosen

    def held(self, scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return 1 where the class lies in its set, 0 where not, (m,); NaN without sets."""
        if not self.has_sets:
            return np.full(len(scores), np.nan)
        return self.members(scores)[np.arange(len(classes)), classes].astype(float)
