"""Which inputs move the prediction of a row, as Shapley values.

For a row x, background rows z_1, ..., z_b and groups of columns S, let v(S) be the mean over the
background of f at the row with the columns of S from x and all others from z. The Shapley value of
group j is the mean of v(S with j) - v(S) over all orders in which groups are added (Strumbelj and
Kononenko, Knowledge and Information Systems 41, 2014; Lundberg and Lee, NeurIPS 2017). All of them
together are f(x) minus the mean prediction of the background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.table.importance import BATCH_NUMBERS, Predict
from workflow_lib.table.input_groups import InputGroup, exchanged, rows_at, stacked

MAX_OF_ALL_SUBSETS = 6
"""Up to this number of groups all subsets are added up, and nothing is drawn."""

N_CHECKED = 16
"""Pairs of a row and a background row by which an additive method is recognised."""

ROUNDING = 1e-9
"""Largest difference of an additive method, in units of its largest prediction."""


def shapley_values(
    predict: Predict,
    rows: EncodedRows,
    background: EncodedRows,
    groups: Sequence[InputGroup],
    n_background: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the Shapley values (m, g, d) of rows, and the mean prediction (d,) they start from.

    Of a method that adds up functions of single groups, such as a linear one, the value of a group
    is its function at the row minus the mean of it over all background rows: for weights w and
    numbers x, w_j (x_j - mean of x_j). That is recognised by predictions, and exact. With up to
    `MAX_OF_ALL_SUBSETS` groups all subsets are added up. Otherwise each of `n_background` rows has
    one random order of the groups and its reverse, which lowers the variance (antithetic sampling;
    Mitchell et al., Journal of Machine Learning Research 23, 2022). The values of a row always sum
    to its prediction minus the mean prediction.

    There are m `rows`, n of `background`, and g `groups`.
    """
    generator = np.random.default_rng(seed)
    n_rows, n_known = rows.inputs.shape[0], background.inputs.shape[0]
    if _is_additive(predict, rows, background, groups, generator):
        return _additive_values(predict, rows, background, groups)
    drawn = np.sort(generator.permutation(n_known)[:n_background])
    starts = rows_at(background, drawn)
    mean = predict(starts).mean(axis=0)
    exact = len(groups) <= MAX_OF_ALL_SUBSETS
    orders = [] if exact else [generator.permutation(len(groups)) for _ in drawn]
    values = []
    for row in range(n_rows):
        repeated = rows_at(rows, np.full(len(drawn), row))
        if exact:
            values.append(_values_of_all_subsets(predict, repeated, starts, groups))
        else:
            values.append(_values_of_orders(predict, repeated, starts, groups, orders))
    return np.array(values), mean


def _is_additive(
    predict: Predict,
    rows: EncodedRows,
    background: EncodedRows,
    groups: Sequence[InputGroup],
    generator: np.random.Generator,
) -> bool:
    """Return whether predictions are a sum of functions of single groups, up to rounding."""
    indices = generator.integers(rows.inputs.shape[0], size=N_CHECKED)
    starts = rows_at(background, generator.integers(background.inputs.shape[0], size=N_CHECKED))
    ends = rows_at(rows, indices)
    moved = [exchanged(starts, ends, group) for group in groups]
    first, last, *steps = _predictions(predict, [starts, ends, *moved])
    added = first + sum(step - first for step in steps)
    return bool(np.abs(added - last).max() <= ROUNDING * np.abs([first, last]).max())


def _additive_values(
    predict: Predict, rows: EncodedRows, background: EncodedRows, groups: Sequence[InputGroup]
) -> tuple[np.ndarray, np.ndarray]:
    values = []
    for group in groups:
        parts = []
        for others in (rows, background):
            same = rows_at(background, np.zeros(others.inputs.shape[0], dtype=int))
            parts.append(exchanged(same, others, group))
        at_rows, at_background = _predictions(predict, parts)
        values.append(at_rows - at_background.mean(axis=0))
    return np.stack(values, axis=1), predict(background).mean(axis=0)


def _values_of_orders(
    predict: Predict,
    ends: EncodedRows,
    starts: EncodedRows,
    groups: Sequence[InputGroup],
    orders: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the mean changes (g, d) when groups are exchanged in these orders and in reverse."""
    total = 0.0
    for ordered in (orders, [order[::-1] for order in orders]):
        steps, current = [starts], starts
        for step in range(len(groups)):
            # All rows at once: those whose next group it is are exchanged.
            current = _exchanged_next(current, ends, groups, [order[step] for order in ordered])
            steps.append(current)
        changes = np.diff(_predictions(predict, steps), axis=0)
        for row, order in enumerate(ordered):
            values = np.empty((len(groups), changes.shape[2]))
            values[order] = changes[:, row]
            total = total + values
    return total / (2 * len(orders))


def _exchanged_next(
    rows: EncodedRows, others: EncodedRows, groups: Sequence[InputGroup], chosen: Sequence[int]
) -> EncodedRows:
    """Return the rows with the values of the group that is chosen for each from other rows."""
    if isinstance(rows.inputs, np.ndarray) and rows.lagged_values is None:
        inputs = rows.inputs.copy()
        for row, group in enumerate(chosen):
            columns = groups[group].inputs
            inputs[row, columns] = others.inputs[row, columns]
        return EncodedRows(inputs, rows.names, None, [], rows.notes)
    parts = [
        exchanged(rows_at(rows, np.array([row])), rows_at(others, np.array([row])), groups[group])
        for row, group in enumerate(chosen)
    ]
    return stacked(parts)


def _values_of_all_subsets(
    predict: Predict, ends: EncodedRows, starts: EncodedRows, groups: Sequence[InputGroup]
) -> np.ndarray:
    """Return the Shapley values (g, d) of a row by all subsets of the groups."""
    n_groups = len(groups)
    subsets = [set(s) for size in range(n_groups + 1) for s in combinations(range(n_groups), size)]
    parts = []
    for subset in subsets:
        part = starts
        for group in subset:
            part = exchanged(part, ends, groups[group])
        parts.append(part)
    means = np.mean(_predictions(predict, parts), axis=1)
    by_subset = {frozenset(subset): mean for subset, mean in zip(subsets, means)}
    values = np.zeros((n_groups, means.shape[1]))
    for subset, mean in by_subset.items():
        for group in set(range(n_groups)) - subset:
            weight = 1.0 / (n_groups * math.comb(n_groups - 1, len(subset)))
            values[group] += weight * (by_subset[subset | {group}] - mean)
    return values


def _predictions(predict: Predict, parts: Sequence[EncodedRows]) -> list[np.ndarray]:
    """Return the predictions of each part, in batches that fit into the memory."""
    first = parts[0].inputs
    width = first.shape[1] if isinstance(first, np.ndarray) else 1000
    per_batch = max(BATCH_NUMBERS // max(first.shape[0] * width, 1), 1)
    found: list[np.ndarray] = []
    for begin in range(0, len(parts), per_batch):
        batch = parts[begin : begin + per_batch]
        ends = np.cumsum([part.inputs.shape[0] for part in batch])[:-1]
        found += np.split(predict(stacked(batch)), ends)
    return found
