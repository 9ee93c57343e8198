"""The relative error of predictions that every training row got without its own fold."""

from __future__ import annotations

import numpy as np

from workflow_lib.metrics import reference_errors, relative_error, squared_error_sums


def heldout_error(
    outputs: np.ndarray, predictions: np.ndarray, folds: np.ndarray, metric: str
) -> float:
    """Return the error of held-out rows relative to the means of their folds' training rows.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs; NaN where missing, which counts nowhere.
    predictions : array (n, d)
    folds : int array (n,)
        Fold number of every training row.
    metric : {"arrmse", "rrmse"}

    Returns
    -------
    float
        Without unit; infinite where all outputs are constant, so that none is relative.
    """
    errors = squared_error_sums(outputs, predictions)
    score = float(relative_error(errors, reference_errors(outputs, folds), metric))
    return score if np.isfinite(score) else np.inf
