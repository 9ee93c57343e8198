"""The correlation of predicted and true numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workflow_lib.measures.base import Measure, Predictions

if TYPE_CHECKING:
    import numpy as np

MEASURES = (
    Measure(
        "correlation",
        "correlation",
        "Correlation with the outputs (mean over output coordinates)",
        "Mean over output coordinates of the Pearson correlation of predicted and true test "
        "outputs, 0 for predictions that are constant; higher is better.",
        higher_is_better=True,
        selects_by="arrmse",
        as_metric="With `correlation`, of which higher is better, selection minimises `arrmse`.",
        plain_name="correlation",
        scale="A constant prediction has a correlation of 0; higher is better.",
    ),
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the correlation of predicted numbers (n, d), by name."""
    return {"correlation": float(mean_correlation(rows.truth, rows.predicted))}


def mean_correlation(outputs: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    """Return the mean over coordinates of the Pearson correlation with the predictions.

    Returns an array (...): from -1 to 1, higher is better; NaN where every coordinate is constant.

    Parameters
    ----------
    outputs : array (n, d)
        The true outputs; missing ones (NaN) are left out. Coordinates that are constant have no
        correlation and are left out.
    predictions : array (..., n, d)
        A prediction that is the same for all rows has the correlation zero.
    """
    import numpy as np

    observed = ~np.isnan(outputs)
    counts = np.maximum(observed.sum(axis=0), 1)

    def deviations(values):
        known = np.where(observed, values, 0.0)
        centred = np.where(observed, known - known.sum(axis=-2, keepdims=True) / counts, 0.0)
        # The rounding error of a mean is no variance.
        rounding = (10 + len(outputs)) * np.finfo(float).eps * np.abs(known).max(axis=-2)
        lengths = np.sqrt((centred**2).sum(axis=-2))
        return centred, np.where(lengths > np.sqrt(counts) * rounding, lengths, 0.0)

    true, true_lengths = deviations(outputs)
    predicted, lengths = deviations(predictions)
    varies = true_lengths > 0
    if not varies.any():
        return np.full(predictions.shape[:-2], np.nan)
    products, lengths = (true * predicted).sum(axis=-2)[..., varies], lengths[..., varies]
    scale = np.where(lengths > 0, lengths * true_lengths[varies], np.inf)
    return (products / scale).mean(axis=-1)
