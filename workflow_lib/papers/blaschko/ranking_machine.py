"""Structured output ranking by cutting planes with one slack (Blaschko 2014, section 3.2).

Of items with feature vectors phi_i and scores s_i = <w, phi_i>, and the edges E of a preference
graph, what is minimised is

    P(w) = ||w||^2 / 2 + C / |E| sum_(i, j) in E max(hinge_ij, 0),

with the hinges of `workflow_lib.papers.blaschko.preference_constraints`: (3.10) with lambda = 1 / C
and the mean over edges, so that C means the same for every number of items. The sum of hinges is
the largest of the planes delta_t - <w, sum_i alpha_ti phi_i>, one for each subset of the edges, of
which those are added one by one that are highest at the current w (Joachims 2006). With planes
g_t = sum_i alpha_ti phi_i / |E| and b_t = delta_t / |E| the dual problem of the planes so far is

    max_a D(a) = b'a - ||sum_t a_t g_t||^2 / 2,    a >= 0,  sum_t a_t <= C,    w = sum_t a_t g_t.

D(a) is at most the least P(w), so that P(w) - D(a), the duality gap, is at least the distance of
P(w) from it. The search stops where the gap is a small share of P(w).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from workflow_lib.core.convergence import warn_at_limit
from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph

TOLERANCE = 1e-3
"""Duality gap at which the search stops, as a share of the objective. With 2 and 10 images of each
digit the accuracy is then within .1 points on average of that with a gap of 1e-4, and within .4."""

MAX_PLANES = 500
"""Planes after which the search stops with the gap it has."""

SHARE_OF_GAP = 0.1
"""Gap of the problem of the planes so far, as a share of that at which the search stops."""

MAX_STEPS = 10_000
"""Steps of the problem of the planes so far."""

MIN_CURVATURE = 1e-12
"""Squared distance of two planes, relative to their squared lengths, that may be rounding."""


class Ranking(NamedTuple):
    """A solution: w = sum_i coefficients_i phi_i."""

    coefficients: np.ndarray
    """Array (n,): of the items."""

    objective: float
    """P(w)."""

    gap: float
    """Duality gap P(w) - D(a), not relative."""

    n_planes: int
    """Planes of which the solution is made or which were tried."""

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / self.objective if self.objective > 0 else 0.0


class RankingMachine:
    """The ranking of items for one or several costs, which share their planes.

    Parameters
    ----------
    graph : PreferenceGraph
        Of the losses of the n items, in their groups.
    product : function
        Returns K c of coefficients c (n,), with K_ij = <phi_i, phi_j>. Of a Gram matrix it is
        ``K.__matmul__``, of features ``lambda c: features @ (c @ features)``.
    rescaling : {"margin", "slack"}, default="slack"
        Slack rescaling was the better one in the experiments of section 3.2.4.
    n_threads : int, default=1
        Of `PreferenceGraph.most_violated`; the solution does not depend on it.

    Examples
    --------
    >>> features = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> graph = PreferenceGraph([3.0, 2.0, 1.0, 0.0])
    >>> machine = RankingMachine(graph, lambda c: features @ (c @ features), "margin")
    >>> weights = machine.solve(cost=10.0).coefficients @ features
    >>> bool(weights[0] > 0)
    True
    """

    def __init__(
        self,
        graph: PreferenceGraph,
        product: Callable[[np.ndarray], np.ndarray],
        rescaling: str = "slack",
        n_threads: int = 1,
    ) -> None:
        self._graph, self._product, self._rescaling = graph, product, rescaling
        self._n_threads = n_threads
        # The plane of no edges is 0; with it the coefficients of the planes sum to C.
        n = graph.n_items
        self._planes, self._products = np.zeros((1, n)), np.zeros((1, n))
        self._offsets, self._gram = np.zeros(1), np.zeros((1, 1))
        self._shares = np.ones(1)

    def solve(
        self, cost: float, tolerance: float = TOLERANCE, most_planes: int = MAX_PLANES
    ) -> Ranking:
        """Return the ranking of one cost C.

        Raises UserError if the cost or an inner product of features is not a finite number.

        Parameters
        ----------
        cost : float
            C, in units of one over the squared length of features. Costs in ascending order
            need the fewest planes together.
        tolerance : float, default=1e-3
            Duality gap at which the search stops, as a share of the objective.
        most_planes : int, default=500
            New planes after which it stops with a larger gap, and a ConvergenceWarning.
        """
        if not (np.isfinite(cost) and cost > 0):
            raise UserError("cost of a ranking", f"{cost:g}", "a finite number above 0")
        best, best_objective = self._shares, np.inf
        for n_new in range(most_planes + 1):
            scores = cost * (self._shares @ self._products)
            constraint = self._graph.most_violated(scores, self._rescaling, self._n_threads)
            squared = cost**2 * float(self._shares @ self._gram @ self._shares)
            hinges = max(constraint.value(scores), 0.0) / self._graph.n_edges
            objective = squared / 2.0 + cost * hinges
            bound = cost * float(self._offsets @ self._shares) - squared / 2.0
            if objective < best_objective:
                best, best_objective = self._shares, objective
            gap = best_objective - bound
            if gap <= tolerance * best_objective:
                break
            if n_new == most_planes:
                limit = f"{most_planes} planes"
                share = gap / best_objective
                warn_at_limit(f"ranking of cost {cost:.3g}", share, tolerance, limit)
                break
            self._add(constraint.coefficients, constraint.offset)
            self._improve(cost, SHARE_OF_GAP * tolerance * best_objective)
        coefficients = cost * (best @ self._planes[: len(best)])
        return Ranking(coefficients, best_objective, max(gap, 0.0), len(self._planes) - 1)

    def _add(self, coefficients: np.ndarray, offset: float) -> None:
        plane = coefficients / self._graph.n_edges
        product = self._product(plane)
        if not np.isfinite(product).all():
            raise UserError(
                location="inner products of the features of a ranking",
                found="values that are not finite",
                expected="finite numbers",
                remedy="check the inputs for missing or very large values",
            )
        row = np.append(self._products @ plane, plane @ product)
        self._planes = np.vstack((self._planes, plane))
        self._products = np.vstack((self._products, product))
        self._offsets = np.append(self._offsets, offset / self._graph.n_edges)
        gram = np.zeros((len(row), len(row)))
        gram[:-1, :-1] = self._gram
        gram[-1], gram[:, -1] = row, row
        self._gram = gram
        self._shares = np.append(self._shares, 0.0)

    def _improve(self, cost: float, tolerance: float) -> None:
        """Move shares between two planes at a time until D(a) is nearly the highest."""
        shares, gram = self._shares.copy(), cost * self._gram
        lengths = np.diagonal(gram)
        # Of D(a) / C in the shares a / C.
        gradient = self._offsets - gram @ shares
        for _ in range(MAX_STEPS):
            to = int(gradient.argmax())
            if cost * (gradient[to] - gradient @ shares) <= tolerance:
                break
            # Of the planes that have a share the one from which a step gains most.
            slope = gradient[to] - gradient
            curvature = lengths + lengths[to] - 2.0 * gram[to]
            curvature = np.maximum(curvature, MIN_CURVATURE * (lengths + lengths[to]))
            curvature[to] = 1.0
            steps = np.minimum(slope / np.where(curvature > 0, curvature, 1.0), shares)
            source = int((steps * (slope - 0.5 * steps * curvature)).argmax())
            step = steps[source]
            if step <= 0.0:
                break
            shares[to] += step
            shares[source] -= step
            gradient -= step * (gram[to] - gram[source])
        self._shares = shares
