"""The number of training rows above which a Gram matrix of all pairs is too large."""

from __future__ import annotations

import os

GRAMS_IN_MEMORY = 3
"""Gram matrices in memory at once during an eigendecomposition."""

SHARE_OF_MEMORY = 0.25
"""Of the machine's memory, for one job: others run at the same time."""

MAX_ROWS = 10_000
"""With more, an eigendecomposition takes minutes, and selection needs one for every kernel
width."""

MAX_ROWS_OF_DENSITY = 1500
"""Rows up to which a density with a component for each row is fitted unless it is requested: with
twice as many it takes minutes per split."""


def default_max_gram_rows(memory: float | None = None) -> int:
    """Return the largest number of rows whose Gram matrices fit in memory, at most 10,000.

    That is sqrt(memory / (4 * 3 * 8 bytes)).

    Parameters
    ----------
    memory : float or None, default=None
        Bytes; None means those of this machine, or 10,000 rows where the system does not report
        them.
    """
    if memory is None:
        try:
            memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return MAX_ROWS
    return min(MAX_ROWS, int((SHARE_OF_MEMORY * memory / (8 * GRAMS_IN_MEMORY)) ** 0.5))
