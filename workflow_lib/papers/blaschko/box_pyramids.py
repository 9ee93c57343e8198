"""Pyramids of the parts of boxes, and scores that are sums over these parts.

Level l of a pyramid cuts a box into l x l parts (Lampert, Blaschko & Hofmann 2008; the kernel of
Blaschko 2014, section 3.1.7, has four levels). Cut j of the interval from a to b is at

    floor(((l - j) a + j b) / l),

which rises with a and with b. So the cuts of all boxes in a set lie between those of its first and
of its last box, the parts of the boxes form a set of boxes too, and the sum of the bounds of these
sets (`workflow_lib.papers.blaschko.box_bounds`) is a bound of a sum of scores of parts.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from workflow_lib.papers.blaschko.box_bounds import BoxScore


def n_parts(levels: int) -> int:
    """Return the number of parts of a pyramid, 1 + 4 + 9 + ..."""
    return sum(level**2 for level in range(1, levels + 1))


def parts(boxes: np.ndarray, levels: int) -> Iterator[np.ndarray]:
    """Yield each part (m, 4) of boxes (m, 4) in cells: of the first level the boxes themselves.

    The parts of a level come by rows. A part of a box of fewer cells than parts has no area.

    Examples
    --------
    >>> [each[0].tolist() for each in parts(np.array([[0, 0, 5, 2]]), 2)][1:]
    [[0, 0, 2, 1], [2, 0, 5, 1], [0, 1, 2, 2], [2, 1, 5, 2]]
    """
    boxes = np.asarray(boxes)
    for level in range(1, levels + 1):
        ends = np.arange(level + 1)[:, None, None]
        cuts = ((level - ends) * boxes[:, :2] + ends * boxes[:, 2:]) // level
        for row in range(level):
            for column in range(level):
                yield np.stack(
                    [
                        cuts[column, :, 0],
                        cuts[row, :, 1],
                        cuts[column + 1, :, 0],
                        cuts[row + 1, :, 1],
                    ],
                    axis=1,
                )


class PyramidScore:
    """The score of boxes that is a sum over the parts of a pyramid, as a `BoxScore`.

    `scores` are those of the parts, in the order of `parts`; the first, of the box itself, may have
    a loss.
    """

    def __init__(self, scores: Sequence[BoxScore], levels: int) -> None:
        self._scores, self._levels = list(scores), levels
        self.height, self.width = scores[0].height, scores[0].width

    def all_boxes(self) -> np.ndarray:
        """Return the set (8,) of all boxes, as that of a `BoxScore`."""
        return self._scores[0].all_boxes()

    def of_boxes(self, boxes: np.ndarray) -> np.ndarray:
        """Return the scores (m,) of boxes (m, 4) whose sides are whole numbers of cells."""
        found = parts(boxes, self._levels)
        return sum(score.of_boxes(part) for score, part in zip(self._scores, found, strict=True))

    def bounds(self, sets: np.ndarray) -> np.ndarray:
        """Return upper bounds (m,) of sets (m, 8); of a set of one box it is the score.

        The order of the sum is that of `of_boxes`, so that rounding, which never puts the larger of
        two sums below the smaller one, keeps every bound at or above the scores.
        """
        least, largest = parts(sets[:, :4], self._levels), parts(sets[:, 4:], self._levels)
        sets_of_parts = [np.concatenate(ends, axis=1) for ends in zip(least, largest, strict=True)]
        bounds = self._scores[0].bounds(sets_of_parts[0])
        for score, part in zip(self._scores[1:], sets_of_parts[1:], strict=True):
            bounds = bounds + score.plain_bounds(part)
        return bounds
