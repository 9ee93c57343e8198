"""How the predictions change with the inputs that matter most.

The partial dependence (Friedman, Annals of Statistics 29, 2001) of a method on a group of columns
at a value is the mean prediction for some rows that all have this value; the curve of a single row
is its individual conditional expectation (Goldstein et al., Journal of Computational and Graphical
Statistics 24, 2015). Here the columns of a group take together the values of real rows, in the
order of one of the columns, so that no row gets a combination of them that does not occur.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.table.importance import Predict
from workflow_lib.table.input_groups import InputGroup, exchanged, rows_at, stacked

MAX_EFFECTS = 3
"""Inputs whose effects are measured, the most important ones."""

MAX_VALUES, MAX_LEVELS = 15, 8
"""Values of a number, and levels of a category, the most frequent ones."""

ENDS = (0.02, 0.98)
"""Quantiles of a number between which its values lie: few rows have others."""

MAX_ROWS = 50
"""Test rows of a split whose predictions are averaged."""


@dataclass(frozen=True)
class Scale:
    """The values of a group of columns for which predictions are made.

    ``column`` is the column of the group that orders the values, ``values`` (v,) are those of this
    column, 0, 1, ... of a category, whose levels are the ``labels``, and ``rows`` (v,) those that
    have these values.
    """

    column: str
    values: np.ndarray
    labels: tuple[str, ...]
    rows: np.ndarray


def scale_of(
    group: InputGroup,
    positions: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    numbers: Set[str],
    levels: Mapping[str, Sequence[str]],
    rows: EncodedRows,
) -> Scale | None:
    """Return the values of a group in some rows; None where they have no order and no levels.

    `positions`, `numbers` and `levels` of the categories are as those of
    `workflow_lib.table.saved_model.SavedModel`.
    """
    of_group = [name for name in group.columns if name in numbers]
    if of_group:
        # The middle one stands best for a window.
        column = of_group[len(of_group) // 2]
        values = _columns(rows, positions[column])[:, 0]
        known = np.flatnonzero(~np.isnan(values))
        if not len(known):
            return None
        order = known[np.argsort(values[known], kind="stable")]
        steps = np.linspace(*(end * (len(order) - 1) for end in ENDS), MAX_VALUES)
        chosen = order[np.unique(steps.round().astype(int))]
        _, first = np.unique(values[chosen], return_index=True)
        return Scale(column, values[chosen[first]], (), chosen[first])
    column = next((name for name in group.columns if name in levels), None)
    if column is None:
        return None
    encoded = _columns(rows, positions[column])
    counts = encoded.sum(axis=0)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MAX_LEVELS])
    frequent = frequent[counts[frequent] > 0]
    labels = tuple(levels[column][level] or "missing" for level in frequent)
    first_rows = encoded[:, frequent].argmax(axis=0)
    return Scale(column, np.arange(len(frequent), dtype=float), labels, first_rows)


def curves(
    predict: Predict, rows: EncodedRows, group: InputGroup, donors: EncodedRows, scale: Scale
) -> np.ndarray:
    """Return the predictions (n, v, d) for n rows that have each of v values in turn."""
    n_rows = rows.inputs.shape[0]
    parts = [
        exchanged(rows, rows_at(donors, np.full(n_rows, donor)), group) for donor in scale.rows
    ]
    return np.stack(np.split(predict(stacked(parts)), len(parts)), axis=1)


def _columns(rows: EncodedRows, positions: tuple[Sequence[int], Sequence[int]]) -> np.ndarray:
    inputs, lagged = positions
    return rows.lagged_values[:, lagged] if len(lagged) else rows.inputs[:, inputs]
