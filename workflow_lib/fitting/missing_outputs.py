"""Outputs that are missing in some training rows.

A missing training output takes the mean of that output over the rows of the fit, so that
every row can train every method; errors count the observed outputs only
(`workflow_lib.measures.metrics`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workflow_lib.measures.metrics import means_of_observed


def impute_mean(
    outputs: np.ndarray, known: np.ndarray | None = None, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return outputs (n, d) whose missing values are the means over the known rows.

    Parameters
    ----------
    outputs : array (n, d)
        NaN where missing. Without any it is returned as it is.
    known : bool array (n,) or None, default=None
        The rows that may be learned from; None for all.
    weights : array (n,) or None, default=None
        Positive weights of all rows in the means; None for 1.
    """
    missing = np.isnan(outputs)
    if not missing.any():
        return outputs
    known = slice(None) if known is None else known
    means = means_of_observed(outputs[known], None if weights is None else weights[known])
    return np.where(missing, means, outputs)


def impute_mean_from(outputs: np.ndarray, training_outputs: np.ndarray) -> np.ndarray:
    """Return outputs (n, d) whose missing values are the means of other, training outputs."""
    return np.where(np.isnan(outputs), means_of_observed(training_outputs), outputs)


def outputs_by_fold(
    outputs: np.ndarray, folds: np.ndarray
) -> Iterator[tuple[int | None, np.ndarray]]:
    """Yield each fold with the outputs (l, d) that it learns from, missing ones filled.

    The fold None stands for all rows.
    """
    yield None, impute_mean(outputs)
    for fold in range(folds.max() + 1):
        yield fold, impute_mean(outputs[folds != fold])
