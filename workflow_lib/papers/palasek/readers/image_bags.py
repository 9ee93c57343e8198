"""Reader of classes of images as bags of local features: the patches of each image.

The images are in class folders, of a folder or an archive. Every image is a bag of rows, one for
each of its patches; what a fold learns of them, such as a mixture, it learns from its own bags.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.inputs.images.image_options import ImageCollection
from workflow_lib.tabular.tables import wrong_source

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.papers.palasek.vgg16 import Vgg16Maps

"""The numbers of each bag, pooled."""

WITHOUT_PATCH = "an image without any patch"

BINS_OF_A_PATCH = 4

VGG16 = "vgg16-"
"""How the names of the layers of the network begin."""

LARGEST = 255.0
"""A stored number that stands for 1."""

Count = Annotated[int, Strict(), Field(ge=1)]


class Options(ImageCollection):
    """Options of the reader ``image_bags``."""

    local_features: Literal[
        "dense-sift",
        "colour-patches",
        "vgg16-conv3_3",
        "vgg16-conv4_3",
        "vgg16-conv5_3",
        "vgg16-pool_5",
    ] = "dense-sift"
    """What describes a patch: `dense-sift` (RootSIFT of its grey levels, 128 numbers) or
    `colour-patches` (the red, green and blue of its pixels). `vgg16-conv3_3` and the others: the
    activations of a layer of the network VGG16, one row for each of its positions; they need the
    extra `deep` and `weights`."""

    weights: Annotated[str, Field(min_length=1)] | None = None
    """File of the published weights of VGG16, which you supply, relative to the folder of the run;
    null (the default) for other features."""

    patch: Annotated[int, Strict(), Field(ge=2)] = 16
    """Pixels of a side of a patch; for `dense-sift` a multiple of 4, from 8 on."""

    step: Count = 8
    """Pixels between neighbouring patches."""

    longer_side: Annotated[int, Strict(), Field(ge=8)] | None = None
    """Pixels to which the longer side of every image is scaled, up or down. null (the default):
    images are not scaled."""

    patches_per_image: Count | None = 256
    """Patches that are drawn of an image that has more; null for all."""


def kind_of_inputs(options: Options) -> str:
    """Return ``bags``, of patches."""
    return "bags"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per image, sorted by class and name; `seed` draws images and patches.

    ``inputs`` and ``bags``: see `workflow_lib.items.kinds.bags`. Classes are the folders in
    ``classes``; their vectors are the unit vectors. Images are left out and counted as by
    `workflow_lib.data.image_collections.drawn_images`, and those without a patch: flat patches
    are none of `dense-sift`.

    Raises UserError when the collection cannot be read, a class is not in it, it has fewer than
    ``images_per_class`` images, or the patch suits the features not.
    """
    import numpy as np

    from workflow_lib.data.class_tables import class_dataset_tree
    from workflow_lib.data.image_collections import collection_path, drawn_images
    from workflow_lib.items.images import open_images
    from workflow_lib.items.kinds.bags import pack, pooled_rows
    from workflow_lib.papers.palasek.vgg16 import PUBLISHED, Vgg16Maps

    if options.local_features == "dense-sift" and (options.patch < 8 or options.patch % 4):
        raise UserError(
            location="options of the reader 'image_bags', key patch",
            found=f"{options.patch} pixels",
            expected="for dense-sift a multiple of 4, from 8 on",
            remedy="fix patch, or choose local_features: colour-patches",
        )
    network, unit = None, 1.0 / LARGEST
    if options.local_features.startswith(VGG16):
        if options.weights is None:
            raise UserError(
                location="options of the reader 'image_bags', key weights",
                found="no file",
                expected=f"the published weights of VGG16, for {options.local_features}",
                remedy=f"download {PUBLISHED.address}, and name the file",
            )
        layer = options.local_features.removeprefix(VGG16)
        network, unit = Vgg16Maps(layer, Path(options.weights)), 1.0
    path = collection_path(options, sources, "image_bags")
    drawn, class_names, n_read, excluded = drawn_images(path, options, seed)
    bags, kept_positions, kept = [], [], []
    for image in open_images(path, drawn, options.members):
        described, positions = _patches(image.pixels, options, network)
        if not len(described):
            excluded[WITHOUT_PATCH] = excluded.get(WITHOUT_PATCH, 0) + 1
            continue
        chosen = slice(None)
        if options.patches_per_image is not None and len(described) > options.patches_per_image:
            own = derive_seed(seed, "patches", f"{image.entry.class_name}/{image.entry.name}")
            chosen = np.random.default_rng(own).choice(
                len(described), options.patches_per_image, replace=False
            )
            chosen.sort()
        bags.append(described[chosen])
        kept_positions.append(positions[chosen])
        kept.append(image.entry)
    if not kept:
        raise wrong_source(str(path), "no image can be used", "images of at least two classes")
    inputs, names = pooled_rows(bags, unit)
    return class_dataset_tree(
        inputs,
        np.array([class_names.index(entry.class_name) for entry in kept]),
        np.eye(len(class_names)),
        class_names,
        names,
        class_names,
        [f"{entry.class_name}/{entry.name}" for entry in kept],
        location=str(path),
        rows_read=n_read,
        report={"exclusions": excluded},
        **pack(bags, unit, kept_positions),
    )


def _patches(
    pixels: np.ndarray, options: Options, network: Vgg16Maps | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the patches (m, d) of an image, and their centres (m, 2) from 0 to 1. They are uint8,
    but for those of a network."""
    import numpy as np

    from workflow_lib.inputs.images.dense_sift import dense_sift
    from workflow_lib.items.images import resized

    if options.longer_side is not None and max(pixels.shape[:2]) != options.longer_side:
        factor = options.longer_side / max(pixels.shape[:2])
        pixels = resized(pixels, *(max(round(side * factor), 1) for side in pixels.shape[:2]))
    if network is not None:
        is_too_small = min(pixels.shape[:2]) < network.smallest
        return (np.empty((0, 1)), np.empty((0, 2))) if is_too_small else network.transform(pixels)
    if options.local_features == "dense-sift":
        described, positions = dense_sift(
            pixels, (options.patch // BINS_OF_A_PATCH,), options.step, None
        )
        return np.rint(LARGEST * described).astype(np.uint8), positions
    height, width = pixels.shape[:2]
    if min(height, width) < options.patch:
        return np.empty((0, 3 * options.patch**2), dtype=np.uint8), np.empty((0, 2))
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (options.patch,) * 2, axis=(0, 1))
    windows = windows[:: options.step, :: options.step]
    rows, columns = np.indices(windows.shape[:2])
    centres = [columns * options.step, rows * options.step]
    positions = np.stack(
        [
            (centre.ravel() + options.patch / 2) / side
            for centre, side in zip(centres, (width, height))
        ],
        axis=1,
    )
    return windows.reshape(len(positions), -1).copy(), positions.astype(np.float32)
