"""The test rows that a figure of single rows shows, chosen by a rule, and their predictions."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.group_names import item_group
from workflow_lib.report.variants import SELECTED


def chosen_rows(
    outputs: np.ndarray,
    tests: Sequence[np.ndarray],
    predicted: Sequence[np.ndarray],
    n_rows: int = 6,
) -> list[int]:
    """Return rows that are test rows in the most splits, at even steps of their error.

    Rows of fewer splits are included only where there are fewer than `n_rows` otherwise. The error
    of a row is its mean squared error over observed coordinates and splits; the first row returned
    has the lowest error and the last the highest, and rows of equal error are in the order of their
    numbers. Rows of which no output was observed are left out.

    `outputs` (n, d) are the true ones of all rows of the dataset, NaN where one is missing; `tests`
    are the test rows (n_test,) of each split, and `predicted` their predicted outputs (n_test, d).
    """
    n_observed = (~np.isnan(outputs)).sum(axis=1)
    n_splits, errors = np.zeros(len(outputs), dtype=int), np.zeros(len(outputs))
    for test, values in zip(tests, predicted, strict=True):
        n_splits[test] += n_observed[test] > 0
        errors[test] += np.nansum((outputs[test] - values) ** 2, axis=1)
    tested = n_splits[n_splits > 0]
    n_rows = min(n_rows, len(tested))
    least = np.sort(tested)[-n_rows]
    candidates = np.flatnonzero(n_splits >= least)
    means = errors[candidates] / (n_splits[candidates] * n_observed[candidates])
    ordered = candidates[np.argsort(means, kind="stable")]
    steps = np.linspace(0, len(ordered) - 1, n_rows).round().astype(int)
    return [int(row) for row in ordered[steps]]


def error_rank(index: int, n_rows: int, decimals: int = 1) -> str:
    """Return where one of `n_rows` chosen rows lies between the lowest and the highest error."""
    share = index / (n_rows - 1) if n_rows > 1 else 0.0
    named = {0.0: "lowest error", 1.0: "highest error"}
    return named.get(share, f"quantile {share:.{decimals}f}")


def predicted_outputs(path: str | Path, training_size: int, method: str) -> np.ndarray:
    """Return the outputs (n_test, d) that a method without weak rows predicts, from an artifact.

    Raises UserError if there are none at this training size with a selected number of components.
    """
    group = item_group(training_size, 0, SELECTED)
    items = read_artifact(path, "predictions")
    if group not in items:
        raise UserError(
            str(path),
            f"no predictions of {method} with {training_size} training rows, without weak rows "
            "and with a selected number of components",
            f"the group {group}",
            "leave the method or the figure out of this experiment",
        )
    return items[group]["outputs"]
