"""Reader of images of objects that are pasted into scenes, so that their boxes are known.

Every row is a scene with one object. An image is used once: as a scene, as an object, or for the
codebook of visual words, which so learns from no training and no test image.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, Strict, ValidationInfo, field_validator

from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import without_repeats
from workflow_lib.inputs.images.image_options import ImageCollection, Name
from workflow_lib.tabular.tables import check_sources, dataset_tree

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.items.images import ImageEntry

BINS_OF_A_PATCH = 4

Count = Annotated[int, Strict(), Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Classes = Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(without_repeats)]


class Options(Settings):
    """Options of the reader ``pasted_objects``."""

    scene_members: Name
    """Pattern of the ends of the paths of scenes in the first source, as `members` of
    `image_words`."""

    scene_classes: Classes
    """Folders of the scenes. One whose scenes show such objects already would make boxes wrong."""

    object_members: Name
    """Pattern of the ends of the paths of objects in the second source."""

    object_class: Name
    """Folder of the objects."""

    crop: tuple[Share, Share, Share, Share] = (0.0, 0.0, 1.0, 1.0)
    """Left, top, right and bottom of the part of an image of an object that is pasted, as shares of
    its width and height. The default is all of it."""

    widths: tuple[Share, Share] = (0.4, 0.75)
    """Smallest and largest width of an object, as shares of that of the scene; widths are drawn
    between them, and heights are in proportion."""

    codebook_classes: Classes
    """Folders of the second source whose images the codebook learns from, with as many scenes that
    are no rows."""

    codebook_images: Count = 100
    """Images of either kind that the codebook learns from, drawn by the seed."""

    n_words: Annotated[int, Strict(), Field(ge=2, le=10_000)] = 200
    """Words of the codebook."""

    patches: Annotated[
        tuple[Annotated[int, Strict(), Field(ge=8, multiple_of=BINS_OF_A_PATCH)], ...],
        Field(min_length=1),
        AfterValidator(without_repeats),
    ] = (16, 32)
    """Pixels of the sides of patches, multiples of 4. The default sees parts of an object and their
    surroundings."""

    step: Count = 5
    """Pixels between neighbouring patches."""

    @field_validator("crop")
    @classmethod
    def _is_box(cls, crop: tuple[float, ...]) -> tuple[float, ...]:
        left, top, right, bottom = crop
        if not (left < right and top < bottom):
            raise ValueError("must be left, top, right and bottom, left < right and top < bottom")
        return crop

    @field_validator("widths")
    @classmethod
    def _in_order(cls, widths: tuple[float, ...]) -> tuple[float, ...]:
        if not 0 < widths[0] <= widths[1]:
            raise ValueError("must be above 0, the smaller one first")
        return widths

    @field_validator("codebook_classes")
    @classmethod
    def _without_objects(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.data.get("object_class") in names:
            raise ValueError("must not hold object_class, whose images are rows")
        return names


def kind_of_inputs(options: Options) -> str:
    """Return ``points``, with visual words."""
    return "points"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per object; `seed` draws scenes, mirror images, widths, positions, codebook.

    ``outputs`` are the boxes (left, top, right, bottom) of the pasted objects, in pixels; each
    object is mirrored with probability 1/2. For ``inputs``, ``points`` and ``boxes`` see
    `workflow_lib.papers.blaschko.item_kinds.points`. Images whose pixels are those of an earlier
    image, and those that cannot be read, are left out and counted.

    Raises UserError when a collection cannot be read, a class is not in it, there are fewer scenes
    than objects, or an object does not fit into its scene.
    """
    import numpy as np

    from workflow_lib.data.image_collections import drawn_images
    from workflow_lib.inputs.images.visual_words import Images
    from workflow_lib.items.box_overlap import SIDES
    from workflow_lib.items.images import grey_levels, open_images, resized
    from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints, pack, word_shares

    check_sources(sources, "pasted_objects", "the scenes", "the objects")
    found, excluded = [], {}
    for what, path, members, classes in (
        ("scenes", sources[0], options.scene_members, options.scene_classes),
        (
            "objects and codebook",
            sources[1],
            options.object_members,
            (options.object_class, *options.codebook_classes),
        ),
    ):
        collection = ImageCollection(members=members, classes=classes)
        entries, _, _, left_out = drawn_images(path, collection, seed)
        found.append(entries)
        excluded |= {f"{what}: {reason}": n for reason, n in left_out.items() if n}
    objects = [entry for entry in found[1] if entry.class_name == options.object_class]
    others = [entry for entry in found[1] if entry.class_name != options.object_class]
    random = np.random.default_rng(derive_seed(seed, "pasted"))
    scenes, others = (
        [entries[index] for index in random.permutation(len(entries))]
        for entries in (found[0], others)
    )
    n_needed = len(objects) + options.codebook_images
    for what, path, n, most in (
        ("scenes", sources[0], len(scenes), n_needed),
        ("images of codebook_classes", sources[1], len(others), options.codebook_images),
    ):
        if n < most:
            raise UserError(
                location=str(path),
                found=f"{n} different {what}",
                expected=f"{most} or more: one for each object, and codebook_images",
                remedy="name more classes, or reduce codebook_images",
            )

    def opened(path: Path, entries: Sequence[ImageEntry], members: str) -> Iterator[np.ndarray]:
        return (image.pixels for image in open_images(path, entries, members))

    boxes, names, pictures = [], [], []
    placed = zip(
        objects,
        scenes,
        opened(sources[1], objects, options.object_members),
        opened(sources[0], scenes[: len(objects)], options.scene_members),
    )
    for entry, scene_entry, pixels, scene in placed:
        part = grey_levels(_cropped(pixels, options.crop))
        if random.random() < 0.5:
            part = part[:, ::-1]
        width = round(random.uniform(*options.widths) * scene.shape[1])
        height = max(round(part.shape[0] * width / part.shape[1]), 1)
        if height > scene.shape[0] or width < 1:
            raise UserError(
                location=f"{sources[1]}, image {entry.class_name}/{entry.name}",
                found=f"an object of {width} x {height} pixels for a scene of "
                f"{scene.shape[1]} x {scene.shape[0]}",
                expected="an object that fits into its scene",
                remedy="reduce widths, or crop",
            )
        left = int(random.integers(scene.shape[1] - width + 1))
        top = int(random.integers(scene.shape[0] - height + 1))
        picture = grey_levels(scene)
        picture[top : top + height, left : left + width] = resized(part, height, width)
        boxes.append([left, top, left + width, top + height])
        pictures.append(picture)
        names.append(f"{entry.name} in {scene_entry.class_name}/{Path(scene_entry.name).name}")
    spare = scenes[len(objects) : n_needed]
    sampled = [
        *map(grey_levels, opened(sources[0], spare, options.scene_members)),
        *map(
            grey_levels,
            opened(sources[1], others[: options.codebook_images], options.object_members),
        ),
    ]
    codebook = Images(*_described(sampled, options)[:2]).codebook(derive_seed(seed, "codebook"))
    tree, rows, positions = _described(pictures, options)
    words = np.split(Images(tree, rows).nearest(codebook), tree["begins"][1:-1])
    images = [
        ImagePoints(own, centres, np.array(picture.shape[::-1]), options.n_words)
        for own, centres, picture in zip(words, positions, pictures)
    ]
    # A side of the boxes may be the same in all images.
    return dataset_tree(
        word_shares(images),
        np.array(boxes, dtype=float),
        [f"word_{number + 1}" for number in range(options.n_words)],
        SIDES,
        location=str(sources[1]),
        rows_read=len(objects),
        allow_constant_outputs=True,
        names={"rows": json.dumps(names, ensure_ascii=False)},
        report={"exclusions": excluded},
        **pack(images),
    )


