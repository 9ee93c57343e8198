"""Text with a row on each line, such as CSV: its rows are checked here, its values read by pandas.

pandas accepts short rows, text after a closing quote and repeated headers without a word; these are
refused, with their lines, before it reads the values.

What instruments, spreadsheets and R write before and after a table is replaced by empty lines, so
that all lines keep their numbers. Only what is clear is passed over. Everything else remains, and
is refused by the checks of the table.
"""

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.tables import BLANK, NO_ROWS, checked_text, finite_number, no_table
from workflow_lib.tabular.user_table import Table, checked_names, cleaned, no_name
from workflow_lib.tabular.written_numbers import is_limit, is_no_result

HEAD_BYTES, TAIL_BYTES = 1 << 18, 1 << 14
"""Parts of a file, at its beginning and its end, in which other lines than rows are looked for."""

MAX_ROWS_BELOW = 20
"""Rows below a line by which it is judged whether the line is the header."""

DELIMITERS = (",", ";", "\t", "|")
"""Delimiters of values in a text file; the earlier is preferred in a tie."""

COMMENTS = ("#", "%")
"""Beginnings of lines that may be comments."""

UNNAMED = ("row", "row name", "row number", "row id", "row key")
"""Names of a first column without a name; the first that no other column has."""

_SEPARATOR = re.compile(rb'"?sep=([^"\r\n])"?[,;\t ]*(?=[\r\n])', re.IGNORECASE)
_COMMENT_OR_QUOTED = re.compile(rb'"[^"]*"|(?<=[\r\n])[#%][^\r\n]*')
_SPACED_QUOTES = r'{0} +"[^"\r\n]*" *({0}|[\r\n]|$)'
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
        Whether lines around the table are passed over, and a first column of names or numbers of
        the rows may lack a name; it is called `UNNAMED`.
    unit : str, default="line"
        What the lines are in the file itself.
    """
    import pandas

    content = content.removeprefix(codecs.BOM_UTF8)
    usual, notes = _delimiter(content, location, delimiter), []
    if as_it_comes:
        content, usual, notes = without_surroundings(content, delimiter, usual, missing)
    delimiter = usual
    spaced = False
    if not delimiter.isspace() and b' "' in content:
        # Cells in quotes may have spaces before the quotes.
        pattern = _SPACED_QUOTES.format(re.escape(delimiter)).encode()
        spaced = re.search(pattern, content) is not None
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


class Record(NamedTuple):
    """A row of a text: its first and last line, its stripped cells, and how many are filled."""

    first: int
    last: int
    cells: list[str]
    width: int


class Header(NamedTuple):
    """Where the header is: the number of its record, of names, and whether it lacks the first."""

    header: int
    n_names: int
    is_short: bool


def without_surroundings(
    content: bytes, delimiter: str | None, usual: str, missing: Collection[str]
) -> tuple[bytes, str, list[str]]:
    """Return a text with its table alone, its delimiter, and what was passed over, in words.

    Passed over are the line ``sep=;`` of spreadsheets; lines before the header that have another
    number of cells than all rows below it; a line of units below the header, which has no number
    in columns of numbers; lines that begin with ``#`` or ``%`` and have another number of cells;
    and lines after an empty line at the end that have fewer cells. R writes a header without a name
    for the names of the rows: an empty one is put before it.

    The text is UTF-8, and `usual` the delimiter by which its first line has the most cells. A
    `delimiter` that is None is that of `DELIMITERS`, or a space, by which the table has the most
    columns, where the first line is not its header; otherwise `usual`.
    """
    notes: list[str] = []
    if separator := _SEPARATOR.match(content):
        delimiter = delimiter or separator[1].decode()
        content = content[separator.end() :]
        notes.append("line 1, which names the delimiter, is passed over")
    usual = delimiter or usual
    head = content[:HEAD_BYTES]
    if len(content) > HEAD_BYTES:
        head = head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1]
    rows = list(filled_records(head, usual))
    layout = _header_of(rows, missing)
    if delimiter is None and (layout is None or layout.n_names == 1):
        for mark in (*DELIMITERS, " "):
            records = list(filled_records(head, mark)) if mark != usual else []
            other = _header_of(records, missing, strictly=True)
            if other and other.n_names > max(1, layout.n_names if layout else 1):
                usual, rows, layout = mark, records, other
    if layout is None:
        return content, usual, notes
    delimiter = usual
    header, below = rows[layout.header], _without_marked(rows[layout.header + 1 :])
    passed = [(record.first, record.last) for record in rows[: layout.header] if record.width]
    if passed:
        notes.append(f"{_lines(len(passed))} before the header, line {header.first}, passed over")
    if below and _are_units(header, below, missing):
        passed.append((below[0].first, below[0].last))
        notes.append(f"line {below[0].first}, which has no numbers (units?), is passed over")
    if passed or layout.is_short:
        lines = content.splitlines(keepends=True)
        for first, last in passed:
            lines[first - 1 : last] = map(_line_end, lines[first - 1 : last])
        short = b'""' + delimiter.encode() if layout.is_short else b""
        lines[header.first - 1] = short + lines[header.first - 1]
        content = b"".join(lines)
    content, n_comments = _without_comments(content, delimiter, header)
    if n_comments:
        notes.append(f"{_lines(n_comments)} with comments passed over")
    content, n_last = _without_footer(content, delimiter, layout.n_names + layout.is_short)
    if n_last:
        notes.append(f"{_lines(n_last)} after the table passed over")
    return content, delimiter, notes


def records_of(
    content: bytes, delimiter: str, location: str = "", spaced: bool = False
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the first and last line of each record, and its cells, also of blank lines.

    Spaces before cells are left out where these are `spaced`.

    Raises UserError with a `location`, the file: naming the line whose quotes are not in pairs.
    """
    limit, begin = csv.field_size_limit(), 1
    # Texts of a table may be longer than Python's default limit.
    csv.field_size_limit(max(limit, len(content) + 1))
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=bool(location), skipinitialspace=spaced)
    try:
        for cells in reader:
            yield begin, reader.line_num, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        is_open = reader.line_num > begin
        opened = f": a quote opens there that is not closed up to line {reader.line_num}" * is_open
        raise UserError(
            location=f"{location}, line {begin}",
            found=f"the line cannot be split into cells ({error}){opened}",
            expected=f"cells separated by {delimiter!r}, quotes in pairs",
            remedy='fix the quotes; a quote within quotes is doubled ("")',
        ) from error
    finally:
        csv.field_size_limit(limit)


