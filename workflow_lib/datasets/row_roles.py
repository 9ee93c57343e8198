"""Labels, groups and times of the rows of a table, by which they are split."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.errors import UserError

if TYPE_CHECKING:
    from workflow_lib.datasets.user_table import Table


FEWEST_LABELLED = 10
"""Smallest number of labelled rows: a split needs at least five for testing and for training."""


def check_labelled(table: Table, n_labelled: int, what: str) -> None:
    """Refuse a table with fewer than FEWEST_LABELLED rows that have a known `what`."""
    if n_labelled < FEWEST_LABELLED:
        raise UserError(
            place=table.place,
            found=f"{n_labelled} of {table.n_rows} rows have a known {what}",
            expected=f"at least {FEWEST_LABELLED} such rows: some are kept for testing, and the "
            "others are divided into folds",
            remedy="add rows, or check that these are the intended columns to predict",
        )


def codes_of(texts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the number (n,) of each text among the distinct texts, -1 if missing, and these."""
    import pandas

    codes, names = pandas.factorize(np.where(texts == "", None, texts), sort=True)
    return codes, names.tolist()


def group_codes(rows: Table, name: str, labelled: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the result of `codes_of` for a column of groups; `labelled` (n,) rows must have one.

    Raises
    ------
    UserError
        Naming the first line whose group is missing.
    """
    codes, names = codes_of(rows.strings(name))
    for row in np.flatnonzero((codes < 0) & labelled):
        raise UserError(
            place=rows.where(row, name),
            found="the group is missing",
            expected="the group of every row with a known output, so that no group is split",
            remedy="fill it in (a row that belongs to no other may have a name of its own), or "
            "leave out the option group",
        )
    return codes, names


def row_times(rows: Table, name: str) -> np.ndarray:
    """Return the times (n,) in a column: numbers, or days since the year 1 of dates.

    Raises
    ------
    UserError
        Naming the first line whose time is missing, or neither a number nor a date.
    """
    texts = rows.strings(name)
    for row in np.flatnonzero(texts == ""):
        raise UserError(
            place=rows.where(row, name),
            found="the time is missing",
            expected="the time of every row, so that no model learns from later rows",
            remedy="fill it in, or remove the row",
        )
    if rows.is_numeric(name):
        return rows.numbers(name)
    times = np.empty(len(texts))
    for row, text in enumerate(texts):
        try:
            moment = datetime.datetime.fromisoformat(text)
        except ValueError as error:
            raise UserError(
                place=rows.where(row, name),
                found=f"'{text}' is not a time",
                expected="a number in every row, or a date such as 2024-05-31 or "
                "2024-05-31T18:30 in every row",
                remedy="write all times in one of these forms",
            ) from error
        # Not converted to UTC, which may be before the year 1 and then does not exist.
        beginning = datetime.datetime.min.replace(tzinfo=moment.tzinfo and datetime.UTC)
        times[row] = (moment - beginning) / datetime.timedelta(days=1) + 1
    return times