def _cropped(pixels: np.ndarray, crop: Sequence[float]) -> np.ndarray:
    height, width = pixels.shape[:2]
    left, top, right, bottom = (
        round(share * side) for share, side in zip(crop, (width, height, width, height))
    )
    return pixels[top : max(bottom, top + 1), left : max(right, left + 1)]


def _described(
    pictures: Sequence[np.ndarray], options: Options
) -> tuple[dict[str, Any], np.ndarray, list[np.ndarray]]:
    """Return the descriptors of pictures for `Images`, their numbers, and the centres."""
    import numpy as np

    from workflow_lib.inputs.images.dense_sift import dense_sift
    from workflow_lib.inputs.images.visual_words import quantised

    sizes = [patch // BINS_OF_A_PATCH for patch in options.patches]
    values, positions = [], []
    for picture in pictures:
        pixels = np.repeat(np.rint(255 * picture).astype(np.uint8)[:, :, None], 3, axis=2)
        described, centres = dense_sift(pixels, sizes, options.step, None, keep_flat=True)
        values.append(quantised(described))
        positions.append(centres)
    lengths = [len(each) for each in values]
    tree = {
        "values": np.concatenate(values),
        "parts": np.zeros(sum(lengths), dtype=np.uint8),
        "begins": np.concatenate([[0], np.cumsum(lengths)]),
        "n_parts": 1,
        "n_words": options.n_words,
    }
    return tree, np.arange(len(pictures)), positions
