"""Scores of generative models as the inputs of any method, read from the stage that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.named_class import combinations
from workflow_lib.fitting.fit_data import FitData, RowsOfTest, SplitData
from workflow_lib.fitting.score_inputs import SplitOnScores, point_group
from workflow_lib.inputs.score_columns import ScoreColumns
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.base import SCORES
from workflow_lib.methods.contract.transformed_inputs import (
    FittedOnChangedInputs,
    OnChangedInputs,
    RowsOfFeatures,
)
from workflow_lib.papers.perina.score_space_storage import models_from_tree


class OnStoredScores(OnChangedInputs):
    """A method whose inputs are the artifact ``input_scores``.

    The `grid` is that of the generative models, and `method_file` the YAML file, as errors name it.
    """

    prefix, step = f"{SCORES}__", SCORES

    def __init__(self, method: base.Method, grid: Mapping[str, Sequence], method_file: str) -> None:
        super().__init__(method, grid, method_file)
        self._scores: tuple[Any, dict] | None = None
        self._splits: dict[int, SplitOnScores] = {}

    def data(self, data: FitData, point: Mapping[str, Any]) -> FitData:
        """Return the data of a fit with the stored scores of a grid point as inputs."""
        index = combinations(self._grid).index(dict(point))
        if index not in self._splits:
            self._splits[index] = SplitOnScores(data.split, self._tree(data.split), index)
        return FitData(self._splits[index], data.spec, data.members)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        return self._fitted(self._method.fit, data, selection, selection.entries)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return self._fitted(self._method.restored, data, entries, entries)

    def _fitted(self, fit, data: FitData, chosen: Any, entries: Mapping) -> Fitted:
        changed = self.changed(data, entries)
        index = next(k for k, split in self._splits.items() if split is changed.split)
        group = self._tree(data.split)[size_group(data.size)][point_group(index)]
        return Fitted(fit(changed, chosen), group[fold_group(None)].get("map"), changed)

    def _tree(self, split: SplitData) -> dict:
        if self._scores is None or self._scores[0] is not split:
            tree = read_artifact(split.paths["input_scores"], "input_scores")
            self._scores, self._splits = (split, tree), {}
        return self._scores[1]


class Fitted(FittedOnChangedInputs):
    """A fitted method that predicts from scores, on which `fitted` is.

    `score_map` is the tree of what maps new rows to scores: ``items``, ``models``, ``space`` and
    ``columns``; None where no saved model is made. `data` are those of the fit with scores as
    inputs, None for a saved method, of which `known` (n, k) are the scores of the training rows.
    """

    def __init__(
        self,
        fitted: base.Fitted,
        score_map: Mapping | None,
        data: FitData | None,
        known: np.ndarray | None = None,
    ) -> None:
        super().__init__(fitted)
        self._map, self._data, self._known = score_map, data, known

    def on(self, rows):
        if isinstance(rows, RowsOfTest):
            return type(rows)(self._data)
        return RowsOfFeatures(rows, scores_of(rows.test_rows(), self._map), self._known)

    def to_arrays(self):
        known = self._data.inputs.refit_rows()[0]
        return self.fitted.to_arrays() | {SCORES: {"map": self._map, "known": known}}

    @classmethod
    def from_arrays(cls, arrays: Mapping, of_method: type[base.Fitted]) -> Fitted:
        """As of the base class; `of_method` is the class of the fitted method on the scores."""
        stored = arrays[SCORES]
        return cls(of_method.from_arrays(arrays), stored["map"], None, stored["known"])


def scores_of(rows: np.ndarray, score_map: Mapping) -> np.ndarray:
    """Return the scores (m, k) of raw rows (m, q) under a stored map."""
    from workflow_lib.papers.perina.score_space import ScoreSpace

    space = ScoreSpace(models_from_tree(score_map["models"]), **score_map["space"])
    columns = space.transform(items_in(rows, score_map["items"]))
    return ScoreColumns.from_tree(score_map["columns"]).of(columns)
