"""A forest of classification trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from workflow_lib.fitting.class_selection import squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_forest import FittedForest as Fitted
from workflow_lib.fitting.point_selection import Point, select_point
from workflow_lib.methods.contract import base

REGRESSORS = ("random_forest_classifier",)
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the share of the inputs that compete at a cut, and grow the forest.

    The scores are probabilities; the grid point is that with the least `squared_error` of those
    of the training rows out of bag. The forest that predicts is that which was scored out of bag,
    so its seconds count as those of selection.
    """

    grid: Mapping[str, Any]
    """List ``max_features``, and the number ``n_trees``."""

    one_example: Mapping[str, float]
    """``max_features`` with one example per class; the first of the list where it is missing."""

    seed: int

    def select(self, data: FitData) -> base.Selection:
        grown: dict[float, Any] = {}
        error_of = partial(squared_error, labels=data.labels)
        tried = partial(self._out_of_bag, data, grown)
        selection = select_point(data, self.grid, self.one_example, tried, error_of)
        return replace(selection, fitting=grown[selection.entries["max_features"]])

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        forest = selection.fitting
        if forest is None:
            forest = self._forest(data, selection.entries["max_features"])
        known = np.isin(np.arange(data.n_classes), forest.classes_)
        return Fitted(forest, data.directions, known)

    def _forest(self, data: FitData, share: float):
        from workflow_lib.solvers.classifiers import fit_forest_classifier

        return fit_forest_classifier(
            data.vectors[0], data.labels, self.grid["n_trees"], share, self.seed
        )

    def _out_of_bag(
        self, data: FitData, grown: dict[float, Any], grid: Mapping[str, Any]
    ) -> Iterator[Point]:
        """Keep the forests in `grown`, by their share."""
        from workflow_lib.solvers.classifiers import out_of_bag_probabilities

        for share in grid["max_features"]:
            grown[share] = self._forest(data, share)
            scores = out_of_bag_probabilities(grown[share], data.labels, data.n_classes)
            yield {"max_features": share}, scores
