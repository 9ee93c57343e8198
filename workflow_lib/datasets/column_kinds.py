"""Kinds of columns of a table: numbers, categories, texts, dates, names of rows, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workflow_lib.datasets.tables import finite_number

if TYPE_CHECKING:
    from workflow_lib.datasets.table_file import Table

NUMBER, CATEGORY, STRINGS, TEXT, SMILES, DATE, ROW_NAME, CONSTANT, EMPTY = KINDS = (
    "number",
    "category",
    "strings",
    "text",
    "smiles",
    "date",
    "row name",
    "constant",
    "empty",
)
"""Every kind of column, in the order in which they are reported."""

MOST_LEVELS = 20
"""Largest number of levels of a category; each becomes an input of its own."""

LEAST_ROWS_PER_LEVEL = 5
"""Mean number of rows per level above which a column is a category: rarer levels cannot be
learned."""

LEAST_WORDS = 4.0
"""Mean number of words of a cell from which on a column is a text, of which words are counted."""

LONGEST_NAME = 30
"""Largest mean number of characters of the names of rows. Longer distinct texts, such as sequences,
are informative about their rows."""

LEAST_BONDED = 0.1
"""Smallest share of texts with a branch, a double bond or an aromatic ring in a column of
molecules: sample numbers such as C12 never have them."""

MOSTLY = 0.8
"""Smallest share of numbers for which a column of texts is reported as damaged numbers."""

_ROW_NAMES = re.compile(
    r"(row|sample|record|entry|subject|specimen)?[ _.-]*(id|index|idx|name|number|no|nr)\.?"
    r"|unnamed: ?0|key|uuid|guid|sample|row|.+[ _.-](id|uuid)",
    re.IGNORECASE,
)
_CAMEL_CASE_IDENTITY = re.compile(r".*[a-z0-9]I[Dd]")
_SMILES_NAME = re.compile(r"(.*[^a-z])?(canonical|isomeric)?smiles([^a-z].*)?", re.IGNORECASE)
_SMILES = re.compile(r"[A-Za-z0-9@+\-\[\]()\\/%=#$.:*~]+")
_SMILES_ATOMS = re.compile(
    r"(\[[^\[\]\s]+\]|Br|Cl|[BCNOPSFIbcnops]|[0-9]|%[0-9]{2}|[()=#$:.\\/+\-])+"
)
"""Only atoms of organic molecules, bonds, branches and rings."""
_SMILES_BONDS = re.compile(r"[A-Za-z\]0-9][(=#]|[cno]1")
_TIME = r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_DATES = re.compile(
    rf"(\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\3\d{{4}}){_TIME}"
)
_WITH_UNIT = re.compile(r"[-+]?(0|[1-9]\d*)([.,]\d+)?\s*([^\d\s.,:/_-]{1,6})")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


class ColumnKind(NamedTuple):
    """The kind of a column, with notes for the user.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    n_missing : int
        Cells without a value.
    n_distinct : int
        Different values.
    note : str
        Explanation of the decision; may be empty.
    warning : str
        Possible mistake in the table; may be empty.
    """

    kind: str
    n_missing: int
    n_distinct: int
    note: str = ""
    warning: str = ""


def column_kinds(table: Table) -> dict[str, ColumnKind]:
    """Return the kind of every column of a table, by name and in the order of the file.

    The kind follows from the cells and, where these are ambiguous, from the name of the column:

    - ``number``: every value is a number, also whole numbers with few distinct values;
    - ``smiles``: with the name of such a column, and only characters of SMILES; or with any name,
      and only atoms and bonds of organic molecules, where at least `LEAST_BONDED` of the texts have
      bonds that other texts do not have;
    - ``date``: days such as 2024-05-31 or 31/05/2024, with or without a time;
    - ``row name``: a different value in every row that only identifies it: texts shorter than
      `LONGEST_NAME` or columns named like an identifier, and whole numbers that count the rows or
      are named like an identifier;
    - ``category``: at most `MOST_LEVELS` different texts, each in more than `LEAST_ROWS_PER_LEVEL`
      rows on average;
    - ``text``: more different texts, of `LEAST_WORDS` words or more on average;
    - ``strings``: all other texts;
    - ``constant`` (a single value) and ``empty``, from which nothing can be learned.

    Numbers and texts are categories where the file says so. A column that cannot be read is empty.

    Parameters
    ----------
    table : Table
    """
    return {name: _kind_of(name, table) for name in table.names}


def _kind_of(name: str, table: Table) -> ColumnKind:
    if name in table.unreadable:
        return ColumnKind(EMPTY, 0, 0)
    if table.is_numeric(name):
        kind = _kind_of_numbers(name, table.numbers(name))
    else:
        kind = _kind_of_texts(name, table)
    if name in table.categories and kind.kind in (NUMBER, STRINGS):
        return kind._replace(kind=CATEGORY, note="a category according to the file", warning="")
    return kind


def named_like_an_identity(name: str) -> bool:
    """Return whether the name of a column is that of an identifier of rows (``sample_id``)."""
    return bool(_ROW_NAMES.fullmatch(name) or _CAMEL_CASE_IDENTITY.fullmatch(name))


def first_that_is_no_smiles(values: np.ndarray) -> int | None:
    """Return the first row whose text cannot be SMILES; None when there is none."""
    wrong = (row for row, text in enumerate(values) if text and not _SMILES.fullmatch(text))
    return next(wrong, None)


def n_words(values: np.ndarray) -> float:
    """Return the mean number of words of the texts that are not missing; 0 without any."""
    counts = [len(text.split()) for text in values if text]
    return float(np.mean(counts)) if counts else 0.0


def _kind_of_numbers(name: str, values: np.ndarray) -> ColumnKind:
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return ColumnKind(EMPTY, n_missing, 0)
    n_distinct = len(np.unique(present))
    if n_distinct == 1:
        return ColumnKind(CONSTANT, n_missing, 1, f"always {present[0]:.12g}")
    whole = bool((present == np.floor(present)).all())
    if whole and n_distinct == len(values):
        if named_like_an_identity(name):
            return ColumnKind(ROW_NAME, 0, n_distinct, "a different whole number in every row")
        if (np.diff(values) == 1).all():
            return ColumnKind(ROW_NAME, 0, n_distinct, "it counts the rows")
    note = ""
    if whole and n_distinct <= MOST_LEVELS and n_distinct * LEAST_ROWS_PER_LEVEL < len(present):
        note = f"{n_distinct} different whole numbers, taken as numbers"
    return ColumnKind(NUMBER, n_missing, n_distinct, note)


def _kind_of_texts(name: str, table: Table) -> ColumnKind:
    values = table.strings(name)
    present = [text for text in values if text]
    n_missing = len(values) - len(present)
    n_distinct = len(set(present))

    def kind(kind: str, note: str = "", warning: str = "") -> ColumnKind:
        return ColumnKind(kind, n_missing, n_distinct, note, warning)

    if not present:
        return kind(EMPTY)
    if n_distinct == 1 and not n_missing:
        return kind(CONSTANT, f"always '{present[0]}'")
    if _SMILES_NAME.fullmatch(name) and first_that_is_no_smiles(values) is None:
        return kind(SMILES)
    if _are_molecules(present):
        return kind(SMILES, "its texts look like the SMILES of molecules")
    if all(_DATES.fullmatch(text) for text in present):
        return kind(DATE)
    warning = _spoiled_numbers(values, table)
    if n_distinct <= MOST_LEVELS and n_distinct * LEAST_ROWS_PER_LEVEL < len(values):
        return kind(CATEGORY, warning=warning)
    if n_words(values) >= LEAST_WORDS:
        return kind(TEXT)
    unique = n_distinct == len(values)
    mean_length = sum(map(len, present)) / len(present)
    if unique and not warning and (named_like_an_identity(name) or mean_length <= LONGEST_NAME):
        return kind(ROW_NAME, "a different text in every row")
    return kind(STRINGS, warning=warning)


def _are_molecules(texts: list[str]) -> bool:
    """Return whether texts, in a column of any name, are very likely SMILES."""
    if not all(map(_SMILES_ATOMS.fullmatch, texts)):
        return False
    return sum(bool(_SMILES_BONDS.search(text)) for text in texts) >= LEAST_BONDED * len(texts)


def _spoiled_numbers(values: np.ndarray, table: Table) -> str:
    """Return why a column of probable numbers is read as texts; nothing for real texts."""
    present = [row for row, text in enumerate(values) if text]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(values[row])) for row in present)
    if commas and all(
        _DECIMAL_COMMA.fullmatch(values[row]) or finite_number(values[row]) is not None
        for row in present
    ):
        return (
            f"its values are numbers with a decimal comma, such as '{values[present[0]]}', and are "
            "taken for texts; write them with a point"
        )
    measured = [_WITH_UNIT.fullmatch(values[row]) for row in present]
    if len(present) > 1 and all(measured) and len({found[3] for found in measured}) == 1:
        return (
            f"its values are numbers followed by '{measured[0][3]}', such as "
            f"'{values[present[0]]}', and are taken for texts; write the numbers alone"
        )
    others = [row for row in present if finite_number(values[row]) is None]
    if len(others) <= (1 - MOSTLY) * len(present):
        line = table.where(others[0]).rpartition(", ")[2]
        return (
            f"{len(present) - len(others)} of its {len(present)} values are numbers, but not "
            f"'{values[others[0]]}' in {line}, so all are taken for texts; fix "
            "the table, or name this mark in missing_values"
        )
    return ""
