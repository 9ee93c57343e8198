"""Images as points with visual words, and the boxes of objects in them.

The group ``points`` of a "dataset" artifact holds the points of all images, one image after the
other: ``words`` (m,), the visual word of each, from 0; ``positions`` (m, 2), from the left and from
the top, from 0 to 1; ``begins`` (n + 1,), the first point of each image, and m; and ``n_words``, W.
The group ``boxes`` holds ``sizes`` (n, 2), the width and height of each image in pixels; the
outputs are then boxes in pixels (`workflow_lib.items.box_overlap`). The ``inputs`` of such a
dataset are the shares of the words in each image, for methods that take one row of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class ImagePoints(NamedTuple):
    """The points of one image."""

    words: np.ndarray
    """int array (m,)"""

    positions: np.ndarray
    """(m, 2), from 0 to 1"""

    size: np.ndarray
    """Width and height in pixels, (2,)."""

    n_words: int

    def cells(self, n_cells: int) -> np.ndarray:
        """Return the column and the row (2, m) of each point on a grid of `n_cells` a side."""
        return np.clip((self.positions * n_cells).astype(np.int64), 0, n_cells - 1).T


def points_tree(images: Sequence[ImagePoints]) -> dict[str, Any]:
    """Return the group ``points`` of images with one number of words."""
    n_words = images[0].n_words
    return {
        "words": np.concatenate([image.words for image in images]).astype(
            np.min_scalar_type(n_words)
        ),
        "positions": np.concatenate([image.positions for image in images]).astype(np.float32),
        "begins": np.concatenate([[0], np.cumsum([len(image.words) for image in images])]),
        "n_words": n_words,
    }


def points_of(dataset: Mapping[str, Any], rows: np.ndarray) -> list[ImagePoints]:
    """Return the points of some rows of a dataset."""
    tree, sizes = dataset["points"], dataset["boxes"]["sizes"]
    found = []
    for row in rows:
        own = slice(int(tree["begins"][row]), int(tree["begins"][row + 1]))
        words, positions = tree["words"][own].astype(np.int64), tree["positions"][own]
        found.append(ImagePoints(words, positions, sizes[row], int(tree["n_words"])))
    return found


def word_shares(images: Sequence[ImagePoints]) -> np.ndarray:
    """Return the share (n, W) of each word among the points of each image."""
    counts = [np.bincount(image.words, minlength=image.n_words) for image in images]
    return np.array([count / max(count.sum(), 1) for count in counts])
