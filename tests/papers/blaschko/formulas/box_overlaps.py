"""Overlaps of one pair of boxes at a time."""

import numpy as np


def overlaps(rows) -> list[float]:
    """Return the shares of the union of each pair of boxes that both hold."""
    found = []
    for box, other in zip(rows.truth, rows.predictions, strict=True):
        sides = [min(box[k + 2], other[k + 2]) - max(box[k], other[k]) for k in (0, 1)]
        shared = max(sides[0], 0) * max(sides[1], 0)
        area, further = ((b[2] - b[0]) * (b[3] - b[1]) for b in (box, other))
        found.append(shared / (area + further - shared))
    return found


FORMULAS = {
    "overlap": lambda rows: np.mean(overlaps(rows)),
    "recall_at_half": lambda rows: np.mean([each >= 0.5 for each in overlaps(rows)]),
    "detection_error_rate": lambda rows: np.mean([each < 0.5 for each in overlaps(rows)]),
}
