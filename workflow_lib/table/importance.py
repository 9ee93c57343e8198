"""Which inputs matter: how much larger the error is when an input is permuted between rows.

The permutation importance (Breiman, Machine Learning 45, 2001; Fisher, Rudin and Dominici, Journal
of Machine Learning Research 20, 2019) of a group of columns g for an output is

    I_g = mean over permutations of e(y, f(X with the columns g permuted)) - e(y, f(X))

on rows (X, y) that f has not learned from, where e is the error that the leaderboard shows: the
relative error of an output, sqrt(sum (y - f)^2 / sum (y - mean of the training rows)^2), or the
share of wrong classes. It is zero for an input that f does not use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np

from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.protocol.statistics import corrected_resampled_t_test
from workflow_lib.table.input_groups import Grouping, InputGroup, exchanged, rows_at, stacked

Predict = Callable[[EncodedRows], np.ndarray]
"""Returns the predictions (m, d) for m rows."""

Errors = Callable[[np.ndarray], np.ndarray]
"""Returns the errors (k,) of predictions (m, d) for the rows that are permuted."""

MAX_PREDICTIONS = 12_000
"""Predictions of a split: permutations of the rows and, where needed, the rows are fewer."""

MAX_REPEATS, MIN_ROWS = 10, 25
"""Permutations of a group in a split, and rows of which no fewer are kept, if there are as many."""

BATCH_NUMBERS = 2**22
"""Inputs of the rows that are predicted at once (32 MB)."""

MAY_BE_UNKNOWN = ("errors", "permuted", "p_value", "p_adjusted")
"""Arrays that hold NaN: of outputs that are constant in test rows, and without a test."""


def permuted_errors(
    predict: Predict,
    rows: EncodedRows,
    errors: Errors,
    groups: Sequence[InputGroup],
    n_repeats: int,
    seed: int,
) -> np.ndarray:
    """Return the errors (g, n_repeats, k) when each group of columns is permuted between rows.

    `predict` did not learn from any of the m `rows`. Each of the g groups has the same
    permutations, so that groups are compared on the same draws.
    """
    n_rows = rows.inputs.shape[0]
    generator = np.random.default_rng(seed)
    orders = [generator.permutation(n_rows) for _ in range(n_repeats)]
    permuted = [rows_at(rows, order) for order in orders]
    width = rows.inputs.shape[1] if isinstance(rows.inputs, np.ndarray) else 1000
    per_batch = max(BATCH_NUMBERS // max(n_rows * width * n_repeats, 1), 1)
    found = []
    for begin in range(0, len(groups), per_batch):
        batch = groups[begin : begin + per_batch]
        copies = [exchanged(rows, others, group) for group in batch for others in permuted]
        predicted = predict(stacked(copies))
        found += [errors(part) for part in np.split(predicted, len(copies))]
    return np.reshape(found, (len(groups), n_repeats, -1))


def planned(n_groups: int, n_rows: int) -> tuple[int, int]:
    """Return the number of permutations and of rows within `MAX_PREDICTIONS`."""
    kept = min(n_rows, max(MAX_PREDICTIONS // max(n_groups, 1), MIN_ROWS))
    return int(np.clip(MAX_PREDICTIONS // max(n_groups * kept, 1), 1, MAX_REPEATS)), kept


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p values (g,) adjusted for testing all of them; NaN, no test, stays NaN.

    Holm (Scandinavian Journal of Statistics 6, 1979): the k-th smallest of m is multiplied by
    m - k + 1, and is no smaller than those before it.

    Examples
    --------
    >>> holm(np.array([0.04, 0.01, 0.3])).round(2).tolist()
    [0.08, 0.03, 0.3]
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted


def importance_tree(
    plain: np.ndarray,
    permuted: np.ndarray,
    grouping: Grouping,
    outputs: Sequence[str],
    n_train: int,
    n_test: int,
) -> dict:
    """Return what is stored of the importance, which
    `workflow_lib.protocol.importance_table.importance_frame` reads.

    `plain` (s, k) and `permuted` (s, g, k) are errors in s splits, and with each of g groups
    permuted, the mean over permutations; of all k `outputs`, the first of which is their mean where
    there are several. NaN is left out. `n_train` and `n_test` are the rows of each split.
    """
    p_values = np.full(permuted.shape[1:], np.nan)
    for group, output in np.ndindex(p_values.shape):
        pairs = np.column_stack([permuted[:, group, output], plain[:, output]])
        first, second = pairs[~np.isnan(pairs).any(axis=1)].T
        if len(first) > 1:
            tested = corrected_resampled_t_test(first, second, n_train, n_test)
            p_values[group, output] = tested.p_value
    adjusted = [holm(p_values[:, output]) for output in range(p_values.shape[1])]
    columns = [group.columns for group in grouping.groups]
    return {
        "errors": plain,
        "permuted": permuted,
        "p_value": p_values,
        "p_adjusted": np.column_stack(adjusted),
        "outputs": json.dumps(list(outputs), ensure_ascii=False),
        "input_names": json.dumps([group.name for group in grouping.groups], ensure_ascii=False),
        "columns": json.dumps(columns, ensure_ascii=False),
        "n_windows": sum(group.is_window and len(group.columns) > 1 for group in grouping.groups),
        "limit": grouping.limit,
        "window_limit": grouping.window_limit,
    }
