"""Names and descriptions of the errors of numeric outputs.

Their formulas are in `workflow_lib.metrics.all_measures`. This module does not load
NumPy, so that the configuration can name the errors at little cost.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorMeasure:
    """An error of predicted outputs, or a score of which the error is 1 minus the score.

    Attributes
    ----------
    name : str
        Its name in sentences and figures.
    heading : str
        The heading of a block of a table.
    description : str
        Its definition in the reference of the configuration.
    reading : str
        The sentence under published numbers that are taken for this error because of their size;
        empty by default.
    higher_is_better : bool, default=False
        Whether it is a score, which is 1 for perfect predictions.
    """

    name: str
    heading: str
    description: str
    reading: str = ""
    higher_is_better: bool = False


ERROR_MEASURES = {
    "arrmse": ErrorMeasure(
        "aRRMSE",
        "aRRMSE (mean over output coordinates)",
        "Mean over output coordinates of the root mean squared error relative to that of the "
        "training mean.",
    ),
    "rrmse": ErrorMeasure(
        "pooled RRMSE",
        "RRMSE (pooled over output coordinates)",
        "The same ratio of squared errors that are summed over output coordinates.",
    ),
    "root_sum_rrmse": ErrorMeasure(
        "root of summed squared relative errors",
        "Root of the sum over output coordinates of squared relative errors",
        "Root of the sum over output coordinates of squared relative errors.",
        "That they are roots of sums is read from their size; the paper calls them averages.",
    ),
    "norm_rrmse": ErrorMeasure(
        "error relative to the norm of the outputs",
        "Relative to the norm of the outputs",
        "Relative to the norm of the outputs instead of the training mean.",
        "That they are relative to the norm of the outputs is our reading: the paper does not say "
        "what its errors are relative to, and these are too small for errors relative to the "
        "training mean.",
    ),
    "correlation": ErrorMeasure(
        "correlation",
        "Correlation with the outputs (mean over output coordinates)",
        "Mean over output coordinates of the Pearson correlation of predicted and true test "
        "outputs, 0 for predictions that are constant; higher is better.",
        higher_is_better=True,
    ),
}
"""Every error of numeric outputs, by its column in ``scores.csv``."""
