"""Features of images: against other libraries and plain loops, and under changes of an image."""

import numpy as np
import pytest
from each_case import each_case, in_turn
from scipy.ndimage import gaussian_filter

from workflow_lib.inputs.images import dense_sift as dense
from workflow_lib.inputs.images.dense_sift import dense_sift
from workflow_lib.inputs.images.hog import N_FEATURES, hog_features
from workflow_lib.inputs.images.thumbnails import thumbnail
from workflow_lib.items.images import grey_levels, resized

pytest.importorskip("PIL")


def picture(height=64, width=64, seed=0):
    """Return a smooth random image, uint8 (height, width, 3)."""
    noise = np.random.default_rng(seed).normal(size=(height, width, 3))
    smooth = gaussian_filter(noise, (2, 2, 0))
    return np.clip(128 + 60 * smooth / smooth.std(), 0, 255).astype(np.uint8)


def plain(height=64, width=64, level=90):
    return np.full((height, width, 3), level, dtype=np.uint8)


# Histograms of oriented gradients


def test_histograms_of_gradients_pixel_by_pixel():
    image = picture(40, 100)
    grey = resized(grey_levels(image), 64, 64).astype(np.float64)
    cells = np.zeros((8, 8, 9))
    for row in range(64):
        for column in range(64):
            down = grey[row + 1, column] - grey[row - 1, column] if 0 < row < 63 else 0.0
            right = grey[row, column + 1] - grey[row, column - 1] if 0 < column < 63 else 0.0
            angle = np.rad2deg(np.arctan2(down, right)) % 180
            cells[row // 8, column // 8, int(angle // 20) % 9] += np.hypot(down, right) / 64
    blocks = []
    for row in range(7):
        for column in range(7):
            block = cells[row : row + 2, column : column + 2].ravel()
            block = np.minimum(block / np.sqrt(block @ block + 1e-10), 0.2)
            blocks.append(block / np.sqrt(block @ block + 1e-10))
    expected = np.concatenate(blocks)
    found = hog_features(image)
    assert found.shape == (N_FEATURES,)
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-9)


def test_histograms_have_unit_length_and_are_zero_without_gradients():
    assert np.linalg.norm(hog_features(picture(seed=1))) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(hog_features(plain()), np.zeros(N_FEATURES))


# Dense descriptors


@pytest.fixture
def every_patch(monkeypatch):
    """Keep patches of little contrast, too."""
    monkeypatch.setattr(dense, "MIN_GRADIENT", 0.0)


def descriptor_by_loops(grey, centre_y, centre_x, size):
    """Return the RootSIFT descriptor of a patch."""
    variance = (size / 6) ** 2 - 0.25
    if variance > 0:
        grey = gaussian_filter(grey, np.sqrt(variance), mode="nearest")
    height, width = grey.shape
    histogram = np.zeros((4, 4, 8))
    for y in range(height):
        for x in range(width):
            right = (grey[y, min(x + 1, width - 1)] - grey[y, max(x - 1, 0)]) / 2
            down = (grey[min(y + 1, height - 1), x] - grey[max(y - 1, 0), x]) / 2
            angle = np.arctan2(down, right) / (2 * np.pi) * 8 % 8
            for ky in range(4):
                for kx in range(4):
                    weight = 1.0
                    for pixel, centre, k in ((y, centre_y, ky), (x, centre_x, kx)):
                        away = (pixel - centre) / size
                        weight *= max(1 - abs(away - (k - 1.5)), 0) * np.exp(-(away**2) / 8)
                    for direction in range(8):
                        apart = abs(angle - direction)
                        share = max(1 - min(apart, 8 - apart), 0)
                        histogram[ky, kx, direction] += weight * share * np.hypot(right, down)
    flat = histogram.ravel()
    shares = np.minimum(flat / np.linalg.norm(flat), 0.2)
    return np.sqrt(shares / shares.sum())


