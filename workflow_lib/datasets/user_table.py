"""A table of the user: named columns of numbers and texts, and the places of their cells."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from workflow_lib.datasets.tables import MISSING_VALUES, NO_ROWS, finite_number, listed, no_table
from workflow_lib.datasets.typed_columns import (
    checked_names,
    cleaned,
    column_of,
    composed,
    without_marks,
)
from workflow_lib.errors import UserError, nearest_name


class Table:
    """A table: named columns of equal length. It never changes.

    Made by `workflow_lib.datasets.table_file.read_table` or `Table.from_columns`.

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
        place: str,
        names: Sequence[str],
        numbers: Mapping[str, np.ndarray],
        strings: Callable[[str], np.ndarray],
        lines: Sequence[int] | np.ndarray,
        unit: str = "row",
        notes: Sequence[str] = (),
        categories: Collection[str] = (),
        unreadable: Mapping[str, UserError] | None = None,
    ) -> None:
        """Keep the columns that are known to be numbers, and a function that returns texts.

        `numbers` are float64 arrays (n_rows,), NaN where missing; other columns may be numbers too.
        `strings` returns the texts (n_rows,) of a column, an array of objects, "" where missing.
        """
        self.place = place
        self.names = list(names)
        self.lines = np.array(lines, dtype=np.int64)
        self.lines.flags.writeable = False
        self._numbers: dict[str, np.ndarray | None] = dict(numbers)
        self._strings: dict[str, np.ndarray] = {}
        self._read_strings = strings
        self._known = frozenset(names)
        self.unit = unit
        self.notes = list(notes)
        self.categories = frozenset(categories)
        self.unreadable = dict(unreadable or {})

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
        categories: Collection[str] = (),
    ) -> Table:
        """Return the table with the columns `mapping`, from name to values.

        Parameters
        ----------
        mapping : mapping from str to sequence
            For example a dictionary of lists, or a pandas DataFrame. Values are numbers, texts,
            dates, bool, or None, NaN and the like where missing; or a `UserError` that says why
            they cannot be read.
        place : str
            Name of the table in messages.
        missing_values : collection of str, default=MISSING_VALUES
            Texts that mark a missing value.
        categories : collection of str, default=()
            Columns that are known to be categories.

        Raises
        ------
        UserError
            For no column, columns of different length, no row, and names that are empty or
            repeated. Columns of more than one axis, or with values of any other type, are
            `unreadable`; it is an error if all columns are.
        """
        names = checked_names(place, [str(name) for name in mapping])
        by_name, unreadable = {}, {}
        for name, given in zip(names, mapping):
            try:
                by_name[name] = column_of(mapping[given], f"{place}, column '{given}'")
            except UserError as error:
                unreadable[name] = error
        if not by_name:
            raise next(iter(unreadable.values()))
        first, length = next((name, len(column)) for name, column in by_name.items())
        for name, column in by_name.items():
            if len(column) != length:
                raise UserError(
                    place=place,
                    found=f"{length} values in the column '{first}' and {len(column)} in the "
                    f"column '{name}'",
                    expected="columns of equal length",
                    remedy="give every column one value per row",
                )
        if not length:
            raise no_table(place, NO_ROWS)
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
        return cls(
            place,
            names,
            finite,
            strings,
            range(1, length + 1),
            categories={composed(name) for name in categories},
            unreadable=unreadable,
        )

    def where(self, row: int, name: str | None = None) -> str:
        """Return the place of a row (a number from 0), or of its cell in a column, for messages."""
        place = f"{self.place}, {self.unit} {self.lines[row]}"
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

    def named(self, name: str, option: str = "") -> str:
        """Return the name of a column in the form of `names`; `option` is where it is written.

        Raises
        ------
        UserError
            When there is no such column, naming the most similar name.
        """
        name = composed(name)
        if name in self._known:
            return name
        same = [known for known in self.names if known.casefold() == name.casefold()]
        nearest = same[0] if same else nearest_name(name, self.names)
        raise UserError(
            place=f"{self.place}, option {option}" if option else self.place,
            found=f"there is no column '{name}'",
            expected=f"one of the columns: {listed(self.names, 30)}",
            remedy=f"write '{nearest}'" if nearest else "fix the name, or add the column",
        )

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
        return Table(
            self.place,
            self.names,
            {name: values[rows] for name, values in self._numbers.items() if values is not None},
            lambda name: self._texts(name)[rows],
            self.lines[rows],
            self.unit,
            self.notes,
            self.categories,
            self.unreadable,
        )

    def _texts(self, name: str) -> np.ndarray:
        name = self.named(name)
        if name in self.unreadable:
            raise self.unreadable[name]
        if name not in self._strings:
            self._strings[name] = self._read_strings(name)
        return self._strings[name]

    def _parsed(self, name: str) -> np.ndarray | None:
        """Return the numbers in a column, None where a text is none; each column is parsed once."""
        name = composed(name)
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
