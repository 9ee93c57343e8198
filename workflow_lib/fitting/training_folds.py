"""The folds of training rows, and the split in which all labelled rows train.

The model for new rows is made from this split, and so are the estimators that learn from arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workflow_lib.core.seeds import derive_seed
from workflow_lib.items.group_names import size_group

ALL_ROWS = "all"
"""The kind of split in which all labelled rows train, and the same rows are predicted."""


def split_all_rows(
    n_rows: int,
    n_folds: int,
    seed: int,
    labels: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> dict:
    """Return the split in which all rows train, as `split_rows` does.

    Raises ValueError if there are fewer rows than folds.

    There is one training size, `n_rows`, and no weak pool. The test rows are the training rows, in
    the same order, so that every method predicts them; they must never be scored. The model for new
    rows is made from this split.

    Parameters
    ----------
    n_rows, n_folds, seed
        As of `workflow_lib.protocol.splitting.split_rows`.
    labels : int array (n_rows,) or None, default=None
        Class of every row. The folds then hold out about as many rows of every class, and
        ``examples`` is the number of rows of the largest class: 1 where nothing can be selected.
    groups : int array (n_rows,) or None, default=None
        Group of every row. The folds then hold out whole groups.
    """
    if n_rows < n_folds:
        raise ValueError(f"{n_rows} training rows cannot fill {n_folds} folds")
    rows = np.random.default_rng(seed).permutation(n_rows)
    tree = {
        "test": rows,
        "train": rows,
        "weak": np.array([], dtype=int),
        "sizes": np.array([n_rows]),
        "weak_sizes": np.array([], dtype=int),
        "folds": {size_group(n_rows): fold_numbers(n_rows, n_folds, seed)},
        "n_left_out": 0,
    }
    if labels is not None:
        drawn = labels[rows]
        # Consecutive rows of a class take the folds in turn.
        folds = np.empty(n_rows, dtype=int)
        folds[np.argsort(drawn, kind="stable")] = np.arange(n_rows) % n_folds
        tree["folds"] = {size_group(n_rows): folds}
        tree["examples"] = np.array([np.bincount(drawn).max()])
    if groups is not None:
        folds = fold_numbers(n_rows, n_folds, seed, labels, rows, groups)
        tree["folds"] = {size_group(n_rows): folds}
    return tree


def fold_numbers(
    size: int,
    n_folds: int,
    seed: int,
    strata: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return the fold numbers (size,) of one training size, with folds of nearly equal size.

    With `strata`, the classes of all rows, each fold has about as many of the `rows` of each class.
    With `groups`, the groups of all rows, each fold holds out whole groups; of fewer groups than
    folds each is a fold, and rows of a single group are divided as if there were none. With both,
    whole groups are assigned so that each fold has about as many rows of each class.
    """
    # A separate generator for every size: leaving one size out changes no other.
    generator = np.random.default_rng([seed, size])
    if groups is not None:
        codes, group_of_row = np.unique(groups[rows], return_inverse=True)
        classes = np.zeros(size, dtype=int) if strata is None else strata[rows]
        counts = np.zeros((len(codes), classes.max() + 1), dtype=int)
        np.add.at(counts, (group_of_row, classes), 1)
        if len(codes) > 1:
            return _folds_of_groups(generator, counts, n_folds)[group_of_row]
    if strata is None:
        return generator.permutation(np.arange(size) % n_folds)
    drawn = generator.permutation(size)
    # Consecutive rows of a class take the folds in turn.
    drawn = drawn[np.argsort(strata[rows][drawn], kind="stable")]
    folds = np.empty(size, dtype=int)
    folds[drawn] = np.arange(size) % n_folds
    return folds


def _folds_of_groups(
    generator: np.random.Generator, counts: np.ndarray, n_folds: int
) -> np.ndarray:
    """Return the fold of each group, the larger groups first into folds with few such rows.

    `counts` (g, C) are the rows of each class in each group; without classes C is 1, and a group
    comes into the smallest fold. In general it comes into the fold f with the least
    sum_c n_fc g_c / N_c^2, which increases the sum over folds and classes of (n_fc / N_c)^2 least:
    the greedy rule of scikit-learn's StratifiedGroupKFold, with the variance over the folds instead
    of the standard deviation. Of equal folds it takes the one of fewest rows, so that no fold stays
    empty.
    """
    sizes = counts.sum(axis=1)
    order = generator.permutation(len(sizes))
    in_folds = np.zeros((min(n_folds, len(sizes)), counts.shape[1]))
    weights = counts / np.maximum(counts.sum(axis=0), 1.0) ** 2 * sizes.sum()
    folds = np.empty(len(sizes), dtype=int)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        overlaps = in_folds @ weights[group]
        # Rounded, because equal overlaps may differ in the last digit.
        folds[group] = np.lexsort((in_folds.sum(axis=1), overlaps.round(12)))[0]
        in_folds[folds[group]] += counts[group]
    return folds


def unpaired_rows(
    unpaired: Mapping[str, np.ndarray],
    test: np.ndarray,
    sizes: Sequence[int],
    seed: int,
    kind: str = "random",
    order: Mapping[str, np.ndarray] | None = None,
    groups: np.ndarray | None = None,
    **_others,
) -> dict[str, np.ndarray]:
    """Return the unpaired pool of a dataset that has rows without inputs, and its sizes.

    They are ``unpaired``, the numbers of the rows among the m, in random order; and
    ``unpaired_sizes``, at most m and the same in every split, though the pool may hold fewer.

    Parameters
    ----------
    unpaired : mapping
        ``outputs`` (m, d) of these rows, and their ``group`` or ``time`` (m,) where rows have them.
    test : int array
        Test rows of the split.
    sizes : sequence of int
        Increasing.
    seed : int
    kind : str, default="random"
        Of the split. Rows of a test group, and rows that were not known before the test rows, are
        left out, unless it is ``all``.
    order, groups
        As of `workflow_lib.protocol.splitting.split_rows`.
    """
    n_rows = len(unpaired["outputs"])
    generator = np.random.default_rng(derive_seed(seed, "rows without inputs"))
    pool = generator.permutation(n_rows)
    if order is not None and kind != ALL_ROWS:
        pool = pool[unpaired["time"][pool] < order["time"][test].min()]
    elif groups is not None and kind != ALL_ROWS:
        pool = pool[~np.isin(unpaired["group"][pool], groups[test])]
    kept = sorted({min(size, n_rows) for size in sizes})
    return {"unpaired": pool, "unpaired_sizes": np.array(kept, dtype=int)}
