"""A user table: columns of texts and numbers from a text, Parquet or HDF5 file."""

from __future__ import annotations

import fnmatch
import unicodedata
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_lib.datasets.archives import unpacked_gzip
from workflow_lib.datasets.column_names import check_names
from workflow_lib.datasets.delimited_text import text_columns
from workflow_lib.datasets.delimited_text import text_rows as rows_of_text
from workflow_lib.datasets.tables import SAVE_AS_CSV, file_content, finite_number, listed
from workflow_lib.datasets.typed_columns import (
    cleaned,
    column_of,
    hdf5_columns,
    no_rows,
    parquet_columns,
    without_marks,
)
from workflow_lib.errors import UserError, nearest_name

if TYPE_CHECKING:
    import numpy as np

MISSING_VALUES = ("", "NA", "NaN", "nan", "?", "null", "None", "N/A", "#N/A")
"""Marks of missing values; an empty cell is always missing."""

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet",)
HDF5_ENDINGS = (".h5", ".hdf5")
ENDINGS = (*TEXT_ENDINGS, *PARQUET_ENDINGS, *HDF5_ENDINGS)
"""The endings of the files that can be read, in small or capital letters."""

_PARQUET, _HDF5 = "a Parquet file", "an HDF5 file"
_FIRST_BYTES = (
    (b"PK\x03\x04", "a ZIP archive or a workbook of a spreadsheet (.xlsx, .ods)"),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet (.xls)"),
    (b"PAR1", _PARQUET),
    (b"\x89HDF\r\n\x1a\n", _HDF5),
    (b"\x1f\x8b", "a file compressed by gzip"),
    (b"%PDF", "a PDF document"),
    (b"\xff\xfe", "text in the encoding UTF-16"),
    (b"\xfe\xff", "text in the encoding UTF-16"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml")


class Table:
    """A table: named columns of equal length. It never changes.

    Made by `read_table` or `Table.from_columns`.

    Attributes
    ----------
    place : str
        The file as the user wrote it, for messages.
    names : list of str
        Names of the columns in the order of the file, without surrounding space and in the Unicode
        normal form NFC.
    n_rows : int
    lines : int64 array (n_rows,)
        Line of the file in which each row begins; for tables that are not text, the number of the
        row, counted from 1.
    """

    def __init__(
        self,
        place: str,
        names: Sequence[str],
        numbers: Mapping[str, np.ndarray],
        strings: Callable[[str], np.ndarray],
        lines: np.ndarray,
        unit: str = "row",
    ) -> None:
        """Keep the columns that are known to be numbers, and a function that returns texts.

        Parameters
        ----------
        place, names, lines
            The attributes.
        numbers : mapping from name to float64 array (n_rows,)
            NaN where missing. Other columns may be numbers too.
        strings : function
            Returns the texts (n_rows,) of a column, an array of objects, "" where missing.
        unit : {"line", "row"}, default="row"
            What `lines` count.
        """
        self.place = place
        self.names = list(names)
        self.lines = lines.copy()
        self.lines.flags.writeable = False
        self._numbers: dict[str, np.ndarray | None] = dict(numbers)
        self._strings: dict[str, np.ndarray] = {}
        self._read_strings = strings
        self._known = frozenset(names)
        self._unit = unit

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    @classmethod
    def from_columns(
        cls,
        mapping: Mapping[str, Sequence[Any]],
        place: str,
        missing_values: Collection[str] = MISSING_VALUES,
    ) -> Table:
        """Return the table with the columns `mapping`, from name to values.

        Parameters
        ----------
        mapping : mapping from str to sequence
            For example a dictionary of lists, or a pandas DataFrame. Values are numbers, texts,
            dates, bool, or None, NaN and the like where missing.
        place : str
            Name of the table in messages.
        missing_values : collection of str, default=MISSING_VALUES
            Texts that mark a missing value.

        Raises
        ------
        UserError
            For no column, columns of different length or more than one axis, no row, names that
            are empty or repeated, and values of any other type.
        """
        import numpy as np

        names = [_composed(str(name).strip()) for name in mapping]
        check_names(place, names)
        columns = [column_of(mapping[name], f"{place}, column '{name}'") for name in mapping]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            odd = next(i for i, column in enumerate(columns) if len(column) != len(columns[0]))
            raise UserError(
                place=place,
                found=f"{len(columns[0])} values in the column '{names[0]}' and "
                f"{len(columns[odd])} in the column '{names[odd]}'",
                expected="columns of equal length",
                remedy="give every column one value per row",
            )
        if not columns[0].size:
            raise no_rows(place)
        by_name = dict(zip(names, columns))
        numbers = {
            name: without_marks(column, missing_values)
            for name, column in by_name.items()
            if column.dtype.kind != "O"
        }

        def strings(name: str) -> np.ndarray:
            if name not in numbers:
                return cleaned(by_name[name], missing_values)
            texts = np.array(list(map(repr, by_name[name].tolist())), dtype=object)
            return np.where(np.isnan(numbers[name]), "", texts)

        finite = {name: values for name, values in numbers.items() if not np.isinf(values).any()}
        return cls(place, names, finite, strings, np.arange(1, len(columns[0]) + 1))

    def where(self, row: int, name: str | None = None) -> str:
        """Return the place of a row (a number from 0), or of its cell in a column, for messages."""
        place = f"{self.place}, {self._unit} {self.lines[row]}"
        return place if name is None else f"{place}, column '{name}'"

    def strings(self, name: str) -> np.ndarray:
        """Return the texts (n_rows,) of a column, an array of objects; "" where missing.

        Numbers of a table that is not text are formatted by Python's `repr`.

        Raises
        ------
        UserError
            When there is no such column, naming the most similar name.
        """
        return self._texts(name).copy()

    def numbers(self, name: str) -> np.ndarray:
        """Return the numbers (n_rows,) of a column, float64; NaN where missing.

        Raises
        ------
        UserError
            When there is no such column, and naming the line, the column and the value of the
            first cell that is neither a finite number nor a mark of a missing value.
        """
        values = self._parsed(name)
        if values is None:
            texts = self._texts(name)
            row = next(r for r, text in enumerate(texts) if text and finite_number(text) is None)
            raise self._no_number(name, row, texts[row])
        return values.copy()

    def is_numeric(self, name: str) -> bool:
        """Return whether every cell of a column that is not missing is a finite number.

        A column without any value is numeric. Dates and texts such as ``1_000`` or ``1e999`` are
        not numbers.

        Raises
        ------
        UserError
            When there is no such column.
        """
        return self._parsed(name) is not None

    def matrix(self, names: Sequence[str], complete: bool = False) -> np.ndarray:
        """Return the numbers (n_rows, d) of d columns, NaN where missing.

        Raises
        ------
        UserError
            As `numbers`; where `complete`, naming the first cell that is missing.
        """
        import numpy as np

        values = np.empty((self.n_rows, len(names)))
        for column, name in enumerate(names):
            values[:, column] = self.numbers(name)
        for row, column in np.argwhere(np.isnan(values)) if complete else ():
            raise UserError(
                place=self.where(row, names[column]),
                found="the value is missing",
                expected="a number in every row of this column",
                remedy="fill it in, or remove the row or the column",
            )
        return values

    def keys(self, name: str, what: str) -> list[str]:
        """Return the n_rows texts of a column whose rows are different; `what` they name.

        Raises
        ------
        UserError
            Naming the first line where the text is missing or repeated.
        """
        known: dict[str, None] = {}
        for row, text in enumerate(self._texts(name)):
            if not text or text in known:
                raise UserError(
                    place=self.where(row, name),
                    found=f"the {what} '{text}' is repeated" if text else f"no {what}",
                    expected=f"another {what} in every row",
                    remedy="fix or remove the row",
                )
            known[text] = None
        return list(known)

    def matching(self, patterns: Sequence[str], option: str = "") -> list[str]:
        """Return the names of the columns that match `patterns`, in the order of the file.

        Parameters
        ----------
        patterns : sequence of str
            Each is the name of a column (which may hold ``*``, ``?`` and brackets), or otherwise a
            pattern in which ``*`` matches any text, ``?`` any character and ``[ab]`` any of those
            in the brackets. Upper and lower case differ.
        option : str, default=""
            The option with these patterns, for messages.

        Raises
        ------
        UserError
            When a pattern matches no column, naming the most similar name.
        """
        chosen: set[str] = set()
        for pattern in (_composed(pattern.strip()) for pattern in patterns):
            found = [pattern] if pattern in self._known else []
            if not found and any(mark in pattern for mark in "*?["):
                found = [name for name in self.names if fnmatch.fnmatchcase(name, pattern)]
            if not found:
                raise self._unknown(pattern, f", option {option}" if option else "")
            chosen.update(found)
        return [name for name in self.names if name in chosen]

    def selected(self, rows: np.ndarray | Sequence[int] | Sequence[bool]) -> Table:
        """Return the table of some rows, given as a mask (n_rows,) or as numbers from 0."""
        import numpy as np

        rows = np.asarray(rows)
        if rows.dtype != bool:
            rows = rows.astype(np.intp)
        return Table(
            self.place,
            self.names,
            {name: values[rows] for name, values in self._numbers.items() if values is not None},
            lambda name: self._texts(name)[rows],
            self.lines[rows],
            self._unit,
        )

    def _texts(self, name: str) -> np.ndarray:
        name = _composed(name)
        if name not in self._known:
            raise self._unknown(name, "")
        if name not in self._strings:
            self._strings[name] = self._read_strings(name)
        return self._strings[name]

    def _parsed(self, name: str) -> np.ndarray | None:
        """Return the numbers in a column, None where a text is none; each column is parsed once."""
        import numpy as np

        name = _composed(name)
        if name not in self._numbers:
            texts = self._texts(name)
            missing = texts == ""
            try:
                values = np.where(missing, "nan", texts).astype(np.float64)
                finite = "_" not in "".join(texts) and np.isfinite(values[~missing]).all()
            except ValueError:
                finite = False
            self._numbers[name] = values if finite else None
        return self._numbers[name]

    def _unknown(self, name: str, option: str) -> UserError:
        same = [known for known in self.names if known.casefold() == name.casefold()]
        nearest = same[0] if same else nearest_name(name, self.names)
        return UserError(
            place=f"{self.place}{option}",
            found=f"there is no column '{name}'",
            expected=f"one of the columns: {listed(self.names, 30)}",
            remedy=f"write '{nearest}'" if nearest else "fix the name, or add the column",
        )

    def _no_number(self, name: str, row: int, text: str) -> UserError:
        remedy = "fix the value, list it in missing_values if it marks a missing value, or leave "
        remedy += "this column out"
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        if finite_number(text.replace(",", ".", 1)) is not None:
            remedy = f"write decimal points instead of commas (3.5, not 3,5), here {shown!r}"
        elif finite_number(text.replace(",", "")) is not None:
            remedy = f"write numbers without marks between thousands, here {shown!r}"
        elif text[:1] in "<>≤≥~" and finite_number(text.lstrip("<>≤≥~= ")) is not None:
            remedy = "write a number, or leave the cell empty: a limit is not a measured value"
        elif text.endswith("%"):
            remedy = "write the numbers without the sign % in all rows"
        return UserError(
            place=self.where(row, name),
            found=f"'{shown}' is not a finite number",
            expected="a decimal number such as 3.25, or an empty cell where it is missing",
            remedy=remedy,
        )


def read_table(
    path: str | Path,
    missing_values: Collection[str] = MISSING_VALUES,
    delimiter: str | None = None,
    keep_empty: bool = False,
) -> Table:
    """Read a table from a file of the kind given by its ending.

    ``.csv``, ``.tsv``, ``.txt`` (and each of them with ``.gz``)
        UTF-8 text with a header. Cells are stripped of surrounding space, quoted cells may hold
        delimiters and line ends, blank lines are skipped, and a delimiter at the end of every line
        is ignored.
    ``.parquet``
        Columns of numbers, texts, bool or dates; needs the optional package pyarrow.
    ``.h5``, ``.hdf5``
        One-dimensional HDF5 datasets of equal length in the root, one per column; or a single
        two-dimensional dataset whose attribute ``columns`` holds the names. Links are not followed.

    Parameters
    ----------
    path : str or path
    missing_values : collection of str, default=MISSING_VALUES
        Cells that count as missing, compared without surrounding space.
    delimiter : str, default=None
        The character between two values of a text file; None: that of
        `workflow_lib.datasets.delimited_text.DELIMITERS` by which the
        header has the most names.
    keep_empty : bool, default=False
        Whether rows of a text file whose cells are all empty are kept, for a result for each row;
        see `workflow_lib.datasets.delimited_text.text_columns`.

    Returns
    -------
    Table

    Raises
    ------
    UserError
        Naming the file and the line or column that cannot be read.
    """
    file, place = Path(path), str(path)
    _check_file(file, place)
    ending = _ending(file, place)
    content = _content(file, place, ending)
    if ending in PARQUET_ENDINGS:
        return Table.from_columns(parquet_columns(content, place), place, missing_values)
    if ending in HDF5_ENDINGS:
        return Table.from_columns(hdf5_columns(content, place), place, missing_values)
    return _text_table(content, place, missing_values, delimiter, keep_empty)


def read_source(path: Path, missing_values: Collection[str] = ("",), delimiter: str = ",") -> Table:
    """Return the table in a source file that is text, whatever its name; otherwise `read_table`."""
    return _text_table(file_content(path), str(path), missing_values, delimiter)


def text_rows(path: str | Path, delimiter: str | None = None) -> tuple[list[int], list[list[str]]]:
    """Return the lines on which the rows of a text file begin, and the stripped cells of each.

    The first row may be a header or not; rows may have different lengths; blank rows are left out.
    `delimiter` is as in `read_table`.

    Raises
    ------
    UserError
        For a file that cannot be read, is not UTF-8 text, or has unpaired quotes.
    """
    file, place = Path(path), str(path)
    _check_file(file, place)
    ending = _ending(file, place, TEXT_ENDINGS)
    return rows_of_text(_content(file, place, ending), place, delimiter)


def _text_table(
    content: bytes,
    place: str,
    missing_values: Collection[str],
    delimiter: str | None,
    keep_empty: bool = False,
) -> Table:
    import numpy as np

    found = text_columns(content, place, missing_values, delimiter, keep_empty)
    lines = np.array(found.lines, dtype=np.int64)
    return Table(place, found.names, found.numbers, found.strings, lines, unit="line")


def _composed(name: str) -> str:
    """Return a name in the Unicode normal form NFC."""
    return unicodedata.normalize("NFC", name)


# Files


def _check_file(path: Path, place: str) -> None:
    if path.is_dir():
        raise UserError(
            place=place,
            found="this is a folder",
            expected="a file with a table",
            remedy="name the file in the folder",
        )
    if not path.exists():
        raise UserError(
            place=place,
            found="there is no such file",
            expected="the path of your table, from the folder in which you run the command",
            remedy=_remedy_for_missing(path),
        )


def _ending(path: Path, place: str, known: Sequence[str] = ENDINGS) -> str:
    name = path.name.lower()
    ending = next((ending for ending in sorted(known, key=len)[::-1] if name.endswith(ending)), "")
    if not ending:
        raise UserError(
            place=place,
            found=f"the ending '{path.suffix}' is not that of a table that can be read"
            if path.suffix
            else "the name has no ending",
            expected=f"a file that ends in {', '.join(known)}",
            remedy=f"{SAVE_AS_CSV}, or rename the file if it is one of these",
        )
    return ending


def _content(path: Path, place: str, ending: str) -> bytes:
    """Return the bytes of the file; refuse a file of another kind than its ending says."""
    try:
        content = path.read_bytes()
        if ending.endswith(".gz") and content:
            content = unpacked_gzip(content)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            place=place,
            found=f"the file cannot be read ({error})",
            expected="a file that is whole and that you may read",
            remedy="fix the permissions, or write the file again",
        ) from error
    if not content:
        raise UserError(
            place=place,
            found="the file is empty",
            expected="a header and at least one row",
            remedy="write the file again",
        )
    wanted = {".parquet": _PARQUET, ".h5": _HDF5, ".hdf5": _HDF5}.get(ending, "UTF-8 text")
    kind = next((kind for start, kind in _FIRST_BYTES if content.startswith(start)), None)
    if kind == _PARQUET and not content.endswith(b"PAR1"):
        # The name of a column may begin with the same letters.
        kind = None
    if kind is None and content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        kind = "a page in HTML or XML"
    if kind != (wanted if wanted in (_PARQUET, _HDF5) else None):
        raise UserError(
            place=place,
            found=f"the file is {kind or 'text, or damaged'}, but its name ends in '{ending}'",
            expected=wanted,
            remedy=_remedy_for_kind(kind),
        )
    return content


def _remedy_for_missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"fix the path: there is no folder '{folder}'"
    nearest = nearest_name(path.name, [other.name for other in folder.iterdir()])
    return f"write '{folder / nearest}'" if nearest else "fix the path"


def _remedy_for_kind(kind: str | None) -> str:
    if kind in (_PARQUET, _HDF5):
        return "rename the file, with the ending of its kind"
    if kind == "a file compressed by gzip":
        return "unpack it, or let its name end in .csv.gz"
    if kind == "a page in HTML or XML":
        return "download the table itself; a page was saved instead of it"
    return f"{SAVE_AS_CSV}; the name of a text file must end in .csv"
