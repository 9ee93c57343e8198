"""Reader of the digits of scikit-learn: from the upper half of an image to the lower half."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import StrictBool

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree

_ROWS = 8
_COLUMNS = 8
_HALF = _ROWS * _COLUMNS // 2
_WHITE = 16.0


class Options(Settings):
    """Options of the reader ``digits_halves``."""

    allow_constant_outputs: StrictBool = True
    """Whether pixels that are black in every image, as some at the border, are accepted."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return upper halves (1797, 32) as inputs and lower halves (1797, 32) as outputs.

    The images are 8 x 8 with values from 0 (black) to 1 (white), row by row from the top, so
    that an input row followed by its output row is an image. ``names`` also holds
    ``image_rows`` and ``image_columns``, from which the images can be redrawn. `sources` and
    `seed` are not used.
    """
    from sklearn.datasets import load_digits

    pixels = load_digits().data / _WHITE
    names = [f"row_{row}_column_{column}" for row in range(_ROWS) for column in range(_COLUMNS)]
    return dataset_tree(
        pixels[:, :_HALF],
        pixels[:, _HALF:],
        names[:_HALF],
        names[_HALF:],
        location="the digits of scikit-learn",
        allow_constant_outputs=options.allow_constant_outputs,
        names={"image_rows": _ROWS, "image_columns": _COLUMNS},
    )
