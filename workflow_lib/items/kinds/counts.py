"""Bags of words, as the counts of each of W words.

``inputs`` (n, parts times W) have W columns for each part of an item, such as the quarters of an
image, one part after the other; ``n_words`` in the group ``items`` is W. Where every fold learns
the words, ``inputs`` have no columns.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

ARE_NUMBERS = True


def pack(counts: np.ndarray, n_words: int) -> dict[str, Any]:
    """Return the entries of counts (n, parts times W) of `n_words` words."""
    return {"inputs": counts, "items": {"kind": "counts", "n_words": n_words}}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> np.ndarray:
    """Return the counts (n, W) of the words of whole items, in some rows.

    Raises ValueError if there are no counts of each word, or one is negative.
    """
    counts = np.asarray(data["inputs"] if rows is None else data["inputs"][rows])
    n_words = int(data["items"]["n_words"])
    if counts.shape[1] == 0 or counts.shape[1] % n_words:
        raise ValueError(
            f"A row has {counts.shape[1]} counts: expected {n_words}, or as many for each part."
        )
    if (counts < 0).any():
        raise ValueError(f"Row {np.flatnonzero((counts < 0).any(axis=1))[0]} has a negative count.")
    return counts.reshape(len(counts), -1, n_words).sum(axis=1)


def check(data: Mapping[str, Any]) -> None:
    """Raise ValueError as `unpack`, where the words are known before the folds learn them."""
    if np.shape(data["inputs"])[1]:
        unpack(data)
