"""Local features of images: the positions of a layer of the convolutional network VGG16.

The network is that of Simonyan and Zisserman (2015, configuration D), with the weights that
torchvision publishes, trained on ImageNet. Torch is an optional dependency.
"""

from collections import OrderedDict
from pathlib import Path

import numpy as np

from workflow_lib.inputs.images.vgg19 import (
    DEVIATION,
    MEAN,
    Published,
    convolutions,
    draw_weights,
    imported_torch,
    load_weights,
    reproducible,
)

PUBLISHED = Published(
    "VGG16", "https://download.pytorch.org/models/vgg16-397923af.pth", 553_433_881, "397923af"
)
"""torchvision: VGG16_Weights.IMAGENET1K_V1."""

BLOCKS = ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3)

LAYERS = {"conv3_3": 16, "conv4_3": 23, "conv5_3": 30, "pool_5": 31}
"""Number of layers, with rectifiers and maxima, up to each that can be used."""

SMALLEST = {"conv3_3": 4, "conv4_3": 8, "conv5_3": 16, "pool_5": 32}
"""Pixels of the shorter side of an image that has at least one position."""


class Vgg16Maps:
    """The activations of a layer of VGG16 at every position of an image.

    The `layer`, one of `LAYERS`, is the third convolution of a block, after its rectifier, or the
    maximum after the last block. Of an image of 32 x 32 pixels it has 8 x 8, 4 x 4, 2 x 2 and 1 x 1
    positions, of 256 or 512 numbers (Palasek & Patras 2017, Table 2). The file `weights` is that of
    the published ones (`PUBLISHED`); None draws random ones, for tests, by the `seed`. The
    attribute `smallest` is that of `SMALLEST`.

    Raises UserError when torch is not installed, or the file is missing or holds other weights.
    """

    def __init__(self, layer: str, weights: Path | None, seed: int = 0) -> None:
        torch = imported_torch(PUBLISHED.network)
        # No values yet: torch would draw millions of numbers from its global generator.
        with torch.device("meta"):
            layers = convolutions(BLOCKS, torch)[: LAYERS[layer]]
            network = torch.nn.Sequential(OrderedDict(features=torch.nn.Sequential(*layers)))
        if weights is None:
            draw_weights(network, seed, torch)
        else:
            load_weights(network, Path(weights), PUBLISHED, torch)
        self.smallest = SMALLEST[layer]
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.network = network.eval().to(self.device)

    def transform(self, image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (m, d) of a uint8 image (height, width, 3), and their centres (m, 2).

        Rows are float32; centres are from 0 to 1, from left to right and from above. The colours
        are standardised by the means and deviations of ImageNet.
        """
        torch = imported_torch(PUBLISHED.network)
        standard = (image.astype(np.float32) / np.float32(255) - np.float32(MEAN)) / np.float32(
            DEVIATION
        )
        with reproducible(torch), torch.inference_mode():
            given = torch.from_numpy(np.ascontiguousarray(standard.transpose(2, 0, 1)))[None]
            maps = self.network(given.to(self.device))[0].cpu().numpy()
        rows, columns = np.indices(maps.shape[1:])
        centres = [(columns + 0.5) / maps.shape[2], (rows + 0.5) / maps.shape[1]]
        positions = np.stack([centre.ravel() for centre in centres], axis=1)
        return maps.reshape(len(maps), -1).T.copy(), positions.astype(np.float32)
