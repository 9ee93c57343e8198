"""Recalls of one class that is predicted and others that are drawn."""

import numpy as np

SAMPLE = {"n_classes": 7}


def mean_recall(k: int, rows) -> float:
    drawn = (k - 1) / (SAMPLE["n_classes"] - 1)
    return np.mean(np.where(rows.predictions == rows.truth, 1.0, drawn))


FORMULAS = {"top_3": lambda rows: mean_recall(3, rows), "top_5": lambda rows: mean_recall(5, rows)}
