"""Joint kernel support estimation with a chi-squared kernel that finds the box of an object."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_fitting import (
    MAX_OVERLAP,
    N_DETECTIONS,
    best_selection,
    box_rows,
)
from workflow_lib.papers.blaschko.box_pyramids import parts
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints
from workflow_lib.papers.blaschko.joint_support import fit_joint_support

REGRESSORS = ("box_kernel_support",)
TASKS = ("boxes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Fit a one-class machine to the words in boxes, with the kernel exp(-d / (width d0)).

    Blaschko (2014), Section 3.1: d is the chi-squared distance of the shares of the visual words in
    two boxes, and d0 its mean over the pairs of training boxes, a common unit of such kernels
    (Zhang et al. 2007). With a pyramid it is the mean distance of its levels. The score of a box is
    a weighted mean of its kernel with the training boxes, for which no useful upper bound over a
    set of boxes is known, so that all boxes of the grid are compared, as in the thesis. Selected is
    the grid point with the highest mean overlap of held-out rows.
    """

    cells: int
    levels: int

    grid: Mapping[str, Sequence[float]]
    """Lists ``nu`` and ``width``."""

    def select(self, data: FitData) -> base.Selection:
        shares, points = self._shares(data), data.items
        found: list[tuple[dict[str, Any], np.ndarray]] = []
        for fold in data.fold_numbers:
            heldout = data.folds == fold
            fits = [
                ({"nu": nu, "width": width}, _support(shares[~heldout], nu, width))
                for width in self.grid["width"]
                for nu in self.grid["nu"]
            ]
            found = found or [(entries, np.empty((data.size, 4))) for entries, _ in fits]
            for row in np.flatnonzero(heldout):
                scan = BoxScan(points[row], self.cells, self.levels)
                distances = distances_of_all_boxes(shares[~heldout], scan)
                unit = points[row].size / self.cells
                for (_, boxes), (_, support) in zip(found, fits):
                    best = scan.boxes[support.scores(distances).argmax()]
                    boxes[row] = best * np.tile(unit, 2)
        return best_selection(data.outputs, found)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        shares, chosen = self._shares(data), selection.entries
        support = _support(shares, chosen["nu"], chosen["width"])
        return Fitted(shares, support, self.cells, self.levels)

    def _shares(self, data: FitData) -> np.ndarray:
        features = box_rows(data, self.cells, False, self.levels).features
        totals = features.sum(axis=1, keepdims=True)
        return features / np.where(totals > 0, totals, 1.0)


@dataclass
class Support:
    """A fitted one-class machine."""

    coefficients: np.ndarray
    """Array (n,): of the training boxes, with sum 1; 0 where no training box has points."""

    unit: float
    """width d0, by which distances are divided."""

    def scores(self, distances: np.ndarray) -> np.ndarray:
        """Return the scores (m,) of boxes with the distances (n, m) to the training boxes."""
        kept = self.coefficients > 0
        similarities = np.exp(distances[kept] * np.float32(-1.0 / self.unit))
        return self.coefficients[kept].astype(np.float32) @ similarities


def _support(shares: np.ndarray, nu: float, width: float) -> Support:
    """Return the machine of training boxes; those without points have no part in it."""
    kept = np.flatnonzero(shares.any(axis=1))
    distances = chi_squared_distances(shares[kept], shares[kept])
    apart = distances[~np.eye(len(kept), dtype=bool)]
    # Of one training box, or of equal ones, any unit gives the same order of boxes.
    unit = width * float(apart.mean() if apart.any() else 1.0)
    coefficients = np.zeros(len(shares))
    if len(kept):
        K = np.exp(-distances / unit)
        coefficients[kept] = fit_joint_support(K, np.ones_like(K), nu)
    return Support(coefficients, unit)


class ScannedBoxes(base.Fitted):
    """A fitted method that compares all boxes of a grid of cells."""

    n_cells: int
    """Of each side."""

    @abstractmethod
    def scanned(self, points: ImagePoints) -> tuple[np.ndarray, np.ndarray]:
        """Return all boxes (m, 4) of an image in cells, and their scores (m,)."""

    def predict(self, rows):
        """Return the best box (m, 4) of each image, in pixels."""
        return np.array([self._detected(points, 1)[0, :4] for points in rows.items()])

    def predictions(self, rows):
        """Return the best box of each image, and further `DETECTIONS`."""
        found = np.array([self._detected(points, N_DETECTIONS) for points in rows.items()])
        return {"test_targets": found[:, 0, :4], DETECTIONS: found}

    def _detected(self, points: ImagePoints, n_detections: int) -> np.ndarray:
        every, scores = self.scanned(points)
        found = list(scanned_detections(every, scores, n_detections, MAX_OVERLAP))
        boxes = np.zeros((n_detections, 5))
        boxes[: len(found), :4] = every[found] * np.tile(points.size, 2) / self.n_cells
        boxes[: len(found), 4], boxes[len(found) :, 4] = scores[found], scores[found[-1]]
        return boxes