@each_case(("size", "patch"), in_turn([2, 4, 6, 8], [0, 3, -1]))
def test_descriptors_are_those_counted_pixel_by_pixel(size, patch):
    image = picture(40, 47, seed=4)
    descriptors, positions = dense_sift(image, (size,))
    centre_x, centre_y = positions[patch] * [47, 40] - 0.5
    expected = descriptor_by_loops(grey_levels(image).astype(float), centre_y, centre_x, size)
    np.testing.assert_allclose(descriptors[patch], expected, atol=2e-4)


def _grid_size(height, width, bin_size):
    return np.prod([len(dense._centres(side, bin_size, dense.STEP)) for side in (height, width)])


def test_descriptors_have_unit_length_and_positions_lie_within(every_patch):
    descriptors, positions = dense_sift(picture(150, 190))
    assert descriptors.dtype == positions.dtype == np.float32
    assert descriptors.shape == (len(positions), 128)
    assert len(positions) == sum(_grid_size(150, 190, size) for size in dense.BIN_SIZES)
    np.testing.assert_allclose(np.linalg.norm(descriptors, axis=1), 1.0, atol=1e-5)
    assert descriptors.min() >= 0
    assert positions.min() > 0 and positions.max() < 1
    np.testing.assert_allclose(positions.mean(axis=0), 0.5, atol=1e-5)


def test_patches_of_small_images_lie_in_the_middle():
    for shape in [(8, 8), (1, 1), (1, 30), (30, 1), (300, 3)]:
        descriptors, positions = dense_sift(picture(*shape, seed=6))
        assert len(descriptors) == len(positions)
        assert np.isfinite(descriptors).all()
    descriptors, positions = dense_sift(picture(12, 12, seed=6))
    assert len(descriptors) == len(dense.BIN_SIZES)
    np.testing.assert_allclose(positions, 0.5)


def test_flat_patches_are_left_out():
    descriptors, positions = dense_sift(plain(100, 100))
    assert descriptors.shape == (0, 128) and positions.shape == (0, 2)
    half = plain(100, 200)
    half[:, 110:] = picture(100, 90, seed=7)
    _, positions = dense_sift(half)
    assert len(positions) and positions[:, 0].min() > 0.35


def test_flat_patches_may_be_kept_without_a_direction():
    image = plain(64, 64)
    image[:, 40:] = picture(64, 24, seed=7)
    descriptors, positions = dense_sift(image, (4,), step=8, longer_side=None, keep_flat=True)
    assert descriptors.shape == (49, 128) and positions.shape == (49, 2)
    lengths = np.linalg.norm(descriptors, axis=1)
    np.testing.assert_allclose(lengths, np.where(lengths > 0, 1.0, 0.0), atol=1e-5)
    found, centres = dense_sift(image, (4,), step=8, longer_side=None)
    np.testing.assert_array_equal(descriptors[lengths > 0], found)
    np.testing.assert_array_equal(positions[lengths > 0], centres)
    assert 0 < len(found) < 49


def test_large_images_are_scaled_down(every_patch):
    image = picture(120, 180, seed=8)
    larger = np.kron(image, np.ones((4, 4, 1), dtype=np.uint8))
    _, positions = dense_sift(larger)
    shrunk = resized(image, 133, 200)
    assert len(positions) == len(dense_sift(shrunk)[1])


# Thumbnails


def test_thumbnails_keep_proportions_on_white():
    wide = thumbnail(plain(50, 100, level=7))
    assert wide.shape == (48, 48, 3) and wide.dtype == np.uint8
    np.testing.assert_array_equal(np.unique(wide[12:36]), 7)
    np.testing.assert_array_equal(np.unique(np.delete(wide, range(12, 36), axis=0)), 255)
    np.testing.assert_array_equal(thumbnail(plain(100, 50, level=7)), wide.transpose(1, 0, 2))


def test_thumbnails_of_extreme_shapes():
    assert (thumbnail(plain(1, 1000, level=7)) == 7).sum() == 48 * 3
    np.testing.assert_array_equal(thumbnail(plain(1, 1, level=7)), np.full((48, 48, 3), 7))
    image = picture(48, 48)
    np.testing.assert_array_equal(thumbnail(image), image)
