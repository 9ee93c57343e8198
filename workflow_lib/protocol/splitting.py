"""The split stage: which rows train, which may be weakly labelled, which test, and the folds.

Weak rows are of two kinds. In a dataset whose outputs are all known, the remaining labelled rows
are used as weak rows, with hidden outputs. In other datasets rows without any known output are weak
rows; they neither train nor test, and the labelled rows are split as if there were no others.

Unpaired rows, of which the output alone may be used, come after the largest weak set in the same
order, so that no row is both. A dataset may have such rows of its own (its group ``unpaired``);
then these are used in every split, and the others are split as if there were none. Unpaired rows
that repeat all outputs of a test row are left out, because they may be copies of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.training_folds import (
    ALL_ROWS,
    fold_numbers,
    split_all_rows,
    unpaired_rows,
)
from workflow_lib.fitting.wrong_labels import swapped_rows
from workflow_lib.items.group_names import size_group
from workflow_lib.tabular.row_roles import classes_in_groups, most_test_rows, row_key

# Roles of the rows in a given split.
TRAINING, TEST, WEAK = 0, 1, 2

# By kind of split: the group of the dataset artifact, the argument of `split_rows`, and its name in
# messages.
BASES = {
    "grouped": ("groups", "groups", "groups"),
    "chronological": ("order", "order", "times"),
    "given": ("fixed", "roles", "roles"),
    "per_class": ("classes", "labels", "classes"),
    "stratified": ("classes", "strata", "classes"),
}

# Most orders of the groups in which a test set with every class is looked for.
MAX_ORDERS = 20

# The kind of split whose test rows are one fold of a partition of the rows.
K_FOLD = "k_fold"

# The training size of all rows that may train; as in `core.values`, which no stage imports.
ALL = "all"


def split_rows(
    n_rows: int,
    training_sizes: Sequence[int | str],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
    order: Mapping[str, np.ndarray] | None = None,
    groups: np.ndarray | None = None,
    roles: np.ndarray | None = None,
    labels: np.ndarray | None = None,
    strata: np.ndarray | None = None,
    unpaired_sizes: Sequence[int] = (),
    whole_groups: str = "test",
    held_out: np.ndarray | None = None,
    n_available: int | None = None,
) -> dict:
    """Return a seeded partition of the rows, as the tree of a "split" artifact.

    The rows are permuted once. The first are the test set, the next the training pool, and the
    rest the weak pool. Training and weak sets of smaller size are prefixes of larger ones, so that
    a learning curve adds rows and never exchanges them. Sizes that do not fit are left out; what
    fits is in ``sizes`` and ``weak_sizes``. With `order` the test set is the latest rows and only
    the rows before it (`chronological_rows`) are permuted; with `groups` it is whole groups
    (`grouped_rows`, with `strata` `stratified_groups`); with `roles` it is given, and `test_size`
    is ignored; `strata` then apply to the training sets and the folds. With `labels` the
    training sizes are examples per class (`split_classes`); with `strata` they are rows, and every
    class has its share of the test and of each training set (`stratified_rows`). With `held_out`
    the test set is one fold of a partition (`partition_rows`), and `test_size` is ignored; `strata`
    and `groups` then apply to the training sets and the folds.

    Raises ValueError if the test set or the smallest training set does not fit, or it has fewer
    rows than folds.

    Parameters
    ----------
    n_rows : int
    training_sizes, weak_sizes : sequence of int
        Increasing. The weak size zero is not stored; it always exists. The training size `ALL`, the
        last, is all rows that may train.
    test_size : float
        A fraction of the rows when below 1, else a number of rows.
    n_folds : int
        Folds of the inner cross-validation.
    seed : int
    order : mapping or None, default=None
        ``time``, ``begin``, ``end`` and ``company`` of every row, for a chronological split.
    groups : int array (n_rows,) or None, default=None
        Group of every row, for a grouped split.
    roles : int array (n_rows,) or None, default=None
        TRAINING, TEST or WEAK for every row, for a given split.
    labels : int array (n_rows,) or None, default=None
        Class of every row, counted from 0, for a split per class.
    strata : int array (n_rows,) or None, default=None
        The same for a stratified split, one of whole groups, one of folds or a given one.
    unpaired_sizes : sequence of int, default=()
        Increasing; the largest that does not fit is all rows that are left. With any above zero,
        the weak pool has no more rows than the largest weak size.
    whole_groups : {"test", "folds", "training"}, default="test"
        What does not divide `groups`: the test set alone; the folds too (`fold_numbers`); or
        these and the training sets, which then are filled with one group after the other, so that
        only the last may be divided. With `held_out` folds never divide a group.
    held_out : bool array (n_rows,) or None, default=None
        Whether a row is a test row, for a fold of a partition.
    n_available : int or None, default=None
        The largest training set; None for all rows that are not test rows.

    Returns
    -------
    dict
        ``train``, ``weak``, ``test`` (row numbers), ``sizes``, ``weak_sizes``, ``folds`` with the
        fold number of every training row for each size, and ``n_left_out``, the number of rows
        that a chronological split could not use. With `labels` also ``examples``, the labelled
        rows of each class at each size; with `unpaired_sizes` also ``unpaired`` and
        ``unpaired_sizes``.
    """
    generator = np.random.default_rng(seed)
    if labels is not None:
        tree = split_classes(
            generator, labels, training_sizes, weak_sizes, test_size, n_folds, seed
        )
        return tree | _set_aside(tree["weak"], weak_sizes, unpaired_sizes)
    n_test = int(test_size) if test_size >= 1 else int(round(test_size * n_rows))
    is_test = held_out if roles is None else roles == TEST
    if is_test is not None:
        n_test = int(is_test.sum())
    if n_test < 1 or n_test >= n_rows:
        raise ValueError(f"{n_test} test rows of {n_rows} leave {n_rows - n_test} for training")
    weak = np.array([], dtype=int)
    if order is not None:
        test, earlier = chronological_rows(order, n_test)
        pool = generator.permutation(earlier)
    elif groups is not None and strata is not None and is_test is None:
        tested = stratified_groups(generator, groups, strata, n_test)
        test, others = generator.permutation(np.flatnonzero(tested)), np.flatnonzero(~tested)
        pool = others[stratified_rows(generator, strata[others], 0)[1]]
    elif is_test is not None:
        test = np.flatnonzero(is_test)
        others = np.flatnonzero(~is_test if roles is None else roles == TRAINING)
        if strata is None:
            pool = generator.permutation(others)
        else:
            pool = others[stratified_rows(generator, strata[others], 0)[1]]
        if roles is not None:
            weak = generator.permutation(np.flatnonzero(roles == WEAK))
    elif groups is not None:
        test, others = grouped_rows(generator, groups, n_test)
        pool = generator.permutation(others)
    elif strata is not None:
        test, pool = stratified_rows(generator, strata, n_test)
    else:
        permuted = generator.permutation(n_rows)
        test, pool = permuted[:n_test], permuted[n_test:]
    if groups is not None and whole_groups == "training":
        _, first, group_of_row = np.unique(groups[pool], return_index=True, return_inverse=True)
        pool = pool[np.argsort(first[group_of_row], kind="stable")]
    available = len(pool) if n_available is None else n_available
    training_sizes = sorted({available if size == ALL else size for size in training_sizes})
    smallest = min(training_sizes)
    if smallest < n_folds:
        raise ValueError(f"{smallest} training rows cannot fill {n_folds} folds")
    sizes = [size for size in training_sizes if size <= available]
    if not sizes:
        raise ValueError(
            f"the smallest training size is {smallest}, but {available} rows are left after "
            f"{n_test} for testing"
        )
    weak = np.concatenate([weak, pool[max(sizes) :]])
    folded = groups if whole_groups != "test" or held_out is not None else None
    return {
        "test": test,
        "train": pool[: max(sizes)],
        **_set_aside(weak, weak_sizes, unpaired_sizes),
        "sizes": np.array(sizes),
        "folds": {
            size_group(size): fold_numbers(size, n_folds, seed, strata, pool[:size], folded)
            for size in sizes
        },
        "n_left_out": n_rows - len(test) - max(sizes) - len(weak),
    }


def _set_aside(
    rows: np.ndarray, weak_sizes: Sequence[int], unpaired_sizes: Sequence[int]
) -> dict[str, np.ndarray]:
    """Return the weak and the unpaired pool and their sizes, from the rows that do not train."""
    fitting = np.array([size for size in weak_sizes if 0 < size <= len(rows)], dtype=int)
    if max(unpaired_sizes, default=0) == 0:
        return {"weak": rows, "weak_sizes": fitting}
    n_weak = max(fitting, default=0)
    unpaired = rows[n_weak:]
    sizes = sorted({min(size, len(unpaired)) for size in unpaired_sizes})
    return {
        "weak": rows[:n_weak],
        "weak_sizes": fitting,
        "unpaired": unpaired,
        "unpaired_sizes": np.array(sizes, dtype=int),
    }


def partition_rows(
    n_rows: int,
    n_folds: int,
    seed: int,
    strata: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return the fold (n_rows,) of every row, a seeded partition into test sets.

    Folds differ by one row at most, or hold out whole groups and differ as these require. As many
    folds as rows (or groups) are leave-one-out: each is a fold.

    Raises ValueError if there are more folds than rows or groups, if a class has fewer rows than
    there are folds (unless it is leave-one-out), or if all rows of a class are in one fold, where
    it would be tested without a training row.

    Parameters
    ----------
    n_rows, n_folds, seed : int
    strata : int array (n_rows,) or None, default=None
        Class of every row; each has its share of every fold.
    groups : int array (n_rows,) or None, default=None
        Group of every row; its rows share a fold.
    """
    n_units = n_rows if groups is None else len(np.unique(groups))
    what = "rows" if groups is None else "groups of rows"
    if n_folds > n_units:
        raise ValueError(f"{n_folds} folds, but {n_units} {what}; at most {n_units} are possible")
    if strata is not None and n_folds < n_units:
        _, counts = np.unique(strata, return_counts=True)
        if counts.min() < n_folds:
            raise ValueError(
                f"{n_folds} folds, but a class of {counts.min()} rows; at most {counts.min()} are "
                f"possible, or {n_units} for leave-one-out, one of the {what} at a time"
            )
    folds = fold_numbers(n_rows, n_folds, seed, strata, np.arange(n_rows), groups)
    if strata is not None:
        for label in np.unique(strata):
            if len(np.unique(folds[strata == label])) == 1:
                raise ValueError(
                    f"all {(strata == label).sum()} rows of class number {label} are in one fold, "
                    "so that no training row has this class"
                )
    return folds


