"""What a kind of generative model contributes to score spaces.

A kind is a module of this package, or of the folder ``score_spaces`` of a paper. A model names its
kind by the attribute ``score_terms``. Nothing else knows the kind. The module holds two literals, a
class and four functions:

``MODEL``
    the class of the models, with its module;
``ITEMS``
    the kinds of items that they take (`workflow_lib.items.kinds`);
``Terms``
    a class with the methods of `ScoreTerms`;
``arguments_of``
    returns the arguments of the class that follow from the items of a dataset, by name;
``fit_models``
    fits models to items, each to a subset of their numbers;
``to_arrays``, ``from_arrays``
    turn a fitted model into arrays by name and back.
"""

from abc import ABC, abstractmethod

import numpy as np

POSTERIORS = ("exact", "mean_field")
LEVELS = ("position", "state", "symbol", "term")
PARAMETRIZATIONS = ("free", "softmax")


class ScoreTerms(ABC):
    """The terms of one fitted model; X is what the model takes, n items.

    Blocks are arrays (n, ...) by their names.
    """

    def __init__(self, model) -> None:
        self.model = model

    @abstractmethod
    def lengths(self, X) -> np.ndarray:
        """Return the length (n,) of every item: steps of a sequence, or words of a text."""

    @abstractmethod
    def log_likelihoods(self, X, posterior: str) -> np.ndarray:
        """Return -F (n,): log p(x), or its lower bound where the posterior is not exact."""

    @abstractmethod
    def free_energy(self, X, level: str, posterior: str) -> dict[str, np.ndarray]:
        """Return the terms of F, whose sum over all columns is -log p(x) or its upper bound."""

    @abstractmethod
    def expected_counts(self, X, level: str, posterior: str) -> dict[str, np.ndarray]:
        """Return the expected sufficient statistics."""

    @abstractmethod
    def fisher(self, X, parametrization: str, posterior: str) -> dict[str, np.ndarray]:
        """Return the derivatives of -F in the parameters."""
