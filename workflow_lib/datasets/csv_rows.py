"""Lines of a table in a text file with a header, such as CSV, split into texts."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from workflow_lib.datasets.tables import read_text
from workflow_lib.errors import UserError


def csv_rows(path: Path, delimiter: str = ",") -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns and, for each row, its line number and its texts.

    The first line holds the names; blank lines are skipped. Texts are returned without their
    quotes, otherwise unchanged.

    Raises
    ------
    UserError
        For a file that is missing, empty or not UTF-8; naming the line of unpaired quotes, of names
        that are missing or repeated, and of rows of another length than the header.
    """
    text = read_text(path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, values) for values in reader if any(map(str.strip, values))]
    except csv.Error as error:
        raise UserError(
            place=f"{path}, line {reader.line_num}",
            found=f"the line cannot be split into values ({error})",
            expected=f"values separated by {delimiter!r}, quotes in pairs",
            remedy="fix the quotes in this line",
        ) from error
    if not lines:
        raise UserError(
            place=str(path),
            found="every line is blank",
            expected="a header and rows of values",
            remedy="replace the file by the full one",
        )
    (header_line, names), rows = lines[0], lines[1:]
    header = [name.strip() for name in names]
    known: set[str] = set()
    for column, name in enumerate(header):
        if name and name not in known:
            known.add(name)
        else:
            raise UserError(
                place=f"{path}, line {header_line}, column {column + 1}",
                found=f"the name '{name}' is repeated" if name else "no name",
                expected="a different name for every column",
                remedy="fix the header",
            )
    for number, values in rows:
        if len(values) != len(header):
            raise UserError(
                place=f"{path}, line {number}",
                found=f"{len(values)} values",
                expected=f"{len(header)} values, as in the header",
                remedy="fix the row, or the delimiter",
            )
    return header, rows
