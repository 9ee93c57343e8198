"""Visual words: local descriptors of images, each counted for the nearest entry of a codebook.

The bag of an image is the count of each of W words (Csurka et al. 2004), or W counts for each part
of it, such as its quarters. A codebook is learned from training images alone, so that each fold has
its own.

The group ``descriptors`` of a "dataset" artifact holds the descriptors of all images, one image
after the other: ``values`` (m, 128) uint8, 255 for 1; ``parts`` (m,) uint8, the part of the image
in which a patch lies; ``begins`` (n + 1,), the first descriptor of each image, and m; ``n_parts``;
and ``n_words``, W.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.core.stored_rows import StoredRows

MAX_SAMPLED = 20_000
"""Descriptors that a codebook is learned from, over 100 for each of some hundred words."""

LARGEST = 255.0
"""A stored number that stands for 1."""

# 8 MB of descriptors in single precision.
BLOCK_ROWS = 2**14


def quantised(descriptors: np.ndarray) -> np.ndarray:
    """Return descriptors with numbers from 0 to 1 as uint8."""
    return np.rint(LARGEST * descriptors).astype(np.uint8)


class Images:
    """The images `rows` (n,) of a dataset, and their descriptors, of which the ``values`` may be
    `StoredRows`."""

    def __init__(self, descriptors: Mapping[str, Any], rows: np.ndarray) -> None:
        begins = np.asarray(descriptors["begins"])
        self._values: np.ndarray | StoredRows = descriptors["values"]
        self._n_parts, self._n_words = int(descriptors["n_parts"]), int(descriptors["n_words"])
        lengths = begins[1:][rows] - begins[:-1][rows]
        self._image = np.repeat(np.arange(len(rows)), lengths)
        first = np.cumsum(lengths) - lengths
        self._indices = np.arange(lengths.sum()) + (begins[:-1][rows] - first)[self._image]
        self._parts = np.asarray(descriptors["parts"])[self._indices]
        self._n_rows = len(rows)

    def codebook(self, seed: int) -> np.ndarray:
        """Return the words (W, 128), float32, of a codebook that is learned from these images.

        They are the centres of k-means clustering of at most `MAX_SAMPLED` descriptors, drawn with
        equal probability.

        Raises ValueError if there are fewer different descriptors than words.
        """
        from sklearn.cluster import KMeans

        n_drawn = min(MAX_SAMPLED, len(self._indices))
        drawn = np.random.default_rng(seed).choice(len(self._indices), n_drawn, replace=False)
        sample = self._values[self._indices[np.sort(drawn)]].astype(np.float32)
        n_found = len(np.unique(sample, axis=0))
        if n_found < self._n_words:
            raise ValueError(
                f"A codebook of {self._n_words} words needs as many different descriptors; found "
                f"{n_found}."
            )
        return KMeans(self._n_words, n_init=1, random_state=seed).fit(sample).cluster_centers_

    def nearest(self, words: np.ndarray) -> np.ndarray:
        """Return the number (m,) of the nearest word of each descriptor, by image."""
        words = np.asarray(words, dtype=np.float32)
        nearest = np.empty(len(self._indices), dtype=np.int64)
        half_squares = (words**2).sum(axis=1) / 2
        for begin in range(0, len(nearest), BLOCK_ROWS):
            block = slice(begin, begin + BLOCK_ROWS)
            values = self._values[self._indices[block]].astype(np.float32)
            nearest[block] = (values @ words.T - half_squares).argmax(axis=1)
        return nearest

    def counts(self, words: np.ndarray) -> np.ndarray:
        """Return the counts (n, n_parts times W) of each word in each part, whole numbers.

        The columns of one part follow those of the other. They have the smallest integer type that
        holds them.
        """
        nearest = self.nearest(words)
        n_columns = self._n_parts * len(words)
        columns = self._parts.astype(np.int64) * len(words) + nearest
        counts = np.bincount(
            self._image * n_columns + columns, minlength=self._n_rows * n_columns
        ).reshape(self._n_rows, n_columns)
        return counts.astype(np.min_scalar_type(counts.max(initial=0)))
