"""The split stage: which rows train, which may be weakly labelled, which test, and the folds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.items import size_group


def split_rows(
    n_rows: int,
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
) -> dict:
    """Return a seeded partition of the rows, as the tree of a "split" artifact.

    The rows are permuted once. The first are the test set, the next the training pool, and the
    rest the weak pool. Training and weak sets of smaller size are prefixes of larger ones, so that
    a learning curve adds rows and never exchanges them. Sizes that do not fit are left out; what
    fits is in ``sizes`` and ``weak_sizes``.

    Parameters
    ----------
    n_rows : int
    training_sizes, weak_sizes : sequence of int
        Increasing. A size of zero among the weak ones is not written; it always exists.
    test_size : float
        A fraction of the rows when below 1, else a number of rows.
    n_folds : int
        Folds of the inner cross-validation.
    seed : int

    Returns
    -------
    dict
        ``train``, ``weak``, ``test`` (row numbers), ``sizes``, ``weak_sizes``, and ``folds`` with
        the fold number of every training row for each size.

    Raises
    ------
    ValueError
        If the test set or the smallest training set does not fit, or it has fewer rows than folds.
    """
    generator = np.random.default_rng(seed)
    order = generator.permutation(n_rows)
    n_test = int(test_size) if test_size >= 1 else int(round(test_size * n_rows))
    available = n_rows - n_test
    if n_test < 1 or available < 1:
        raise ValueError(f"{n_test} test rows of {n_rows} leave {available} for training")
    smallest = min(training_sizes)
    if smallest < n_folds:
        raise ValueError(f"{smallest} training rows cannot fill {n_folds} folds")
    sizes = [size for size in training_sizes if size <= available]
    if not sizes:
        raise ValueError(
            f"the smallest training size is {smallest}, but {available} rows are left after "
            f"{n_test} for testing"
        )
    pool = order[n_test:]
    n_weak_pool = available - max(sizes)
    folds = {}
    for size in sizes:
        # A generator of its own for every size: leaving one size out changes no other.
        numbers = np.arange(size) % n_folds
        folds[size_group(size)] = np.random.default_rng([seed, size]).permutation(numbers)
    return {
        "test": order[:n_test],
        "train": pool[: max(sizes)],
        "weak": pool[max(sizes) :],
        "sizes": np.array(sizes),
        "weak_sizes": np.array([size for size in weak_sizes if 0 < size <= n_weak_pool], dtype=int),
        "folds": folds,
    }


def run(
    dataset: Path,
    output: Path,
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    test_size: float,
    n_folds: int,
    seed: int,
    experiment: str,
) -> None:
    """Read a dataset, split its rows and write the "split" artifact.

    Raises
    ------
    UserError
        If the dataset has too few rows for the experiment's sizes; the message names the keys.
    """
    n_rows = len(read_artifact(dataset, "dataset")["outputs"])
    try:
        tree = split_rows(n_rows, training_sizes, weak_sizes, test_size, n_folds, seed)
    except ValueError as error:
        raise UserError(
            place=f"experiment {experiment}, keys training_sizes and test_size",
            found=f"{error} (the dataset has {n_rows} rows)",
            expected=f"at least {n_folds} training rows (one for every fold) beside the test set",
            remedy=f"change training_sizes, test_size or n_folds in "
            f"config/experiments/{experiment}.yaml or config/config.yaml",
        ) from error
    for size in training_sizes:
        if size not in tree["sizes"]:
            print(f"training size {size} left out: the dataset has only {n_rows} rows")
    for size in weak_sizes:
        if size not in tree["weak_sizes"]:
            print(f"weak size {size} left out: {len(tree['weak'])} rows are in the weak pool")
    write_artifact(output, tree, "split", seed=seed, inputs=[dataset])
