"""The relative error of predictions that every training row got without its own fold."""

from __future__ import annotations

import numpy as np

from workflow_lib.measures.metrics import reference_errors, relative_error, squared_error_sums


def heldout_error(
    outputs: np.ndarray,
    predictions: np.ndarray,
    folds: np.ndarray,
    metric: str,
    row_errors: str = "mean",
) -> float:
    """Return the error of held-out rows relative to the means of their folds' training rows.

    With the median of rows' errors it is the root of the median over rows i of

        mean_j (y_ij - p_ij)^2 / r_j  or, of ``rrmse``,  sum_j (y_ij - p_ij)^2 / sum_j r_j,

    with r_j the mean squared error of output j by the training means.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs; NaN where missing, which counts nowhere.
    predictions : array (n, d)
    folds : int array (n,)
        Fold number of every training row.
    metric : {"arrmse", "rrmse"}
    row_errors : {"mean", "median"}, default="mean"

    Returns
    -------
    float
        Without unit; infinite where all outputs are constant, so that none is relative.
    """
    reference = reference_errors(outputs, folds)
    if row_errors == "median":
        score = _median_error(outputs, predictions, reference, metric)
    else:
        score = float(relative_error(squared_error_sums(outputs, predictions), reference, metric))
    return score if np.isfinite(score) else np.inf


def _median_error(
    outputs: np.ndarray, predictions: np.ndarray, reference: np.ndarray, metric: str
) -> float:
    """Return the root of the median of the rows' relative errors, NaN where none is defined."""
    observed = ~np.isnan(outputs)
    varies = reference > 0
    means = reference / np.maximum(observed.sum(axis=0), 1)
    errors = np.where(observed, (outputs - predictions) ** 2, 0.0)[:, varies]
    observed, means = observed[:, varies], means[varies]
    if metric == "rrmse":
        by_row, sizes = errors.sum(axis=1), (observed * means).sum(axis=1)
    else:
        by_row, sizes = (errors / means).sum(axis=1), observed.sum(axis=1)
    known = sizes > 0
    return float(np.sqrt(np.median(by_row[known] / sizes[known]))) if known.any() else np.nan
