"""Errors of predicted outputs, relative to predicting the training mean.

True outputs may be missing (NaN); errors and means count the observed ones only.
"""

import numpy as np


def squared_error_sums(
    outputs: np.ndarray, predictions: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the sum over rows of squared errors of each coordinate: (d,) from (n, d) arrays.

    `weights` (n,) are those of the rows in the sum; None for 1. Several predictions (..., n, d)
    give sums (..., d).
    """
    errors = (outputs - predictions) ** 2
    return sum_of_observed(errors if weights is None else errors * weights[:, None])


def sum_of_observed(values: np.ndarray) -> np.ndarray:
    """Return the sums (..., d) over the rows of `values` (..., n, d), NaN counting as zero."""
    total = values.sum(axis=-2)
    return np.nansum(values, axis=-2) if np.isnan(total).any() else total


def means_of_observed(outputs: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the mean (d,) of the observed values of each coordinate of `outputs` (n, d).

    A coordinate without observed values has the mean of all other values; without any, it is 0.
    `weights` (n,) are positive weights of the rows; None for 1.
    """
    means = np.average(outputs, axis=0, weights=weights)
    if not np.isnan(means).any():
        return means
    observed = ~np.isnan(outputs)
    counts, known = observed, np.where(observed, outputs, 0.0)
    if weights is not None:
        counts, known = (each * weights[:, None] for each in (counts, known))
    counts, sums = counts.sum(axis=0), known.sum(axis=0)
    overall = sums.sum() / (counts.sum() or 1)
    return np.where(counts > 0, sums / np.where(counts > 0, counts, 1), overall)


def average_relative_error(errors: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the aRRMSE: the mean over coordinates of sqrt(errors / reference).

    Returns an array (...): dimensionless; 1 is as good as the training mean. NaN where every
    coordinate is constant.

    Parameters
    ----------
    errors : array (..., d)
        Sums of squared errors of the predictions.
    reference : array (d,)
        Sums of squared errors of the training mean on the same rows. Coordinates where it is zero
        (constant outputs) have no relative error and are left out.
    """
    varies = reference > 0
    if not varies.any():
        return np.full(errors.shape[:-1], np.nan)
    return np.sqrt(errors[..., varies] / reference[varies]).mean(axis=-1)


def pooled_relative_error(errors: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the RRMSE over all coordinates together: sqrt(sum errors / sum reference).

    Arguments as in `average_relative_error`. Coordinates with little variance have little weight,
    so it is the more robust error where some outputs are nearly constant.
    """
    total = reference.sum()
    if not total > 0:
        return np.full(errors.shape[:-1], np.nan)
    return np.sqrt(errors.sum(axis=-1) / total)


MIN_GAIN = 1e-9
"""Relative improvement of an error under which a later grid point counts as equal to the best."""


def root_sum_relative_error(errors: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the root of the summed squared relative errors: sqrt(sum_j errors_j / reference_j).

    Arguments as in `average_relative_error`; constant coordinates are left out, and the error is
    NaN where all are constant. It is sqrt(d) for the training mean, with d the number of
    coordinates that vary. Table 5 of Djerrab et al. (2018) calls its numbers average errors, but
    they are near sqrt(5) for series of length 5, so they seem to be this error.
    """
    varies = reference > 0
    if not varies.any():
        return np.full(errors.shape[:-1], np.nan)
    return np.sqrt((errors[..., varies] / reference[varies]).sum(axis=-1))


def norm_relative_error(errors: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the error relative to the norm of the outputs: sqrt(sum errors / sum outputs^2).

    It is 1 for predicting zero, so it depends on the origin of the outputs: where their mean is
    far from zero, every prediction near the mean has a small error.

    Returns an array (...): dimensionless. NaN where every output is zero.

    Parameters
    ----------
    errors : array (..., d)
        Sums of squared errors of the predictions.
    outputs : array (n, d)
        The true outputs of the same rows; missing ones (NaN) are left out.
    """
    total = sum_of_observed(outputs**2).sum()
    if not total > 0:
        return np.full(errors.shape[:-1], np.nan)
    return np.sqrt(errors.sum(axis=-1) / total)


METRICS = {"arrmse": average_relative_error, "rrmse": pooled_relative_error}
"""The errors by which settings can be selected."""


def relative_error(errors: np.ndarray, reference: np.ndarray, metric: str) -> np.ndarray:
    """Return the ``arrmse`` (`average_relative_error`) or ``rrmse`` (`pooled_relative_error`)."""
    return METRICS[metric](errors, reference)


def reference_errors(
    outputs: np.ndarray, folds: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the squared errors (d,) of each fold's training mean on its held-out rows.

    Zero for a constant coordinate of `outputs` (n, d), whatever the rounding of its mean.
    `weights` (n,) are positive weights of the rows, of mean 1, in means and errors; None for 1.
    """
    if not np.isnan(outputs).any():
        # Centred by the overall mean, so that sums of outputs far from zero lose no digits.
        deviations = outputs - np.average(outputs, axis=0, weights=weights)
        weighted = deviations if weights is None else deviations * weights[:, None]
        counts = np.bincount(folds, weights)
        sums = np.zeros((len(counts), outputs.shape[1]))
        np.add.at(sums, folds, weighted)
        means = (weighted.sum(axis=0) - sums) / (counts.sum() - counts)[:, None]
        total = squared_error_sums(deviations, means[folds], weights)
        return _zero_where_constant(total, outputs, len(outputs))
    total = np.zeros(outputs.shape[1])
    for fold in range(folds.max() + 1):
        heldout = folds == fold
        of_known, of_heldout = (
            None if weights is None else weights[rows] for rows in (~heldout, heldout)
        )
        means = means_of_observed(outputs[~heldout], of_known)
        total += squared_error_sums(outputs[heldout], means, of_heldout)
    return _zero_where_constant(total, outputs, len(outputs))


def training_mean_errors(outputs: np.ndarray, training_outputs: np.ndarray) -> np.ndarray:
    """Return the squared errors (d,) of the training mean on test `outputs` (n, d).

    Zero for a coordinate that is the same constant in both, whatever the rounding of its mean.
    """
    total = squared_error_sums(outputs, means_of_observed(training_outputs))
    return _zero_where_constant(total, outputs, len(training_outputs))


def _zero_where_constant(total: np.ndarray, outputs: np.ndarray, n_summed: int) -> np.ndarray:
    """Return the squared errors, with zero where they are only the rounding error of a mean. The
    rounding error of a mean grows with the number `n_summed` of its rows."""
    rounding = (10 + n_summed) * np.finfo(float).eps * np.fmax.reduce(np.abs(outputs), axis=0)
    return np.where(total <= len(outputs) * rounding**2, 0.0, total)


def heldout_error(
    outputs: np.ndarray,
    predictions: np.ndarray,
    folds: np.ndarray,
    metric: str,
    row_errors: str = "mean",
    weights: np.ndarray | None = None,
) -> float:
    """Return the error of held-out rows relative to the means of their folds' training rows.

    With the median of rows' errors it is the root of the median over rows i of

        mean_j (y_ij - p_ij)^2 / r_j  or, of ``rrmse``,  sum_j (y_ij - p_ij)^2 / sum_j r_j,

    with r_j the mean squared error of output j by the training means.

    Returns a float: without unit; infinite where all outputs are constant, so that none is
    relative.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs; NaN where missing, which counts nowhere.
    predictions : array (n, d)
    folds : int array (n,)
        Fold number of every training row.
    metric : {"arrmse", "rrmse"}
    row_errors : {"mean", "median"}, default="mean"
    weights : array (n,) or None, default=None
        Of the rows, for the mean, as of `reference_errors`.
    """
    reference = reference_errors(outputs, folds, weights)
    if row_errors == "median":
        score = _median_error(outputs, predictions, reference, metric)
    else:
        errors = squared_error_sums(outputs, predictions, weights)
        score = float(relative_error(errors, reference, metric))
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
