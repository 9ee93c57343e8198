"""What methods that classify bags share: folds, and classes without a training bag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.named_class import combinations
from workflow_lib.fitting.class_selection import one_hot
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.point_selection import Point


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


def tried_points(
    data: FitData, grid: Mapping[str, Any], start_of: Callable, fitted: Callable
) -> Iterator[Point]:
    """Yield each grid point with the class scores (n, K) of the training bags held out.

    `start_of` returns what all points of a fold have in common, from its training bags, and
    `fitted` the fitted method, from that, the labels of these bags and a point.
    """
    bags, starts = data.items, []
    for fold in data.fold_numbers:
        indices = np.flatnonzero(data.folds != fold)
        starts.append((start_of([bags[index] for index in indices]), indices))
    for point in combinations(grid):
        scores = np.empty((data.size, data.n_classes))
        for fold, (start, indices) in enumerate(starts):
            labels, heldout = data.labels[indices], np.flatnonzero(data.folds == fold)
            if len(np.unique(labels)) < 2:
                # Without this fold one class is left, to which every bag then belongs.
                scores[heldout] = one_hot(labels[:1], data.n_classes)
                continue
            model = fitted(start, labels, data.n_classes, point)
            scores[heldout] = model.scores([bags[index] for index in heldout])
        yield point, scores
