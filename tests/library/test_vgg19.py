"""The network VGG19: its input, its layer fc7, and the message for a wrong file of weights."""

import sys

import numpy as np
import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.inputs.images import vgg19
from workflow_lib.inputs.images.vgg19 import N_FEATURES, Vgg19Features, network_input
from workflow_lib.items.images import resized

Image = pytest.importorskip("PIL.Image")


def picture(height=40, width=60, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def network():
    pytest.importorskip("torch")
    return Vgg19Features(None, device="cpu", batch_size=2, seed=3)


# The input


def test_a_square_of_256_pixels_is_only_cropped_and_standardised():
    image = picture(256, 256)
    expected = np.empty((3, 224, 224))
    for colour, (mean, deviation) in enumerate([(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]):
        expected[colour] = (image[16:240, 16:240, colour] / 255 - mean) / deviation
    found = network_input(image)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("height, width", [(512, 600), (300, 257), (600, 512)])
def test_the_shorter_side_becomes_256_and_the_middle_is_cut_out(height, width):
    image = picture(height, width)
    new = (256, 256 * width // height) if height < width else (256 * height // width, 256)
    scaled = np.array(Image.fromarray(image).resize(new[::-1], Image.Resampling.BILINEAR))
    top, left = round((new[0] - 224) / 2), round((new[1] - 224) / 2)
    expected = scaled[top : top + 224, left : left + 224].transpose(2, 0, 1) / 255
    mean, deviation = np.array(vgg19.MEAN), np.array(vgg19.DEVIATION)
    expected = (expected - mean[:, None, None]) / deviation[:, None, None]
    np.testing.assert_allclose(network_input(image), expected, atol=1e-5)


def test_one_colour_stays_one_colour():
    found = network_input(np.full((31, 77, 3), [255, 0, 128], dtype=np.uint8))
    for colour, level in enumerate([1.0, 0.0, 128 / 255]):
        expected = (level - vgg19.MEAN[colour]) / vgg19.DEVIATION[colour]
        np.testing.assert_allclose(found[colour], expected, atol=1e-6)


def test_of_very_long_images_only_the_middle_is_scaled(monkeypatch):
    sizes = []

    def counted(values, height, width):
        sizes.append((height, width))
        return resized(values, height, width)

    monkeypatch.setattr(vgg19, "resized", counted)
    for shape in [(2, 5000), (5000, 2), (1, 5000)]:
        assert network_input(picture(*shape)).shape == (3, 224, 224)
    assert max(max(size) for size in sizes) <= 256 * 9
    # What is cut off has no influence on the middle, up to the grid of the new pixels.
    image = np.full((20, 400, 3), 7, dtype=np.uint8)
    image[:, 190:210] = 200
    np.testing.assert_allclose(network_input(image), network_input(image[:, 120:280]), atol=1e-5)


def test_the_constants_are_those_of_torchvision():
    models = pytest.importorskip("torchvision").models
    assert models.VGG19_Weights.IMAGENET1K_V1.url == vgg19.PUBLISHED.address
    assert vgg19.PUBLISHED.sha256_prefix in vgg19.PUBLISHED.address


# The network


def published(torch, seed):
    """Return tensors with the names and shapes of the published file, and random numbers."""
    generator = torch.Generator().manual_seed(seed)
    sizes = [3, 64, 64, 128, 128, *[256] * 4, *[512] * 8]
    indices = [0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34]
    state = {}
    for index, n_before, n_after in zip(indices, sizes[:-1], sizes[1:], strict=True):
        state[f"features.{index}.weight"] = torch.randn(
            (n_after, n_before, 3, 3), generator=generator
        ) * np.sqrt(2 / 9 / n_before)
        state[f"features.{index}.bias"] = 0.1 * torch.randn(n_after, generator=generator)
    for index, n_before, n_after in [(0, 25088, 4096), (3, 4096, 4096), (6, 4096, 1000)]:
        state[f"classifier.{index}.weight"] = torch.randn(
            (n_after, n_before), generator=generator
        ) * np.sqrt(2 / n_before)
        state[f"classifier.{index}.bias"] = 0.1 * torch.randn(n_after, generator=generator)
    return state


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    torch = pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("weights") / "vgg19.pth"
    torch.save(published(torch, 5), path)
    return path


def test_features_are_those_of_the_layers_written_out(weights):
    torch = pytest.importorskip("torch")
    image = picture(50, 80)
    state = published(torch, 5)
    values = torch.from_numpy(network_input(image))[None]
    for index in range(37):
        if f"features.{index}.weight" in state:
            kernel, bias = (state[f"features.{index}.{name}"] for name in ("weight", "bias"))
            values = torch.relu(torch.nn.functional.conv2d(values, kernel, bias, padding=1))
        elif index in (4, 9, 18, 27, 36):
            n_maps, side = values.shape[1], values.shape[2]
            values = values.reshape(1, n_maps, side // 2, 2, side // 2, 2).amax(dim=(3, 5))
    values = values.reshape(-1).numpy()
    assert values.shape == (25088,)
    for index in (0, 3):
        kernel, bias = (state[f"classifier.{index}.{name}"] for name in ("weight", "bias"))
        values = np.maximum(kernel.numpy() @ values + bias.numpy(), 0)
    (found,) = Vgg19Features(weights, device="cpu").transform([image])
    assert values.max() > 1
    np.testing.assert_allclose(found, values, rtol=1e-3, atol=1e-4)


def test_features_do_not_depend_on_the_batches(network):
    images = [picture(50, 80, seed=seed) for seed in range(3)]
    found = network.transform(images)
    assert found.shape == (3, N_FEATURES) and found.dtype == np.float64
    assert found.min() == 0.0 and found.max() > 0.0
    single = np.vstack([network.transform([image]) for image in images])
    np.testing.assert_allclose(found, single, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found, network.transform(iter(images)))
    assert network.transform([]).shape == (0, N_FEATURES)


def test_random_weights_follow_from_the_seed_alone(network):
    torch = pytest.importorskip("torch")
    torch.manual_seed(99)
    before = torch.random.get_rng_state()
    again = Vgg19Features(None, device="cpu", seed=3)
    for own, its in zip(network.network.parameters(), again.network.parameters()):
        assert torch.equal(own, its)
    assert torch.equal(torch.random.get_rng_state(), before)
    other = Vgg19Features(None, device="cpu", seed=4)
    first, second = (next(built.network.parameters()) for built in (network, other))
    assert not torch.equal(first, second)


# Faults


def test_a_wrong_file_of_weights_is_reported(tmp_path):
    torch = pytest.importorskip("torch")
    with pytest.raises(UserError, match="no such file.*download.pytorch.org"):
        Vgg19Features(tmp_path / "none.pth")
    (tmp_path / "text.pth").write_text("nothing")
    torch.save({"features.0.weight": torch.zeros(3)}, tmp_path / "other.pth")
    state = published(torch, 0)
    state.pop("features.5.bias")
    torch.save(state, tmp_path / "incomplete.pth")
    for name in ("text.pth", "other.pth", "incomplete.pth"):
        with pytest.raises(UserError, match="no weights of VGG19.*574673361 bytes.*dcbb9e9d"):
            Vgg19Features(tmp_path / name)


def test_weights_that_hold_a_program_do_not_run_it(tmp_path, capsys):
    torch = pytest.importorskip("torch")

    class Harmful:
        def __reduce__(self):
            return (print, ("executed",))

    torch.save(Harmful(), tmp_path / "harmful.pth")
    with pytest.raises(UserError, match="no weights of VGG19"):
        Vgg19Features(tmp_path / "harmful.pth")
    assert "executed" not in capsys.readouterr().out


def test_without_torch_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=r"'.\[deep\]'"):
        Vgg19Features(None)


def test_a_batch_has_images():
    with pytest.raises(ValueError, match="batch_size must be at least 1; found 0"):
        Vgg19Features(None, batch_size=0)
