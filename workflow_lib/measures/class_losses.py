"""Mean losses between the true and the predicted classes, of datasets that have losses."""

from workflow_lib.measures.base import Measure, Predictions

MEASURES = (
    Measure(
        "path_length",
        "path length",
        "Path length from the true class to the predicted one",
        "Of classes with `class_tree`: number of edges between the true class and the predicted "
        "one in the tree, the mean over test rows; lower is better.",
        outputs="classes",
        may_be_absent=True,
        is_usual=True,
    ),
    Measure(
        "class_cost",
        "cost",
        "Cost of the predicted class",
        "Of classes with `class_costs`: cost of the predicted class, the mean over test rows; "
        "lower is better.",
        outputs="classes",
        may_be_absent=True,
        is_usual=True,
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the mean of each of the entry ``losses``, matrices (K, K) by name."""
    losses = rows.entries.get("losses", {})
    return {name: float(losses[name][rows.truth, rows.predicted].mean()) for name in losses}
