"""Candidate outputs of each training row, ranked by their loss (Blaschko 2014, section 3.2).

An item is a pair of a training row and a candidate output. Its score is <w, phi(x_i, y_c)> with the
joint kernel k(x, x') l(y, y'), so that a solution is a matrix of dual coefficients C of rows and
outputs, and the scores of all outputs for an input are k(x)' C L, with the Gram matrix L of the
outputs. The joint Gram matrix of the items is never formed.

Of classes all are candidates of every row, L is the identity, and losses are 0-1 or those of the
dataset. Of numeric outputs those of the training rows are candidates. A row has only some of them,
its own included, evenly spaced in the order of their distance from its own output: near ones and
far ones. The loss is the squared distance in units of the median squared distance of the training
outputs, and L the rbf kernel of the outputs. For a new input all training outputs compete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import Ranking, RankingMachine
from workflow_lib.solvers.output_kernels import median_squared_distance, output_gram


@dataclass(frozen=True)
class Candidates:
    """The candidates of n training rows among o outputs.

    Attributes
    ----------
    places : int array (n, m)
        Output of each candidate, different ones in a row.
    losses : array (n, m)
    n_outputs : int
        o.
    is_numeric : bool, default=False
        Whether outputs are numbers, not classes.
    """

    places: np.ndarray
    losses: np.ndarray
    n_outputs: int
    is_numeric: bool = False

    @classmethod
    def of_classes(cls, labels: np.ndarray, losses: np.ndarray) -> Candidates:
        """Return all classes as candidates of rows of classes `labels` (n,).

        Losses (K, K), of a true class and a predicted one, are divided by the largest.
        """
        n_classes = len(losses)
        places = np.tile(np.arange(n_classes), (len(labels), 1))
        return cls(places, losses[labels] / max(losses.max(), 1e-300), n_classes)

    @classmethod
    def of_outputs(cls, outputs: np.ndarray, most: int) -> Candidates:
        """Return at most so many of the training outputs (n, d) as candidates of each row."""
        from scipy.spatial.distance import cdist

        distances = cdist(outputs, outputs, "sqeuclidean") / median_squared_distance(outputs)
        n = len(outputs)
        # Its own output is first, before copies of it.
        order = np.lexsort((np.arange(n) != np.arange(n)[:, None], distances), axis=1)
        chosen = np.linspace(0, n - 1, min(most, n)).round().astype(int)
        places = order[:, chosen]
        return cls(places, np.take_along_axis(distances, places, axis=1), n, True)

    def graph(
        self, preferences: str, n_preferred: int, across_rows: bool
    ) -> PreferenceGraph | None:
        """Return the preferences between candidates of each row, or between those of all rows.

        None where all numeric outputs are equal, which are then predicted whatever their order.
        """
        if self.is_numeric and not self.losses.any():
            return None
        groups = np.repeat(np.arange(len(self.places)), self.places.shape[1])
        return PreferenceGraph(
            self.losses.ravel(), None if across_rows else groups, preferences, n_preferred
        )


def output_kernel(outputs: np.ndarray, width: float) -> np.ndarray:
    """Return the rbf Gram matrix (n, n) of outputs (n, d), their median squared distance as unit.

    exp(-||y - y'||^2 / (width^2 s)) with the median squared distance s.
    """
    gamma = 1.0 / (width**2 * median_squared_distance(outputs))
    return output_gram(outputs, None, "rbf", gamma)


def ranked(
    K: np.ndarray,
    L: np.ndarray | None,
    candidates: Candidates,
    graph: PreferenceGraph | None,
    rescaling: str,
    costs: Sequence[float],
    tolerance: float,
) -> Iterator[tuple[np.ndarray, Ranking]]:
    """Yield the dual coefficients C L (n, o) and the solution of each cost.

    Parameters
    ----------
    K : array (n, n)
        Gram matrix of the training rows.
    L : array (o, o) or None
        Gram matrix of the outputs; None for the identity.
    candidates, graph, rescaling
    costs : sequence of float
        Costs of the mean hinge of a row, so that C = cost n; they share what they learn, best in
        ascending order.
    tolerance : float
        As of `RankingMachine.solve`.
    """
    n = len(K)
    rows = np.arange(n)[:, None]

    def dual(coefficients: np.ndarray) -> np.ndarray:
        of_outputs = np.zeros((n, candidates.n_outputs))
        of_outputs[rows, candidates.places] = coefficients.reshape(candidates.places.shape)
        return of_outputs if L is None else of_outputs @ L

    def product(coefficients: np.ndarray) -> np.ndarray:
        return (K @ dual(coefficients))[rows, candidates.places].ravel()

    if graph is None:
        none = np.zeros(candidates.places.size)
        yield from [(dual(none), Ranking(none, 0.0, 0.0, 0))] * len(costs)
        return
    machine = RankingMachine(graph, product, rescaling)
    for cost in costs:
        solution = machine.solve(cost * n, tolerance)
        yield dual(solution.coefficients), solution
