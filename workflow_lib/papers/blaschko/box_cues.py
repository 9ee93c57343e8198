"""Cues of the boxes of an image that know no class of objects.

Section 3.2.4 of Blaschko (2014) ranks windows by a linear combination of six cues. They are of
pixels, edges and superpixels; here images are points with visual words, so the cues are those of
words that come nearest to them:

- ``contrast``: chi-squared distance of the words in a box and those around it, as colour contrast;
- ``boundary``: the same of a strip of one cell inside the rim and one outside, as the edges there;
- ``symmetry``: minus the distance of the left half and the right half, as window symmetry;
- ``saliency``: sum of the self-information -log p of the words, with their shares p in the image,
  above its mean over the image, divided by the points of the image;
- ``prior``: logarithm of a density of places and sizes, learned from the training boxes, as the
  distribution from which the thesis draws windows.

In distances a twentieth of the points of the image is added to each side, with the shares of words
in the image: in boxes of few points all shares are far from those of others by chance.
"""

from collections.abc import Sequence

import numpy as np

from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints
from workflow_lib.papers.blaschko.word_grids import WordGrid

OF_IMAGES = ("contrast", "boundary", "symmetry", "saliency")
CUES = (*OF_IMAGES, "prior")

SMOOTHING = 0.05
"""Points that are added to each side of a distance, as a share of those of the image."""

SURROUND = 2
"""The part of the sides of a box by which its surroundings are wider at each side."""


def all_boxes(n_cells: int) -> np.ndarray:
    """Return all boxes (m, 4) of a grid of cells."""
    low, high = np.triu_indices(n_cells + 1, 1)
    one, other = (each.ravel() for each in np.indices((len(low), len(low))))
    return np.stack([low[one], low[other], high[one], high[other]], axis=1)


def image_cues(points: ImagePoints, n_cells: int, boxes: np.ndarray) -> np.ndarray:
    """Return the cues `OF_IMAGES` (m, 4) of boxes (m, 4) in cells."""
    grid = WordGrid(points, n_cells, False)
    inside = grid.features_of_boxes(boxes)
    sides = boxes[:, 2:] - boxes[:, :2]
    surround = grid.features_of_boxes(_grown(boxes, -(-sides // SURROUND), n_cells)) - inside
    core = np.where((sides > 2).all(axis=1)[:, None], boxes + [1, 1, -1, -1], boxes)
    # A box without a core is a strip as a whole.
    strip = inside - np.where((sides > 2).all(axis=1)[:, None], grid.features_of_boxes(core), 0.0)
    outer = grid.features_of_boxes(_grown(boxes, np.ones_like(sides), n_cells)) - inside
    middle = (boxes[:, 0] + boxes[:, 2]) // 2
    left = boxes.copy()
    left[:, 2] = middle
    left_half = grid.features_of_boxes(left)
    shares = np.bincount(points.words, minlength=points.n_words) / max(len(points.words), 1)
    information = -np.log(np.where(shares > 0, shares, 1.0))
    added = SMOOTHING * shares
    return np.stack(
        [
            _distances(inside + added, surround + added),
            _distances(strip + added, outer + added),
            -_distances(left_half + added, inside - left_half + added),
            inside @ (information - shares @ information),
        ],
        axis=1,
    )


def prior_cue(boxes: np.ndarray, known: np.ndarray, n_cells: int) -> np.ndarray:
    """Return the logarithm (m,) of a density of boxes (m, 4) learned from known ones (n, 4).

    A Gaussian kernel density of the centre, in units of the image, and of the logarithms of the
    sides, with the widths of Scott (1992).
    """
    rows, centres = _places(boxes, n_cells), _places(known, n_cells)
    spread = centres.std(axis=0, ddof=1) if len(known) > 1 else np.zeros(4)
    widths = np.maximum(spread, 1.0 / n_cells) * len(known) ** (-1.0 / 8.0)
    squared = (((rows[:, None] - centres) / widths) ** 2).sum(axis=2)
    return np.logaddexp.reduce(-0.5 * squared, axis=1) - np.log(len(known))


def chosen_cues(of_image: np.ndarray, prior: np.ndarray, cues: Sequence[str]) -> np.ndarray:
    """Return some cues (m, c) of boxes, of those of images (m, 4) and the prior (m,)."""
    every = np.column_stack([of_image, prior])
    return every[:, [CUES.index(cue) for cue in cues]]


def _places(boxes: np.ndarray, n_cells: int) -> np.ndarray:
    sides = (boxes[:, 2:] - boxes[:, :2]) / n_cells
    return np.hstack([(boxes[:, :2] + boxes[:, 2:]) / (2.0 * n_cells), np.log(sides)])


def _grown(boxes: np.ndarray, by: np.ndarray, n_cells: int) -> np.ndarray:
    return np.clip(boxes + np.hstack([-by, by]), 0, n_cells)


def _distances(counts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the chi-squared distances (m,) of the shares of words in counts (m, W)."""
    h = counts / counts.sum(axis=1, keepdims=True)
    g = others / others.sum(axis=1, keepdims=True)
    sums = h + g
    return np.divide((h - g) ** 2, sums, out=np.zeros_like(sums), where=sums > 0).sum(axis=1)
