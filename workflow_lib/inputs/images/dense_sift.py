"""Local descriptors of small patches on a dense grid of an image, at several scales.

A SIFT descriptor (Lowe 2004) of a patch is the histogram of its gradients over 4 x 4 bins and 8
directions. On a grid no points of interest are detected, and patches are not rotated, because
images of objects are upright (dense SIFT; Bosch, Zisserman & Munoz 2007).

The weight of a gradient in a bin is the product of a row weight and a column weight. All
histograms of a grid are therefore two products of matrices for each direction, W_y G W_x', with
G the lengths of the gradients in that direction: exact, and far faster than patch by patch.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.ndimage import gaussian_filter

from workflow_lib.items.images import grey_levels, resized

LONGER_SIDE = 200
"""Pixels to which the longer side of an image is scaled down if it has more."""

STEP = 6
"""Pixels between neighbours of the grid."""

BIN_SIZES = (6, 8, 12, 16)
"""Pixels of a bin at each scale; a patch is 4 bins high and wide."""

N_BINS = 4
N_DIRECTIONS = 8
N_NUMBERS = N_BINS**2 * N_DIRECTIONS

# Largest number of a descriptor of unit length (Lowe 2004): strong edges depend on the light.
MAX_SHARE = 0.2

# Weighted mean gradient of a patch (grey levels from 0 to 1, per pixel) below which it is flat: its
# direction is then only noise of the camera and of compression.
MIN_GRADIENT = 0.01

# A patch is first smoothed to the resolution of its bins: by a standard deviation of this part of
# a bin, of which 0.5 pixels are assumed to be in the image already (Vedaldi & Fulkerson 2010).
SMOOTHING = 1 / 6


def dense_sift(
    image: np.ndarray,
    bin_sizes: Sequence[int] = BIN_SIZES,
    step: int = STEP,
    longer_side: int | None = LONGER_SIDE,
    keep_flat: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the RootSIFT descriptors of an image, and where their patches lie.

    The image in grey is scaled so that its longer side has at most `longer_side` pixels. By default
    patches of 24, 32, 48 and 64 pixels lie on grids of 6 pixels, as many as fit in; where none
    fits, one lies in the middle. Gradients count for the two nearest directions and bins (linear
    interpolation), with a Gaussian weight of half the width of the patch. Descriptors are scaled to
    unit length, cut at 0.2, and replaced by the square roots of the shares of their sum
    (RootSIFT: Arandjelovic & Zisserman 2012). Flat patches are left out.

    Raises UserError when Pillow is not installed.

    Parameters
    ----------
    image : uint8 array (height, width, 3)
    bin_sizes : sequence of int, default=BIN_SIZES
        Pixels of a bin at each scale, a quarter of the width of a patch.
    step : int, default=STEP
        Pixels between neighbours of the grid.
    longer_side : int or None, default=LONGER_SIDE
        None: the image is not scaled.
    keep_flat : bool, default=False
        Whether flat patches are kept, with a descriptor of zeros: a count of words needs them,
        because a clear sky or calm water says what an image shows.

    Returns
    -------
    descriptors : float32 array (m, 128)
        By row and column of the bin and by direction, of unit length; m is 0 for an image of one
        colour, unless flat patches are kept.
    positions : float32 array (m, 2)
        Centres of the patches from the left and from the top, from 0 to 1.
    """
    grey = grey_levels(image)
    height, width = grey.shape
    if longer_side is not None and max(height, width) > longer_side:
        factor = longer_side / max(height, width)
        height, width = (max(round(side * factor), 1) for side in (height, width))
        grey = resized(grey, height, width)
    found = [_one_scale(grey, bin_size, step, keep_flat) for bin_size in bin_sizes]
    return tuple(np.concatenate(parts) for parts in zip(*found))


def _one_scale(
    grey: np.ndarray, bin_size: int, step: int, keep_flat: bool
) -> tuple[np.ndarray, np.ndarray]:
    variance = (SMOOTHING * bin_size) ** 2 - 0.25
    if variance > 0:
        grey = gaussian_filter(grey, np.sqrt(variance), mode="nearest")
    rows, columns = (_weights(side, bin_size, step) for side in grey.shape)
    counted = rows @ _directed_gradients(grey) @ columns.T
    n_rows, n_columns = len(rows) // N_BINS, len(columns) // N_BINS
    descriptors = (
        counted.reshape(N_DIRECTIONS, n_rows, N_BINS, n_columns, N_BINS)
        .transpose(1, 3, 2, 4, 0)
        .reshape(-1, N_NUMBERS)
    )
    y, x = (_centres(side, bin_size, step) for side in grey.shape)
    positions = np.stack(np.meshgrid((x + 0.5) / grey.shape[1], (y + 0.5) / grey.shape[0]), axis=-1)
    # All bins of a patch together weigh about as much as this many pixels.
    mass = rows[:N_BINS].sum() * columns[:N_BINS].sum()
    lengths = np.linalg.norm(descriptors, axis=1, keepdims=True)
    kept = lengths[:, 0] > MIN_GRADIENT * mass / N_BINS
    shares = np.minimum(descriptors[kept] / lengths[kept], MAX_SHARE)
    roots = np.sqrt(shares / shares.sum(axis=1, keepdims=True))
    positions = positions.reshape(-1, 2).astype(np.float32)
    if not keep_flat:
        return roots, positions[kept]
    everything = np.zeros_like(descriptors)
    everything[kept] = roots
    return everything, positions


def _directed_gradients(grey: np.ndarray) -> np.ndarray:
    """Return the lengths of the gradients, split between the two nearest of 8 directions (8, h, w).
    Direction 0 points to the right and 2 down."""
    # Repeated rims, so that an image of a single row or column has gradients as well.
    padded = np.pad(grey, 1, mode="edge")
    right = (padded[1:-1, 2:] - padded[1:-1, :-2]) / 2
    down = (padded[2:, 1:-1] - padded[:-2, 1:-1]) / 2
    length = np.hypot(right, down).ravel()
    direction = np.arctan2(down, right).ravel() * np.float32(N_DIRECTIONS / (2 * np.pi))
    lower = np.floor(direction)
    share = direction - lower
    lower = lower.astype(np.int64) % N_DIRECTIONS
    pixels = np.arange(grey.size)
    maps = np.zeros((N_DIRECTIONS, grey.size), dtype=np.float32)
    maps[lower, pixels] = length * (1 - share)
    maps[(lower + 1) % N_DIRECTIONS, pixels] = length * share
    return maps.reshape(N_DIRECTIONS, *grey.shape)


def _centres(side: int, bin_size: int, step: int) -> np.ndarray:
    """Return the centres of the patches along a side of an image, in pixels from the first."""
    n_patches = max(side - N_BINS * bin_size, 0) // step + 1
    return (side - 1) / 2 + step * (np.arange(n_patches) - (n_patches - 1) / 2)


# Images of one collection have few sizes.
@lru_cache(maxsize=256)
def _weights(side: int, bin_size: int, step: int) -> np.ndarray:
    """Return the weight of each pixel of a side in the bins of all patches, (patches x 4, side).
    Falls linearly from the centre of a bin to those of its neighbours, times a Gaussian around
    the centre of the patch."""
    offsets = np.arange(side) - _centres(side, bin_size, step)[:, None, None]
    centres = (np.arange(N_BINS) - (N_BINS - 1) / 2)[:, None]
    linear = np.maximum(1 - np.abs(offsets / bin_size - centres), 0)
    weights = linear * np.exp(-0.5 * (offsets / (N_BINS / 2 * bin_size)) ** 2)
    return weights.reshape(-1, side).astype(np.float32)
