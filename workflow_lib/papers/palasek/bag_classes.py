"""What methods of bags share about classes: those that have no training bag."""

from __future__ import annotations

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData


def check_classes(data: FitData) -> None:
    """Raise UserError where all training bags are of one class."""
    if len(np.unique(data.labels)) < 2:
        raise UserError(
            location=f"{data.split.paths['split']}, with {data.size} training rows",
            found="training rows of one class only",
            expected="labelled bags of at least two classes",
            remedy="raise training_sizes in the experiment, or split by class",
        )


def scores_of_all(found: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the scores (n, K) of all classes from those (n, k) of `classes` (k,); others are
    last."""
    scores = np.repeat(found.min(axis=1, keepdims=True) - 1.0, n_classes, axis=1)
    scores[:, classes] = found
    return scores
