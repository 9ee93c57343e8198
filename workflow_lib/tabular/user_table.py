"""A table of the user: named columns of numbers and texts, and the locations of their cells."""

from __future__ import annotations

import copy
import datetime
import fnmatch
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.tabular.cell_texts import one_spelling
from workflow_lib.tabular.tables import (
    MISSING_VALUES,
    NO_ROWS,
    composed,
    finite_number,
    listed,
    no_table,
)
from workflow_lib.tabular.written_numbers import NumberFormat, formats_of, is_limit, shown_number


class Table:
    """A table: named columns of equal length. It never changes.

    Made by `workflow_lib.tabular.table_file.read_table` or `Table.from_columns`.

    Attributes
    ----------
    location : str
        The file as the user wrote it, for messages.
    names : list of str
        Names of the columns in the order of the file, without surrounding space and in the Unicode
        normal form NFC.
    n_rows : int
    lines : int64 array (n_rows,)
        Line of the file in which each row begins; for tables that are not text, the number of the
        row, counted from 1.
    unit : str
        What `lines` count.
    notes : list of str
        What reading passed over or assumed, in words.
    categories : set of str
        Columns that are categories according to the file, even if their values are numbers.
    unreadable : dict
        For columns whose values are neither numbers nor texts the error that asking for them
        raises.
    """

    def __init__(
        self,
        location: str,
        names: Sequence[str],
        numbers: Mapping[str, np.ndarray],
        strings: Callable[[str], np.ndarray],
        lines: Sequence[int] | np.ndarray,
        unit: str = "row",
        notes: Sequence[str] = (),
        categories: Collection[str] = (),
        unreadable: Mapping[str, UserError] | None = None,
        typed: Collection[str] = (),
        formats: Mapping[str, NumberFormat] | None = None,
    ) -> None:
        """Keep the columns that are known to be numbers, and a function that returns texts.

        `numbers` are float64 arrays (n_rows,), NaN where missing; other columns may be numbers too.
        `strings` returns the texts (n_rows,) of a column, an array of objects, "" where missing.
        Columns that are `typed` hold numbers that are no texts; `formats`: see `with_formats`.
        """
        self.location = location
        self.names = list(names)
        self.lines = np.array(lines, dtype=np.int64)
        self.lines.flags.writeable = False
        self.n_rows = len(self.lines)
        self._numbers: dict[str, np.ndarray | None] = dict(numbers)
        self._strings: dict[str, np.ndarray] = {}
        self._spellings: dict[str, tuple[str, str]] = {}
        self._read_strings = strings
        self._known = frozenset(names)
        self.unit = unit
        self.notes = list(notes)
        self.categories = frozenset(categories)
        self.unreadable = dict(unreadable or {})
        self.typed, self._formats = frozenset(typed), dict(formats or {})

    @classmethod
    def from_columns(
        cls,
        mapping: Mapping[str, Sequence[Any]],
        location: str,
        missing_values: Collection[str] = MISSING_VALUES,
        categories: Collection[str] = (),
    ) -> Table:
        """Return the table with the columns `mapping`, from name to values.

        `mapping` is for example a dictionary of lists, or a pandas DataFrame. Values are numbers,
        texts, dates, bool, or None, NaN and the like where missing; or a `UserError` that says why
        they cannot be read. `location` is the name of the table in messages, `missing_values` are
        texts that mark a missing value, and `categories` columns that are known to be such.

        Raises UserError for no column, columns of different length, no row, and names that are
        empty or repeated. Columns of more than one axis, or with values of any other type, are
        `unreadable`; it is an error if all columns are.
        """
        names = checked_names(location, [str(name) for name in mapping])
        by_name, unreadable = {}, {}
        for name, given in zip(names, mapping):
            try:
                by_name[name] = column_of(mapping[given], f"{location}, column '{given}'")
            except UserError as error:
                unreadable[name] = error
        if not by_name:
            raise next(iter(unreadable.values()))
        first, length = next((name, len(column)) for name, column in by_name.items())
        for name, column in by_name.items():
            if len(column) != length:
                raise UserError(
                    location=location,
                    found=f"{length} values in the column '{first}' and {len(column)} in the "
                    f"column '{name}'",
                    expected="columns of equal length",
                    remedy="give every column one value per row",
                )
        if not length:
            raise no_table(location, NO_ROWS)
        numbers = {
            name: without_marks(column, missing_values)
            for name, column in by_name.items()
            if column.dtype.kind != "O"
        }

        def strings(name: str) -> np.ndarray:
            if name not in numbers:
                return cleaned(by_name[name], missing_values)
            # Not by tolist(): 0.1 in single precision is not 0.1 in double precision.
            texts = np.array(list(map(str, by_name[name])), dtype=object)
            return np.where(np.isnan(numbers[name]), "", texts)

        finite = {name: values for name, values in numbers.items() if not np.isinf(values).any()}
        typed = [
            name
            for name, given in zip(names, mapping)
            if name in numbers or (name in by_name and _are_typed(mapping[given]))
        ]
        return cls(
            location,
            names,
            finite,
            strings,
            range(1, length + 1),
            categories={composed(name) for name in categories},
            unreadable=unreadable,
            typed=typed,
        )

    def with_formats(self, formats: Mapping[str, str]) -> Table:
        """Return the table that reads the numbers of some columns as they are written there.

        `formats` say how the number 1234.5 is written in a column, such as ``1.234,5 mg``
        (`workflow_lib.tabular.written_numbers`). Columns that the table does not have are ignored.
        A column whose values are all usual numbers, but not all in this format, is read as usual,
        and so are values that are no texts (of a DataFrame, for example).

        Raises UserError for an example that is not the number 1234.5.
        """
        read = {}
        for name, example in formats.items():
            try:
                read[composed(name)] = NumberFormat.of(example)
            except ValueError as error:
                raise UserError(
                    location=f"{self.location}, option number_formats.{name}",
                    found=f"'{example}'",
                    expected="how the number 1234.5 is written in this column, such as '1.234,5'",
                    remedy="write these digits with the marks and the unit of the column",
                ) from error
        read = {name: read[name] for name in read if name in self._known - self.typed}
        table = copy.copy(self)
        table._numbers = {n: v for n, v in self._numbers.items() if v is not None and n not in read}
        table._formats = read
        return table

    def where(self, row: int, name: str | None = None) -> str:
        """Return the location of a row (from 0), or of its cell in a column, for messages."""
        location = f"{self.location}, {self.unit} {self.lines[row]}"
        return location if name is None else f"{location}, column '{name}'"

    def strings(self, name: str) -> np.ndarray:
        """Return the texts (n_rows,) of a column, an array of objects; "" where missing.

        Numbers of a table that is not text are formatted by Python's `repr`. A value that is
        written in several ways has the first of them in all rows
        (`workflow_lib.tabular.cell_texts.one_spelling`).

        Raises UserError when there is no such column, naming the most similar name.
        """
        return self._texts(name).copy()

    def spellings(self, name: str) -> tuple[str, str] | None:
        """Return two spellings of the same value in a column, the first of them; None without."""
        self._texts(name)
        return self._spellings.get(name)

    def numbers(self, name: str) -> np.ndarray:
        """Return the numbers (n_rows,) of a column, float64; NaN where missing.

        Raises UserError when there is no such column, and naming the line, the column and the value
        of the first cell that is neither a finite number nor a mark of a missing value.
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

        Raises UserError when there is no such column.
        """
        return self._parsed(name) is not None

    def matrix(self, names: Sequence[str], complete: bool = False) -> np.ndarray:
        """Return the numbers (n_rows, d) of d columns, NaN where missing.

        Raises UserError as `numbers`; where `complete`, naming the first cell that is missing.
        """
        values = np.empty((self.n_rows, len(names)))
        for column, name in enumerate(names):
            values[:, column] = self.numbers(name)
        for row, column in np.argwhere(np.isnan(values)) if complete else ():
            raise UserError(
                location=self.where(row, names[column]),
                found="the value is missing",
                expected="a number in every row of this column",
                remedy="fill it in, or remove the row or the column",
            )
        return values

    def keys(self, name: str, what: str) -> list[str]:
        """Return the n_rows texts of a column whose rows are different; `what` they name.

        Raises UserError naming the first line where the text is missing or repeated.
        """
        known: dict[str, None] = {}
        for row, text in enumerate(self._texts(name)):
            if not text or text in known:
                raise UserError(
                    location=self.where(row, name),
                    found=f"the {what} '{text}' is repeated" if text else f"no {what}",
                    expected=f"another {what} in every row",
                    remedy="fix or remove the row",
                )
            known[text] = None
        return list(known)

    def named(self, name: str, option: str = "") -> str:
        """Return the name of a column in the form of `names`; `option` is where it is written.

        Raises UserError when there is no such column, naming the most similar name.
        """
        name = composed(name)
        if name in self._known:
            return name
        same = [known for known in self.names if known.casefold() == name.casefold()]
        nearest = same[0] if same else nearest_name(name, self.names)
        raise UserError(
            location=f"{self.location}, option {option}" if option else self.location,
            found=f"there is no column '{name}'",
            expected=f"one of the columns: {listed(self.names, 30)}",
            remedy=f"write '{nearest}'" if nearest else "fix the name, or add the column",
        )

    def matching(self, patterns: Sequence[str], option: str = "") -> list[str]:
        """Return the names of the columns that match `patterns`, in the order of the file.

        Each pattern is the name of a column (which may hold ``*``, ``?`` and brackets), or
        otherwise a pattern in which ``*`` matches any text, ``?`` any character and ``[ab]`` any of
        those in the brackets. Upper and lower case differ. `option` is the option with these
        patterns, for messages.

        Raises UserError when a pattern matches no column, naming the most similar name.
        """
        chosen: set[str] = set()
        for pattern in map(composed, patterns):
            if pattern not in self._known and any(mark in pattern for mark in "*?["):
                found = [name for name in self.names if fnmatch.fnmatchcase(name, pattern)]
            else:
                found = []
            chosen.update(found or [self.named(pattern, option)])
        return [name for name in self.names if name in chosen]

    def selected(self, rows: np.ndarray | Sequence[int] | Sequence[bool]) -> Table:
        """Return the table of some rows, given as a mask (n_rows,) or as numbers from 0."""
        rows = np.asarray(rows)
        if rows.dtype != bool:
            rows = rows.astype(np.intp)
        table = copy.copy(self)
        table.lines = self.lines[rows]
        table.lines.flags.writeable = False
        table.n_rows = len(table.lines)
        table._numbers = {n: v[rows] for n, v in self._numbers.items() if v is not None}
        table._strings, table._spellings = {}, {}
        table._read_strings = lambda name: self._texts(name)[rows]
        return table

    def _texts(self, name: str) -> np.ndarray:
        name = self.named(name)
        if name in self.unreadable:
            raise self.unreadable[name]
        if name not in self._strings:
            read = self._read_strings(name)
            self._strings[name] = one_spelling(read)
            for row in np.flatnonzero(self._strings[name] != read)[:1]:
                self._spellings[name] = self._strings[name][row], read[row]
        return self._strings[name]

    def _parsed(self, name: str) -> np.ndarray | None:
        """Return the numbers in a column, None where a text is none; each column is parsed once."""
        name = composed(name)
        if name not in self._numbers:
            texts = self._texts(name)
            missing = texts == ""
            if name in self._formats:
                found = self._formats[name].numbers(texts)
                if found is not None:
                    found[""] = np.nan
                    self._numbers[name] = np.array([found[text] for text in texts], dtype=float)
                    return self._numbers[name]
            try:
                values = np.where(missing, "nan", texts).astype(np.float64)
                finite = "_" not in "".join(texts) and np.isfinite(values[~missing]).all()
            except ValueError:
                finite = False
            self._numbers[name] = values if finite else None
        return self._numbers[name]

    def _no_number(self, name: str, row: int, text: str) -> UserError:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        formats = formats_of([text])
        if formats and name in self._formats:
            remedy = f"write it as the others of this column, as {self._formats[name].example!r}"
        elif formats:
            readings = " or ".join(shown_number(format_.number(text)) for format_ in formats)
            examples = " or ".join(f'"{format_.example}"' for format_ in formats)
            remedy = (
                f"write {readings}; or, if all numbers of this column are written so, give their "
                f"format in the dataset's file, number_formats: {{{name}: {examples}}}"
            )
            if formats[1:]:
                remedy += " (in the command new, say decimal=point or decimal=comma)"
        elif is_limit(text):
            remedy = "write a number, or leave the cell empty: a limit is not a measured value"
        else:
            remedy = "fix the value, list it in missing_values (in the command new: missing) if it "
            remedy += "marks a missing value, or leave this column out"
        return UserError(
            location=self.where(row, name),
            found=f"'{shown}' is not a finite number",
            expected="a decimal number such as 3.25, or an empty cell where it is missing",
            remedy=remedy,
        )


