"""How well the scores of classes rank the test rows: measures of the ROC curve.

They have no value where all test rows are of one class. All are shares from 0 to 1.
"""

import math

from workflow_lib.measures.base import Measure, Predictions

_RANKED = (
    "ranked by the score of the class minus the highest of the others; positive is the "
    "`positive_class` of the dataset; without one, of two classes the second in alphabetical "
    "order; of more, each is measured against all others, and the mean is over classes with test "
    "rows"
)
_OF_RANKINGS = {"outputs": "classes", "is_share": True, "may_be_absent": True}

MEASURES = (
    Measure(
        "auc",
        "AUC",
        "AUC (area under the ROC curve)",
        "Of classes: area under the ROC curve, the share of pairs of a positive and a negative "
        f"test row that are in order, ties one half; {_RANKED}. Higher is better.",
        higher_is_better=True,
        **_OF_RANKINGS,
    ),
    Measure(
        "median_rfp",
        "median RFP",
        "Median RFP (rate of false positives at the median positive)",
        "Of classes: median over positive test rows of the share of negatives that are ranked at "
        "least as high (Jaakkola, Diekhans & Haussler 1999); ranked as for `auc`.",
        **_OF_RANKINGS,
    ),
    Measure(
        "roc50",
        "ROC50",
        "ROC50 (area under the ROC curve up to 50 false positives)",
        "Of classes: area under the ROC curve up to 50 false positives, or up to all negatives if "
        "they are fewer, divided by that of a perfect ranking; ranked as for `auc`. Higher is "
        "better.",
        higher_is_better=True,
        **_OF_RANKINGS,
    ),
    Measure(
        "equal_error_rate",
        "equal error rate",
        "Equal error rate (false positives and false negatives)",
        "Of classes: rate of false positives at the point of the ROC curve, between thresholds "
        "interpolated, where it is that of false negatives; ranked as for `auc`.",
        **_OF_RANKINGS,
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the measures of the entry ``class_scores`` (n, K), by name.

    The entry ``positive`` is the number of the only class that is ranked, None for all; see
    `workflow_lib.measures.ranking.roc.ranking_measures`.
    """
    if "class_scores" not in rows.entries:
        return {}
    from workflow_lib.measures.ranking.roc import ranking_measures

    found = ranking_measures(rows.truth, rows.entries["class_scores"], rows.entries.get("positive"))
    return {name: value for name, value in found.items() if math.isfinite(value)}
