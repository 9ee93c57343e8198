"""The accuracy of predicted classes."""

from workflow_lib.measures.base import Measure, Predictions

MEASURES = (
    Measure(
        "accuracy",
        "accuracy",
        "Accuracy on the test rows (%)",
        "Of classes: share of test rows with the right class, in per cent; higher is better.",
        outputs="classes",
        higher_is_better=True,
        is_share=True,
        is_accuracy=True,
        is_percent=True,
        is_usual=True,
        selects_by="rrmse",
        as_metric="For classes `accuracy`; selection then minimises squared errors.",
        plain_name="accuracy",
        scale="{guess} has an accuracy of {chance}; higher is better.",
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the share of right classes, by name."""
    return {"accuracy": float((rows.predicted == rows.truth).mean())}