def filled_records(content: bytes, delimiter: str) -> Iterator[Record]:
    """Yield the rows of a text, without its blank lines."""
    spaced = not delimiter.isspace()
    for first, last, row in records_of(content, delimiter, spaced=spaced):
        cells = [cell.strip() for cell in row]
        width = max((at for at, cell in enumerate(cells, 1) if cell), default=0)
        if width:
            yield Record(first, last, cells, width)


def _header_of(
    records: Sequence[Record], missing: Collection[str], strictly: bool = False
) -> Header | None:
    """Return where the header is; None where that is not clear. It is the first row unless most
    rows below have more cells, or it is a comment, or `strictly`: then it is the first row of names
    above a column of numbers that the rows below fit."""
    # Names may begin with the mark of comments, if no other row is a header.
    is_marked = [record.cells[0].startswith(COMMENTS) for record in records]
    for number in sorted(range(len(records)), key=is_marked.__getitem__):
        record = records[number]
        below = _without_marked(records[number + 1 : number + 1 + MAX_ROWS_BELOW])
        fits = [row for row in below if len(row.cells) >= record.width >= row.width]
        is_first = number == 0 and not strictly and not is_marked[0]
        if is_first and 2 * len(fits) >= len(below):
            # Settings of an instrument, each with its value, may be more lines than the table.
            is_sure = all(len(row.cells) >= record.width >= row.width for row in records)
            is_sure = is_sure or _is_table(records, missing)
            later = None if is_sure else _header_of(records[1:], missing, strictly=True)
            if later is None or later.is_short:
                return Header(0, record.width, False)
            return later._replace(header=later.header + 1)
        longer = [row for row in below if len(row.cells) == row.width == len(record.cells) + 1]
        if below and longer == below and _name_rows(below):
            if _is_header(record, [row.cells[1:] for row in below], missing):
                return Header(number, record.width, True)
        if fits[:3] == below[:3] and 2 * len(fits) >= len(below):
            if number and not is_marked[0] and _is_table(records, missing):
                return None
            if _is_header(record, [row.cells for row in fits], missing):
                return Header(number, record.width, False)
    return None


