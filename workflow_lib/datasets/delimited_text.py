"""Text with a row on each line, such as CSV, divided into cells."""

from __future__ import annotations

import csv
import io

from workflow_lib.datasets.long_lines import refuse_long_lines
from workflow_lib.errors import UserError

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters of values in a text file; the earlier is preferred in a tie."""

SAVE_AS_CSV = "in a spreadsheet, save the table as 'CSV UTF-8'"
"""Remedy for a table in the format of a spreadsheet program."""


def _check_text(content: bytes, place: str) -> None:
    """Refuse bytes that are not UTF-8 text, lines that are too long, and blank text."""
    position = content.find(b"\0")
    if position >= 0:
        raise UserError(
            place=f"{place}, line {_line_at(content, position)}",
            found="a NUL byte, which is not allowed in text",
            expected="a text file in the encoding UTF-8",
            remedy="save the file again as UTF-8; it may be UTF-16 or damaged",
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            place=f"{place}, line {_line_at(content, error.start)}",
            found="the line is not UTF-8 text",
            expected="a text file in the encoding UTF-8",
            remedy=f"save the file again as UTF-8; {SAVE_AS_CSV}",
        ) from error
    refuse_long_lines(content, place)
    if not text.strip():
        raise UserError(
            place=place,
            found="the file is empty",
            expected="a header and at least one row",
            remedy="write the file again",
        )


def _line_at(content: bytes, position: int) -> int:
    before = content[:position].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1


def split_cells(
    content: bytes, place: str, delimiter: str | None, keep_empty: bool = False
) -> tuple[list[int], list[list[str]]]:
    """Return the line on which each row begins, and its stripped cells; blank rows are left out.

    Parameters
    ----------
    content : bytes
        UTF-8 text, with a byte order mark or without, and with line ends of any system. A cell in
        quotes may hold delimiters, line ends and doubled quotes.
    place : str
        The file, for messages.
    delimiter : str or None
        None: that of `DELIMITERS` by which the first row has the most cells.
    keep_empty : bool, default=False
        Whether rows of empty cells, as many as the first row has cells, are kept. Those at the end
        are left out, because spreadsheets write them, except the cells ``""`` of a single column.

    Raises
    ------
    UserError
        Naming the line that is not UTF-8 text, is too long, or has unpaired quotes; for blank text
        and an invalid delimiter.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise UserError(
            place=f"{place}, option delimiter",
            found=f"{delimiter!r} cannot separate cells",
            expected='one character, such as , or ; (a tab is written "\\t" in YAML)',
            remedy="fix the option, or leave it out to have it detected",
        )
    _check_text(content, place)
    limit = csv.field_size_limit()
    # Texts of a table may be longer than Python's default limit.
    csv.field_size_limit(max(limit, len(content) + 1))
    try:
        delimiter = _guessed_delimiter(content) if delimiter is None else delimiter
        lines, rows = _cells(content, place, delimiter, keep_empty)
    finally:
        csv.field_size_limit(limit)
    if not rows:
        raise UserError(
            place=place,
            found="every line is blank",
            expected="a header and at least one row",
            remedy="write the file again",
        )
    return lines, rows


def _cells(
    content: bytes, place: str, delimiter: str, keep_empty: bool
) -> tuple[list[int], list[list[str]]]:
    reader = csv.reader(_decoded(content), delimiter=delimiter, strict=True)
    lines, rows, begin = [], [], 1
    try:
        for values in reader:
            cells = [value.strip() for value in values]
            if any(cells) or (keep_empty and rows and len(cells) == len(rows[0])):
                lines.append(begin)
                rows.append(cells)
            begin = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            place=f"{place}, line {begin}",
            found=f"the line cannot be split into cells ({error})"
            + (
                f": a quote opens there that is not closed up to line {reader.line_num}"
                if reader.line_num > begin
                else ""
            ),
            expected=f"cells separated by {delimiter!r}, quotes in pairs",
            remedy='fix the quotes; a quote within quotes is doubled ("")',
        ) from error
    while len(rows) > 1 and len(rows[0]) > 1 and not any(rows[-1]):
        del lines[-1], rows[-1]
    return lines, rows


def _guessed_delimiter(content: bytes) -> str:
    """Return the delimiter by which the first non-blank line has the most cells."""

    def n_cells(delimiter: str) -> int:
        reader = csv.reader(_decoded(content), delimiter=delimiter)
        return next((len(cells) for cells in reader if any(map(str.strip, cells))), 0)

    return max(DELIMITERS, key=n_cells)


def _decoded(content: bytes) -> io.TextIOWrapper:
    """Return the lines of the text; a single string would be a copy with four bytes a character."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="")
