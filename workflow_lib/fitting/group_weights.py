"""Whether groups of inputs get equal weights, as the folds of the selection say.

A table can have one column of names, one spectrum and three numbers. Two weightings compete: each
property of a row counts alike, or each group of properties. As with any setting that is selected,
the folds decide by the error of their held-out rows, here of kernel ridge regression with a few
kernels and penalties; all methods of the split then learn from the weighted inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workflow_lib.measures.metrics import reference_errors, relative_error, squared_error_sums
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import SeparateGrams

WIDTHS = (None, 1.0)
"""Of the linear and of an rbf kernel, in units of the expected squared distance."""

PENALTIES = tuple(10.0**power for power in range(-6, 2))
"""Relative to the mean of the diagonal."""

MAX_ROWS = 500
"""Most training rows that are compared, so that the comparison takes seconds."""

MIN_GAIN = 0.01
"""Share by which the error has to be lower with equal weights of groups: smaller differences are
chance."""

FoldRows = tuple[np.ndarray, np.ndarray]


def heldout_error_of(
    rows_by_fold: Sequence[FoldRows], outputs: np.ndarray, folds: np.ndarray, metric: str
) -> float:
    """Return the lowest relative error of held-out rows over the kernels and penalties.

    Parameters
    ----------
    rows_by_fold : sequence of (array (l, q), array (h, q))
        For each fold, its training rows and its held-out rows as it prepares them.
    outputs : array (n, d)
        NaN where missing: the mean of the fold's rows takes the place of a missing value.
    folds : int array (n,)
    metric : {"arrmse", "rrmse"}
    """
    targets = [_filled(outputs, folds != fold) for fold in range(folds.max() + 1)]
    reference = reference_errors(outputs, folds)
    errors = []
    for width in WIDTHS:
        grams = [(_gram(X, X, width), _gram(others, X, width)) for X, others in rows_by_fold]
        solver = SeparateGrams(grams, folds)
        predicted = solver.predict(targets, PENALTIES)
        for number in range(len(PENALTIES)):
            found = np.empty(outputs.shape)
            for rows, of_fold in zip(solver.heldout, predicted, strict=True):
                found[rows] = of_fold[number]
            errors.append(relative_error(squared_error_sums(outputs, found), reference, metric))
    return float(np.min(errors))


def _gram(Z: np.ndarray, X: np.ndarray, width: float | None) -> np.ndarray:
    n_columns = X.shape[1]
    if width is None:
        return gram_matrix(Z, X, "linear") / n_columns
    return gram_matrix(Z, X, "rbf", width / (2.0 * n_columns))


def _filled(outputs: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return outputs whose missing values are the means of the known rows."""
    missing = np.isnan(outputs)
    counts = (known[:, None] & ~missing).sum(axis=0)
    sums = np.where(known[:, None] & ~missing, outputs, 0.0).sum(axis=0)
    return np.where(missing, sums / np.maximum(counts, 1), outputs)
