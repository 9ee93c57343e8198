"""Text with a row on each line, such as CSV: its rows are checked here, its values read by pandas.

pandas accepts short rows, text after a closing quote and repeated headers without a word; these are
refused, with their lines, before it reads the values.
"""

import codecs
import io
import re
from collections.abc import Collection, Sequence
from itertools import islice

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.table_surroundings import (
    DELIMITERS,
    filled_records,
    has_spaced_quotes,
    records_of,
    without_surroundings,
)
from workflow_lib.tabular.tables import BLANK, NO_ROWS, checked_text, finite_number, no_table
from workflow_lib.tabular.typed_columns import checked_names, cleaned, no_name
from workflow_lib.tabular.user_table import Table

UNNAMED = ("row", "row name", "row number", "row id", "row key")
"""Names of a first column without a name; the first that no other column has."""

_LINE_END = re.compile(rb"\r\n?|\n")
# pandas reads it as the whole number 0, and Python as -0.0.
_NEGATIVE_ZERO = re.compile(rb"-0+(?![0-9.eE])")


def text_table(
    content: bytes,
    location: str,
    missing: Collection[str],
    delimiter: str | None = None,
    keep_empty: bool = False,
    as_it_comes: bool = False,
    unit: str = "line",
) -> Table:
    """Return the table in a text.

    Cells are stripped of surrounding space, blank lines are skipped, and so are delimiters at the
    end of lines where no column has a name.

    Raises UserError naming the line that is not UTF-8 text, is too long, has unpaired quotes,
    repeats the header or has another number of cells than it; for text without a row, invalid names
    and an invalid delimiter.

    Parameters
    ----------
    content : bytes
        UTF-8 text, with a byte order mark or without, and with line ends of any system. The first
        row has the names of the columns. A cell in quotes may hold delimiters, line ends and
        doubled quotes.
    location : str
        The file, for messages.
    missing : collection of str
        Cells that are missing, compared without surrounding space.
    delimiter : str or None, default=None
        None: that of `DELIMITERS` by which the first row has the most cells.
    keep_empty : bool, default=False
        Whether rows of empty cells, as many as the first row has cells, are kept. Those at the end
        are left out, because spreadsheets write them, except the cells ``""`` of a single column.
    as_it_comes : bool, default=False
        Whether lines around the table are passed over
        (`workflow_lib.tabular.table_surroundings`), and a first column of names or numbers of the
        rows may lack a name; it is called `UNNAMED`.
    unit : str, default="line"
        What the lines are in the file itself.
    """
    import pandas

    content = content.removeprefix(codecs.BOM_UTF8)
    usual, notes = _delimiter(content, location, delimiter), []
    if as_it_comes:
        content, usual, notes = without_surroundings(content, delimiter, usual, missing)
    delimiter = usual
    spaced = has_spaced_quotes(content, delimiter)
    names, last_line, lines, rows, unnamed = _layout(
        content, location, delimiter, keep_empty, spaced, as_it_comes
    )
    start = next(islice(_LINE_END.finditer(content), last_line - 1, None)).end()
    mark_numbers = [number for mark in missing if (number := finite_number(mark)) is not None]

    def columns(chosen: Sequence[str], **options):
        file = io.BytesIO(content)
        file.seek(start)
        frame = pandas.read_csv(
            file,
            sep=delimiter,
            header=None,
            names=names,
            usecols=chosen,
            index_col=False,
            nrows=rows[-1] + 1,
            skip_blank_lines=False,
            na_values=["", *(mark for mark in missing if finite_number(mark) is None)],
            keep_default_na=False,
            low_memory=False,
            skipinitialspace=spaced,
            **options,
        )
        return frame if len(rows) == len(frame) else frame.iloc[rows]

    frame = columns(names)
    has_negative_zero = _NEGATIVE_ZERO.search(content) is not None
    numbers, texts = {}, {}
    for name, column in frame.items():
        if isinstance(column.dtype, pandas.StringDtype):
            texts[name] = column
        elif column.dtype.kind in "iuf":
            values = column.to_numpy(np.float64)
            doubtful = np.isinf(values) | np.isin(values, mark_numbers)
            if has_negative_zero:
                doubtful |= values == 0
            if not doubtful.any():
                numbers[name] = values
    del frame, column

    def strings(name: str) -> np.ndarray:
        column = texts[name] if name in texts else columns([name], dtype=str)[name]
        return cleaned(column.to_numpy(dtype=object, na_value=""), missing)

    if unnamed:
        values = numbers.get(unnamed, np.array([np.nan]))
        # Row numbers, unless all are missing, as in an empty column.
        is_whole = len(np.unique(values)) == len(values) and (values == np.floor(values)).all()
        if not (keep_empty or is_whole or np.isnan(values).all()):
            raise no_name(f"{location}, line {last_line}", 1)
        notes.append(f"the first column has no name, and is called '{unnamed}'")
    return Table(location, names, numbers, strings, lines, unit, notes)


