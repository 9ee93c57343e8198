"""Reader of the digits of scikit-learn, with the segments of a display as class vectors.

The vector of a digit says which of the seven segments of a display light up for it, in the usual
order: ``a`` at the top, ``b`` and ``c`` at the right (upper, lower), ``d`` at the bottom, ``e`` and
``f`` at the left (lower, upper), ``g`` in the middle; 6 has its top, 9 its bottom, and 7 no left
segment.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from workflow_lib.core.settings import Settings

_WHITE = 16.0

SEGMENTS = "abcdefg"

SEGMENTS_OF_DIGITS = (
    "abcdef",
    "bc",
    "abdeg",
    "abcdg",
    "bcfg",
    "acdfg",
    "acdefg",
    "abc",
    "abcdefg",
    "abcdfg",
)
"""The segments that light up for the digits 0 to 9."""


class Options(Settings):
    """Options of the reader ``digits_segments``."""

    inputs: Literal["pixels", "rows", "ink", "patches"] = "pixels"
    """`pixels`: 64 numbers. `rows`: a sequence of the 8 rows of an image, vectors of 8 numbers, for
    methods of sequences. `ink`: a bag of ink, whose 64 words are the positions, and whose counts
    from 0 to 16 the ink in them, for methods of bags of words. `patches`: a bag of 36 rows, the
    patches of 3 x 3 pixels with their positions, 11 numbers each, for methods of bags of rows."""


def kind_of_inputs(options: Options) -> str:
    """Return ``vectors`` for rows of an image, ``counts``, ``bags`` or ``numbers``."""
    kinds = {"rows": "vectors", "ink": "counts", "patches": "bags"}
    return kinds.get(options.inputs, "numbers")


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per image; `sources` and `seed` are not used.

    ``inputs`` (1797, 64): the pixels of 8 x 8 images from 0 (black) to 1 (white), row by row from
    the top; sequences (1797, 65) or counts (1797, 64) have the group ``items``
    (`workflow_lib.items.kinds`), patches are in the group ``bags``, and pooled in ``inputs``. The
    class of a row is its digit, whose vector (7,) is 1 for segments that light up and 0 for the
    others. ``thumbnails`` (1797, 8, 8, 3): the images in grey.
    """
    import numpy as np
    from sklearn.datasets import load_digits

    from workflow_lib.data.class_tables import class_dataset_tree
    from workflow_lib.items.kinds import bags, counts, numbers, vectors

    digits = load_digits()
    pixels = digits.data / _WHITE
    segments = [[float(segment in lit) for segment in SEGMENTS] for lit in SEGMENTS_OF_DIGITS]
    grey = np.rint(255 * pixels).astype(np.uint8).reshape(-1, 8, 8, 1)
    names = [f"row_{row}_column_{column}" for row in range(8) for column in range(8)]
    items = numbers.pack(pixels)
    if options.inputs == "rows":
        items, names = vectors.pack(pixels.reshape(-1, 8, 8)), ["n_rows", *names]
    elif options.inputs == "ink":
        items = counts.pack(digits.data, 64)
    elif options.inputs == "patches":
        images = pixels.reshape(-1, 8, 8)
        windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
        positions = np.moveaxis(np.indices((6, 6)), 0, -1).reshape(-1, 2) / 5.0
        patches = windows.reshape(len(images), 36, 9)
        of_images = [np.hstack([patch, positions]) for patch in patches]
        pooled, names = bags.pooled_rows(of_images)
        items = {"inputs": pooled, **bags.pack(of_images)}
    return class_dataset_tree(
        items.pop("inputs"),
        digits.target.astype(np.int64),
        np.array(segments),
        [str(digit) for digit in range(len(segments))],
        names,
        [f"segment_{segment}" for segment in SEGMENTS],
        [f"image_{row:04d}" for row in range(len(pixels))],
        location="the digits of scikit-learn",
        thumbnails=np.repeat(grey, 3, axis=3),
        **items,
    )
