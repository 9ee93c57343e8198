"""Bags of words in the boxes of an image, on a grid of cells.

The joint features of an image x and a box y are the counts of its words in the box, divided by the
number m of its points,

    phi(x, y) = 1/m sum over points i in y of (e_i - c),

with e_i the indicator of the word of point i. As in Blaschko & Lampert (2008) c is 0. Centred, c is
the share of each word in the whole image, so that features say how a box differs from its image:
with c = 0 a density of features, whose weights are all positive, is highest for the box that holds
everything. In either case a linear score is a sum over points, so that branch and bound
(`workflow_lib.papers.blaschko.box_search`) finds the best box.

With a pyramid (`workflow_lib.papers.blaschko.box_pyramids`) the features of all its parts follow
one another.
"""

import numpy as np

from workflow_lib.papers.blaschko.box_bounds import BoxScore
from workflow_lib.papers.blaschko.box_pyramids import PyramidScore, n_parts, parts
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints


class WordGrid:
    """The words of one image on a grid of cells, and boxes in its units.

    The grid has `n_cells` a side, whatever the size of the image. With `center` c is the share of
    each word in the image, and not 0. With 1, 2, 3, 4, ... `levels` of the pyramid features are of
    P = W, 5 W, 14 W, 30 W, ... numbers.
    """

    def __init__(self, points: ImagePoints, n_cells: int, center: bool, levels: int = 1) -> None:
        self._words, self._n_words, self._n_cells = points.words, points.n_words, n_cells
        self._columns, self._rows = points.cells(n_cells)
        self._pixels = np.tile(points.size, 2) / n_cells
        self._levels = levels
        self._n_points = max(len(points.words), 1)
        shares = np.bincount(points.words, minlength=self._n_words) / self._n_points
        self._centre = shares if center else np.zeros(self._n_words)

    def features(self, box: np.ndarray) -> np.ndarray:
        """Return the features (P,) of a box (4,) in cells."""
        pyramid = parts(np.asarray(box)[None], self._levels)
        return np.concatenate([self._features(*part[0]) for part in pyramid])

    def _features(self, left: int, top: int, right: int, bottom: int) -> np.ndarray:
        inside = (self._columns >= left) & (self._columns < right)
        inside &= (self._rows >= top) & (self._rows < bottom)
        counts = np.bincount(self._words[inside], minlength=self._n_words)
        return (counts - inside.sum() * self._centre) / self._n_points

    def features_of_boxes(self, boxes: np.ndarray) -> np.ndarray:
        """Return the features (m, P) of boxes (m, 4) in cells, by integral images of all words."""
        side = self._n_cells + 1
        counts = np.bincount(
            ((self._rows + 1) * side + self._columns + 1) * self._n_words + self._words,
            minlength=side**2 * self._n_words,
        )
        integral = counts.reshape(side, side, self._n_words).cumsum(axis=0).cumsum(axis=1)
        features = np.empty((len(boxes), n_parts(self._levels), self._n_words))
        for number, part in enumerate(parts(boxes, self._levels)):
            left, top, right, bottom = part.T
            inside = integral[bottom, right] - integral[bottom, left]
            inside += integral[top, left] - integral[top, right]
            sizes = inside.sum(axis=1, keepdims=True)
            features[:, number] = (inside - sizes * self._centre) / self._n_points
        return features.reshape(len(boxes), -1)

    def score(
        self, weights: np.ndarray, loss_box: np.ndarray | None = None
    ) -> BoxScore | PyramidScore:
        """Return the score of boxes for weights (P,) of the features; `loss_box` is in cells."""
        if self._levels == 1:
            return self._score(weights, loss_box)
        of_parts = np.reshape(weights, (-1, self._n_words))
        scores = [
            self._score(each, None if number else loss_box) for number, each in enumerate(of_parts)
        ]
        return PyramidScore(scores, self._levels)

    def _score(self, weights: np.ndarray, loss_box: np.ndarray | None) -> BoxScore:
        of_words = (weights - self._centre @ weights) / self._n_points
        cells = np.bincount(
            self._rows * self._n_cells + self._columns,
            of_words[self._words],
            minlength=self._n_cells**2,
        )
        return BoxScore(cells.reshape(self._n_cells, self._n_cells), loss_box)

    def in_cells(self, box: np.ndarray) -> np.ndarray:
        """Return the box (4,) of whole cells, one at least, that is nearest to a box in pixels."""
        sides = np.rint(np.asarray(box) / self._pixels).astype(np.int64)
        low = np.clip(sides[:2], 0, self._n_cells - 1)
        return np.concatenate([low, np.clip(sides[2:], low + 1, self._n_cells)])

    def in_pixels(self, box: np.ndarray) -> np.ndarray:
        """Return a box (..., 4) of cells in pixels."""
        return box * self._pixels
