"""Stacked features: what other methods predict, as further inputs of an estimator.

For each training row these are the predictions of the member without the row's fold, for other rows
those of the member fitted to all training rows. So a linear model of one block of inputs, such as
words, becomes a few columns of a forest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.member_results import stored_members, summed
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.items.group_names import SELECTED, item_group
from workflow_lib.methods import estimator
from workflow_lib.methods.contract import base
from workflow_lib.methods.contract.saved_method import members_as_arrays, members_in

REGRESSORS = ("stacked_features",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 10, "cubic_minutes": 1.0, "more_mb": 500}
READS = ("dataset", "split", "features", "regressions", "predictions", "member_timings")


@dataclass
class Method(base.Method):
    """Select and fit an estimator on inputs and on the predictions of members.

    The grid is searched by `workflow_lib.methods.estimator`. As in a stack, the score is a little
    too good: the predictions of the training rows of a fold come from members that saw the rows
    that it holds out. The seconds are sums over the members and the estimator.

    Attributes
    ----------
    members : sequence of str
        Their names, in the order of the artifacts.
    columns : {"inputs", "lagged_values", "none"}
        The other columns.
    estimator, settings, grid, metric, seed, method_file, output_scale
        As of `workflow_lib.methods.estimator.Method`.
    """

    members: Sequence[str]
    columns: str
    estimator: str
    settings: Mapping[str, Any]
    grid: Mapping[str, Sequence]
    metric: str
    seed: int
    method_file: str
    output_scale: str = "none"

    def select(self, data: FitData) -> base.Selection:
        members = self._stored(data)
        selection = self._estimator.select(_StackedData(data, members, self.columns))
        selection.more_seconds = summed([member.seconds() for member in members.values()])
        return selection

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        stored = self._stored(data)
        stacked = _StackedData(data, stored, self.columns)
        fitted = self._estimator.fit(stacked, selection)
        return Fitted(fitted, data.members or stored, self.columns, stacked.fill(None))

    def _stored(self, data: FitData) -> dict[str, Any]:
        return stored_members(self.members, data, self.member_item)

    def member_item(self, member: str, items: Mapping[str, Any], spec: FitSpec) -> str:
        """Return the name of the item of a member for a fit: that without weak rows."""
        return item_group(spec.training_size, 0, SELECTED)

    @property
    def _estimator(self) -> estimator.Method:
        settings = self.settings, self.grid, self.metric, self.seed, self.method_file
        return estimator.Method(self.estimator, *settings, output_scale=self.output_scale)


class Fitted(base.Fitted):
    """A fitted estimator, and the members whose predictions are its inputs.

    Parameters
    ----------
    fitted : Fitted
        Of the estimator.
    members : mapping from names to fitted methods
    columns : str
        As of `Method`.
    fill : array (k,)
        What replaces missing lagged values.
    """

    # The predictions of the members for training rows are those without the fold of each row.
    has_training_error = False

    def __init__(
        self, fitted: base.Fitted, members: Mapping[str, Any], columns: str, fill: np.ndarray
    ) -> None:
        self._fitted, self._members = fitted, members
        self._columns, self._fill = columns, fill

    def predict(self, rows):
        return self._fitted.predict(_StackedRows(rows, self._members, self._columns, self._fill))

    def to_arrays(self):
        more = {"columns": self._columns, "fill": self._fill}
        return self._fitted.to_arrays() | members_as_arrays(self._members) | more

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        fitted = estimator.Fitted.from_arrays(arrays)
        return cls(fitted, members_in(arrays), arrays["columns"], arrays["fill"])


class _StackedData(FitData):
    """The data of a fit whose inputs include the predictions of members for training rows."""

    def __init__(self, data: FitData, members: Mapping[str, Any], columns: str) -> None:
        super().__init__(data.split, data.spec, data.members)
        self._own, self._columns = data.inputs, columns
        self._heldout = np.hstack([member.heldout_outputs() for member in members.values()])

    @property
    def inputs(self) -> _StackedData:
        """The feature vectors of each fold are these data's."""
        return self

    @property
    def vectors(self) -> tuple[np.ndarray, None]:
        """Feature vectors of all training rows."""
        (own, _) = self._own.refit_rows() if self._columns == "inputs" else (None, None)
        return self._stacked(own, None, np.ones(self.size, dtype=bool)), None

    def fold_rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `workflow_lib.fitting.prepared_inputs.PreparedInputs.fold_rows`."""
        nothing = ((None, None) for _ in self.fold_numbers)
        own = self._own.fold_rows() if self._columns == "inputs" else nothing
        for fold, (training, heldout) in enumerate(own):
            is_heldout = self.folds == fold
            yield (
                self._stacked(training, fold, ~is_heldout),
                self._stacked(heldout, fold, is_heldout),
            )

    def directions(self) -> dict[str, np.ndarray]:
        """As of the inputs."""
        return self._own.directions()

    def fill(self, fold: int | None) -> np.ndarray:
        """Return the means (k,) of the lagged values over the training rows of a fold."""
        if self._columns != "lagged_values":
            return np.empty(0)
        known = self._lagged if fold is None else self._lagged[self.folds != fold]
        return fit_preparation(known, "none").fill

    @property
    def _lagged(self) -> np.ndarray:
        return self.split.features["lagged_values"]["train"][: self.size]

    def _stacked(self, own: np.ndarray | None, fold: int | None, rows: np.ndarray) -> np.ndarray:
        if self._columns == "lagged_values":
            own = _filled(self._lagged[rows], self.fill(fold))
        parts = [] if own is None else [own]
        return np.hstack([*parts, self._heldout[rows]])


class _StackedRows:
    """Rows whose feature vectors include the predictions of members."""

    def __init__(self, rows: Any, members: Mapping, columns: str, fill: np.ndarray) -> None:
        self._rows, self._members, self._columns, self._fill = rows, members, columns, fill

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, directions: Callable) -> np.ndarray:
        """As `workflow_lib.fitting.fit_data.RowsOfTest.vectors`."""
        parts = []
        if self._columns == "inputs":
            parts = [self._rows.vectors(directions)]
        elif self._columns == "lagged_values":
            parts = [_filled(self._rows.lagged_values, self._fill)]
        return np.hstack([*parts, *(each.predict(self._rows) for each in self._members.values())])


def _filled(values: np.ndarray, fill: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), fill, values)