def text_rows(content: bytes, location: str) -> tuple[list[int], list[list[str]]]:
    """Return the lines on which the rows of a text begin, and the stripped cells of each.

    The first row may be a header or not; rows may have different lengths; blank rows are left out.
    The parameters, and the errors except those of rows and names, are those of `text_table`.
    """
    content = content.removeprefix(codecs.BOM_UTF8)
    delimiter = _delimiter(content, location, None)
    lines, rows = [], []
    for line, _, cells in records_of(content, delimiter, location):
        if any(map(str.strip, cells)):
            lines.append(line)
            rows.append([cell.strip() for cell in cells])
    if not rows:
        raise no_table(location, BLANK)
    return lines, rows


def _delimiter(content: bytes, location: str, delimiter: str | None) -> str:
    """Check the text, and return the delimiter, by which the first row has the most cells."""
    if delimiter is not None and (
        len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()
    ):
        raise UserError(
            location=f"{location}, option delimiter",
            found=f"{delimiter!r} cannot separate cells",
            expected='one ASCII character, such as , or ; (a tab is written "\\t" in YAML)',
            remedy="fix the option, or leave it out to have it detected",
        )
    checked_text(content, location)

    def n_cells(delimiter: str) -> int:
        return next((len(record.cells) for record in filled_records(content, delimiter)), 0)

    return max(DELIMITERS, key=n_cells) if delimiter is None else delimiter


def _layout(
    content: bytes,
    location: str,
    delimiter: str,
    keep_empty: bool,
    spaced: bool,
    may_lack_name: bool,
) -> tuple[list[str], int, list[int], list[int], str]:
    """Return the names, the last line of the header, the line of each row and its record. The last
    item is the name of a first column that had none, otherwise ""."""
    header: list[str] = []
    unnamed = ""
    lines, rows, n_rows = [], [], 0
    for number, (line, last, cells) in enumerate(records_of(content, delimiter, location, spaced)):
        filled = any(map(str.strip, cells))
        if filled and not header:
            header, first, last_line = [cell.strip() for cell in cells], number + 1, last
            n_names = max(position for position, name in enumerate(header, 1) if name)
            header_location = f"{location}, line {line}"
            if may_lack_name and not header[0] and n_names > 1:
                unnamed = header[0] = next(name for name in UNNAMED if name not in header)
            names = checked_names(header_location, header[:n_names])
        elif filled or (keep_empty and header and len(cells) == len(header)):
            if len(cells) != n_names:
                _check_length(cells, header, n_names, header_location, f"{location}, line {line}")
            same = n_names > 1 and cells[0].strip() == header[0]
            if same and [cell.strip() for cell in cells[:n_names]] == header[:n_names]:
                raise UserError(
                    location=f"{location}, line {line}",
                    found="the header is repeated",
                    expected="a row of values",
                    remedy="remove the line",
                )
            lines.append(line)
            rows.append(number - first)
            if filled or len(header) == 1:
                n_rows = len(lines)
    if not n_rows:
        raise no_table(location, NO_ROWS if header else BLANK)
    return names, last_line, lines[:n_rows], rows[:n_rows], unnamed


def _check_length(
    cells: Sequence[str], header: Sequence[str], n_names: int, header_location: str, location: str
) -> None:
    """Refuse a row with fewer cells than names, or with values where no column has a name."""
    beyond = [at for at, cell in enumerate(cells[n_names:], n_names + 1) if cell.strip()]
    if beyond and beyond[0] <= len(header):
        checked_names(header_location, header[: beyond[0]])
    if beyond or len(cells) < n_names:
        raise UserError(
            location=location,
            found=f"{beyond[-1] if beyond else len(cells)} cells",
            expected=f"{n_names} cells, as many as the header has names",
            remedy="fix the line: put quotes around a text that holds the delimiter, and write "
            "decimal points; or set the delimiter; or remove lines before the header and after the "
            "table, if these are in the way",
        )
