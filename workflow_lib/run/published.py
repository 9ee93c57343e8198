"""The files of published numbers in ``config/paper_tables``, and in those of papers."""

from __future__ import annotations

import csv
from pathlib import Path

from workflow_lib.run.named_settings import folders_like

CONTENTS = "contents"
"""The file that lists the tables and figures of papers; it holds no numbers."""


def published_tables(folder: str | Path) -> dict[str, Path]:
    """Return the files of published numbers by what the key ``paper_table`` of a table names.

    That is the name of the file without its ending: the source, and the number of the table there.
    `folder` is that of the configuration; without a folder ``paper_tables`` in it there are none.
    """
    folders = folders_like(Path(folder, "paper_tables"))
    found = (path for each in folders for path in sorted(each.glob("*.csv")))
    return {path.stem: path for path in found if path.stem != CONTENTS}


def contents_files(folder: str | Path) -> list[Path]:
    """Return the files that list the tables and figures of papers."""
    folders = folders_like(Path(folder, "paper_tables"))
    return [path for path in (each / f"{CONTENTS}.csv" for each in folders) if path.is_file()]


def published_names(folder: str | Path) -> list[str]:
    """Return all names that ``paper_table`` may have.

    Those of `published_tables`, and those of the contents, whose numbers are not all available.
    """
    names = dict.fromkeys(published_tables(folder))
    for contents in contents_files(folder):
        with contents.open(encoding="utf-8", newline="") as file:
            names |= dict.fromkeys(row["paper_table"] for row in csv.DictReader(file))
    return [name for name in names if name]
