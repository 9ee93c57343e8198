"""Losses of one row at a time."""

import numpy as np


def mean_loss(losses: list[list[float]], rows) -> float:
    pairs = zip(rows.truth, rows.predictions, strict=True)
    return np.mean([losses[true][found] for true, found in pairs])


FORMULAS = {
    "path_length": lambda rows: mean_loss([[0, 2, 3], [2, 0, 3], [3, 3, 0]], rows),
    "class_cost": lambda rows: mean_loss([[0, 1, 5], [2, 0, 0.5], [1, 7, 0]], rows),
}
