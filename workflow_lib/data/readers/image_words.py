"""Reader of classes of images as bags of visual words, whose codebook every fold learns.

The images are in class folders, of a folder or an archive. Their descriptors of small patches on a
dense grid are kept; which words they are is learned in every fold, from its training images
(`workflow_lib.inputs.images.visual_words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict

from workflow_lib.inputs.images.image_options import ImageCollection
from workflow_lib.tabular.tables import wrong_source

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.items.images import OpenedImage

WITHOUT_PATCH = "an image without any patch"

BINS_OF_A_PATCH = 4

Count = Annotated[int, Strict(), Field(ge=1)]


class Options(ImageCollection):
    """Options of the reader ``image_words``."""

    patch: Annotated[int, Strict(), Field(ge=8, multiple_of=BINS_OF_A_PATCH)] = 16
    """Pixels of a side of a patch, a multiple of 4."""

    step: Count = 8
    """Pixels between neighbouring patches."""

    longer_side: Annotated[int, Strict(), Field(ge=16)] | None = None
    """Pixels to which the longer side of an image is scaled down if it has more. null (the
    default): images are not scaled."""

    n_words: Annotated[int, Strict(), Field(ge=2, le=10_000)] = 175
    """Words of a codebook, as in Perina et al. (2009)."""

    parts: Annotated[int, Strict(), Field(ge=1, le=8)] = 2
    """Parts of each side of an image whose words are counted separately; 2 for its quarters, 1 for
    the whole image only."""


def kind_of_inputs(options: Options) -> str:
    """Return ``counts``, of visual words."""
    return "counts"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per image, sorted by class and name; `seed` draws ``images_per_class``.

    ``inputs`` (n, 0), because the counts of words are learned in every fold from ``descriptors``
    (`workflow_lib.inputs.images.visual_words`); ``items`` describes the counts. Classes are the
    folders in ``classes``; their vectors are the unit vectors. Images whose pixels are those of an
    earlier image of their class, all that two classes have in common, and those that cannot be read
    are left out and counted in ``exclusions`` of ``report``, with those that are not drawn.

    Raises UserError when the collection cannot be read, a class is not in it, or fewer than
    ``images_per_class`` images of a class are left.
    """
    import numpy as np

    from workflow_lib.data.class_tables import class_dataset_tree
    from workflow_lib.data.image_collections import collection_path, drawn_images
    from workflow_lib.inputs.images.visual_words import quantised
    from workflow_lib.items.images import open_images
    from workflow_lib.items.kinds import counts

    path = collection_path(options, sources, "image_words")
    drawn, class_names, n_read, excluded = drawn_images(path, options, seed)
    values, parts, lengths, kept = [], [], [], []
    for image in open_images(path, drawn, options.members):
        described, own_parts = _descriptors(image, options)
        if not len(described):
            excluded[WITHOUT_PATCH] = excluded.get(WITHOUT_PATCH, 0) + 1
            continue
        values.append(quantised(described))
        parts.append(own_parts)
        lengths.append(len(described))
        kept.append(image.entry)
    if not kept:
        raise wrong_source(str(path), "no image can be used", "images of at least two classes")
    n_parts = options.parts**2
    items = counts.pack(np.empty((len(kept), 0)), options.n_words)
    return class_dataset_tree(
        items["inputs"],
        np.array([class_names.index(entry.class_name) for entry in kept]),
        np.eye(len(class_names)),
        class_names,
        [],
        class_names,
        [f"{entry.class_name}/{entry.name}" for entry in kept],
        location=str(path),
        rows_read=n_read,
        report={"exclusions": excluded},
        items=items["items"],
        descriptors={
            "values": np.concatenate(values),
            "parts": np.concatenate(parts),
            "begins": np.concatenate([[0], np.cumsum(lengths)]),
            "n_parts": n_parts,
            "n_words": options.n_words,
        },
    )


def _descriptors(image: OpenedImage, options: Options) -> tuple[np.ndarray, np.ndarray]:
    """Return the descriptors (m, 128) of an image, and the part (m,) in which each lies."""
    import numpy as np

    from workflow_lib.inputs.images.dense_sift import dense_sift

    described, positions = dense_sift(
        image.pixels,
        (options.patch // BINS_OF_A_PATCH,),
        options.step,
        options.longer_side,
        keep_flat=True,
    )
    columns, rows = (positions * options.parts).astype(np.uint8).T
    return described, rows * np.uint8(options.parts) + columns
