"""Numbers that encode repeated texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def text_codes(texts: Sequence[str] | np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the number (n,) of each text among the distinct texts, and these, sorted.

    Unlike `numpy.unique`, it does not store each text with the length of the longest.
    """
    import numpy as np

    different = sorted(set(texts))
    numbers = {text: number for number, text in enumerate(different)}
    return np.array([numbers[text] for text in texts], dtype=np.int64), different