def stratified_rows(
    generator: np.random.Generator, strata: np.ndarray, n_test: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return `n_test` rows, and the others in an order of which every prefix is stratified.

    Every class has its share of the test rows and of each prefix, up to one row. At least one row
    of each class is not a test row, so that every class can be learned. The order begins with one
    row of each class, larger classes earlier on average, so that small training sets contain as
    many classes as possible.

    Parameters
    ----------
    generator : numpy.random.Generator
    strata : int array (n,)
        Class of every row.
    n_test : int
        Fewer rows are test rows if too many classes have a single row.
    """
    position = np.empty(len(strata))
    for label in np.unique(strata):
        rows = generator.permutation(np.flatnonzero(strata == label))
        # Evenly spaced over the order, from a random start.
        position[rows] = (np.arange(len(rows)) + generator.random()) / len(rows)
    order = np.argsort(position, kind="stable")
    left = np.bincount(strata)
    tests = np.zeros(len(strata), dtype=bool)
    for row in order:
        if tests.sum() == n_test:
            break
        if left[strata[row]] > 1:
            tests[row] = True
            left[strata[row]] -= 1
    pool = order[~tests[order]]
    firsts = np.sort(np.unique(strata[pool], return_index=True)[1])
    others = np.setdiff1d(np.arange(len(pool)), firsts)
    return order[tests[order]], np.concatenate([pool[firsts], pool[others]])


def split_classes(
    generator: np.random.Generator,
    labels: np.ndarray,
    examples: Sequence[int],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
) -> dict:
    """Return a partition in which every training size has equally many rows of each class.

    Of each class the first rows of a permutation are test rows (the share `test_size`, or as many
    of `test_size` rows as its share of all rows), and the next are its labelled examples, so that a
    larger size adds the same number of rows of each class. The remaining rows are the weak pool.

    A fold holds out every `n_folds`-th example of each class, counted from a random start, so that
    it holds out at most one more of one class than of another. With one example per class a
    held-out class has no training row: the folds then only give held-out predictions, by which
    nothing can be selected.

    Parameters
    ----------
    generator : numpy.random.Generator
    labels : int array (n_rows,)
    examples : sequence of int
        Labelled rows per class, increasing; numbers that some class cannot fill are left out.
    weak_sizes, test_size, n_folds, seed
        As of `split_rows`.
    """
    n_classes = int(labels.max()) + 1
    share = test_size if test_size < 1 else test_size / len(labels)
    test, pools = [], []
    for label in range(n_classes):
        rows = generator.permutation(np.flatnonzero(labels == label))
        n_test = max(int(round(share * len(rows))), 1)
        test.append(rows[:n_test])
        pools.append(rows[n_test:])
    smallest = min(len(pool) for pool in pools)
    kept = [count for count in examples if count <= smallest]
    if not kept:
        raise ValueError(
            f"the smallest number of examples per class is {min(examples)}, but {smallest} rows of "
            "one class are left after the test rows"
        )
    most = max(kept)
    train = np.array([pool[:most] for pool in pools])
    in_turn = [generator.permutation(train[:, index]) for index in range(most)]
    train_rows = np.concatenate(in_turn)
    weak = generator.permutation(np.concatenate([pool[most:] for pool in pools]))
    folds = {}
    for count in kept:
        starts = np.random.default_rng([seed, count]).permutation(n_classes)
        numbers = [(starts[labels[rows]] + index) % n_folds for index, rows in enumerate(in_turn)]
        folds[size_group(count * n_classes)] = np.concatenate(numbers[:count])
    return {
        "test": generator.permutation(np.concatenate(test)),
        "train": train_rows,
        "weak": weak,
        "sizes": np.array([count * n_classes for count in kept]),
        "examples": np.array(kept),
        "weak_sizes": np.array([size for size in weak_sizes if 0 < size <= len(weak)], dtype=int),
        "folds": folds,
        "n_left_out": 0,
    }


def grouped_rows(
    generator: np.random.Generator, groups: np.ndarray, n_test: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return about `n_test` rows, whole groups drawn at random, and the rows of other groups.

    Groups that do not fit are skipped, so that the test set is not larger than requested. If no
    group fits, the smallest group is the test set.
    """
    codes, sizes = np.unique(groups, return_counts=True)
    chosen: list[int] = []
    total = 0
    for index in generator.permutation(len(codes)):
        if total + sizes[index] <= n_test:
            chosen.append(codes[index])
            total += sizes[index]
    if not chosen:
        chosen = [codes[sizes.argmin()]]
    tested = np.isin(groups, chosen)
    return generator.permutation(np.flatnonzero(tested)), np.flatnonzero(~tested)


def stratified_groups(
    generator: np.random.Generator, groups: np.ndarray, strata: np.ndarray, n_test: int
) -> np.ndarray:
    """Return whether each row (n,) is a test row: whole groups, with a share of every class.

    Groups are taken in a random order, while there are at most `most_test_rows` test rows: a group
    with a class that is not tested yet, or by which the shares of the classes that are tested come
    nearer to that of all rows. No group is taken without which a class has no training row. Of up
    to `MAX_ORDERS` orders the first that tests every class is used, otherwise the one that tests
    most classes.

    Raises ValueError if every group holds all rows of some class, so that none can be tested.

    Parameters
    ----------
    generator : numpy.random.Generator
    groups, strata : int arrays (n,)
        Group and class of every row.
    n_test : int
    """
    group_of_row, counts = classes_in_groups(groups, strata)
    totals, most = counts.sum(axis=0), most_test_rows(counts, n_test)
    wanted = totals * n_test / len(groups)
    is_testable = ((counts < totals) | (counts == 0)).all(axis=1)
    if not is_testable.any():
        raise ValueError("every group holds all rows of a class, which would have no training row")
    n_classes = int((counts[is_testable].sum(axis=0) > 0).sum())
    best, most_classes = np.zeros(len(counts), dtype=bool), 0
    for _ in range(MAX_ORDERS):
        chosen, tested = np.zeros(len(counts), dtype=bool), np.zeros_like(totals)
        for group in generator.permutation(np.flatnonzero(is_testable)):
            after, is_in = tested + counts[group], counts[group] > 0
            if after.sum() > most or (after[is_in] == totals[is_in]).any():
                continue
            is_nearer = _squares(after, wanted, totals) < _squares(tested, wanted, totals)
            if (tested[is_in] == 0).any() or is_nearer:
                chosen[group], tested = True, after
        if (tested > 0).sum() > most_classes:
            best, most_classes = chosen, int((tested > 0).sum())
        if most_classes == n_classes:
            break
    return best[group_of_row]


def _squares(rows: np.ndarray, wanted: np.ndarray, totals: np.ndarray) -> float:
    """Return the sum of the squared differences between the shares of the classes (C,)."""
    return float((((rows - wanted) / totals) ** 2).sum())


def chronological_rows(
    order: Mapping[str, np.ndarray], n_test: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the `n_test` latest rows, and the rows that were completely known before them.

    A row may train only if all its data, the output included, end before the inputs of the first
    test row are known, and if its days overlap with those of no test row of its company.

    Parameters
    ----------
    order : mapping
        ``time`` (n,): day on which the inputs are known; ``begin`` and ``end`` (n,): first and
        last day of the data of a row; ``company`` (n,): code.
    n_test : int
    """
    test = np.argsort(order["time"], kind="stable")[-n_test:]
    others = np.ones(len(order["time"]), dtype=bool)
    others[test] = False
    others = np.flatnonzero(others)
    return test, others[_known_before(order, test, others)]


def _known_before(order: Mapping[str, np.ndarray], test: np.ndarray, rows: np.ndarray):
    """Return which `rows` were completely known before the rows `test` (`chronological_rows`)."""
    known = order["end"][rows] < order["time"][test].min()
    for index in np.flatnonzero(known):
        row = rows[index]
        same = test[order["company"][test] == order["company"][row]]
        overlaps = (order["begin"][same] <= order["end"][row]) & (
            order["end"][same] >= order["begin"][row]
        )
        known[index] = not overlaps.any()
    return known


def split_labelled_rows(
    is_labelled: np.ndarray,
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
    weak_groups: np.ndarray | None = None,
    kind: str = "random",
    unpaired_sizes: Sequence[int] = (),
    whole_groups: str = "test",
    n_available: int | None = None,
    **basis,
) -> dict:
    """Return a split of the labelled rows, with the rows without outputs as weak rows.

    The labelled rows are split as `split_rows` (or `split_all_rows`) splits a dataset of them
    alone, so that additional weak rows change neither training nor test rows. The weak rows are
    permuted by a separate generator and appended to the weak pool, without those that must not be
    used in training: rows of a test group, rows that were not known before the test rows, and rows
    whose given role is to test.

    With `weak_groups` the weak pool has only rows without outputs, and only those whose group has a
    row in the largest training set, since the others have no weak label. A weak size that is larger
    than the pool is then the whole pool. The pool, and with it this size, can differ by split.

    Raises ValueError as of `split_rows`.

    Parameters
    ----------
    is_labelled : bool array (n,)
        Whether some output of a row is known.
    training_sizes, weak_sizes, test_size, n_folds, seed
        As of `split_rows`; a test size below 1 is a share of the labelled rows.
    weak_groups : int array (n,) or None, default=None
        Group of every row; rows of a group have similar outputs; -1 for none.
    kind : str, default="random"
        As of `run`.
    unpaired_sizes, whole_groups, n_available
        As of `split_rows`.
    **basis
        ``order``, ``groups``, ``roles``, ``labels``, ``strata`` or ``held_out`` of `split_rows`,
        for all n rows.

    Returns
    -------
    dict
        As of `split_rows`; ``weak_sizes_asked``, for each of ``weak_sizes`` the largest requested
        size for which it is used, the same in every split; and ``n_weak_left_out``, the number of
        rows without outputs outside the pool.
    """
    labelled, unlabelled = np.flatnonzero(is_labelled), np.flatnonzero(~is_labelled)
    of_labelled = {name: _values_of(values, labelled) for name, values in basis.items()}
    if kind == ALL_ROWS:
        tree = split_all_rows(len(labelled), n_folds, seed, **of_labelled)
    else:
        sizes = (training_sizes, weak_sizes, test_size, n_folds, seed)
        tree = split_rows(
            len(labelled),
            *sizes,
            **of_labelled,
            unpaired_sizes=unpaired_sizes,
            whole_groups=whole_groups,
            n_available=n_available,
        )
    roles = ("train", "weak", "test", "unpaired")
    tree |= {role: labelled[tree[role]] for role in roles if role in tree}
    generator = np.random.default_rng(derive_seed(seed, "rows without outputs"))
    added = generator.permutation(unlabelled)
    if kind != ALL_ROWS:
        added = added[_may_be_known(added, tree["test"], **basis)]
    if weak_groups is not None:
        known = np.setdiff1d(weak_groups[tree["train"]], [-1])
        added = added[np.isin(weak_groups[added], known)]
        tree["weak"] = added
        kept = {min(size, len(added)): size for size in sorted(weak_sizes)}
    else:
        tree["weak"] = np.concatenate([tree["weak"], added])
        kept = {size: size for size in weak_sizes if size <= len(tree["weak"])}
    kept = {size: requested for size, requested in sorted(kept.items()) if size > 0}
    tree["weak_sizes"] = np.array(list(kept), dtype=int)
    tree["weak_sizes_asked"] = np.array(list(kept.values()), dtype=int)
    tree["n_weak_left_out"] = len(unlabelled) - len(added)
    return tree


def _values_of(values: np.ndarray | Mapping[str, np.ndarray], rows: np.ndarray):
    """Return the argument of `split_rows` for some of the rows."""
    if isinstance(values, Mapping):
        return {name: column[rows] for name, column in values.items()}
    return values[rows]


def _may_be_known(
    rows: np.ndarray,
    test: np.ndarray,
    order: Mapping[str, np.ndarray] | None = None,
    groups: np.ndarray | None = None,
    roles: np.ndarray | None = None,
    **others,
) -> np.ndarray:
    """Return which of `rows` may be used in training; all, for other kinds of split."""
    if order is not None:
        return _known_before(order, test, rows)
    if groups is not None:
        return ~np.isin(groups[rows], groups[test])
    if roles is not None:
        return roles[rows] != TEST
    return np.ones(len(rows), dtype=bool)


def run(
    dataset: Path,
    output: Path,
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
    experiment: str,
    kind: str = "random",
    unpaired_sizes: Sequence[int] = (),
    whole_groups: str = "test",
    outer_folds: int | None = None,
    fold: tuple[int, int] | None = None,
    partition_seeds: Sequence[int] = (),
    wrong_labels: float = 0.0,
) -> None:
    """Read a dataset, split its rows and write the "split" artifact.

    `kind` is ``random``, ``grouped``, ``chronological``, ``given``, ``per_class``, ``stratified``,
    ``k_fold`` or ``all``. With ``k_fold`` the test rows are those of one of `outer_folds` folds:
    `fold` is the repetition, whose partition has the seed `partition_seeds` of the same number, and
    the fold. With ``all``, `training_sizes` and `test_size` are ignored (`split_all_rows`), and
    `whole_groups` counts for the folds alone. Rows
    without any known output are weak rows, and a dataset with ``weak_groups`` has no others
    (`split_labelled_rows`). With `wrong_labels`, a share, the artifact has ``output_rows`` (n,):
    the rows whose outputs the training pool has (`training_output_rows`).

    Raises UserError if the dataset has too few rows for the experiment's sizes, or lacks the
    groups, times or roles that the kind of split needs; the message names the keys.
    """
    data = read_artifact(dataset, "dataset")
    is_labelled = ~np.isnan(data["outputs"]).all(axis=1)
    n_rows = int(is_labelled.sum())
    weak_groups = data["weak_groups"]["codes"] if "weak_groups" in data else None
    has_weak_rows = weak_groups is not None or n_rows < len(is_labelled)
    basis, n_available = _basis_of(kind, data, dataset, experiment, whole_groups), None
    if kind == K_FOLD:
        basis["held_out"], n_available = _test_fold(
            basis, is_labelled, outer_folds, fold, partition_seeds, experiment, "classes" in data
        )
    outputs, own_unpaired = data["outputs"], data.get("unpaired")
    drawn_sizes = unpaired_sizes if own_unpaired is None else ()
    sizes = (training_sizes, weak_sizes, test_size, n_folds, seed)
    try:
        if kind == ALL_ROWS or has_weak_rows:
            tree = split_labelled_rows(
                is_labelled,
                *sizes,
                weak_groups,
                kind,
                drawn_sizes,
                whole_groups,
                n_available,
                **basis,
            )
        else:
            tree = split_rows(
                n_rows,
                *sizes,
                **basis,
                unpaired_sizes=drawn_sizes,
                whole_groups=whole_groups,
                n_available=n_available,
            )
    except ValueError as error:
        rows = "rows with a known output" if has_weak_rows else "rows"
        raise UserError(
            location=f"experiment {experiment}, keys training_sizes and test_size",
            found=f"{error} (the dataset has {n_rows} {rows})",
            expected=f"a test set and at least {n_folds} training rows, one for every fold",
            remedy=f"change training_sizes or test_size of {experiment} in config/experiments, or "
            "n_folds in config/config.yaml",
        ) from error
    if kind != ALL_ROWS:
        for size in training_sizes:
            if size != ALL and size not in tree.get("examples", tree["sizes"]):
                print(f"training size {size} left out: the dataset has only {n_rows} rows")
    n_weak = len(tree["weak"])
    for size in weak_sizes:
        if size not in tree["weak_sizes"]:
            if size and n_weak and weak_groups is not None:
                print(f"weak size {size}: all {n_weak} rows of the weak pool instead")
            else:
                print(f"weak size {size} left out: {n_weak} rows are in the weak pool")
    if own_unpaired is not None and max(unpaired_sizes, default=0) > 0:
        outputs = own_unpaired["outputs"]
        tree |= unpaired_rows(own_unpaired, tree["test"], unpaired_sizes, seed, kind, **basis)
    # All rows of a class have the same vector, which is known without a leak.
    if "unpaired" in tree and kind != ALL_ROWS and "classes" not in data:
        pool = tree["unpaired"]
        test = data["outputs"][tree["test"]]
        tested = {row_key(row) for row in test[~np.isnan(test).any(axis=1)]}
        repeats = np.array([row_key(row) in tested for row in outputs[pool]], dtype=bool)
        tree["unpaired"] = pool[~repeats]
        if repeats.any():
            print(
                f"{repeats.sum()} rows left out of the pool of outputs without inputs: all their "
                "outputs are those of a test row"
            )
    if "unpaired" in tree:
        print(f"{len(tree['unpaired'])} rows are in the pool of outputs without inputs")
    if tree.get("n_weak_left_out"):
        print(
            f"{tree['n_weak_left_out']} rows without outputs left out: they share no group with a "
            "training row, or must not be known before the test rows are predicted"
        )
    if "strata" in basis:
        smallest = basis["strata"][tree["train"][: tree["sizes"][0]]]
        n_few = int((np.unique(smallest, return_counts=True)[1] < n_folds).sum())
        if n_few:
            print(
                f"classes with fewer than {n_folds} of the {len(smallest)} training rows, of which "
                f"some folds of the selection hold out no row: {n_few}"
            )
    if kind == "chronological":
        print(f"{tree['n_left_out']} rows left out: they overlap in time with the test rows")
    if kind == K_FOLD:
        tree["outer_folds"] = outer_folds
    if wrong_labels > 0:
        _swap_outputs(tree, data, wrong_labels, derive_seed(seed, "wrong labels"))
    write_artifact(output, tree, "split", seed=seed, inputs=[dataset])


def _swap_outputs(tree: dict, data: Mapping, share: float, seed: int) -> None:
    """Add ``output_rows`` to the tree of a "split" artifact, and print how many outputs differ."""
    train = tree["train"]
    if "classes" in data:
        codes = data["classes"]["labels"][train]
    else:
        by_value: dict = {}
        rows = data["outputs"][train]
        codes = np.array([by_value.setdefault(row_key(row), len(by_value)) for row in rows])
    indices = swapped_rows(codes, tree["sizes"], share, seed)
    tree["output_rows"] = train[indices]
    for size in tree["sizes"]:
        n_wrong = int((codes[indices] != codes)[:size].sum())
        print(f"training size {size}: {n_wrong} rows have a wrong output, {n_wrong / size:.1%}")


def _test_fold(
    basis: Mapping[str, np.ndarray],
    is_labelled: np.ndarray,
    outer_folds: int,
    fold: tuple[int, int],
    partition_seeds: Sequence[int],
    experiment: str,
    has_classes: bool,
) -> tuple[np.ndarray, int]:
    """Return which rows (n,) a fold tests, and the rows left in every fold of every repetition.

    The arguments are those of `run`. The second value is the largest training size: folds differ in
    their numbers of rows, and results of a training size are those of the same number in all
    splits.
    """
    location = f"experiment {experiment}, key outer_folds"
    n_rows, (repetition, number) = int(is_labelled.sum()), fold
    of_labelled = {name: values[is_labelled] for name, values in basis.items()}
    try:
        partitions = [
            partition_rows(n_rows, outer_folds, seed, **of_labelled) for seed in partition_seeds
        ]
    except ValueError as error:
        raise UserError(
            location,
            f"{error} (the dataset has {n_rows} rows with a known output)",
            expected="no more folds than rows or groups, and rows of every class outside each fold",
            remedy=f"change outer_folds of {experiment} in config/experiments, and n_splits to a "
            "multiple of it",
        ) from error
    counts = np.array([np.bincount(partition) for partition in partitions])
    if not has_classes and counts.min() < 2:
        raise UserError(
            location,
            f"a fold of one row ({outer_folds} folds of {n_rows} rows)",
            expected="folds of at least 2 rows: errors of numeric outputs are relative to that of "
            "the training mean on the test rows, and a mean of ratios of single rows says little",
            remedy=f"set outer_folds to {max(n_rows // 2, 2)} at most for {experiment} "
            "in config/experiments",
        )
    held_out = np.zeros(len(is_labelled), dtype=bool)
    held_out[np.flatnonzero(is_labelled)[partitions[repetition] == number]] = True
    return held_out, n_rows - int(counts.max())


def _basis_of(kind: str, data: Mapping, dataset: Path, experiment: str, whole_groups: str) -> dict:
    """Return the arguments of `split_rows` that a kind of split needs, of those in the data."""
    if kind == "random":
        return {}
    if kind == ALL_ROWS:
        basis = {"labels": data["classes"]["labels"]} if "classes" in data else {}
        if whole_groups != "test" and "groups" in data:
            (basis["groups"],) = data["groups"].values()
        return basis
    if kind == K_FOLD:
        basis = {}
        if "classes" in data:
            basis["strata"] = data["classes"]["labels"]
        if "groups" in data:
            (basis["groups"],) = data["groups"].values()
        return basis
    group, argument, what = BASES[kind]
    if group not in data:
        raise UserError(
            location=f"experiment {experiment}, key split",
            found=f"a {kind} split of {dataset}, whose rows have no {what}",
            expected=f"a dataset whose reader gives the {what} of every row",
            remedy=f"set split: random for {experiment} in config/experiments",
        )
    values = data[group]
    if kind == "chronological":
        return {argument: values}
    if kind in ("per_class", "stratified"):
        return {argument: values["labels"]}
    (only,) = values.values()
    basis = {argument: only}
    # A training set that is filled with one group after the other has no share of every class.
    is_stratified = kind == "given" or (kind == "grouped" and whole_groups != "training")
    if is_stratified and "classes" in data:
        basis["strata"] = data["classes"]["labels"]
    return basis
