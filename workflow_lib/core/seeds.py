"""Seeds: one main seed, and one derived seed per axis of the experiment."""

from __future__ import annotations

import hashlib


def derive_seed(main_seed: int, *axes: str | int) -> int:
    """Return the seed of one point in the experiment, an integer in [0, 2**32).

    The seed is the first four bytes of the SHA-256 of the main seed and the names of the axes,
    for example ``derive_seed(2018, "split", "edm", 3)``. It depends on nothing else, so that
    adding a dataset, a split or a method changes no other random draw.
    """
    text = "\x1f".join([str(int(main_seed)), *(str(axis) for axis in axes)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
