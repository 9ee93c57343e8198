"""Ranking of boxes by several cues that know no class of objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_cues import all_boxes, chosen_cues, image_cues, prior_cue
from workflow_lib.papers.blaschko.box_fitting import (
    best_selection,
    box_rows,
)
from workflow_lib.papers.blaschko.methods.box_kernel_support import ScannedBoxes
from workflow_lib.papers.blaschko.methods.box_ranking import (
    REFIT_TOLERANCE,
    SELECTION_TOLERANCE,
    drawn_boxes,
)
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import RankingMachine

REGRESSORS = ("box_proposals",)
TASKS = ("boxes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Rank candidate boxes by a linear combination of cues (Blaschko 2014, section 3.2.4).

    The candidates of training images, their losses and the machine are those of
    `workflow_lib.papers.blaschko.methods.box_ranking`, with the cues of `workflow_lib.papers.
    blaschko.box_cues` in place of words, in units of their deviation over the candidates. Of a new
    image all boxes of the grid are ranked. The prior of places learns from the boxes of the same
    rows as the ranking. Selected is the cost with the highest mean overlap of held-out rows. The
    fields are keys of the YAML file, and the `seed` of the candidates.
    """

    cells: int
    candidates: int
    near_share: float
    preferences: str
    n_preferred: int
    rescaling: str
    cues: Sequence[str]
    seed: int
    grid: Mapping[str, Sequence[float]]

    def select(self, data: FitData) -> base.Selection:
        costs = sorted(self.grid["cost"])
        training, every = self._training(data), all_boxes(self.cells)
        cues = [image_cues(points, self.cells, every) for points in data.items]
        found: list[tuple[dict[str, Any], np.ndarray]] = [
            ({"cost": cost}, np.empty((data.size, 4))) for cost in costs
        ]
        for fold in data.fold_numbers:
            heldout = data.folds == fold
            fits = list(self._fits(training, ~heldout, costs, SELECTION_TOLERANCE))
            for (_, boxes), fitted in zip(found, fits, strict=True):
                for row in np.flatnonzero(heldout):
                    best = every[fitted.scores(every, cues[row]).argmax()]
                    boxes[row] = best * np.tile(data.items[row].size, 2) / self.cells
        return best_selection(data.outputs, found)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        known, cost = np.ones(data.size, dtype=bool), selection.entries["cost"]
        (fitted,) = self._fits(self._training(data), known, [cost], REFIT_TOLERANCE)
        return fitted

    def _training(self, data: FitData) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return of each row the true box, candidates (m, 4), and their cues of the image."""
        rows, found = box_rows(data, self.cells, center=False), []
        for points, box, row in zip(data.items, rows.boxes, data.rows, strict=True):
            generator = np.random.default_rng(derive_seed(self.seed, "boxes", row))
            boxes = drawn_boxes(box, self.cells, self.candidates, self.near_share, generator)
            found.append((box, boxes, image_cues(points, self.cells, boxes)))
        return found

    def _fits(
        self,
        training: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
        known: np.ndarray,
        costs: Sequence[float],
        tolerance: float,
    ) -> Iterator[Fitted]:
        """Yield the ranking of known rows for each cost."""
        rows = [row for row, is_known in zip(training, known, strict=True) if is_known]
        places = np.array([box for box, _, _ in rows])
        features = np.concatenate(
            [
                chosen_cues(cues, prior_cue(boxes, places, self.cells), self.cues)
                for _, boxes, cues in rows
            ]
        )
        unit = features.std(axis=0)
        unit[unit == 0] = 1.0
        features = (features - features.mean(axis=0)) / unit
        graph = PreferenceGraph(
            np.concatenate([1.0 - overlaps(boxes, box) for box, boxes, _ in rows]),
            np.repeat(np.arange(len(rows)), [len(boxes) for _, boxes, _ in rows]),
            self.preferences,
            self.n_preferred,
        )
        machine = RankingMachine(
            graph, lambda coefficients: features @ (coefficients @ features), self.rescaling
        )
        for cost in costs:
            ranking = machine.solve(cost, tolerance)
            weights = ranking.coefficients @ features / unit
            gap = {"gap": ranking.gap / cost} | gap_at_limit(ranking.relative_gap, tolerance)
            yield Fitted(weights, places, self.cells, tuple(self.cues), gap)


class Fitted(ScannedBoxes):
    """Weights (c,) of the cues of a box, and the training boxes (n, 4) in cells."""

    has_training_error = False

    def __init__(
        self,
        weights: np.ndarray,
        places: np.ndarray,
        n_cells: int,
        cues: Sequence[str],
        gap: Mapping[str, float],
    ) -> None:
        self._weights, self._places = weights, places
        self.n_cells, self._cues, self._gap = n_cells, cues, gap

    def scores(self, boxes: np.ndarray, cues: np.ndarray) -> np.ndarray:
        """Return the scores (m,) of boxes (m, 4) in cells, with their cues of the image (m, 4)."""
        prior = prior_cue(boxes, self._places, self.n_cells)
        return chosen_cues(cues, prior, self._cues) @ self._weights

    def scanned(self, points):
        every = all_boxes(self.n_cells)
        return every, self.scores(every, image_cues(points, self.n_cells, every))

    def entries(self):
        """Return the weights of the cues, by their names, and the duality gap."""
        return {f"weight_{cue}": float(w) for cue, w in zip(self._cues, self._weights)} | self._gap

    def to_arrays(self):
        return {
            "weights": self._weights,
            "places": self._places,
            "n_cells": self.n_cells,
            "cues": ",".join(self._cues),
            "gap": dict(self._gap),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        cues = str(arrays["cues"]).split(",")
        return cls(arrays["weights"], arrays["places"], int(arrays["n_cells"]), cues, arrays["gap"])
