"""Upper bounds of the scores of all boxes in a set, for a score that is a sum over points.

An image is a grid of cells; the score of a box is the sum of the weights of the cells in it, such
as the weights of the visual words of its points. A set of boxes has an interval for each side
(Lampert, Blaschko & Hofmann 2008): with the union of its boxes and their intersection,

    f(Y) = sum of positive weights in the union + sum of negative weights in the intersection

is no less than the score of any box in Y, and it is the score where Y is one box. A tighter bound
comes from the halves of the interval of each side. A box with the side in the outer half holds all
cells between the middle and the intersection, B; one with the side in the inner half holds none
between the union and the middle, A; so

    g(Y) = f(Y) - sum over the sides of min(positive weights in A, -negative weights in B)

is a bound, too. At the left and the right, A is as high as the union and B as the intersection; at
the top and the bottom, both are as wide as the intersection, so that no weight counts twice. Sets
are split at the same middles, so that no part has a higher bound than its set.

In training the loss 1 - overlap with the true box is added, and boxes that overlap a detection too
much are ruled out (Blaschko 2014, equations 5.12 to 5.14); both need the least overlap in Y with a
box of area A,

    |intersection of Y with the box| / (|union of Y| + A - |intersection of Y with the box|).

The weights are rounded to multiples of 2^-30 of their largest, so that all sums are exact, and no
rounding error puts a bound below the score of a box or tells boxes of equal scores apart.
"""

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import areas

DIGITS = 30
"""Binary digits of a weight; sums over 2^20 cells are then exact in double precision."""

MAX_CELLS = 1023
"""Largest number of cells of a side, so that the sides of a box fit into one integer."""


