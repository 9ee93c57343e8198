"""The columns of a table whose values are exchanged together, between rows of encoded inputs.

All that was encoded from one column moves together. So do columns that correlate: where one of
them alone is exchanged, a method can read its value off the others, and each seems not to matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.inputs.column_origins import channel_groups

LIMIT = 0.7
"""Columns that correlate at least so strongly are a group: above it collinearity distorts models
(Dormann et al., Ecography 36, 2013)."""

MAX_GROUPS = 300
"""With more groups than that the limit is lowered."""

MAX_WINDOWS = 30
"""Windows of one run of channels."""

MAX_COMPARED = 3000
"""Of more columns, as many consecutive ones are a group as leave that number."""

_STEP = 0.05
"""By which the limit is lowered."""


@dataclass(frozen=True)
class InputGroup:
    """Columns of a table that are exchanged together.

    ``inputs`` and ``lagged`` are the positions of all that was encoded from them, in the `inputs`
    and the `lagged_values` of `workflow_lib.data.table_encoding.EncodedRows`; ``is_window`` says
    whether they are consecutive channels, as of a spectrum.
    """

    columns: tuple[str, ...]
    inputs: np.ndarray
    lagged: np.ndarray
    is_window: bool = False

    @property
    def name(self) -> str:
        """What the group is called: by its column, its first and last one, or its first two."""
        first, *others = self.columns
        if not others:
            return first
        if self.is_window and len(others) > 1:
            return f"{first} to {others[-1]}"
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        return f"{first}, {others[0]}{more}" if more else f"{first} and {others[0]}"

    @classmethod
    def joined(cls, groups: Sequence[InputGroup], is_window: bool = False) -> InputGroup:
        """Return one group of the columns of several."""
        return cls(
            tuple(name for group in groups for name in group.columns),
            np.concatenate([group.inputs for group in groups]),
            np.concatenate([group.lagged for group in groups]),
            is_window,
        )


@dataclass(frozen=True)
class Grouping:
    """The groups of all columns, in the order of their first columns.

    Any two columns of a group that is no window correlate at least as strongly as ``limit``;
    neighbours that were joined to a window as ``window_limit`` on average.
    """

    groups: list[InputGroup]
    limit: float
    window_limit: float


def column_groups(positions: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> list[InputGroup]:
    """Return each column as a group, from its positions in the inputs and in the lagged values."""
    return [
        InputGroup((name,), *(np.asarray(indices, dtype=int) for indices in both))
        for name, both in positions.items()
    ]


def correlated_groups(
    columns: Sequence[InputGroup], rows: EncodedRows, limit: float = LIMIT
) -> Grouping:
    """Return the groups of columns that correlate in some rows.

    Two numbers are as similar as the absolute value of Spearman's rank correlation; columns with
    several encoded ones, such as categories, by the generalisation to sets of variables, the square
    root of the RV coefficient (Robert and Escoufier, Applied Statistics 25, 1976). Runs of channels
    (`workflow_lib.inputs.column_origins.channel_groups`) of which half of the neighbours or more
    are so similar are joined to windows: the two neighbours whose channels are the most similar on
    average are joined first, as long as the mean is above the limit; then the narrowest, to
    MAX_WINDOWS. All others are clustered hierarchically with complete linkage, so that no two
    columns of a group are less similar than the limit. Words and substructures are compared with
    nothing.

    `columns` are groups of one column each (`column_groups`); of the n `rows`, missing values are
    replaced by the mean rank. With a `limit` above 1 every column is a group of its own. It is
    lowered where MAX_WINDOWS of a run or, in steps of 0.05, MAX_GROUPS would be exceeded.
    """
    if limit > 1:
        return Grouping(list(columns), limit, limit)
    # A column without an encoded one, such as a text without a frequent word, is not used.
    order = {column.columns[0]: index for index, column in enumerate(columns)}
    columns = [column for column in columns if len(column.inputs) or len(column.lagged)]
    dense = [column for column in columns if _is_dense(column, rows)]
    size = -(-len(dense) // MAX_COMPARED)
    dense = [
        InputGroup.joined(dense[begin : begin + size], is_window=size > 1)
        for begin in range(0, len(dense), max(size, 1))
    ]
    found = [column for column in columns if not _is_dense(column, rows)]
    runs = np.array(channel_groups([column.columns[0] for column in dense], first=1), dtype=int)
    similarity = _similarities(dense, rows)
    window_limit = limit
    for run in range(1, runs.max(initial=0) + 1):
        members = np.flatnonzero(runs == run)
        if np.median(similarity[members[:-1], members[1:]]) < limit:
            runs[members] = 0
            continue
        windows, used = _windows(similarity[np.ix_(members, members)], limit)
        window_limit = min(window_limit, used)
        found += [
            InputGroup.joined([dense[members[index]] for index in window], is_window=True)
            for window in windows
        ]
    others = np.flatnonzero(runs == 0)
    clusters, limit = _clusters(similarity[np.ix_(others, others)], limit, MAX_GROUPS - len(found))
    found += [InputGroup.joined([dense[others[index]] for index in each]) for each in clusters]
    found.sort(key=lambda group: order[group.columns[0]])
    return Grouping(found, limit, window_limit)


def exchanged(rows: EncodedRows, others: EncodedRows, group: InputGroup) -> EncodedRows:
    """Return rows (m) with the values of a group of columns from as many other rows."""
    inputs, lagged = rows.inputs, rows.lagged_values
    if len(group.inputs):
        inputs = _with_columns(inputs, others.inputs, group.inputs)
    if len(group.lagged):
        lagged = _with_columns(lagged, others.lagged_values, group.lagged)
    return replace(rows, inputs=inputs, lagged_values=lagged)


def rows_at(rows: EncodedRows, indices: np.ndarray) -> EncodedRows:
    """Return the encoded inputs of some rows, without their notes."""
    lagged = rows.lagged_values
    return EncodedRows(
        rows.inputs[indices],
        rows.names,
        None if lagged is None else lagged[indices],
        rows.lagged_names,
        [""] * len(indices),
    )


def stacked(parts: Sequence[EncodedRows]) -> EncodedRows:
    """Return the encoded inputs of several sets of rows, one below the other."""
    first = parts[0]
    if isinstance(first.inputs, np.ndarray):
        inputs: Any = np.concatenate([part.inputs for part in parts])
    else:
        from scipy.sparse import vstack

        inputs = vstack([part.inputs for part in parts], format="csr")
    lagged = None
    if first.lagged_values is not None:
        lagged = np.concatenate([part.lagged_values for part in parts])
    return EncodedRows(inputs, first.names, lagged, first.lagged_names, [""] * inputs.shape[0])


def _is_dense(column: InputGroup, rows: EncodedRows) -> bool:
    return not len(column.inputs) or isinstance(rows.inputs, np.ndarray)


def _with_columns(inputs: Any, others: Any, columns: np.ndarray) -> Any:
    if isinstance(inputs, np.ndarray):
        mixed = inputs.copy()
        mixed[:, columns] = others[:, columns]
        return mixed
    from scipy.sparse import csr_array, diags_array

    is_taken = np.zeros(inputs.shape[1])
    is_taken[columns] = 1.0
    mixed = csr_array(inputs @ diags_array(1.0 - is_taken) + others @ diags_array(is_taken))
    mixed.eliminate_zeros()
    mixed.sort_indices()
    return mixed


def _similarities(columns: Sequence[InputGroup], rows: EncodedRows) -> np.ndarray:
    """Return the square roots of the RV coefficients (p, p) of columns; 0 of constant ones."""
    from scipy.stats import rankdata

    parts = []
    for column in columns:
        is_lagged = not len(column.inputs)
        values = rows.lagged_values if is_lagged else rows.inputs
        indices = column.lagged if is_lagged else column.inputs
        if len(column.columns) > 1:
            # The middle column stands for one of very many windows.
            indices = indices[len(indices) // 2 :][:1]
        elif np.isnan(values[:, indices[0]]).any():
            # An indicator of missing values makes no two numbers alike.
            indices = indices[:1]
        ranks = rankdata(values[:, indices], axis=0, nan_policy="omit")
        n_known = np.maximum((~np.isnan(ranks)).sum(axis=0), 1)
        parts.append(np.nan_to_num(ranks - np.nansum(ranks, axis=0) / n_known))
    if not parts:
        return np.empty((0, 0))
    centred = np.hstack(parts)
    begins = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
    squares = (centred.T @ centred) ** 2
    shared = np.add.reduceat(np.add.reduceat(squares, begins, axis=0), begins, axis=1)
    lengths = np.sqrt(np.diag(shared))
    scale = np.outer(lengths, lengths)
    return np.sqrt(np.divide(shared, scale, out=np.zeros_like(shared), where=scale > 0))


def _windows(similarity: np.ndarray, limit: float) -> tuple[list[list[int]], float]:
    """Return the channels of each window, and the lowest mean similarity of two joined windows."""
    sums = np.pad(similarity.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    ends = list(range(len(similarity) + 1))
    lowest = 1.0

    def shared(index: int) -> float:
        """Return the mean similarity of the channels of a window with those of the next."""
        begin, middle, end = ends[index : index + 3]
        total = sums[middle, end] - sums[begin, end] - sums[middle, middle] + sums[begin, middle]
        return total / ((middle - begin) * (end - middle))

    means = [shared(index) for index in range(len(ends) - 2)]
    while means and (max(means) >= limit or len(means) >= MAX_WINDOWS):
        index = int(np.argmax(means))
        if means[index] < limit:
            # Noise without a signal would otherwise keep many windows, and the signals few.
            index = int(np.argmin(np.subtract(ends[2:], ends[:-2])))
        lowest = min(lowest, means[index])
        del ends[index + 1], means[index]
        for near in (index - 1, index):
            if 0 <= near < len(means):
                means[near] = shared(near)
    return [list(range(*both)) for both in zip(ends, ends[1:])], min(lowest, limit)


def _clusters(similarity: np.ndarray, limit: float, most: int) -> tuple[list[list[int]], float]:
    """Return the indices of the columns of each cluster, and the limit that was used."""
    n_columns = len(similarity)
    if n_columns < 2:
        return [[index] for index in range(n_columns)], limit
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = np.maximum(1.0 - (similarity + similarity.T) / 2, 0.0)
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "complete")
    while True:
        # A similarity equal to the limit is within it, whatever its rounding.
        labels = fcluster(tree, 1.0 - limit + 1e-9, "distance")
        if labels.max() <= max(most, 1) or limit <= 0:
            members = [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]
            return members, limit
        limit = max(round(limit - _STEP, 2), 0.0)
