"""Histograms of oriented gradients: the outline of a whole image."""

import numpy as np

from workflow_lib.items.images import grey_levels, resized

SIDE = 64
CELL = 8
BLOCK = 2
N_ORIENTATIONS = 9
N_FEATURES = (SIDE // CELL - BLOCK + 1) ** 2 * BLOCK**2 * N_ORIENTATIONS

# Largest number of a block of unit length, so that a single strong edge cannot hide the others.
MAX_SHARE = 0.2

_TINY = 1e-5


def hog_features(image: np.ndarray) -> np.ndarray:
    """Return the histograms of oriented gradients of a uint8 image (height, width, 3).

    As Dalal & Triggs (2005): the image in grey is scaled to 64 x 64 pixels, whatever its shape. In
    each cell of 8 x 8 pixels the lengths of the gradients (central differences, none at the rim)
    are summed by their orientation, 9 bins over 180 degrees; each block of 2 x 2 cells is scaled to
    unit length, cut at 0.2 and scaled again. These parameters are those of the paper and of
    ``skimage.feature.hog``.

    Returns a float64 array (1764,): by rows and columns of blocks, rows and columns of cells in a
    block, and orientation; of unit length, so that products of two images are cosines. Zero for an
    image of one colour.

    Raises UserError when Pillow is not installed.
    """
    grey = resized(grey_levels(image), SIDE, SIDE).astype(np.float64)
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    right[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    turn = np.arctan2(down, right) / np.pi % 1.0
    # Rounding can make the remainder of a tiny negative number equal to 1.
    orientation = np.minimum((turn * N_ORIENTATIONS).astype(int), N_ORIENTATIONS - 1)
    row, column = np.indices(grey.shape) // CELL
    n_cells = SIDE // CELL
    cells = np.bincount(
        ((row * n_cells + column) * N_ORIENTATIONS + orientation).ravel(),
        np.hypot(down, right).ravel(),
        minlength=n_cells**2 * N_ORIENTATIONS,
    ).reshape(n_cells, n_cells, N_ORIENTATIONS)
    windows = np.lib.stride_tricks.sliding_window_view(cells / CELL**2, (BLOCK, BLOCK), (0, 1))
    blocks = windows.transpose(0, 1, 3, 4, 2).reshape(-1, BLOCK**2 * N_ORIENTATIONS)
    blocks = _scaled(np.minimum(_scaled(blocks), MAX_SHARE)).ravel()
    length = np.linalg.norm(blocks)
    return blocks / length if length > 0 else blocks


def _scaled(blocks: np.ndarray) -> np.ndarray:
    return blocks / np.sqrt((blocks**2).sum(axis=1, keepdims=True) + _TINY**2)
