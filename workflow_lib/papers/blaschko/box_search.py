"""The best boxes of an image by branch and bound: efficient subwindow search.

Sets of boxes (`workflow_lib.papers.blaschko.box_bounds`) are taken from a queue, that of the
highest upper bound first, and split at their longest interval; the first single box that is taken
is the best of all (Lampert, Blaschko & Hofmann 2008). Further detections are found one after the
other, each the best box that overlaps no earlier one by `max_overlap` or more (Blaschko 2014,
equation 5.14). Before a detection the queue is either reset to the set of all boxes, or kept from
the last: a bound that does not know the last detections is still a bound, so every strategy finds
the same boxes, and they differ in how many sets they take from the queue (Section 5.1.4).

A general penalty of overlaps and one of crowded cells (`workflow_lib.papers.blaschko.
detection_energy`) are subtracted from the scores of further boxes, with the least overlap of a set
and the cells of its intersection in the bounds (equations 5.11 to 5.13).

Of boxes with equal scores the first is taken, by left, top, right, then bottom. For this the queue
orders equal bounds by the first box of their sets.

One set at a time would spend the time in the calls of array functions, so many are split at once.
Those whose turn had not come are put back when the best box is known, so that the boxes, the queue
and the number of sets taken from it are those of the search one set at a time.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.box_bounds import (
    MAX_CELLS,
    BoxScore,
    intersections,
    least_overlaps,
    middles_of,
    unions,
)
from workflow_lib.papers.blaschko.box_pyramids import PyramidScore
from workflow_lib.papers.blaschko.detection_energy import Penalty

AT_ONCE = 128
"""Sets that are split at once: fewer are faster for one box, more for ten, by up to a fifth."""

PART_AT_ONCE = 8
"""In a longer queue more are split at once: this part of it, so that it is passed over less."""


class Detection(NamedTuple):
    """A box that a search found."""

    box: np.ndarray
    """(left, top, right, bottom) in cells, whole numbers."""

    score: float

    n_dequeued: int
    """Sets taken from the queue to find it, itself included."""


class _Nodes(NamedTuple):
    """Sets of boxes in the queue, or split in the search for one detection."""

    sets: np.ndarray
    """(m, 8): the least left, top, right, bottom, and the largest."""

    bounds: np.ndarray
    """(m,)"""

    codes: np.ndarray
    """(m,): one number for the first box of each set, in the order of boxes."""

    known: np.ndarray
    """(m,): the number of detections that the bound takes into account."""

    parents: np.ndarray
    """(m,): the set that each is a part of; -1 for those that were in the queue before."""


class BoxSearch:
    """A search for boxes in one image, whose queue is kept from detection to detection.

    A box is ruled out from an overlap `max_overlap` with an earlier detection on, above 0 and at
    most 1. Subtracted are a `penalty` g >= 0 of the overlap with each earlier detection, which
    rises with it, and `crowding`, not negative, for each cell that is in an earlier detection.

    Raises UserError if `max_overlap` is not in this range.
    """

    def __init__(
        self,
        score: BoxScore | PyramidScore,
        max_overlap: float = 0.5,
        penalty: Penalty | None = None,
        crowding: float = 0.0,
    ) -> None:
        if not 0 < max_overlap <= 1:
            raise UserError(
                location="max_overlap of a BoxSearch",
                found=str(max_overlap),
                expected="a number above 0 and at most 1",
                remedy="set 0.5, or 1 so that no box is found twice and none else is ruled out",
            )
        self._score, self._max_overlap = score, max_overlap
        self._penalty, self._crowding = penalty, crowding
        self.reset()

    def reset(self) -> None:
        """Fill the queue with the set of all boxes."""
        self._queue = self._nodes(self._score.all_boxes()[None], 0, np.array([-1]))

    def best(self, found: Sequence[np.ndarray] = ()) -> Detection | None:
        """Return the best box that overlaps none of those `found` too much; None without any.

        The queue must be new, or that of a search with the first of these boxes.
        """
        nodes, n_found = self._queue, len(found)
        is_open = np.ones(len(nodes.bounds), dtype=bool)
        while True:
            priorities = np.where(is_open, nodes.bounds, -np.inf)
            top = priorities.max(initial=-np.inf)
            if top == -np.inf:
                self._queue = _taken(nodes, is_open)
                return None
            tied = np.flatnonzero(priorities == top)
            first = tied[np.argmin(nodes.codes[tied])]
            is_single = (nodes.sets[:, :4] == nodes.sets[:, 4:]).all(axis=1)
            is_found = is_open & is_single & (nodes.known == n_found)
            if is_found[first]:
                break
            # A set whose bound is below the score of a known box would be put back.
            least = nodes.bounds[is_found].max(initial=-np.inf)
            split = np.flatnonzero(is_open & ~is_found & (nodes.bounds >= least))
            at_once = max(AT_ONCE, len(split) // PART_AT_ONCE)
            split = split[_first_in_order(nodes.bounds[split], nodes.codes[split], at_once)]
            is_open[split] = False
            children = self._children(nodes.sets[split], is_single[split], split, found)
            nodes = _Nodes(*(np.concatenate(pair) for pair in zip(nodes, children)))
            is_open = np.concatenate([is_open, np.ones(len(children.bounds), dtype=bool)])
        had_turn = (nodes.bounds > top) | (
            (nodes.bounds == top) & (nodes.codes <= nodes.codes[first])
        )
        was_split = ~is_open & had_turn
        is_open |= ~had_turn
        is_open[first] = False
        # The parts of a set that is put back are parts of parts, too: bounds fall with each split.
        is_open &= (nodes.parents < 0) | had_turn[nodes.parents]
        self._queue = _taken(nodes, is_open)
        return Detection(nodes.sets[first, :4].copy(), float(top), int(was_split.sum()) + 1)

    def _nodes(self, sets: np.ndarray, n_known: int, parents: np.ndarray) -> _Nodes:
        left, top, right, bottom = sets[:, :4].T
        side = MAX_CELLS + 1
        codes = ((left * side + top) * side + right) * side + bottom
        known = np.full(len(sets), n_known)
        return _Nodes(sets, self._score.bounds(sets), codes, known, parents)

    def _children(
        self,
        sets: np.ndarray,
        is_single: np.ndarray,
        parents: np.ndarray,
        found: Sequence[np.ndarray],
    ) -> _Nodes:
        """Return the halves of sets, and single boxes again, without those that are ruled out."""
        singles, sets = sets[is_single], sets[~is_single]
        parts = np.concatenate([_halves(sets), singles])
        parents = np.concatenate([np.tile(parents[~is_single], 2), parents[is_single]])
        is_kept = (parts[:, :4] <= parts[:, 4:]).all(axis=1)
        outer, inner = unions(parts), intersections(parts)
        for box in found:
            is_kept &= least_overlaps(outer, inner, np.asarray(box)) < self._max_overlap
        nodes = self._nodes(parts[is_kept], len(found), parents[is_kept])
        return nodes._replace(bounds=nodes.bounds - self._penalties(nodes.sets, found))

    def _penalties(self, sets: np.ndarray, found: Sequence[np.ndarray]) -> np.ndarray:
        """Return the least penalty (m,) of a box in each set beside the detections."""
        total = np.zeros(len(sets))
        if self._penalty is not None:
            outer, inner = unions(sets), intersections(sets)
            for box in found:
                total += self._penalty(least_overlaps(outer, inner, np.asarray(box)))
        if self._crowding and len(found):
            is_covered = np.zeros((self._score.height, self._score.width))
            for left, top, right, bottom in found:
                is_covered[top:bottom, left:right] = 1.0
            total -= self._crowding * BoxScore(-is_covered).plain_bounds(sets)
        return total


def detections(
    score: BoxScore | PyramidScore,
    n_detections: int,
    max_overlap: float = 0.5,
    n_resets: int = 0,
    penalty: Penalty | None = None,
    crowding: float = 0.0,
) -> Iterator[Detection]:
    """Yield up to `n_detections` boxes, the best first, fewer where all others are ruled out.

    The queue is reset before each of the `n_resets` detections that follow the first, and kept for
    all others: 0 for never, ``n_detections - 1`` for always. The other parameters are those of
    `BoxSearch`; the score of a box is less its penalties.

    Examples
    --------
    >>> import numpy as np
    >>> weights = -np.ones((4, 6))
    >>> weights[1:3, 1:3], weights[2:4, 4:6] = 3.0, 2.0
    >>> [(list(map(int, one.box)), one.score) for one in detections(BoxScore(weights), 2, 0.1)]
    [([1, 1, 3, 3], 12.0), ([4, 2, 6, 4], 8.0)]
    """
    search, found = BoxSearch(score, max_overlap, penalty, crowding), []
    for number in range(n_detections):
        if 0 < number <= n_resets:
            search.reset()
        best = search.best(found)
        if best is None:
            return
        found.append(best.box)
        yield best


def _first_in_order(bounds: np.ndarray, codes: np.ndarray, n_chosen: int) -> np.ndarray:
    """Return the indices of the first sets in the order of the queue, in any order."""
    if len(bounds) <= n_chosen:
        return np.arange(len(bounds))
    last = np.partition(bounds, len(bounds) - n_chosen)[len(bounds) - n_chosen]
    above, tied = np.flatnonzero(bounds > last), np.flatnonzero(bounds == last)
    n_tied = n_chosen - len(above)
    if n_tied < len(tied):
        tied = tied[np.argpartition(codes[tied], n_tied)[:n_tied]]
    return np.concatenate([above, tied])


def _taken(nodes: _Nodes, chosen: np.ndarray) -> _Nodes:
    """Return some nodes, as those that were in the queue before."""
    kept = _Nodes(*(values[chosen] for values in nodes))
    return kept._replace(parents=np.full(len(kept.bounds), -1))


def _halves(sets: np.ndarray) -> np.ndarray:
    """Return the two halves (2 m, 8) of sets (m, 8) at their longest intervals. Of the intervals of
    each half, ends that no box of positive width and height has are cut off; an interval is empty
    where there is no such box."""
    rows = np.arange(len(sets))
    side = (sets[:, 4:] - sets[:, :4]).argmax(axis=1)
    middle = middles_of(sets)[rows, side]
    lower, upper = sets.copy(), sets.copy()
    lower[rows, 4 + side] = middle
    upper[rows, side] = middle + 1
    halves = np.concatenate([lower, upper])
    np.maximum(halves[:, 2:4], halves[:, :2] + 1, out=halves[:, 2:4])
    np.minimum(halves[:, 4:6], halves[:, 6:] - 1, out=halves[:, 4:6])
    return halves
