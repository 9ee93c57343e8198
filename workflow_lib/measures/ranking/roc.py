"""Measures of how decision values rank the rows of a class before all other rows.

All of them are read from the ROC curve in counts: the number of false positives (rows of other
classes) and of true positives among the rows whose value is at least t, for every threshold t. Rows
with equal values are accepted together, so that the curve is straight between thresholds. Values
enter by their order only: a strictly increasing transformation changes nothing.

Take the first P rows to be positive and N to be negative. Without both there is no curve, and every
measure is NaN.
"""

from typing import NamedTuple

import numpy as np

FALSE_POSITIVES = 50
"""False positives up to which `partial_area` reads the curve by default (ROC50)."""


class RocCurve(NamedTuple):
    """Counts (T + 1,) at T thresholds, the distinct values in descending order, after (0, 0)."""

    false: np.ndarray
    true: np.ndarray

    @property
    def is_defined(self) -> bool:
        """Whether there are both positives and negatives."""
        return bool(self.false[-1] > 0 and self.true[-1] > 0)


def roc_curve(values: np.ndarray, is_positive: np.ndarray) -> RocCurve:
    """Return the ROC curve of any rows, of one test set or of several together.

    Parameters
    ----------
    values : array (m,)
        Decision values, higher for positives.
    is_positive : bool array (m,)
    """
    order = np.argsort(-values, kind="stable")
    descending = values[order]
    last = np.flatnonzero(np.append(descending[1:] != descending[:-1], True)[: len(values)])
    true = np.cumsum(is_positive[order])[last]
    return RocCurve(np.append(0, last + 1 - true), np.append(0, true))


def area(curve: RocCurve) -> float:
    """Return the AUC: the share of pairs of a positive and a negative that are in order.

    Pairs with equal values count one half.
    """
    return partial_area(curve, int(curve.false[-1]))


def partial_area(curve: RocCurve, n_false: int = FALSE_POSITIVES) -> float:
    """Return the area under the curve up to a number of false positives, 1 if it is perfect.

    It is the mean share of positives that are accepted before each of the first `n_false`
    negatives; with fewer negatives, all of them count and it is the AUC.
    """
    if not curve.is_defined:
        return np.nan
    limit = min(n_false, int(curve.false[-1]))
    kept = curve.false <= limit
    false = np.append(curve.false[kept], limit)
    true = np.append(curve.true[kept], np.interp(limit, curve.false, curve.true))
    # In halves of whole numbers, so that a perfect ranking has exactly 1.
    twice = (np.diff(false) * (true[1:] + true[:-1])).sum()
    return float(twice / (2 * limit * curve.true[-1]))


def median_rate_of_false_positives(curve: RocCurve) -> float:
    """Return the median over positives of the share of negatives with at least their value (RFP).

    Of an even number of positives it is the mean of the two in the middle. Lower is better: 0 if
    more than half of the positives are before all negatives.
    """
    if not curve.is_defined:
        return np.nan
    rates = np.repeat(curve.false[1:] / curve.false[-1], np.diff(curve.true))
    return float(np.median(rates))


def equal_error_rate(curve: RocCurve) -> float:
    """Return the rate at which as many negatives are accepted as positives are rejected, in shares.

    It is where FP / N = 1 - TP / P on the straight lines between thresholds; lower is better.
    """
    if not curve.is_defined:
        return np.nan
    false, true = curve.false / curve.false[-1], curve.true / curve.true[-1]
    return float(np.interp(1.0, false + true, false))


MEASURES = {
    "auc": area,
    "median_rfp": median_rate_of_false_positives,
    "roc50": partial_area,
    "equal_error_rate": equal_error_rate,
}
"""The measures of a curve, by name."""


def decision_values(scores: np.ndarray) -> np.ndarray:
    """Return by how much the score of each class is above the highest of the others.

    The class with the highest score has the only positive value of a row. Of two classes the values
    are s_2 - s_1 for the second and the same with the other sign for the first. What is added to
    all scores of a row, such as the density of its input in a log joint density, cancels.

    Parameters
    ----------
    scores : array (m, K)
        Scores of at least two classes, higher is better.

    Returns
    -------
    array (m, K)
    """
    second, first = np.moveaxis(np.partition(scores, -2, axis=1)[:, -2:, None], 1, 0)
    return scores - np.where(scores == first, second, first)


def ranking_measures(
    labels: np.ndarray, scores: np.ndarray, positive: int | None = None
) -> dict[str, float]:
    """Return each of `MEASURES` of the scores of classes.

    Where no class is named, of two classes the positive one is the second, as in scikit-learn. Of
    more, each is measured against all others together, and the measure is the mean over the classes
    that have rows.

    Returns a dict: NaN where that class has no rows, and where all rows are of one class, as in a
    test set of one row: nothing can be ranked.

    Parameters
    ----------
    labels : int array (m,)
        True classes, from 0 to K - 1, of any rows.
    scores : array (m, K)
        Scores of the classes, of which `decision_values` are ranked.
    positive : int or None, default=None
        The only class that is measured against all others.
    """
    n_classes = scores.shape[1]
    counts = np.bincount(labels, minlength=n_classes)
    if (counts > 0).sum() < 2:
        return dict.fromkeys(MEASURES, np.nan)
    if positive is not None:
        positives = [positive]
    else:
        positives = [1] if n_classes == 2 else np.flatnonzero(counts)
    values = decision_values(scores)
    curves = [roc_curve(values[:, k], labels == k) for k in positives]
    return {
        name: float(np.mean([measure(curve) for curve in curves]))
        for name, measure in MEASURES.items()
    }
