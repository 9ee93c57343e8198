"""Imputation and scaling of inputs, learned from training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workflow_lib.inputs.column_origins import ColumnOrigins
from workflow_lib.items.scales import ROW_SCALES

MAX_STANDARD_VALUE = 8.0
"""Standardised values of rare features are cut there: where most training rows have one value, the
standard deviation can be tiny, and one test value would dominate every distance. Other columns are
not cut: a row far out may be what a linear relation is learned from."""


@dataclass(frozen=True)
class InputPreparation:
    """A fitted preparation: fill missing values, shift and scale, drop constant columns.

    Attributes
    ----------
    fill : array (q,)
        Replacement of missing values: the column's training mean.
    offset, scale : array (q,)
        Prepared value = (value - offset) / scale; a scale of zero marks a column that is dropped.
    is_cut : bool array (q,)
        Whether prepared values are cut at `MAX_STANDARD_VALUE`: of standardised columns of
        which more than half of the training rows have the same value.
    weights : array (q,) or None, default=None
        Factors of the prepared values, after the cut; None for 1.
    """

    fill: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    is_cut: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def from_tree(cls, tree: Mapping) -> InputPreparation:
        """Return the preparation that `tree` stores."""
        fill = tree["fill"]
        # Models that an earlier version saved cut all columns or none.
        is_cut = tree.get("is_cut", np.full(len(fill), bool(tree.get("standardised"))))
        return cls(fill, tree["offset"], tree["scale"], is_cut, tree.get("weights"))

    def tree(self) -> dict:
        """Return the preparation as a group of an artifact."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def n_columns(self) -> int:
        """Number of prepared columns, those that are not dropped."""
        return int(np.count_nonzero(self.scale > 0))

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Return the prepared inputs (n, kept columns) of rows `X` (n, q)."""
        kept = self.scale > 0
        X = np.where(np.isnan(X), self.fill, X)[:, kept]
        prepared = (X - self.offset[kept]) / self.scale[kept]
        if self.is_cut.any():
            limits = np.where(self.is_cut[kept], MAX_STANDARD_VALUE, np.inf)
            prepared = np.clip(prepared, -limits, limits)
        return prepared if self.weights is None else prepared * self.weights[kept]


def fit_preparation(
    X: np.ndarray,
    scale: str,
    origins: ColumnOrigins | None = None,
    equal_groups: bool = False,
    row_weights: np.ndarray | None = None,
) -> InputPreparation:
    """Fit a preparation to training rows `X` (n, q), NaN where missing.

    Raises ValueError if `scale` is unknown.

    Parameters
    ----------
    X : array (n, q)
    scale : {"none", "standard"}
        ``none`` only fills missing values. ``standard`` also centres, divides by the standard
        deviation and drops the columns that are constant in these rows.
    origins : ColumnOrigins or None, default=None
        With ``standard``, where several columns encode one property, such as the levels of a
        category: their weights are `ColumnOrigins.weights`. None for 1 each.
    equal_groups : bool, default=False
        As of `ColumnOrigins.weights`.
    row_weights : array (n,) or None, default=None
        Positive weights of the rows, with which means and deviations are taken, and by which more
        than half of the rows are told; None for 1.
    """
    if scale not in ROW_SCALES:
        raise ValueError(f"scale must be one of {ROW_SCALES}; found {scale!r}.")
    present = ~np.isnan(X)
    counts = present.sum(axis=0)
    fill = np.where(present, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    if row_weights is not None:
        counts = row_weights @ present
        fill = row_weights @ np.where(present, X, 0.0) / np.where(counts > 0, counts, 1.0)
    n_columns = X.shape[1]
    if scale == "none":
        uncut = np.zeros(n_columns, dtype=bool)
        return InputPreparation(fill, np.zeros(n_columns), np.ones(n_columns), uncut)
    filled = np.where(present, X, fill)
    # What more than half of the rows have is the median.
    if row_weights is None:
        median = np.sort(filled, axis=0)[len(X) // 2]
        is_cut = np.count_nonzero(filled == median, axis=0) > len(X) / 2
        deviation = filled.std(axis=0)
    else:
        order = np.argsort(filled, axis=0)
        # Rounding must not turn half of the rows into more than half.
        half = (0.5 + 1e-9) * row_weights.sum()
        middle = (row_weights[order].cumsum(axis=0) > half).argmax(axis=0)
        median = np.take_along_axis(filled, order, axis=0)[middle, np.arange(n_columns)]
        is_cut = row_weights @ (filled == median) > half
        deviation = np.sqrt(row_weights @ (filled - fill) ** 2 / row_weights.sum())
    # Rounding leaves a constant column a deviation of a few units in the last place.
    constant = deviation <= 1e-12 * np.abs(filled).max(axis=0)
    if constant.all():
        # Nothing varies: keep the columns unscaled, so that there is still an input to use.
        return InputPreparation(fill, fill, np.ones(n_columns), is_cut)
    weights = None if origins is None else origins.weights(~constant, equal_groups)
    return InputPreparation(fill, fill, np.where(constant, 0.0, deviation), is_cut, weights)


def preparation_learns(X: np.ndarray, scale: str) -> bool:
    """Return whether a preparation of these rows depends on which rows it was fitted to."""
    return scale != "none" or bool(np.isnan(X).any())
