"""A table whose cells are converted to numbers or texts only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.datasets.table_file import Table


class CachedTable:
    """The parts of a `Table` that its inspection needs, each column read once.

    The inspection of a table uses every column several times, and most of its time is the
    conversion of texts to numbers. Arrays must not be changed.

    Parameters
    ----------
    table : Table or CachedTable

    Attributes
    ----------
    place, names, n_rows, lines
        Those of the table.
    """

    def __init__(self, table: Table | CachedTable) -> None:
        self.place = table.place
        self.names = table.names
        self.n_rows = table.n_rows
        self.lines = table.lines
        self._table = table._table if isinstance(table, CachedTable) else table
        fresh: dict = {"numbers": {}, "strings": {}, "is_numeric": {}}
        self._known = table._known if isinstance(table, CachedTable) else fresh

    def numbers(self, name: str) -> np.ndarray:
        """Return what `Table.numbers` does."""
        return self._remembered("numbers", name)

    def strings(self, name: str) -> np.ndarray:
        """Return what `Table.strings` does."""
        return self._remembered("strings", name)

    def is_numeric(self, name: str) -> bool:
        """Return what `Table.is_numeric` does."""
        return self._remembered("is_numeric", name)

    def where(self, row: int, name: str | None = None) -> str:
        """Return what `Table.where` does."""
        return self._table.where(row, name)

    def matching(self, patterns: Sequence[str], option: str) -> list[str]:
        """Return what `Table.matching` does."""
        return self._table.matching(patterns, option)

    def _remembered(self, what: str, name: str):
        known = self._known[what]
        if name not in known:
            known[name] = getattr(self._table, what)(name)
        return known[name]
