"""Where the columns of standardised inputs come from, and the weights that follow from it.

Several columns can encode one property of a row (the levels of a category, the letters of a name),
and several properties can be of one kind (the channels of a spectrum). Without weights a kernel
would compare the rows by the properties that happen to have the most columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MIN_CHANNELS = 10
"""Numbers in a row whose names differ by a rising or falling number alone, from which on they are
a group of their own, such as a spectrum."""


@dataclass(frozen=True)
class ColumnOrigins:
    """The property that each of q columns encodes, and the group that the property belongs to.

    Attributes
    ----------
    properties, groups : int arrays (q,)
    """

    properties: np.ndarray
    groups: np.ndarray

    @classmethod
    def of(cls, properties: Sequence[tuple[int, int]]) -> ColumnOrigins:
        """Return the origins of columns from each property's number of columns and group."""
        widths = [width for width, _ in properties]
        groups = [group for _, group in properties]
        return cls(np.repeat(np.arange(len(widths)), widths), np.repeat(groups, widths).astype(int))

    @property
    def has_groups(self) -> bool:
        """Whether there is more than one group."""
        return len(np.unique(self.groups)) > 1

    def followed_by(self, widths: Sequence[int]) -> ColumnOrigins:
        """Return these origins and those of further properties, each a group of its own."""
        return ColumnOrigins(
            *(
                np.concatenate([known, known.max(initial=-1) + 1 + np.repeat(range(n), widths)])
                for known, n in ((self.properties, len(widths)), (self.groups, len(widths)))
            )
        )

    def weights(self, varies: np.ndarray, equal_groups: bool = False) -> np.ndarray:
        """Return the weights (q,) of columns of variance 1, of which only some vary.

        All properties have the same sum of squared weights, or with `equal_groups` all groups have,
        and in each group all properties. Columns that do not vary do not count: of a category with
        many levels few rows have few. The mean square over those that vary is 1, so that the
        expected squared distance of two rows is that of as many numbers, to which the widths of the
        rbf kernel refer.
        """
        shares = varies / _sums(self.properties, varies)
        if equal_groups:
            shares /= _sums(self.groups, shares)
        return np.sqrt(shares / max(shares.sum() / max(varies.sum(), 1), 1e-300))


def column_origins(data: Mapping) -> ColumnOrigins | None:
    """Return the origins in the tree of a dataset; None where every column is one of its own."""
    stored = data.get("column_origins")
    return None if stored is None else ColumnOrigins(stored["properties"], stored["groups"])


def channel_groups(names: Sequence[str], first: int) -> list[int]:
    """Return the group of each number: 0, or from `first` on one for each run of channels."""
    # The text before and after the last number, and this number.
    parts = [re.split(r"(\d+(?:[.,]\d+)?)", name) for name in names]
    around = [("".join(part[:-2]), part[-1]) for part in parts]
    numbers = [float(part[-2].replace(",", ".")) if len(part) > 1 else None for part in parts]
    groups, begin = [0] * len(names), 0
    while begin < len(names):
        end, direction = begin + 1, 0
        while end < len(names) and None not in numbers[end - 1 : end + 1]:
            step = np.sign(numbers[end] - numbers[end - 1])
            if around[end] != around[end - 1] or step == 0 or step == -direction:
                break
            end, direction = end + 1, step
        if end - begin >= MIN_CHANNELS:
            groups[begin:end] = [first] * (end - begin)
            first += 1
        begin = end
    return groups


def _sums(labels: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each column the sum of the values with its label, at least a tiny number."""
    return np.maximum(np.bincount(labels, values)[labels], 1e-300)
