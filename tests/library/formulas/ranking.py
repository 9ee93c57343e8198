"""Measures of the ROC curve of predictions without scores, which has one point between its ends."""

import numpy as np


def rates(rows) -> list[tuple[float, float]]:
    """Return the shares of the rows of each class, and of all others, predicted to be of it."""
    return [
        (np.mean(rows.predictions[is_class] == k), np.mean(rows.predictions[~is_class] == k))
        for k, is_class in ((k, rows.truth == k) for k in np.unique(rows.truth))
    ]


FORMULAS = {
    "auc": lambda rows: np.mean([(1 + hit - false) / 2 for hit, false in rates(rows)]),
    # The AUC, because fewer than 50 rows are negatives.
    "roc50": lambda rows: np.mean([(1 + hit - false) / 2 for hit, false in rates(rows)]),
    "median_rfp": lambda rows: np.mean(
        [false if hit > 0.5 else (1 + false) / 2 if hit == 0.5 else 1 for hit, false in rates(rows)]
    ),
    "equal_error_rate": lambda rows: np.mean(
        [
            false / (hit + false) if hit + false >= 1 else (1 - hit) / (2 - hit - false)
            for hit, false in rates(rows)
        ]
    ),
}
