"""Datasets whose outputs are boxes in images."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import SIDES
from workflow_lib.tabular.tables import dataset_tree

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints


def box_dataset_tree(
    images: Sequence[ImagePoints],
    boxes: np.ndarray,
    row_names: Sequence[str],
    location: str,
    report: dict[str, Any],
    rows_read: int,
) -> dict[str, Any]:
    """Return the tree of a dataset of `images`, with the `boxes` (n, 4) of their objects in pixels.

    ``inputs``, ``points`` and ``boxes``: see `workflow_lib.papers.blaschko.item_kinds.points`. A
    side of the boxes may be the same in all images.

    Raises UserError as `check_box` and `workflow_lib.tabular.tables.dataset_tree`.
    """
    from workflow_lib.papers.blaschko.item_kinds.points import pack, word_shares

    for image, box, name in zip(images, boxes, row_names, strict=True):
        check_box(box, image.size, f"{location}, image '{name}'")
    return dataset_tree(
        word_shares(images),
        boxes,
        [f"word_{number + 1}" for number in range(images[0].n_words)],
        SIDES,
        location=location,
        rows_read=rows_read,
        allow_constant_outputs=True,
        names={"rows": json.dumps(list(row_names), ensure_ascii=False)},
        report=report,
        **pack(images),
    )


def check_box(box: Sequence[float], size: Sequence[int], location: str) -> None:
    """Raise unless a box lies in an image of a size (width, height), and has an area.

    Raises UserError naming `location` and the numbers of the box.
    """
    left, top, right, bottom = (float(side) for side in box)
    width, height = (int(side) for side in size)
    shown = ", ".join(f"{name} {side:g}" for name, side in zip(SIDES, (left, top, right, bottom)))
    if not (left < right and top < bottom):
        raise UserError(
            location=location,
            found=f"a box that is empty or inside out: {shown}",
            expected="left < right and top < bottom, in pixels from the left and from the top",
            remedy="correct the numbers, or their order",
        )
    if not (0 <= left and right <= width and 0 <= top and bottom <= height):
        raise UserError(
            location=location,
            found=f"a box outside of its image of {width} x {height} pixels: {shown}",
            expected=f"0 <= left, right <= {width}, 0 <= top and bottom <= {height}",
            remedy="correct the box, or cut it off at the rim of the image",
        )
