"""Small pictures of images, for figures."""

import numpy as np

from workflow_lib.items.images import resized

SIDE = 48
"""Height and width in pixels: large enough to recognise an object."""


def thumbnail(image: np.ndarray) -> np.ndarray:
    """Return a uint8 image (height, width, 3) in a square (SIDE, SIDE, 3).

    It keeps its own proportions and is centred on white.

    Raises UserError when Pillow is not installed.
    """
    shape = np.array(image.shape[:2])
    # A very long image keeps at least one line of pixels.
    height, width = np.maximum(np.rint(shape * SIDE / shape.max()).astype(int), 1)
    square = np.full((SIDE, SIDE, 3), 255, dtype=np.uint8)
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    square[top : top + height, left : left + width] = resized(image, int(height), int(width))
    return square