class BoxScore:
    """The score of boxes on a grid of cells, with its bounds for sets of boxes.

    `weights` (height, width) are those of the cells, of either sign; with a `loss_box` (4,), in
    cells, 1 - overlap with it is added to every score.

    Raises UserError if the weights are no grid of 1 to 1023 cells a side, or not finite.
    """

    def __init__(self, weights: np.ndarray, loss_box: np.ndarray | None = None) -> None:
        weights = np.asarray(weights, dtype=float)
        if weights.ndim != 2 or not all(1 <= side <= MAX_CELLS for side in weights.shape):
            raise UserError(
                location="weights of a BoxScore",
                found=f"an array of the shape {weights.shape}",
                expected=f"(height, width), each from 1 to {MAX_CELLS}",
                remedy="pass one weight for each cell of a grid",
            )
        if not np.isfinite(weights).all():
            raise UserError(
                location="weights of a BoxScore",
                found="weights that are NaN or infinite",
                expected="finite weights",
                remedy="check the model that gives them",
            )
        self.height, self.width = weights.shape
        largest = np.abs(weights).max()
        unit = np.ldexp(1.0, np.frexp(largest)[1] - DIGITS) if largest else 1.0
        rounded = np.rint(weights / unit) * unit
        self._positive = _integral(np.maximum(rounded, 0.0))
        self._negative = _integral(np.minimum(rounded, 0.0))
        self._loss_box = None if loss_box is None else np.asarray(loss_box, dtype=float)

    def all_boxes(self) -> np.ndarray:
        """Return the set (8,) of all boxes: the least left, top, right, bottom, and the largest."""
        width, height = self.width, self.height
        return np.array([0, 0, 1, 1, width - 1, height - 1, width, height])

    def of_boxes(self, boxes: np.ndarray) -> np.ndarray:
        """Return the scores (m,) of boxes (m, 4) whose sides are whole numbers of cells."""
        boxes = np.asarray(boxes)
        return self._of_ends(boxes, boxes)

    def bounds(self, sets: np.ndarray) -> np.ndarray:
        """Return the upper bounds (m,) of sets (m, 8); of a set of one box it is the score."""
        return self._of_ends(unions(sets), intersections(sets), self._reductions(sets))

    def plain_bounds(self, sets: np.ndarray) -> np.ndarray:
        """Return the bounds f(Y) (m,), without what is known of halves of the intervals.

        They are for sets that are split elsewhere than at the middles of their intervals.
        """
        return self._of_ends(unions(sets), intersections(sets))

    def _of_ends(
        self, outer: np.ndarray, inner: np.ndarray, reductions: np.ndarray | float = 0.0
    ) -> np.ndarray:
        """Return f(Y) (m,) of the unions and intersections, less `reductions`, with the loss."""
        bounds = self._sums(self._positive, outer.T) + self._sums(self._negative, inner.T)
        bounds -= reductions
        if self._loss_box is not None:
            bounds += 1.0 - least_overlaps(outer, inner, self._loss_box)
        return bounds

    def _reductions(self, sets: np.ndarray) -> np.ndarray:
        """Return f(Y) - g(Y) (m,), taken as 0 where the intersection has no area."""
        left, top, right, bottom, left_most, top_most, right_most, bottom_most = sets.T
        middles = middles_of(sets).T
        # The positive weights in A and the negative ones in B, of each side in the order of a box.
        gained = self._sums(
            self._positive,
            np.array(
                [
                    [left, left_most, middles[2], left_most],
                    [top, top, top, middles[3]],
                    [middles[0] + 1, right, right_most, right],
                    [bottom_most, middles[1] + 1, bottom_most, bottom_most],
                ]
            ),
        )
        lost = self._sums(
            self._negative,
            np.array(
                [
                    [middles[0], left_most, right, left_most],
                    [top_most, middles[1], top_most, bottom],
                    [left_most, right, np.minimum(middles[2] + 1, right_most), right],
                    [bottom, top_most, bottom, np.minimum(middles[3] + 1, bottom_most)],
                ]
            ),
        )
        has_area = (left_most < right) & (top_most < bottom)
        return np.where(has_area, np.minimum(gained, -lost).sum(axis=0), 0.0)

    def _sums(self, integral: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """Return the sums in boxes, whose first axis is that of the sides (4, ...)."""
        left, top, right, bottom = boxes
        top, bottom = top * (self.width + 1), bottom * (self.width + 1)
        upper = integral[top + right] - integral[top + left]
        return integral[bottom + right] - integral[bottom + left] - upper


def middles_of(sets: np.ndarray) -> np.ndarray:
    """Return the last values (m, 4) of the lower halves of the intervals of sets (m, 8)."""
    return (sets[:, :4] + sets[:, 4:]) // 2


def unions(sets: np.ndarray) -> np.ndarray:
    """Return the smallest boxes (m, 4) that hold every box of sets (m, 8)."""
    return sets[:, [0, 1, 6, 7]]


def intersections(sets: np.ndarray) -> np.ndarray:
    """Return the boxes (m, 4) that every box of sets (m, 8) holds, without area if there is none.

    Where one side has no width, so has the other no part in the sums.
    """
    inner = sets[:, [4, 5, 2, 3]]
    np.maximum(inner[:, 2:], inner[:, :2], out=inner[:, 2:])
    return inner


def least_overlaps(outer: np.ndarray, inner: np.ndarray, box: np.ndarray) -> np.ndarray:
    """Return lower bounds (m,) of the overlaps of a box with all boxes of m sets.

    `outer` and `inner` (m, 4) are their `unions` and `intersections`. For a set of one box it is
    the overlap.
    """
    sides = np.minimum(inner[:, 2:], box[2:]) - np.maximum(inner[:, :2], box[:2])
    shared = np.maximum(sides, 0.0).prod(axis=1)
    return shared / (areas(outer) + areas(box) - shared)


def _integral(values: np.ndarray) -> np.ndarray:
    """Return the sums over the cells above and left of each corner: flat, (h + 1) (w + 1)."""
    integral = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    integral[1:, 1:] = values.cumsum(axis=0).cumsum(axis=1)
    return integral.ravel()
