"""Images as points with visual words, and the boxes of objects in them.

The group ``points`` of a "dataset" artifact holds the points of all images, one image after the
other: ``words`` (m,), the visual word of each, from 0; ``positions`` (m, 2), from the left and from
the top, from 0 to 1; ``begins`` (n + 1,), the first point of each image, and m; and ``n_words``, W.
The group ``boxes`` holds ``sizes`` (n, 2), the width and height of each image in pixels; the
outputs are then boxes in pixels (`workflow_lib.items.box_overlap`). The ``inputs`` of such a
dataset are the shares of the words in each image, for methods that take one row of numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

ARE_NUMBERS = True
ENTRY = "points"


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


def pack(images: Sequence[ImagePoints]) -> dict[str, Any]:
    """Return the entries of images with one number of words."""
    n_words = images[0].n_words
    return {
        "points": {
            "words": np.concatenate([image.words for image in images]).astype(
                np.min_scalar_type(n_words)
            ),
            "positions": np.concatenate([image.positions for image in images]).astype(np.float32),
            "begins": np.concatenate([[0], np.cumsum([len(image.words) for image in images])]),
            "n_words": n_words,
        },
        "boxes": {"sizes": np.array([image.size for image in images], dtype=np.int64)},
    }


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> list[ImagePoints]:
    """Return the points of some rows."""
    tree, sizes = data["points"], data["boxes"]["sizes"]
    found = []
    for row in range(len(sizes)) if rows is None else rows:
        own = slice(int(tree["begins"][row]), int(tree["begins"][row + 1]))
        words, positions = tree["words"][own].astype(np.int64), tree["positions"][own]
        found.append(ImagePoints(words, positions, sizes[row], int(tree["n_words"])))
    return found


def check(data: Mapping[str, Any]) -> None:
    """Raise ValueError where points have no image, no word or no position in their image."""
    tree, n_images = data["points"], len(data["boxes"]["sizes"])
    begins, n_points = np.asarray(tree["begins"]), len(tree["words"])
    if len(begins) != n_images + 1 or begins[0] != 0 or begins[-1] != n_points:
        raise ValueError(
            f"Points and images do not fit: expected {n_points} points of {n_images} images."
        )
    if (np.diff(begins) < 0).any() or (np.asarray(tree["words"]) >= tree["n_words"]).any():
        raise ValueError(f"A point has an unknown word: expected words below {tree['n_words']}.")
    positions = np.asarray(tree["positions"])
    if positions.shape != (n_points, 2) or not ((positions >= 0) & (positions <= 1)).all():
        raise ValueError("A point lies outside its image: expected two numbers from 0 to 1.")


def word_shares(images: Sequence[ImagePoints]) -> np.ndarray:
    """Return the share (n, W) of each word among the points of each image."""
    counts = [np.bincount(image.words, minlength=image.n_words) for image in images]
    return np.array([count / max(count.sum(), 1) for count in counts])
