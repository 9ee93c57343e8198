"""Times of the rows of a table, by which they can be split."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from workflow_lib.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.datasets.user_table import Table


def row_times(rows: Table, name: str) -> np.ndarray:
    """Return the times (n,) in a column: numbers, or days since the year 1 of dates.

    Raises
    ------
    UserError
        Naming the first line whose time is missing, or neither a number nor a date.
    """
    import numpy as np

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
