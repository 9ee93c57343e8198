"""Features of a convolutional network that was trained on ImageNet: VGG19, layer fc7.

The network is that of Simonyan and Zisserman (2015, configuration E), with the weights that
torchvision publishes. Torch is an optional dependency, imported when a network is built.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.items.images import resized


class Published(NamedTuple):
    """A network whose weights are published: its name, and the address, the bytes and the beginning
    of the SHA-256 of their file."""

    network: str
    address: str
    size: int
    sha256_prefix: str


PUBLISHED = Published(
    "VGG19", "https://download.pytorch.org/models/vgg19-dcbb9e9d.pth", 574_673_361, "dcbb9e9d"
)
"""torchvision: VGG19_Weights.IMAGENET1K_V1."""

N_FEATURES = 4096

SHORTER_SIDE = 256
CROP = 224
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Of red, green and blue values from 0 to 1 over ImageNet."""

# Largest ratio of the sides; only the middle of a longer image is scaled, as its ends are cut off.
_LONGEST = 8

# Maps of the convolutions of 3 x 3 pixels before each halving of height and width.
BLOCKS = ((64,) * 2, (128,) * 2, (256,) * 4, (512,) * 4, (512,) * 4)

N_CLASSES = 1000
"""Of ImageNet: outputs of the last layer, which is in the file of weights but not used here."""


def network_input(image: np.ndarray) -> np.ndarray:
    """Return a uint8 image (height, width, 3) as the weights expect it, float32 (3, 224, 224).

    The shorter side is scaled to 256 pixels (bilinear, averaged where it shrinks), the 224 x 224
    pixels in the middle are cut out, divided by 255 and standardised by the means and deviations
    of ImageNet.

    Raises UserError when Pillow is not installed.
    """
    shorter = min(image.shape[:2])
    for axis, side in enumerate(image.shape[:2]):
        begin = max(side - _LONGEST * shorter, 0) // 2
        image = image.take(range(begin, side - begin), axis=axis) if begin else image
    height, width = (side * SHORTER_SIDE // shorter for side in image.shape[:2])
    scaled = resized(image, height, width)
    # Rounded to even as torchvision does.
    top, left = round((height - CROP) / 2), round((width - CROP) / 2)
    cropped = scaled[top : top + CROP, left : left + CROP].astype(np.float32) / np.float32(255)
    standard = (cropped - np.float32(MEAN)) / np.float32(DEVIATION)
    return np.ascontiguousarray(standard.transpose(2, 0, 1))


class Vgg19Features:
    """The activations of the layer fc7 of VGG19, after its rectifier.

    Raises UserError when torch is not installed, or the file is missing or holds other weights, and
    ValueError if `batch_size` is below 1.

    Parameters
    ----------
    weights : path or None
        The file of the published weights (`PUBLISHED`). None draws random weights, for tests.
    device : str, default=None
        Where torch computes, such as ``"cuda"`` or ``"cpu"``. None takes a GPU when there is one.
    batch_size : int, default=32
        Images that go through the network at once; the default needs about 1.5 GiB of memory.
    seed : int, default=0
        Seed of the random weights; not used with a file.
    """

    def __init__(
        self, weights: Path | None, device: str | None = None, batch_size: int = 32, seed: int = 0
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; found {batch_size}.")
        torch = imported_torch("VGG19")
        self.batch_size = batch_size
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        # No values yet: torch would draw 140 million numbers from its global generator.
        with torch.device("meta"):
            network = _network(torch)
        if weights is None:
            draw_weights(network, seed, torch)
        else:
            load_weights(network, Path(weights), PUBLISHED, torch)
        self.network = network.eval().to(self.device)

    def transform(self, images: Iterable[np.ndarray]) -> np.ndarray:
        """Return the features, float64 (n, 4096), of uint8 images (height, width, 3).

        Raises UserError when Pillow is not installed.
        """
        torch = imported_torch("VGG19")
        found = [np.empty((0, N_FEATURES))]
        with reproducible(torch), torch.inference_mode():
            images = iter(images)
            while batch := list(islice(images, self.batch_size)):
                inputs = torch.from_numpy(np.stack([network_input(image) for image in batch]))
                found.append(self.network(inputs.to(self.device)).cpu().numpy().astype(np.float64))
        return np.concatenate(found)


def _network(torch: Any) -> Any:
    """Return the network up to fc7 and its rectifier, with the names of the published weights."""
    # The side of 224 pixels is halved five times.
    n_inputs = BLOCKS[-1][-1] * (CROP // 2 ** len(BLOCKS)) ** 2
    classifier = [
        torch.nn.Linear(n_inputs, N_FEATURES),
        torch.nn.ReLU(inplace=True),
        torch.nn.Dropout(),
        torch.nn.Linear(N_FEATURES, N_FEATURES),
        torch.nn.ReLU(inplace=True),
    ]
    return torch.nn.Sequential(
        OrderedDict(
            features=torch.nn.Sequential(*convolutions(BLOCKS, torch)),
            flat=torch.nn.Flatten(),
            classifier=torch.nn.Sequential(*classifier),
        )
    )


def convolutions(blocks: Sequence[Sequence[int]], torch: Any) -> list:
    """Return the layers of the blocks: convolutions with rectifiers, then a maximum of 2 x 2."""
    layers, n_maps = [], 3
    for block in blocks:
        for n_next in block:
            layers += [torch.nn.Conv2d(n_maps, n_next, 3, padding=1), torch.nn.ReLU(inplace=True)]
            n_maps = n_next
        layers.append(torch.nn.MaxPool2d(2))
    return layers


def reproducible(torch: Any) -> Any:
    """Return a context in which the numbers of a GPU are the same every time."""
    # No search for the fastest algorithm, no products in TF32.
    return torch.backends.cudnn.flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )


def draw_weights(network: Any, seed: int, torch: Any) -> None:
    """Draw random weights, with variances that keep those of the activations (He et al. 2015)."""
    network.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(seed)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            torch.nn.init.kaiming_normal_(parameter, generator=generator)
        else:
            torch.nn.init.zeros_(parameter)


def load_weights(network: Any, path: Path, published: Published, torch: Any) -> None:
    """Put the weights in the file `path` into the network, which may lack the last layers.

    Raises UserError when there is no such file, or it holds other weights.
    """
    if not path.is_file():
        raise UserError(
            location=str(path),
            found="there is no such file",
            expected=f"the published weights of {published.network}",
            remedy=f"download {published.address} to this path",
        )
    try:
        # Only tensors are read, because the format can otherwise run any program.
        state = torch.load(path, map_location="cpu", weights_only=True)
        # The last layer distinguishes the 1000 classes of ImageNet.
        if state["classifier.6.weight"].shape != (N_CLASSES, N_FEATURES):
            raise ValueError("another number of classes")
        names = network.state_dict()
        network.load_state_dict({name: state[name] for name in names}, assign=True)
    # For other files, torch raises many kinds of errors.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            location=str(path),
            found=f"the file holds no weights of {published.network} ({reason})",
            expected=f"the file of {published.size} bytes with a SHA-256 that begins with "
            f"{published.sha256_prefix}",
            remedy=f"download {published.address} again",
        ) from error


def imported_torch(network: str) -> Any:
    """Return the module torch; UserError where it is not installed, which names the network."""
    try:
        import torch
    except ImportError as error:
        raise not_installed("torch", f"features of the network {network}", error) from error
    return torch
