"""What methods share that find the box of an object by a linear score of the words in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workflow_lib.core.convergence import GAP_AT_LIMIT
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted import Fitted, Selection
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.papers.blaschko.box_search import detections
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints
from workflow_lib.papers.blaschko.word_grids import WordGrid

N_DETECTIONS = 10
"""Boxes that are found in each test image, as in Section 5.1 of Blaschko (2014)."""

MAX_OVERLAP = 0.5
"""The overlap with an earlier box from which on a box is no further detection."""

RELATIVE_SMOOTHING = 0.2
"""Added to the shares of words, in units of their mean 1 / W, before words are scaled by them."""


class BoxRows:
    """Training images of a fit on a grid of cells, with boxes (n, 4) of their objects in pixels.

    `n_cells`, `center` and `levels` are those of the `grids`, one `WordGrid` of each image. The
    attribute `boxes` (n, 4) holds the nearest boxes of whole cells, and `features` (n, P) theirs.
    """

    def __init__(
        self,
        images: Sequence[ImagePoints],
        boxes: np.ndarray,
        n_cells: int,
        center: bool,
        levels: int = 1,
    ) -> None:
        self._images, self._pixels = images, boxes
        self.grids = [WordGrid(image, n_cells, center, levels) for image in images]
        self.boxes = np.array([grid.in_cells(box) for grid, box in zip(self.grids, boxes)])
        features = [grid.features(box) for grid, box in zip(self.grids, self.boxes)]
        self.features = np.array(features)

    def __len__(self) -> int:
        return len(self.grids)

    @property
    def unit(self) -> float:
        """The root mean square of the length of the features.

        In its units one grid of costs suits all images.
        """
        return float(np.sqrt((self.features**2).sum(axis=1).mean())) or 1.0

    def chosen(self, rows: np.ndarray) -> BoxRows:
        """Return some of the rows, by a mask or by their numbers."""
        numbers = np.arange(len(self))[rows]
        other = object.__new__(BoxRows)
        other._images = [self._images[number] for number in numbers]
        other.grids = [self.grids[number] for number in numbers]
        other._pixels, other.boxes = self._pixels[numbers], self.boxes[numbers]
        other.features = self.features[numbers]
        return other

    def word_scale(self, power: float) -> np.ndarray:
        """Return the factors (P,) by which features are multiplied: shares of words to -power.

        With power 1/2 the linear kernel of the scaled features is a first approximation of the
        chi-squared kernel, and no longer that of the most frequent words. Shares are those in the
        images of these rows, `RELATIVE_SMOOTHING` added, so that rare words count not too much.
        """
        n_words = self._images[0].n_words
        counts = sum(np.bincount(image.words, minlength=n_words) for image in self._images)
        shares = counts / max(counts.sum(), 1)
        factors = (shares + RELATIVE_SMOOTHING / n_words) ** -power
        return np.resize(factors, self.features.shape[1])


def box_rows(data: FitData, n_cells: int, center: bool, levels: int = 1) -> BoxRows:
    """Return the training rows of a fit."""
    return BoxRows(data.items, data.outputs, n_cells, center, levels)


def best_boxes(grids: Sequence[WordGrid], weights: np.ndarray) -> np.ndarray:
    """Return the best box (n, 4) of each image in pixels, for weights (P,) of its features."""
    found = [next(detections(grid.score(weights), 1)).box for grid in grids]
    return np.array([grid.in_pixels(box) for grid, box in zip(grids, found)])


FoldWeights = Callable[[np.ndarray], Iterator[tuple[dict[str, Any], np.ndarray]]]
"""Function of which rows (n,) are known that yields each grid point and the weights (P,) that are
fitted to these rows with it."""


def selected_weights(data: FitData, rows: BoxRows, fits: FoldWeights) -> Selection:
    """Return the grid point with the least loss of boxes found without the fold of each row.

    The first of those that are equally good; the score is 1 minus the mean overlap.
    """
    found: list[tuple[dict[str, Any], np.ndarray]] = []
    for fold in data.fold_numbers:
        heldout = data.folds == fold
        grids = [grid for grid, is_heldout in zip(rows.grids, heldout) if is_heldout]
        for index, (entries, weights) in enumerate(fits(~heldout)):
            if fold == 0:
                found.append((entries, np.empty((data.size, 4))))
            found[index][1][heldout] = best_boxes(grids, weights)
    return best_selection(data.outputs, found)


def best_selection(
    boxes: np.ndarray, found: Sequence[tuple[dict[str, Any], np.ndarray]]
) -> Selection:
    """Return the first grid point of the least loss, of entries and boxes (n, 4) of held-out rows.

    The score is 1 minus the mean overlap with the true `boxes` (n, 4).
    """
    losses = [1.0 - float(overlaps(boxes, predicted).mean()) for _, predicted in found]
    best = int(np.argmin(losses))
    return Selection(found[best][1], found[best][0] | {"score": losses[best]})


class FittedBoxes(Fitted):
    """Weights (P,) of the words of a box, or of its parts, on a grid of cells."""

    def __init__(
        self,
        weights: np.ndarray,
        n_cells: int,
        center: bool,
        gap: float | None = None,
        at_limit: Mapping[str, float] | None = None,
        levels: int = 1,
    ) -> None:
        self._weights, self._n_cells, self._center, self._gap = weights, n_cells, center, gap
        self._at_limit, self._levels = dict(at_limit or {}), levels

    def predict(self, rows):
        """Return the best box (m, 4) of each image, in pixels."""
        return best_boxes(self._grids(rows), self._weights)

    def predictions(self, rows):
        """Return the best box of each image, and further `DETECTIONS`."""
        found = np.array([self._detected(grid) for grid in self._grids(rows)])
        return {"test_targets": found[:, 0, :4], DETECTIONS: found}

    def _grids(self, rows) -> list[WordGrid]:
        grid = self._n_cells, self._center, self._levels
        return [WordGrid(points, *grid) for points in rows.items()]

    def _detected(self, grid: WordGrid) -> np.ndarray:
        boxes = np.zeros((N_DETECTIONS, 5))
        found = list(detections(grid.score(self._weights), N_DETECTIONS, MAX_OVERLAP))
        for index, one in enumerate(found):
            boxes[index] = *grid.in_pixels(one.box), one.score
        boxes[len(found) :, 4] = found[-1].score
        return boxes

    def entries(self):
        """Return the weights and their grid of cells, by which boxes can be searched for.

        Of a machine also the duality gap, in units of the mean loss, or of the mean hinge of a
        ranking.
        """
        grid = {"n_cells": self._n_cells, "center": self._center, "levels": self._levels}
        search = {"word_weights": self._weights, "word_grid": grid}
        return search | ({} if self._gap is None else {"gap": self._gap}) | self._at_limit

    def to_arrays(self):
        return self.entries()

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedBoxes:
        grid, gap = arrays["word_grid"], arrays.get("gap")
        limit = {GAP_AT_LIMIT: arrays[GAP_AT_LIMIT]} if GAP_AT_LIMIT in arrays else {}
        n_cells, center, levels = (grid[name] for name in ("n_cells", "center", "levels"))
        return cls(arrays["word_weights"], int(n_cells), bool(center), gap, limit, int(levels))
