"""Local features of VGG16, with random weights; without torch only its absence is tested."""

import importlib.util

import numpy as np
import pytest
from test_reader_image_bags import OPTIONS, write_images

from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import read_dataset
from workflow_lib.inputs.images.vgg19 import DEVIATION, MEAN
from workflow_lib.items.kinds.bags import unpack
from workflow_lib.papers.palasek.vgg16 import BLOCKS, LAYERS, PUBLISHED, SMALLEST, Vgg16Maps

SIZES = {"conv3_3": (64, 256), "conv4_3": (16, 512), "conv5_3": (4, 512), "pool_5": (1, 512)}
"""Positions and numbers of an image of 32 x 32 pixels, in Table 2 of the paper."""


def read(path, weights, **options):
    named = {} if weights is None else {"weights": str(weights)}
    return read_dataset("image_bags", OPTIONS | options | named, [path], 0)


def image(height=32, width=32):
    random = np.random.default_rng(0)
    return random.integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Return a file with the names and shapes of the published one, and random numbers."""
    torch = pytest.importorskip("torch")
    generator, state, location, before = torch.Generator().manual_seed(1), {}, 0, 3
    for block in BLOCKS:
        for after in block:
            shape = after, before, 3, 3
            drawn = torch.randn(shape, generator=generator) * np.sqrt(2 / 9 / before)
            state[f"features.{location}.weight"] = drawn
            state[f"features.{location}.bias"] = 0.1 * torch.randn(after, generator=generator)
            location, before = location + 2, after
        location += 1
    state["classifier.6.weight"] = torch.zeros((1000, 4096))
    path = tmp_path_factory.mktemp("weights") / "vgg16.pth"
    torch.save(state, path)
    return path


@pytest.mark.parametrize("layer", LAYERS)
def test_rows_are_the_activations_of_the_layers_written_out(weights, layer):
    torch = pytest.importorskip("torch")
    state = torch.load(weights, weights_only=True)
    standard = (image() / 255 - MEAN) / DEVIATION
    values = torch.from_numpy(standard.transpose(2, 0, 1).astype(np.float32))[None]
    for index in range(LAYERS[layer]):
        if f"features.{index}.weight" in state:
            kernel, bias = (state[f"features.{index}.{name}"] for name in ("weight", "bias"))
            values = torch.relu(torch.nn.functional.conv2d(values, kernel, bias, padding=1))
        elif index in (4, 9, 16, 23, 30):
            values = torch.nn.functional.max_pool2d(values, 2)
    rows, positions = Vgg16Maps(layer, weights).transform(image())
    assert rows.shape == SIZES[layer] and rows.max() > 0
    expected = values[0].numpy().reshape(values.shape[1], -1).T
    np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-4)
    assert len(positions) == len(rows) and 0 < positions.min() and positions.max() < 1
    side = SMALLEST[layer]
    assert len(Vgg16Maps(layer, None).transform(image(side, side))[0]) == 1


def test_the_address_is_that_of_torchvision():
    models = pytest.importorskip("torchvision").models
    assert models.VGG16_Weights.IMAGENET1K_V1.url == PUBLISHED.address


def test_images_are_bags_of_positions(weights, tmp_path):
    path = write_images(tmp_path)
    options = {"local_features": "vgg16-conv3_3", "patches_per_image": None, "longer_side": 32}
    tree = read(path, weights, **options)
    bags = unpack(tree, range(12))
    assert bags[0].shape[1] == 256 and tree["inputs"].shape == (12, 512)
    assert tree["bags"]["unit"] == 1.0


def test_what_is_missing_is_named(tmp_path):
    path = write_images(tmp_path)
    with pytest.raises(UserError, match="key weights: no file.*download.pytorch.org"):
        read(path, None, local_features="vgg16-conv3_3")
    if importlib.util.find_spec("torch"):
        with pytest.raises(UserError, match="no such file.*download.pytorch.org"):
            read(path, tmp_path / "none.pth", local_features="vgg16-conv3_3")
    else:
        with pytest.raises(UserError, match=r"network VGG16: .*\[deep\]"):
            read(path, tmp_path / "none.pth", local_features="vgg16-conv3_3")
