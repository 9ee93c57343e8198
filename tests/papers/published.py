"""Files of published numbers, and the texts of the papers that they are of."""

import csv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tables_of(paper: str) -> Path:
    """Return the folder of the published numbers of a paper."""
    return ROOT / "config" / "papers" / paper / "paper_tables"


def rows_of(paper: str, name: str) -> list[dict[str, str]]:
    with (tables_of(paper) / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text_of(name: str) -> str:
    """Return the text of a paper; skip the test where it is not at hand."""
    path = ROOT.parent / "shared" / "papers" / f"{name}.txt"
    if not path.is_file():
        pytest.skip("the paper is not at hand")
    return path.read_text(encoding="utf-8")


def by_row(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    """Return the values of each row of a table, by its name."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["row"], []).append(row["value"])
    return found