def _are_typed(values: Sequence[Any]) -> bool:
    """Return whether some values are numbers with decimals, or none is a text."""
    if any(isinstance(v, (float, Decimal)) and v == v and v % 1 for v in values):
        return True
    return not any(isinstance(value, (str, bytes)) for value in values)


def checked_names(location: str, names: Sequence[str]) -> list[str]:
    """Return the names of the columns of a table, each `composed`; `location` is the table.

    Raises UserError for no column, and naming the positions, counted from 1, of columns whose names
    are empty, equal or hold NUL characters.
    """
    names = [composed(name) for name in names]
    if not names:
        raise no_table(location, "no column")
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name:
            raise no_name(location, position)
        if "\0" in name:
            raise UserError(
                location=f"{location}, column {position}",
                found="the name holds a NUL character",
                expected="names of printable characters",
                remedy="rename the column",
            )
        if name in first:
            raise UserError(
                location=location,
                found=f"the columns {first[name]} and {position} are both named '{name}'",
                expected="a different name for every column",
                remedy="rename or remove one of the two",
            )
        first[name] = position
    return names


def no_name(location: str, position: int) -> UserError:
    """Return the error for a column without a name at a position, counted from 1."""
    return UserError(
        location=f"{location}, column {position}",
        found="the column has no name",
        expected="a name for every column in the header",
        remedy="name the column, or remove it (row numbers that pandas adds are left out by "
        "to_csv(..., index=False))",
    )


