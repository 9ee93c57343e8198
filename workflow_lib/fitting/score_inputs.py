"""Scores of generative models, stored for every fold, as the inputs of one training size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from workflow_lib.fitting.fit_data import SplitData
from workflow_lib.fitting.prepared_inputs import PreparedRows
from workflow_lib.items.group_names import fold_group, size_group


def point_group(index: int) -> str:
    """Return the name of the group of a grid point of the generative models."""
    return f"point-{index}"


class SplitOnScores(SplitData):
    """The data of a split, with the stored scores of one grid point as inputs.

    Parameters
    ----------
    split : SplitData
        With the artifact ``input_scores``.
    scores : mapping
        Its tree.
    index : int
        Number of the grid point.
    """

    def __init__(self, split: SplitData, scores: Mapping, index: int) -> None:
        # What the split keeps for its fits belongs to other inputs.
        vars(self).update(vars(split))
        self._made, self._inputs, self.weak_decompositions = {}, {}, {}
        self._scores, self._index = scores, index

    def inputs(self, size: int) -> ScoreInputs:
        if size not in self._inputs:
            group = size_group(size)
            stored = self._scores[group][point_group(self._index)]
            self._inputs = {size: ScoreInputs(stored, self.partition["folds"][group], size)}
        return self._inputs[size]


class ScoreInputs(PreparedRows):
    """Scores that the models of each fold give.

    Parameters
    ----------
    stored : mapping
        For each fold ``train`` (n, k), and for the refit also ``test`` (m, k): a group of the
        artifact ``input_scores``.
    folds : int array (n,)
    training_size : int
    """

    def __init__(self, stored: Mapping, folds: np.ndarray, training_size: int) -> None:
        # A row is known by its number: training rows first, then the test rows.
        n_test = len(stored[fold_group(None)]["test"])
        numbers = np.arange(training_size + n_test)[:, None]
        rows = {
            "train": numbers[:training_size],
            "weak": numbers[:0],
            "test": numbers[training_size:],
        }
        group = {name: {} for name in stored} | {"learns": True}
        features = {"inputs": rows, "kernel": "rbf", size_group(training_size): group}
        super().__init__(features, folds, training_size)
        self._stored = stored

    def _preparation(self, fold):
        stored = self._stored[fold_group(fold)]
        rows = [stored[role] for role in ("train", "test") if role in stored]
        return _StoredRows(np.concatenate(rows))


class _StoredRows(NamedTuple):
    """Rows (n, k) in the place of a preparation, which looks them up."""

    rows: np.ndarray

    @property
    def n_columns(self) -> int:
        return self.rows.shape[1]

    def apply(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of numbers (m, 1)."""
        return self.rows[numbers[:, 0]]