def _is_table(records: Sequence[Record], missing: Collection[str]) -> bool:
    """Return whether the first rows are a table too; pairs of names and values are none."""
    width = records[0].width
    rows = [row.cells for row in records[1:3] if len(row.cells) >= width >= row.width]
    are_pairs = width == 2 and all(_number(cells[0]) is None for cells in rows)
    return len(rows) == 2 and not are_pairs and _is_header(records[0], rows, missing)


def _without_marked(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if not record.cells[0].startswith(COMMENTS)]


def _is_header(record: Record, rows: Sequence[Sequence[str]], missing: Collection[str]) -> bool:
    """Return whether a row has different names, one of them above a column of numbers."""
    names = record.cells[: record.width]
    return len({*names, ""}) > len(names) > 1 and any(
        _number(name) is None and _are_numbers([cells[at] for cells in rows], missing, 0.5)
        for at, name in enumerate(names)
    )


def _are_units(header: Record, below: Sequence[Record], missing: Collection[str]) -> bool:
    """Return whether the first row below the header has texts where all further rows have numbers.
    At least in two columns, and in half of these; and it has no number."""
    units, width = below[0].cells, header.width
    rows = [row.cells for row in below[1 : 1 + MAX_ROWS_BELOW] if len(row.cells) >= width]
    if not rows or len(units) < width or any(_number(cell) is not None for cell in units):
        return False
    numeric = [at for at in range(width) if _are_numbers([row[at] for row in rows], missing)]
    marks = [units[at] in ("", *missing) or is_limit(units[at]) for at in numeric]
    n_written = sum(not mark and not is_no_result(units[at]) for at, mark in zip(numeric, marks))
    return n_written >= 2 and 2 * n_written >= len(numeric)


def _are_numbers(cells: Sequence[str], missing: Collection[str], share: float = 1) -> bool:
    present = [cell for cell in cells if cell and cell not in missing]
    n_numbers = sum(_number(cell) is not None for cell in present)
    return bool(present) and n_numbers >= share * len(present)


def _number(cell: str) -> float | None:
    return finite_number(cell.replace(",", ".", 1))


def _name_rows(rows: Sequence[Record]) -> bool:
    """Return whether the first cells of rows are different texts, or count the rows."""
    names = [row.cells[0] for row in rows]
    numbers = [finite_number(name) for name in names]
    if None in numbers:
        return len(set(names)) == len(names) and numbers.count(None) == len(names)
    return numbers[0] in (0, 1) and numbers == [numbers[0] + at for at in range(len(numbers))]


def _without_comments(content: bytes, delimiter: str, header: Record) -> tuple[bytes, int]:
    """Return a text without the comments below its header, and their number."""
    if not re.search(rb"[\r\n][#%]", content):
        return content, 0
    pieces, position = [], 0
    for match in _COMMENT_OR_QUOTED.finditer(content):
        record = next(filled_records(match[0], delimiter), None)
        if match[0].startswith(b'"') or record.cells == header.cells:
            continue
        if record.width == header.width:
            # Rows of this table may begin with the mark.
            return content, 0
        pieces.append(content[position : match.start()])
        position = match.end()
    return b"".join([*pieces, content[position:]]), len(pieces)


def _without_footer(content: bytes, delimiter: str, n_names: int) -> tuple[bytes, int]:
    """Return a text without narrow lines after an empty line at its end, and their number."""
    start = max(len(content) - TAIL_BYTES, 0)
    lines = content[start:].splitlines(keepends=True)[1 if start else 0 :]
    kept, n_notes, n_last = len(lines), 0, 0
    for at in reversed(range(len(lines))):
        record = next(filled_records(lines[at], delimiter), None)
        if record is None:
            kept, n_last = at, n_notes
            continue
        is_sentence = record.width == 1 < n_names and " " in record.cells[0]
        is_narrow = len(record.cells) < n_names or is_sentence
        if not is_narrow or any(_number(cell) is not None for cell in record.cells):
            break
        n_notes += 1
    if not n_last or content.count(b'"') % 2:
        return content, 0
    size = sum(map(len, lines[kept:]))
    return content[:-size] + b"".join(map(_line_end, lines[kept:])), n_last


def _line_end(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _lines(n: int) -> str:
    return f"{n} line{'s' * (n != 1)}"