def column_of(values: Sequence[Any], location: str) -> np.ndarray:
    """Return values of any type as a column: numbers unchanged, all others as stripped texts.

    Returns an array (n,): integers or floats; or objects that are texts, "" where missing, True or
    False for bool, and dates in the form of ISO 8601.

    The n `values`, or an array (n, 1), are numbers; or a mixture of texts, bytes, bool, dates,
    decimal numbers and numbers; None, NaN and the like where missing.

    Raises UserError naming the row, counted from 1, of a value of another type; `values` that are
    an error.
    """
    if isinstance(values, UserError):
        raise values
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if isinstance(values, np.ndarray) and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise UserError(
            location=location,
            found=f"values of {array.ndim} axes, or lists within lists",
            expected="one number or text per row",
            remedy="give it as several columns",
        )
    if array.dtype.kind in "iuf":
        return array.copy()
    if array.dtype.kind == "M":
        unit = "D" if (array == array.astype("datetime64[D]"))[~np.isnat(array)].all() else "us"
        texts = np.where(np.isnat(array), "", np.datetime_as_string(array, unit=unit)).tolist()
    else:
        texts = [text_of(value, f"{location}, row {row}") for row, value in enumerate(array, 1)]
    return np.array(texts, dtype=object)


def cleaned(texts: Iterable[str], missing: Collection[str]) -> np.ndarray:
    """Return the `composed` texts (n,), an array of objects, "" for those in `missing`."""
    marks = set(map(composed, missing))
    return np.array(["" if text in marks else text for text in map(composed, texts)], dtype=object)


def without_marks(column: np.ndarray, missing: Collection[str]) -> np.ndarray:
    """Return a column of numbers (n,) as float64, NaN for marks such as ``-999``."""
    values = column.astype(np.float64)
    marks = [number for mark in missing if (number := finite_number(mark)) is not None]
    values[np.isin(values, marks)] = np.nan
    return values


def text_of(value: Any, location: str) -> str:
    """Return a cell as text, as of `column_of`."""
    value = value.item() if isinstance(value, np.generic) else value
    fault = f"a value of the type {type(value).__name__}"
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            fault = "bytes that are not UTF-8 text"
    if isinstance(value, str):
        if "\0" not in value:
            return value.strip()
        fault = "a text with a NUL character"
    # pandas marks missing values by objects of its own types.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, (bool, int, float)):
        return repr(value) if value == value else ""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if hasattr(value, "as_tuple"):
        # decimal.Decimal, which Parquet may hold.
        return str(value)
    raise UserError(
        location=location,
        found=fault,
        expected="a number, a text, a date, or nothing",
        remedy="leave the column out (in `snakemake new` by exclude), or write it as numbers or "
        "texts",
    )
