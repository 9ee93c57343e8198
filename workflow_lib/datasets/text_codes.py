"""Integer codes for texts that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def text_codes(texts: Sequence[str] | np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the number (n,) of each text among the different ones, and these, sorted.

    An array of texts would do the same, but each would take the room of the longest.
    """
    import numpy as np

    different = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(different)}
    return np.array([numbers[text] for text in texts], dtype=np.int64), different
