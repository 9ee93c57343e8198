"""The energy of a set of detections, and how near the greedy search comes to the best set.

Sections 5.1.2 and 5.1.3 of Blaschko (2014). A set S of detections has the energy

    F(S) = sum_(i in S) s_i - sum_(i < j in S) g(o_ij) - sum_c h_c(|S and c|),

with scores s_i, a penalty g >= 0 of overlaps that rises with them, and terms of higher order: each
clique c is a set of boxes, and h_c is convex with h_c(0) = h_c(1) = 0, so that it is supermodular.
F is submodular: what a detection gains falls as others are found. The greedy search adds the one
that gains most, up to k and while it gains.

The thesis takes from Nemhauser, Wolsey & Fisher (1978) that this is within 1 - 1/e of the best set.
Their proof needs that F rises with every detection. Let c be the largest share of its score that a
detection can lose to 2 k - 2 others. If c <= 1, F rises on all sets that the proof compares, and
the greedy set has at least the share

    (1 - (1 - c/k)^k) / c                                    (Conforti & Cornuejols 1984)

of the best energy: 1 for c = 0, where there are no penalties, and 1 - (1 - 1/k)^k > 1 - 1/e for
c = 1. Otherwise F falls somewhere, and there is no such share: with equation (5.14), which rules
boxes out, a box that rules out k others of almost its score leaves 1/k of the best energy. There
the greedy set has at least 1/D, where D is the largest number of boxes, none of which rules out
another, that one box rules out: each greedy box is charged with those that it is the first to rule
out, all of them scored lower; and where k greedy boxes were found, those with no charge outnumber
the boxes that nothing ruled out, which scored less than any of them.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import overlaps

Penalty = Callable[[np.ndarray], np.ndarray]
"""Function g of overlaps (...) from 0 to 1 that is not negative and rises; np.inf rules out."""


def ruled_out_from(max_overlap: float) -> Penalty:
    """Return the g of equation (5.14): infinite from an overlap on, 0 below."""
    return lambda overlap: np.where(overlap >= max_overlap, np.inf, 0.0)


def overlap_power(weight: float, power: float = 1.0) -> Penalty:
    """Return the g that is a weight times a power of the overlap."""
    return lambda overlap: weight * overlap**power


class DetectionEnergy:
    """The energy F of sets of m candidate boxes, with `scores` (m,).

    `penalties` (m, m) are the g of each pair, symmetric; the diagonal is not used. `cliques` (q, m)
    say which boxes are in each clique, and `crowding` (m + 1,) is the h of 0, 1, ..., m boxes, the
    same for all cliques.

    Raises UserError if penalties are negative or higher-order terms are not convex, or not 0 for
    one box, because F is not submodular then, or scores are not finite.
    """

    def __init__(
        self,
        scores: np.ndarray,
        penalties: np.ndarray,
        cliques: np.ndarray | Sequence = (),
        crowding: np.ndarray | None = None,
    ) -> None:
        self.scores = np.asarray(scores, dtype=float)
        m = len(self.scores)
        self.penalties = np.array(penalties, dtype=float)
        np.fill_diagonal(self.penalties, 0.0)
        self._cliques = np.reshape(np.asarray(cliques, dtype=float), (-1, m))
        self._crowding = np.zeros(m + 1) if crowding is None else np.asarray(crowding, dtype=float)
        steps = np.diff(self._crowding)
        rounding = 1e-12 * np.abs(self._crowding).max()
        is_convex = (np.diff(steps) >= -rounding).all() and not self._crowding[:2].any()
        if not (np.isfinite(self.scores).all() and (self.penalties >= 0).all() and is_convex):
            raise UserError(
                location="the energy of a set of detections",
                found="scores that are not finite, negative penalties, or crowding that is not "
                "convex from 0 for one box on",
                expected="finite scores, penalties of 0 or more, and convex crowding, without "
                "which the energy is not submodular",
            )
        self._steps = steps

    def value(self, chosen: Sequence[int]) -> float:
        """Return F of a set of different boxes, by their numbers."""
        chosen = list(chosen)
        pairs = self.penalties[np.ix_(chosen, chosen)].sum() / 2.0
        counts = self._cliques[:, chosen].sum(axis=1).astype(int)
        return float(self.scores[chosen].sum() - pairs - self._crowding[counts].sum())

    def gains(self, chosen: Sequence[int]) -> np.ndarray:
        """Return F(S and i) - F(S) (m,) of each box i, -inf of those in the set S."""
        chosen = list(chosen)
        counts = self._cliques[:, chosen].sum(axis=1).astype(int)
        gains = self.scores - self.penalties[:, chosen].sum(axis=1)
        gains -= self._steps[np.minimum(counts, len(self._steps) - 1)] @ self._cliques
        gains[chosen] = -np.inf
        return gains

    def guarantee(self, n_most: int) -> float:
        """Return the share of the best energy that the greedy set of up to k boxes has at least.

        0 where nothing is known: finite penalties that can exceed a score, together with others.
        """
        c = self.curvature(n_most)
        if c <= 1.0:
            return 1.0 if c <= 0.0 else (1.0 - (1.0 - c / n_most) ** n_most) / c
        if np.isin(self.penalties, (0.0, np.inf)).all() and not self._crowding.any():
            return 1.0 / max(self._most_ruled_out(n_most), 1)
        return 0.0

    def curvature(self, n_most: int) -> float:
        """Return c: the largest share of its score that a box can lose to 2 k - 2 others.

        Boxes of scores of 0 or less, which are never chosen, do not count.
        """
        useful = self.scores > 0.0
        n_others = min(2 * n_most - 2, int(useful.sum()) - 1)
        if n_others <= 0:
            return 0.0
        penalties = -np.sort(-self.penalties[np.ix_(useful, useful)], axis=1)[:, :n_others]
        members = self._cliques[:, useful]
        together = np.minimum(members.sum(axis=1).astype(int) - 1, n_others)
        crowded = self._steps[np.maximum(together, 0)] @ members
        return float(((penalties.sum(axis=1) + crowded) / self.scores[useful]).max())

    def _most_ruled_out(self, n_most: int) -> int:
        """Return D, at most k."""
        conflicts = np.isinf(self.penalties) & (self.scores > 0.0)[:, None]
        conflicts &= conflicts.T
        most = 1
        for own in conflicts:
            others = np.flatnonzero(own)
            for size in range(min(len(others), n_most), most, -1):
                if any(not conflicts[np.ix_(c, c)].any() for c in combinations(others, size)):
                    most = size
                    break
        return most


def energy_of_boxes(
    boxes: np.ndarray, scores: np.ndarray, penalty: Penalty, crowding: float = 0.0
) -> DetectionEnergy:
    """Return the energy of boxes (m, 4) in whole cells, with the scores (m,).

    The terms of higher order are those of the cells: a cell in n boxes costs `crowding` times
    n - 1, so that their sum is the area that is covered more than once.
    """
    boxes = np.asarray(boxes)
    pairs = overlaps(boxes[:, None], boxes)
    if crowding == 0.0:
        return DetectionEnergy(scores, penalty(pairs))
    rows, columns = np.mgrid[: boxes[:, 3].max(), : boxes[:, 2].max()].reshape(2, -1, 1)
    left, top, right, bottom = boxes.T
    cells = (columns >= left) & (columns < right) & (rows >= top) & (rows < bottom)
    extra = crowding * np.maximum(np.arange(len(boxes) + 1) - 1.0, 0.0)
    return DetectionEnergy(scores, penalty(pairs), cells, extra)


def greedy_set(energy: DetectionEnergy, n_most: int) -> list[int]:
    """Return the boxes of the greedy search, in their order: up to k, while they gain.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 3], [4, 4, 6, 6]])
    >>> greedy_set(energy_of_boxes(boxes, [2.0, 3.0, 1.0], ruled_out_from(0.5)), 3)
    [1, 2]
    """
    chosen: list[int] = []
    while len(chosen) < n_most:
        gains = energy.gains(chosen)
        best = int(gains.argmax())
        if not gains[best] > 0.0:
            break
        chosen.append(best)
    return chosen


def greedy_ratio(energy: DetectionEnergy, n_most: int) -> float:
    """Return the share of the best energy of up to k boxes that the greedy set has.

    1 where no set has an energy above 0, so that both are empty.
    """
    best = energy.value(best_set(energy, n_most))
    return energy.value(greedy_set(energy, n_most)) / best if best > 0.0 else 1.0


def best_set(energy: DetectionEnergy, n_most: int) -> list[int]:
    """Return the set of up to k boxes of the highest energy, by comparing all of them."""
    m, best, best_value = len(energy.scores), [], 0.0
    for size in range(1, n_most + 1):
        for chosen in combinations(range(m), size):
            value = energy.value(chosen)
            if value > best_value:
                best, best_value = list(chosen), value
    return best
