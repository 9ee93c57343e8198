"""Recalls of the right class among the classes with the highest scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workflow_lib.measures.base import Measure, Predictions

if TYPE_CHECKING:
    import numpy as np

NUMBERS_OF_CANDIDATES = (3, 5)
"""Returned classes whose recall is measured."""

MEASURES = tuple(
    Measure(
        f"top_{k}",
        f"top-{k} recall",
        f"Recall of the right class among {k} returned classes",
        f"Of more than {k} classes: share of test rows whose class is among the {k} with the "
        "highest scores, classes with equal scores in random order; higher is better.",
        outputs="classes",
        higher_is_better=True,
        is_share=True,
        may_be_absent=True,
    )
    for k in NUMBERS_OF_CANDIDATES
)


def values(rows: Predictions) -> dict[str, float]:
    """Return the recalls of the entry ``class_scores`` (n, K), by name.

    Those of so many classes as there are, or more, are left out: they would be 1.
    """
    scores = rows.entries.get("class_scores")
    numbers = [k for k in NUMBERS_OF_CANDIDATES if scores is not None and k < scores.shape[1]]
    by_number = recalls(rows.truth, scores) if numbers else ()
    return {f"top_{k}": float(by_number[k - 1]) for k in numbers}


def recalls(labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the recall (K,) of the true class among the 1, 2, ..., K classes of highest scores.

    It is the mean over rows of the probability that the true class is among the first k where
    classes with equal scores come in random order, so that equal scores for all classes have k / K.
    The last is 1.

    Parameters
    ----------
    labels : int array (m,)
        True classes, from 0 to K - 1.
    scores : array (m, K)
        Scores of the classes, higher is better.
    """
    import numpy as np

    own = scores[np.arange(len(labels)), labels][:, None]
    n_above = (scores > own).sum(axis=1)[:, None]
    n_equal = (scores == own).sum(axis=1)[:, None]
    positions = np.arange(1, scores.shape[1] + 1) - n_above
    return np.clip(positions / n_equal, 0.0, 1.0).mean(axis=0)
