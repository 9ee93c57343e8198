"""Structured support vector machine that finds the box of an object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_fitting import BoxRows, box_rows, selected_weights
from workflow_lib.papers.blaschko.box_fitting import FittedBoxes as Fitted
from workflow_lib.papers.blaschko.box_search import detections

REGRESSORS = ("box_machine",)
TASKS = ("boxes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Fit a score of boxes, linear in their words, with margins of 1 - overlap (margin rescaling).

    The most violated box of each image is found by branch and bound (Blaschko & Lampert 2008). The
    features are divided by the root mean square of their length in the training boxes, so that one
    grid of costs suits all images. Selected is the cost with the highest mean overlap of held-out
    rows.
    """

    cells: int
    center: bool
    levels: int

    grid: Mapping[str, Sequence[float]]
    """The list ``cost``."""

    def select(self, data: FitData) -> base.Selection:
        rows = box_rows(data, self.cells, self.center, self.levels)
        return selected_weights(data, rows, lambda known: self._machines(rows.chosen(known)))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        from workflow_lib.papers.blaschko.linear_structured_svm import TOLERANCE

        machine, unit = _machine(box_rows(data, self.cells, self.center, self.levels))
        weights, gap = machine.fit(selection.entries["cost"])
        at_limit = gap_at_limit(gap, TOLERANCE)
        return Fitted(weights / unit, self.cells, self.center, gap, at_limit, self.levels)

    def _machines(self, rows: BoxRows) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        machine, unit = _machine(rows)
        for cost in self.grid["cost"]:
            yield {"cost": cost}, machine.fit(cost)[0] / unit


def _machine(rows: BoxRows):
    """Return the machine of training rows, and the unit of its features."""
    from workflow_lib.papers.blaschko.linear_structured_svm import LinearStructuredSVM

    unit = rows.unit

    def most_violated(row: int, weights: np.ndarray) -> tuple[np.ndarray, float]:
        grid, box = rows.grids[row], rows.boxes[row]
        found = next(detections(grid.score(weights / unit, box), 1)).box
        return grid.features(found) / unit, 1.0 - float(overlaps(found, box))

    return LinearStructuredSVM(rows.features / unit, most_violated), unit
