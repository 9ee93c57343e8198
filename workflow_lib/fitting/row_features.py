"""The inputs of a split that are rows of numbers, with the preparation that each fold learns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.inputs.column_origins import ColumnOrigins
from workflow_lib.inputs.preparation import fit_preparation, preparation_learns
from workflow_lib.items.group_names import fold_group, size_group


def row_features(
    inputs: np.ndarray,
    partition: Mapping,
    scale: str,
    origins: ColumnOrigins | None,
    learned: Any | None,
    data: Mapping,
) -> dict:
    """Return the raw rows and the preparations of every training size and fold.

    Parameters
    ----------
    inputs : array (n, q)
        Of all rows of the dataset, NaN where missing.
    partition, data : mappings
        Trees of the artifacts "split" and "dataset"; of the second only outputs or classes. The
        first may hold ``row_weights`` (n,), positive weights of the training rows, with which
        preparations learn.
    scale, origins
        As of `workflow_lib.inputs.preparation.fit_preparation`.
    learned : object or None
        Columns that each fold learns: ``codes_and_origins(folds, fold, origins)`` returns a tree
        with ``codes``, and the origins of all columns.
    """
    tree: dict = {"inputs": rows_by_role(inputs, partition)}
    train, weak = tree["inputs"]["train"], tree["inputs"]["weak"]
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        # Missing inputs of weak rows are filled from the fold's training rows, so that these rows
        # can differ by fold as well.
        learns = any(preparation_learns(rows, scale) for rows in (train[:size], weak))
        learns |= learned is not None
        tree[size_group(size)] = {"learns": learns}
        weights = partition.get("row_weights")
        if weights is not None:
            tree[size_group(size)]["row_weights"] = weights = weights[:size]
        known_by_fold = {}
        for fold, rows in known_rows(folds):
            values, stored, of_fold = train[:size], {}, origins
            if learned is not None:
                stored, of_fold = learned.codes_and_origins(folds, fold, origins)
                values = np.hstack([values, stored["codes"]["train"]])
            known_by_fold[fold] = values, rows, of_fold
            tree[size_group(size)][fold_group(fold)] = stored
        equal_groups = False
        if scale == "standard" and of_fold is not None and of_fold.has_groups:
            targets, metric = _targets(data, partition)
            equal_groups = have_equal_weights(known_by_fold, targets[:size], folds, metric)
        for fold, (values, rows, of_fold) in known_by_fold.items():
            of_rows = None if weights is None else weights[rows]
            preparation = fit_preparation(values[rows], scale, of_fold, equal_groups, of_rows)
            tree[size_group(size)][fold_group(fold)] |= preparation.tree()
    return tree


def have_equal_weights(
    known_by_fold: Mapping, targets: np.ndarray, folds: np.ndarray, metric: str
) -> bool:
    """Return whether groups of inputs with equal weights have a lower error of held-out rows."""
    from workflow_lib.fitting.group_weights import MAX_ROWS, MIN_GAIN, heldout_error_of

    # Evenly spaced, as consecutive rows can be of one fold.
    compared = np.arange(0, len(folds), -(-len(folds) // MAX_ROWS))
    present, folds = np.unique(folds[compared], return_inverse=True)
    errors = {}
    for equal_groups in (False, True):
        rows_by_fold = []
        for fold in present:
            values, rows, origins = known_by_fold[fold]
            prepare = fit_preparation(values[rows], "standard", origins, equal_groups).apply
            known, others = compared[rows[compared]], compared[~rows[compared]]
            rows_by_fold.append((prepare(values[known]), prepare(values[others])))
        errors[equal_groups] = heldout_error_of(rows_by_fold, targets[compared], folds, metric)
    is_better = errors[True] < errors[False] * (1.0 - MIN_GAIN)
    print(
        f"{len(known_by_fold[0][1])} training rows: {'equal' if is_better else 'no equal'} weights "
        f"of groups of inputs (error {errors[True]:.3f}, without {errors[False]:.3f})"
    )
    return is_better


def _targets(data: Mapping, partition: Mapping) -> tuple[np.ndarray, str]:
    """Return the outputs (n, d) of the training rows, or 0 and 1 for classes; their error."""
    rows = training_output_rows(partition)
    if "classes" not in data:
        return np.asarray(data["outputs"])[rows], "arrmse"
    labels = data["classes"]["labels"][rows]
    return (labels[:, None] == np.unique(labels[labels >= 0])).astype(float), "rrmse"


def rows_by_role(values, partition: Mapping) -> dict:
    """Return the values of the training, weak and test rows."""
    return {role: values[partition[role]] for role in ("train", "weak", "test")}


def known_rows(folds: np.ndarray) -> Iterator[tuple[int | None, np.ndarray]]:
    """Yield each fold with the mask of the rows it learns from; None stands for all rows."""
    yield None, np.ones(len(folds), dtype=bool)
    for fold in range(folds.max() + 1):
        yield fold, folds != fold
