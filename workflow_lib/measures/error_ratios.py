"""Errors of numbers, relative to those of the training mean or to the norm of the outputs."""

from workflow_lib.measures.base import Measure, Predictions

_SCALE = "An error of 1 is that of the training mean; lower is better."

MEASURES = (
    Measure(
        "arrmse",
        "aRRMSE",
        "aRRMSE (mean over output coordinates)",
        "Mean over output coordinates of the root mean squared error relative to that of the "
        "training mean.",
        is_usual=True,
        selects_by="arrmse",
        as_metric="`arrmse` (the default, as in the paper: the relative error of each output "
        "coordinate, averaged) or `rrmse` (pooled over coordinates, for outputs of which some "
        "hardly vary); tables show both.",
        plain_name="relative error",
        scale=_SCALE,
    ),
    Measure(
        "rrmse",
        "pooled RRMSE",
        "RRMSE (pooled over output coordinates)",
        "The same ratio of squared errors that are summed over output coordinates.",
        is_usual=True,
        selects_by="rrmse",
        plain_name="pooled relative error",
        scale="Some outputs hardly vary, so the error used here is pooled over outputs. " + _SCALE,
    ),
    Measure(
        "root_sum_rrmse",
        "root of summed squared relative errors",
        "Root of the sum over output coordinates of squared relative errors",
        "Root of the sum over output coordinates of squared relative errors.",
        reading="That they are roots of sums is read from their size; the paper calls them "
        "averages.",
    ),
    Measure(
        "norm_rrmse",
        "error relative to the norm of the outputs",
        "Relative to the norm of the outputs",
        "Relative to the norm of the outputs instead of the training mean.",
        reading="That they are relative to the norm of the outputs is our reading: the paper does "
        "not say what its errors are relative to, and these are too small for errors relative to "
        "the training mean.",
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the errors of predicted numbers (n, d), by name; NaN where all are constant."""
    from workflow_lib.measures import metrics

    errors = metrics.squared_error_sums(rows.truth, rows.predicted)
    return {
        "arrmse": float(metrics.average_relative_error(errors, rows.reference)),
        "rrmse": float(metrics.pooled_relative_error(errors, rows.reference)),
        "root_sum_rrmse": float(metrics.root_sum_relative_error(errors, rows.reference)),
        "norm_rrmse": float(metrics.norm_relative_error(errors, rows.truth)),
    }
