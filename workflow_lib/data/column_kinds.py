"""Kinds of columns of a table: numbers, categories, texts, dates, names of rows, ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workflow_lib.tabular.dates import date_orders, has_short_year, is_date
from workflow_lib.tabular.tables import finite_number, listed_names
from workflow_lib.tabular.written_numbers import (
    first_unclear,
    formats_of,
    has_unit,
    is_limit,
    is_measured,
    is_no_result,
    shown_number,
)

if TYPE_CHECKING:
    from workflow_lib.tabular.table_file import Table

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

MAX_LEVELS = 20
"""Largest number of levels of a category; each becomes an input of its own."""

MIN_ROWS_PER_LEVEL = 5
"""Mean number of rows per level above which a column is a category: rarer levels cannot be
learned."""

MIN_WORDS = 4.0
"""Mean number of words of a cell from which on a column is a text, of which words are counted."""

MAX_NAME_LENGTH = 30
"""Largest mean number of characters of the names of rows. Longer distinct texts, such as sequences,
are informative about their rows."""

MIN_BONDED = 0.1
"""Smallest share of texts with a branch, a double bond or an aromatic ring in a column of
molecules: sample numbers such as C12 never have them."""

MOSTLY = 0.8
"""Smallest share of numbers for which a column of texts is reported as damaged numbers."""

MAX_MARKS = 3
"""Largest number of different texts among many numbers with decimals that are reported."""

MAX_WHOLE = 2**53
"""Largest whole number up to which all are exact in double precision."""

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
_SURELY_MEASURED = re.compile(r"[.,]\d|\d\s+\D|[%‰°$€£¥()−]")
"""Cells that are numbers with units rather than codes such as 12a."""


class ColumnKind(NamedTuple):
    """The kind of a column, with notes for the user."""

    kind: str
    """One of `KINDS`."""

    n_missing: int
    """Cells without a value."""

    n_distinct: int
    """Different values."""

    note: str = ""
    """Explanation of the decision; may be empty."""

    warning: str = ""
    """Possible mistake in the table; may be empty."""


def column_kinds(table: Table) -> dict[str, ColumnKind]:
    """Return the kind of every column of a table, by name and in the order of the file.

    The kind follows from the cells and, where these are ambiguous, from the name of the column:

    - ``number``: every value is a number, also whole numbers with few distinct values;
    - ``smiles``: with the name of such a column, and only characters of SMILES; or with any name,
      and only atoms and bonds of organic molecules, where at least `MIN_BONDED` of the texts have
      bonds that other texts do not have;
    - ``date``: days such as 2024-05-31 or 31/05/2024, with or without a time;
    - ``row name``: a different value in every row that only identifies it: texts shorter than
      `MAX_NAME_LENGTH` or columns named like an identifier, and whole numbers that count the rows
      or are named like an identifier;
    - ``category``: at most `MAX_LEVELS` different texts, each in more than `MIN_ROWS_PER_LEVEL`
      rows on average;
    - ``text``: more different texts, of `MIN_WORDS` words or more on average;
    - ``strings``: all other texts;
    - ``constant`` (a single value) and ``empty``, from which nothing can be learned.

    Numbers and texts are categories where the file says so. A column that cannot be read is empty.
    """
    return {name: _kind_of(name, table) for name in table.names}


def _kind_of(name: str, table: Table) -> ColumnKind:
    if name in table.unreadable:
        return ColumnKind(EMPTY, 0, 0)
    kind_of = _kind_of_numbers if table.is_numeric(name) else _kind_of_texts
    kind = kind_of(name, table)
    if name in table.categories and kind.kind in (NUMBER, STRINGS):
        return kind._replace(kind=CATEGORY, note="a category according to the file", warning="")
    return kind


def looks_like_row_id(name: str) -> bool:
    """Return whether the name of a column is that of an identifier of rows (``sample_id``)."""
    return bool(_ROW_NAMES.fullmatch(name) or _CAMEL_CASE_IDENTITY.fullmatch(name))


def first_invalid_smiles(values: np.ndarray) -> int | None:
    """Return the first row whose text cannot be SMILES; None when there is none."""
    wrong = (row for row, text in enumerate(values) if text and not _SMILES.fullmatch(text))
    return next(wrong, None)


def n_words(values: np.ndarray) -> float:
    """Return the mean number of words of the texts that are not missing; 0 without any."""
    counts = [len(text.split()) for text in values if text]
    return float(np.mean(counts)) if counts else 0.0


def _kind_of_numbers(name: str, table: Table) -> ColumnKind:
    values = table.numbers(name)
    present = values[~np.isnan(values)]
    n_missing = len(values) - len(present)
    if not len(present):
        return ColumnKind(EMPTY, n_missing, 0)
    n_distinct, warning = len(np.unique(present)), ""
    if np.abs(present).max() > MAX_WHOLE and (
        n_distinct < (n_exact := len(set(table.strings(name)) - {""}))
    ):
        n_distinct = n_exact
        if n_exact == len(values):
            return ColumnKind(ROW_NAME, 0, n_exact, "a different whole number in every row")
        warning = (
            f"as numbers some of its {n_exact} different values are equal, since only whole "
            f"numbers up to {MAX_WHOLE} are exact; leave identifiers out (exclude={name}), or "
            f"take them as names (categories={name})"
        )
    if n_distinct == 1:
        return ColumnKind(CONSTANT, n_missing, 1, f"always {present[0]:.12g}")
    whole = bool((present == np.floor(present)).all())
    if whole and n_distinct == len(values):
        if looks_like_row_id(name):
            return ColumnKind(ROW_NAME, 0, n_distinct, "a different whole number in every row")
        if (np.diff(values) == 1).all():
            return ColumnKind(ROW_NAME, 0, n_distinct, "it counts the rows")
    note = ""
    if whole and n_distinct <= MAX_LEVELS and n_distinct * MIN_ROWS_PER_LEVEL < len(present):
        note = f"{n_distinct} different whole numbers, taken as numbers"
    return ColumnKind(NUMBER, n_missing, n_distinct, note, warning)


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
    if _SMILES_NAME.fullmatch(name) and first_invalid_smiles(values) is None:
        return kind(SMILES)
    if _are_molecules(present):
        return kind(SMILES, "its texts look like the SMILES of molecules")
    if all(map(is_date, present)):
        is_open = date_orders(present) == set()
        order = ", date_order=day-first or date_order=month-first" if is_open else ""
        return kind(DATE, f"dates are not inputs; split by them with time={name}{order}")
    if all(map(has_short_year, present)):
        return kind(DATE, "dates are not inputs; to split by them, write years with four digits")
    unique = n_distinct == len(values)
    if unique and looks_like_row_id(name):
        return kind(ROW_NAME, "a different text in every row")
    warning = _spoiled_numbers(values, table)
    if n_distinct <= MAX_LEVELS and n_distinct * MIN_ROWS_PER_LEVEL < len(values):
        return kind(CATEGORY, warning=warning)
    if n_words(values) >= MIN_WORDS:
        return kind(TEXT, warning=warning)
    mean_length = sum(map(len, present)) / len(present)
    if unique and not warning and mean_length <= MAX_NAME_LENGTH:
        return kind(ROW_NAME, "a different text in every row")
    return kind(STRINGS, warning=warning)


def _are_molecules(texts: list[str]) -> bool:
    """Return whether texts, in a column of any name, are very likely SMILES."""
    if not all(map(_SMILES_ATOMS.fullmatch, texts)):
        return False
    return sum(bool(_SMILES_BONDS.search(text)) for text in texts) >= MIN_BONDED * len(texts)


def _spoiled_numbers(values: np.ndarray, table: Table) -> str:
    """Return why a column of probable numbers is read as texts; nothing for real texts."""
    present = [row for row, text in enumerate(values) if text]
    texts = list(dict.fromkeys(values[present]))
    formats = formats_of(texts)
    if formats:
        if len(formats) == 1:
            text = next(text for text in texts if finite_number(text) is None)
            return (
                f"its values are numbers that are not written as usual, such as '{text}', and are "
                f"taken for texts; write {shown_number(formats[0].number(text))}, or give their "
                f'format in number_formats, "{formats[0].example}"'
            )
        text = first_unclear(texts, formats)
        readings = " or ".join(shown_number(each.number(text)) for each in formats)
        return (
            f"its values are taken for texts, since '{text}' may be {readings}; write it as one of "
            "these, or add decimal=point or decimal=comma to the command, the mark before decimals"
        )
    others = [row for row in present if not is_measured(values[row])]
    n_numbers = len(present) - len(others)
    if not others:
        if not any(map(_SURELY_MEASURED.search, texts)):
            return ""
        shown = listed_names([texts[0], *[text for text in texts if has_unit(text)][-1:]])
        return (
            f"its values are numbers in several ways or units, such as {shown}, and are taken for "
            "texts; write the numbers alone, in one unit and one way"
        )
    marks = list(dict.fromkeys(values[others]))
    numbers = {text for text in texts if is_measured(text)}
    are_known = all(is_limit(mark) or is_no_result(mark) for mark in marks)
    are_few = len(marks) <= MAX_MARKS and any("." in text or "," in text for text in numbers)
    if len(numbers) > 1 and (
        len(others) <= (1 - MOSTLY) * len(present)
        or are_known
        or (are_few and len(numbers) > MAX_MARKS)
    ):
        # Snakemake takes # for a comment.
        key = f"missing='\\{marks[0]}'" if marks[0][0] == "#" else f'missing="{marks[0]}"'
        line = table.where(others[0]).rpartition(", ")[2]
        remedy = (
            "write a number in these cells, or leave them empty: a limit is not a measured value"
            if is_limit(marks[0])
            else f"fix the table, or name such marks of missing values ({key}, "
            "missing_values in the dataset's file)"
        )
        return (
            f"{n_numbers} of its {len(present)} values are numbers, but not "
            f"'{marks[0]}' in {line}, so all are taken for texts; {remedy}"
        )
    return ""
