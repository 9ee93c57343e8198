"""Labelled images in class folders: which of them can be used, and which are drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.seeds import derive_seed
from workflow_lib.items.images import image_entries, open_images
from workflow_lib.tabular.tables import check_sources

if TYPE_CHECKING:
    from workflow_lib.inputs.images.image_options import ImageCollection
    from workflow_lib.items.images import ImageEntry, OpenedImage

REPEATED = "the image of an earlier row of its class"
TWO_CLASSES = "an image with two classes"
NOT_DRAWN = "images that were not drawn"


def drawn_images(
    path: Path, options: ImageCollection, seed: int
) -> tuple[list[ImageEntry], list[str], int, dict[str, int]]:
    """Return the images that are rows, sorted, their classes, and what was read and left out.

    These are the names of the classes, how many images are in their folders, and how many of them
    are no rows, by reason.

    Left out are images whose pixels are those of an earlier image of their class, all that two
    classes have in common, and those that cannot be read.

    Raises UserError when the collection cannot be read, a class is not in it, or it has fewer than
    ``images_per_class`` images.
    """
    entries = image_entries(path, members=options.members)
    found = sorted({entry.class_name for entry in entries})
    for name in options.classes:
        if name not in found:
            raise unknown_name(f"{path}, option classes", "class", name, found)
    class_names = sorted(options.classes or found)
    usable, excluded = _different_images(open_images(path, entries, options.members), class_names)
    drawn = _drawn(usable, class_names, options.images_per_class, seed, path)
    excluded[NOT_DRAWN] = len(usable) - len(drawn)
    return drawn, class_names, sum(e.class_name in class_names for e in entries), excluded


def collection_path(options: ImageCollection, sources: Sequence[Path], reader: str) -> Path:
    """Return the path of the images: of the user's own, or the only source.

    Raises UserError if it does not exist.
    """
    if options.collection is None:
        check_sources(sources, reader, "the images")
        return sources[0]
    check_sources(sources, reader)
    path = Path(options.collection)
    if not path.exists():
        raise UserError(
            location=f"option collection of a dataset with the reader '{reader}'",
            found=f"no file or folder {path}",
            expected="a folder or an archive of images in class folders",
            remedy="place it there; the configuration of the dataset says where to find it",
        )
    return path


def _different_images(
    opened: Iterable[OpenedImage], class_names: Sequence[str]
) -> tuple[list[ImageEntry], dict[str, int]]:
    """Return the images of classes that can be used, and how many cannot, by reason. Images of
    other classes count as well where an image has two of them."""
    first: dict[bytes, ImageEntry] = {}
    classes_of: dict[bytes, set[str]] = {}
    excluded = dict.fromkeys((REPEATED, TWO_CLASSES), 0)
    seen: list[bytes] = []
    for image in opened:
        entry = image.entry
        if image.pixels is None:
            if entry.class_name in class_names:
                excluded[image.reason] = excluded.get(image.reason, 0) + 1
            continue
        content = repr(image.pixels.shape).encode() + image.pixels.tobytes()
        digest = hashlib.sha256(content).digest()
        classes_of.setdefault(digest, set()).add(entry.class_name)
        if entry.class_name in class_names:
            seen.append(digest)
            first.setdefault(digest, entry)
    for digest in list(first):
        if len(classes_of[digest]) > 1:
            excluded[TWO_CLASSES] += seen.count(digest)
            del first[digest]
    excluded[REPEATED] = len(seen) - excluded[TWO_CLASSES] - len(first)
    return list(first.values()), excluded


def _drawn(
    usable: Sequence[ImageEntry],
    class_names: Sequence[str],
    images_per_class: int | None,
    seed: int,
    path: Path,
) -> list[ImageEntry]:
    """Return the images that are rows, sorted."""
    import numpy as np

    if images_per_class is None:
        return sorted(usable)
    drawn: list[ImageEntry] = []
    for name in class_names:
        of_class = sorted(entry for entry in usable if entry.class_name == name)
        if len(of_class) < images_per_class:
            raise UserError(
                location=f"{path}, option images_per_class: {images_per_class}",
                found=f"{len(of_class)} different images of the class {name}",
                expected="as many images of every class",
                remedy="reduce images_per_class, or leave the class out of classes",
            )
        # Another class in the dataset changes no draw.
        generator = np.random.default_rng(derive_seed(seed, "images", name))
        chosen = generator.choice(len(of_class), images_per_class, replace=False)
        drawn += [of_class[index] for index in sorted(chosen)]
    return drawn
