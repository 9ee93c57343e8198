"""Ranking of candidate boxes, which finds the box of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_candidates import BoxCandidates, box_candidates
from workflow_lib.papers.blaschko.box_fitting import BoxRows, box_rows, selected_weights
from workflow_lib.papers.blaschko.box_fitting import FittedBoxes as Fitted
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import Ranking, RankingMachine

REGRESSORS = ("box_ranking",)
TASKS = ("boxes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")


SELECTION_TOLERANCE = 1e-2
"""Duality gap in the comparison of costs, as a share of the objective."""

REFIT_TOLERANCE = 1e-3
"""Duality gap of the chosen fits."""


@dataclass
class Method(base.Method):
    """Rank candidate boxes of each image by a score that is linear in the words in a box.

    Blaschko (2014), Section 3.2, with the loss 1 - overlap. The candidates of an image are drawn
    once, from a seed of its own (`workflow_lib.papers.blaschko.box_candidates`); a new image has
    all boxes of the grid as candidates, of which branch and bound finds the best ones. Features
    have the unit of `workflow_lib.papers.blaschko.methods.box_machine`, and the cost is selected in
    the same way, as that with the highest mean overlap of held-out rows, the lowest of those that
    are equal. The item holds the duality gap, in units of the mean hinge, as ``gap``.

    Attributes
    ----------
    cells, candidates, n_preferred : int
    center : bool
    near_share : float
    preferences, rescaling : str
        As of `Parameters`.
    seed : int
        Of the candidates.
    grid : mapping
        The list ``cost``.
    """

    cells: int
    center: bool
    candidates: int
    near_share: float
    preferences: str
    n_preferred: int
    rescaling: str
    seed: int
    grid: Mapping[str, Sequence[float]]

    def select(self, data: FitData) -> base.Selection:
        rows, candidates = self._candidates(data)
        # In ascending order the costs share most of what they learn.
        costs = sorted(self.grid["cost"])

        def rankings(known: np.ndarray) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
            ranked = self._ranked(rows.chosen(known), candidates.chosen(known), costs)
            for cost, (weights, _) in zip(costs, ranked, strict=True):
                yield {"cost": cost}, weights

        return selected_weights(data, rows, rankings)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        cost = selection.entries["cost"]
        ((weights, ranking),) = self._ranked(*self._candidates(data), [cost], REFIT_TOLERANCE)
        at_limit = gap_at_limit(ranking.relative_gap, REFIT_TOLERANCE)
        return Fitted(weights, self.cells, self.center, ranking.gap / cost, at_limit)

    def _candidates(self, data: FitData) -> tuple[BoxRows, BoxCandidates]:
        rows = box_rows(data, self.cells, self.center)
        seeds = [derive_seed(self.seed, "boxes", row) for row in data.rows]
        return rows, box_candidates(rows, self.cells, self.candidates, self.near_share, seeds)

    def _ranked(
        self,
        rows: BoxRows,
        candidates: BoxCandidates,
        costs: Sequence[float],
        tolerance: float = SELECTION_TOLERANCE,
    ) -> Iterator[tuple[np.ndarray, Ranking]]:
        """Yield the weights (W,) of the features and the ranking of each cost."""
        n, m, n_words = candidates.features.shape
        features = candidates.features.reshape(n * m, n_words) / rows.unit
        graph = PreferenceGraph(
            candidates.losses.ravel(),
            np.repeat(np.arange(n), m),
            self.preferences,
            self.n_preferred,
        )
        machine = RankingMachine(
            graph, lambda coefficients: features @ (coefficients @ features), self.rescaling
        )
        for cost in costs:
            ranking = machine.solve(cost, tolerance)
            yield ranking.coefficients @ features / rows.unit, ranking
