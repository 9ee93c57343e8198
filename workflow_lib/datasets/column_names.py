"""Names of the columns of the user's table."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from workflow_lib.datasets.tables import no_table
from workflow_lib.errors import UserError


def composed(name: str) -> str:
    """Return a name without surrounding space, in the Unicode normal form NFC."""
    return unicodedata.normalize("NFC", name.strip())


def checked_names(place: str, names: Sequence[str]) -> list[str]:
    """Return the names of the columns of a table, each `composed`; `place` is the table.

    Raises
    ------
    UserError
        For no column, and naming the positions, counted from 1, of columns whose names are empty,
        equal or hold NUL characters.
    """
    names = [composed(name) for name in names]
    if not names:
        raise no_table(place, "no column")
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name:
            raise UserError(
                place=f"{place}, column {position}",
                found="the column has no name",
                expected="a name for every column in the header",
                remedy="name the column, or remove it (row numbers that pandas adds are left out "
                "by to_csv(..., index=False))",
            )
        if "\0" in name:
            raise UserError(
                place=f"{place}, column {position}",
                found="the name holds a NUL character",
                expected="names of printable characters",
                remedy="rename the column",
            )
        if name in first:
            raise UserError(
                place=place,
                found=f"the columns {first[name]} and {position} are both named '{name}'",
                expected="a different name for every column",
                remedy="rename or remove one of the two",
            )
        first[name] = position
    return names
