"""Names and descriptions of the errors of numeric outputs, and of the measures of classes.

Their formulas are in `workflow_lib.metrics.all_measures` and
`workflow_lib.ranking_metrics`. This module does not load NumPy, so that the configuration
can name them at little cost.
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

BOX_MEASURES = {
    "overlap": ErrorMeasure(
        "overlap",
        "Overlap with the true box (mean over test rows)",
        "Of boxes: area of the intersection of the predicted and the true box, divided by that of "
        "their union, the mean over test rows; higher is better.",
        higher_is_better=True,
    ),
    "recall_at_half": ErrorMeasure(
        "recall",
        "Recall at an overlap of 0.5",
        "Of boxes: share of test rows whose predicted box overlaps the true one by 0.5 or more; "
        "higher is better.",
        higher_is_better=True,
    ),
    "detection_error_rate": ErrorMeasure(
        "equal error rate",
        "Equal error rate of detections",
        "Of boxes: 1 minus the recall where precision and recall are equal, at as many detections "
        "as there are test rows, those of the highest scores in all images; right is the first "
        "detection in an image that overlaps its true box by 0.5 or more. Methods that find one "
        "box in each image have 1 minus `recall_at_half`.",
    ),
}
"""Measures of predicted boxes, by the column in ``scores.csv``."""

_RANKED = (
    "ranked by the score of the class minus the highest of the others; positive is the "
    "`positive_class` of the dataset; without one, of two classes the second in alphabetical "
    "order; of more, each is measured against all others, and the mean is over classes with test "
    "rows"
)

RANKING_MEASURES = {
    "auc": ErrorMeasure(
        "AUC",
        "AUC (area under the ROC curve)",
        "Of classes: area under the ROC curve, the share of pairs of a positive and a negative "
        f"test row that are in order, ties one half; {_RANKED}. Higher is better.",
        higher_is_better=True,
    ),
    "median_rfp": ErrorMeasure(
        "median RFP",
        "Median RFP (rate of false positives at the median positive)",
        "Of classes: median over positive test rows of the share of negatives that are ranked at "
        "least as high (Jaakkola, Diekhans & Haussler 1999); ranked as for `auc`.",
    ),
    "roc50": ErrorMeasure(
        "ROC50",
        "ROC50 (area under the ROC curve up to 50 false positives)",
        "Of classes: area under the ROC curve up to 50 false positives, or up to all negatives if "
        "they are fewer, divided by that of a perfect ranking; ranked as for `auc`. Higher is "
        "better.",
        higher_is_better=True,
    ),
    "equal_error_rate": ErrorMeasure(
        "equal error rate",
        "Equal error rate (false positives and false negatives)",
        "Of classes: rate of false positives at the point of the ROC curve, between thresholds "
        "interpolated, where it is that of false negatives; ranked as for `auc`.",
    ),
}
"""How well the scores of classes rank the test rows, by the column in ``scores.csv``.

They have no value where all test rows are of one class. All are shares from 0 to 1.
"""

ACCURACY = ErrorMeasure(
    "accuracy",
    "Accuracy on the test rows (%)",
    "Of classes: share of test rows with the right class, in per cent; higher is better.",
    higher_is_better=True,
)

LOSS_MEASURES = {
    "path_length": ErrorMeasure(
        "path length",
        "Path length from the true class to the predicted one",
        "Of classes with `class_tree`: number of edges between the true class and the predicted "
        "one in the tree, the mean over test rows; lower is better.",
    ),
    "class_cost": ErrorMeasure(
        "cost",
        "Cost of the predicted class",
        "Of classes with `class_costs`: cost of the predicted class, the mean over test rows; "
        "lower is better.",
    ),
}
"""Losses between classes, by the column in ``scores.csv``: of datasets that have them."""

NUMBERS_OF_CANDIDATES = (3, 5)
"""Returned classes whose recall is measured."""

TOP_MEASURES = {
    f"top_{k}": ErrorMeasure(
        f"top-{k} recall",
        f"Recall of the right class among {k} returned classes",
        f"Of more than {k} classes: share of test rows whose class is among the {k} with the "
        "highest scores, classes with equal scores in random order; higher is better.",
        higher_is_better=True,
    )
    for k in NUMBERS_OF_CANDIDATES
}
"""Whether the right class is among the first, by the column in ``scores.csv``."""

CLASS_MEASURES = {"accuracy": ACCURACY} | LOSS_MEASURES | RANKING_MEASURES | TOP_MEASURES
"""Every measure of predicted classes, by its column in ``scores.csv``."""
