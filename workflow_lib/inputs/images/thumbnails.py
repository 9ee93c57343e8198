"""Small pictures of images, for figures."""

import numpy as np

from workflow_lib.items.images import resized

SIDE = 48


def thumbnail(image: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Return the image in a square, in its own proportions and centred on white.

    Raises UserError when Pillow is not installed.

    Parameters
    ----------
    image : uint8 array (height, width, 3)
    side : int, default=48
        Height and width in pixels; the default is large enough to recognise an object.

    Returns
    -------
    uint8 array (side, side, 3)
    """
    shape = np.array(image.shape[:2])
    # A very long image keeps at least one line of pixels.
    height, width = np.maximum(np.rint(shape * side / shape.max()).astype(int), 1)
    square = np.full((side, side, 3), 255, dtype=np.uint8)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = resized(image, int(height), int(width))
    return square