class Fitted(ScannedBoxes):
    """The support of training boxes, and their shares (n, P) of words, on a grid of cells."""

    def __init__(self, shares: np.ndarray, support: Support, n_cells: int, levels: int = 1) -> None:
        self._shares, self._support = shares, support
        self.n_cells, self._levels = n_cells, levels

    def scanned(self, points):
        scan = BoxScan(points, self.n_cells, self._levels)
        return scan.boxes, self._support.scores(distances_of_all_boxes(self._shares, scan))

    def to_arrays(self):
        return {
            "shares": self._shares,
            "coefficients": self._support.coefficients,
            "unit": self._support.unit,
            "n_cells": self.n_cells,
            "levels": self._levels,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        support = Support(arrays["coefficients"], float(arrays["unit"]))
        return cls(arrays["shares"], support, int(arrays["n_cells"]), int(arrays["levels"]))


class BoxScan:
    """The words in all boxes of an image on a grid of `n_cells` a side, whatever its size.

    `boxes` (m, 4) are all boxes of whole cells, m = (n_cells (n_cells + 1) / 2)^2, in the order of
    their top, bottom, left and right; `levels` are of the pyramid of parts of each box.
    """

    def __init__(self, points: ImagePoints, n_cells: int, levels: int = 1) -> None:
        self._words, self._n_words, self._n_cells = points.words, points.n_words, n_cells
        columns, rows = points.cells(n_cells)
        self._cells = rows * n_cells + columns
        self._low, self._high = np.triu_indices(n_cells + 1, 1)
        pairs = np.arange(len(self._low))
        pair, other = np.repeat(pairs, len(pairs)), np.tile(pairs, len(pairs))
        sides = self._low[other], self._low[pair], self._high[other], self._high[pair]
        self.boxes = np.stack(sides, axis=1)
        totals = self._counts(self._sums(self._cells)) * np.float32(levels)
        self._shares = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
        # Of each part the corners, as places in the sums; the first two count once more.
        self._corners = []
        for part in list(parts(self.boxes, levels))[1:]:
            left, top, right, bottom = part.T
            corners = (bottom, right), (top, left), (bottom, left), (top, right)
            self._corners.append(
                [(row * (n_cells + 1) + column).astype(np.int32) for row, column in corners]
            )

    def shares(self, feature: int) -> np.ndarray:
        """Return the share (m,) of a word in a part of each box, 0 without points.

        The features are the words in the box, those in its second part, and so on; shares are of
        the points of the box and of the levels.
        """
        part, word = divmod(feature, self._n_words)
        sums = self._sums(self._cells[self._words == word])
        if part == 0:
            return self._counts(sums) * self._shares
        sums = sums.ravel()
        inner, outer, left, upper = (sums[corner] for corner in self._corners[part - 1])
        return (inner + outer - left - upper) * self._shares

    def _sums(self, cells: np.ndarray) -> np.ndarray:
        """Return how many of the points of some cells are above and left of each corner."""
        n = self._n_cells
        counts = np.zeros((n + 1, n + 1), dtype=np.float32)
        counts[1:, 1:] = np.bincount(cells, minlength=n * n).reshape(n, n)
        return counts.cumsum(axis=0).cumsum(axis=1)

    def _counts(self, sums: np.ndarray) -> np.ndarray:
        """Return how many of the points are in each box."""
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
    """Return the chi-squared distances (n, m) of shares (n, P) to those of all boxes of an image.

    They are those of `chi_squared_distances`, in single precision, by words: most of the shares of
    a box are 0.
    """
    distances = np.full((len(shares), len(scan.boxes)), 2.0, dtype=np.float32)
    for feature in np.flatnonzero(shares.any(axis=0)):
        of_boxes = scan.shares(feature)
        for distance, share in zip(distances, shares[:, feature].astype(np.float32)):
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
