"""All boxes of an image on a grid of cells, for scores that are no sums over points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workflow_lib.items.box_overlap import overlaps
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints


class BoxScan:
    """The words in all boxes of an image.

    Parameters
    ----------
    points : ImagePoints
    n_cells : int
        Cells of each side, whatever the size of the image.

    Attributes
    ----------
    boxes : int array (m, 4)
        All boxes of whole cells, m = (n_cells (n_cells + 1) / 2)^2, in the order of their top,
        bottom, left and right.
    """

    def __init__(self, points: ImagePoints, n_cells: int) -> None:
        self._words, self._n_cells = points.words, n_cells
        columns, rows = points.cells(n_cells)
        self._cells = rows * n_cells + columns
        self._low, self._high = np.triu_indices(n_cells + 1, 1)
        pairs = np.arange(len(self._low))
        pair, other = np.repeat(pairs, len(pairs)), np.tile(pairs, len(pairs))
        sides = self._low[other], self._low[pair], self._high[other], self._high[pair]
        self.boxes = np.stack(sides, axis=1)
        totals = self._counts(self._cells)
        self._shares = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)

    def shares(self, word: int) -> np.ndarray:
        """Return the share (m,) of a word among the points of each box, 0 without points."""
        return self._counts(self._cells[self._words == word]) * self._shares

    def _counts(self, cells: np.ndarray) -> np.ndarray:
        """Return how many of the points of some cells are in each box."""
        n = self._n_cells
        counts = np.zeros((n + 1, n + 1), dtype=np.float32)
        counts[1:, 1:] = np.bincount(cells, minlength=n * n).reshape(n, n)
        sums = counts.cumsum(axis=0).cumsum(axis=1)
        strips = sums[self._high] - sums[self._low]
        return (strips[:, self._high] - strips[:, self._low]).ravel()


def chi_squared_distances(shares: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the chi-squared distances (n, m) of shares (n, W) of words to other shares (m, W).

    The distance of two distributions is sum_w (h_w - g_w)^2 / (h_w + g_w)
    = 2 - 4 sum_w h_w g_w / (h_w + g_w), from 0 to 2. Shares of no points, which are 0, have the
    distance 2 to all.
    """
    distances = np.empty((len(shares), len(others)))
    for row, distance in zip(shares, distances):
        sums = row + others
        quotients = np.divide(row * others, sums, out=np.zeros_like(sums), where=sums > 0)
        distance[:] = np.maximum(2.0 - 4.0 * quotients.sum(axis=1), 0.0)
    return distances


def distances_of_all_boxes(shares: np.ndarray, scan: BoxScan) -> np.ndarray:
    """Return the chi-squared distances (n, m) of shares (n, W) to those of all boxes of an image.

    They are those of `chi_squared_distances`, in single precision, by words: most of the shares of
    a box are 0.
    """
    distances = np.full((len(shares), len(scan.boxes)), 2.0, dtype=np.float32)
    for word in np.flatnonzero(shares.any(axis=0)):
        of_boxes = scan.shares(word)
        for distance, share in zip(distances, shares[:, word].astype(np.float32)):
            if share > 0:
                distance -= of_boxes / (of_boxes + share) * (4.0 * share)
    return np.maximum(distances, 0.0, out=distances)


def scanned_detections(
    boxes: np.ndarray, scores: np.ndarray, n_detections: int, max_overlap: float
) -> Iterator[int]:
    """Yield the numbers of up to `n_detections` boxes, the best first.

    Each is the best of those that overlap no earlier one by `max_overlap` or more, of equal scores
    the first (Blaschko 2014, equation 5.14).

    Examples
    --------
    >>> boxes = np.array([[0, 0, 2, 2], [0, 0, 2, 3], [4, 4, 6, 6]])
    >>> list(map(int, scanned_detections(boxes, np.array([2.0, 3.0, 1.0]), 3, 0.5)))
    [1, 2]
    """
    scores = scores.astype(float)
    for _ in range(n_detections):
        best = int(scores.argmax())
        if scores[best] == -np.inf:
            return
        yield best
        scores[overlaps(boxes, boxes[best]) >= max_overlap] = -np.inf
