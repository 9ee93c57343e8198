"""Overlap of boxes: the area of their intersection, divided by that of their union.

A box is (left, top, right, bottom) in any unit, with the origin at the left and the top of its
image; its area is (right - left) (bottom - top). The overlap (intersection over union; Everingham
et al. 2010) does not depend on the unit, and axes may have different ones. It is 1 for equal boxes
and 0 for boxes apart.
"""

import numpy as np

SIDES = ("left", "top", "right", "bottom")
"""The numbers of a box, in their order."""


def overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the overlaps (...) of `boxes` (..., 4) with `others` (..., 4), by broadcasting.

    Boxes that are empty or inside out, as a regression may predict them, have the overlap 0.
    """
    boxes, others = np.asarray(boxes, dtype=float), np.asarray(others, dtype=float)
    sides = np.minimum(boxes[..., 2:], others[..., 2:]) - np.maximum(
        boxes[..., :2], others[..., :2]
    )
    shared = np.where((sides > 0).all(axis=-1), sides.prod(axis=-1), 0.0)
    union = areas(boxes) + areas(others) - shared
    return np.where(shared > 0, shared / np.where(union > 0, union, 1.0), 0.0)


def areas(boxes: np.ndarray) -> np.ndarray:
    """Return the areas (...) of `boxes` (..., 4), 0 for those that are empty or inside out."""
    return np.maximum(boxes[..., 2:] - boxes[..., :2], 0.0).prod(axis=-1)
