"""The files of published numbers in ``config/paper_tables``."""

from __future__ import annotations

from pathlib import Path

CONTENTS = "contents"
"""The file that lists the tables and figures of papers; it holds no numbers."""

OF_THE_PAPER = "table-"
"""How the names of files with tables of Djerrab et al. (2018) begin; their number follows."""


def published_tables(folder: str | Path) -> dict[int | str, Path]:
    """Return the files of published numbers by what the key ``paper_table`` of a table names.

    That is the number of a table of Djerrab et al. (2018), ``table-9.csv``, or for another source
    the name of the file without its ending. `folder` is that of the configuration; without a folder
    ``paper_tables`` in it there are none.
    """
    found: dict[int | str, Path] = {}
    for path in sorted(Path(folder, "paper_tables").glob("*.csv")):
        number = path.stem.removeprefix(OF_THE_PAPER)
        if path.stem != CONTENTS:
            found[int(number) if number != path.stem and number.isdigit() else path.stem] = path
    return found
