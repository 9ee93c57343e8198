"""Ranking of candidate boxes by their loss, which finds the box of an object.

The candidates of an image are the true box of its object and boxes drawn from the grid of cells: a
share near the true box, so that all overlaps occur, and the rest anywhere, as most boxes that a
search compares. They stand for the initial windows of Blaschko (2014), Section 3.2.4. The loss of a
box is 1 - overlap with the true one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.methods.contract import base
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
    once, from a seed of its own (`box_candidates`); a new image has
    all boxes of the grid as candidates, of which branch and bound finds the best ones. Features
    have the unit of `workflow_lib.papers.blaschko.methods.box_machine`, and the cost is selected in
    the same way, as that with the highest mean overlap of held-out rows, the lowest of those that
    are equal. The item holds the duality gap, in units of the mean hinge, as ``gap``. The fields
    are keys of the YAML file, and the `seed` of the candidates.
    """

    cells: int
    center: bool
    levels: int
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
        gap = ranking.gap / cost
        return Fitted(weights, self.cells, self.center, gap, at_limit, self.levels)

    def _candidates(self, data: FitData) -> tuple[BoxRows, BoxCandidates]:
        rows = box_rows(data, self.cells, self.center, self.levels)
        seeds = [derive_seed(self.seed, "boxes", row) for row in data.rows]
        return rows, box_candidates(rows, self.cells, self.candidates, self.near_share, seeds)

    def _ranked(
        self,
        rows: BoxRows,
        candidates: BoxCandidates,
        costs: Sequence[float],
        tolerance: float = SELECTION_TOLERANCE,
    ) -> Iterator[tuple[np.ndarray, Ranking]]:
        """Yield the weights (P,) of the features and the ranking of each cost."""
        n, m, n_features = candidates.features.shape
        features = candidates.features.reshape(n * m, n_features) / rows.unit
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


class BoxCandidates(NamedTuple):
    """The candidate boxes of n training images, m of each."""

    features: np.ndarray
    """Features (n, m, P)."""

    losses: np.ndarray
    """1 - overlap with the true box, (n, m); 0 of the first candidate, which is this box."""

    def chosen(self, rows: np.ndarray) -> BoxCandidates:
        """Return those of some of the images, by a mask or by their numbers."""
        return BoxCandidates(self.features[rows], self.losses[rows])


def box_candidates(
    rows: BoxRows, n_cells: int, n_candidates: int, near_share: float, seeds: Sequence[int]
) -> BoxCandidates:
    """Return candidates of training rows, those of each row drawn from its own seed.

    The other parameters are those of `drawn_boxes`.
    """
    features, losses = [], []
    for grid, box, seed in zip(rows.grids, rows.boxes, seeds, strict=True):
        generator = np.random.default_rng(seed)
        boxes = drawn_boxes(box, n_cells, n_candidates, near_share, generator)
        features.append(grid.features_of_boxes(boxes))
        losses.append(1.0 - overlaps(boxes, box))
    return BoxCandidates(np.array(features), np.array(losses))


def drawn_boxes(
    box: np.ndarray,
    n_cells: int,
    n_candidates: int,
    near_share: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return different boxes (m, 4) of a grid of cells, the true one first.

    A box near the true one has each side moved by at most the share s of the length of the true box
    along that axis, to the next whole number of cells, with s uniform from 0 to 1. Where two boxes
    are the same or a box has no area, a box anywhere takes its place.

    `box` (4,) is the true one, in cells, `n_cells` of each side; there are `n_candidates` m, or all
    boxes of the grid where it has fewer, of which the `near_share` of the others is drawn near the
    true one.
    """
    begins, ends = np.triu_indices(n_cells + 1, 1)
    n_candidates = min(n_candidates, len(begins) ** 2)
    chosen = generator.choice(len(begins) ** 2, n_candidates, replace=False)
    columns, rows = np.divmod(chosen, len(begins))
    anywhere = np.stack([begins[columns], begins[rows], ends[columns], ends[rows]], axis=1)
    n_near = round(near_share * (n_candidates - 1))
    moves = generator.uniform(-1.0, 1.0, (n_near, 4)) * generator.uniform(size=(n_near, 1))
    near = np.rint(box + moves * np.tile(box[2:] - box[:2], 2)).astype(np.int64)
    near = np.clip(near, 0, n_cells)
    near = near[(near[:, :2] < near[:, 2:]).all(axis=1)]
    boxes = np.concatenate([box[None], near, anywhere])
    firsts = np.unique(boxes, axis=0, return_index=True)[1]
    return boxes[np.sort(firsts)[:n_candidates]]
