"""What the tables and figures of the paper show, from ``config/paper_tables/contents.csv``."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_lib.errors import UserError

COLUMNS = ("kind", "number", "title", "data", "quantity", "drawn_as")
"""The columns of the file of contents."""


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper.

    ``kind`` is ``table`` or ``figure``; ``title``, ``data`` and ``quantity`` say what it shows.
    ``drawn_as`` is our kind of figure that reproduces it, empty without any; the quantity
    ``drawing`` is that of a scheme without data.
    """

    kind: str
    number: int
    title: str
    data: str
    quantity: str
    drawn_as: str

    @property
    def name(self) -> str:
        """What the paper calls it, as ``Table 5``."""
        return f"{self.kind.capitalize()} {self.number}"


def read_contents(path: str | Path) -> list[PaperItem]:
    """Return the tables and figures of the paper in the order of a CSV file.

    Raises
    ------
    UserError
        If the file is missing, or a line of it describes neither a table nor a figure.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            PaperItem(
                {"table": "table", "figure": "figure"}[row["kind"]],
                int(row["number"]),
                *(row[key].strip() for key in COLUMNS[2:]),
            )
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise UserError(
            str(path),
            f"it cannot be read ({type(error).__name__}: {error})",
            f"a CSV file with the columns {', '.join(COLUMNS)}, whose kind is table or figure",
            "take the file of the repository",
        ) from error


def figures_drawn(contents: Sequence[PaperItem]) -> dict[str, int]:
    """Return kind of our figure -> number of the figure of the paper that it reproduces."""
    return {item.drawn_as: item.number for item in contents if item.drawn_as}
