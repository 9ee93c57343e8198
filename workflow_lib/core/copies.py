"""Rows that are copies of one another, of which only one may be learned from or tested."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple


class Different(NamedTuple):
    """The rows that are left, in the order in which their kind first occurs."""

    kept: list[int]

    n_repeated: int
    """Copies of a row of the same class, or without a class, that are left out."""

    n_two_classes: int
    """Rows of which copies have two classes, all of them left out."""


def without_copies(rows: Iterable[tuple[int, Hashable, str]]) -> Different:
    """Return the rows without those that would be in training and test rows at once.

    Parameters
    ----------
    rows : iterable of (int, key, str)
        The number of a row, what its copies have in common, and its class; "" for none. Of copies
        the first with a class is kept, since it says more than one without.
    """
    copies_of: dict[Hashable, list[tuple[int, str]]] = {}
    for row, key, label in rows:
        copies_of.setdefault(key, []).append((row, label))
    kept, n_repeated, n_two_classes = [], 0, 0
    for copies in copies_of.values():
        if len({label for _, label in copies if label}) > 1:
            n_two_classes += len(copies)
            continue
        kept.append(next((row for row, label in copies if label), copies[0][0]))
        n_repeated += len(copies) - 1
    return Different(kept, n_repeated, n_two_classes)
