"""Which rows of a table may train and test, and their groups and times, by which they are split."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.dates import DAY_FIRST, MONTH_FIRST, date_orders, has_short_year, moment

if TYPE_CHECKING:
    from workflow_lib.tabular.user_table import Table


MIN_LABELLED = 10
"""Smallest number of labelled rows: a split needs at least five for testing and for training."""

MIN_COPIES, COPY_RISK = 3, 1e-3
"""Smallest number of outputs without inputs that repeat labelled rows, and largest probability that
they do so by chance, for a table to be refused."""


class RowKinds(NamedTuple):
    """Masks (n,) of the rows of a table, by what is known of them; no row is of two kinds."""

    labelled: np.ndarray
    """Array: at least one input, and the class or enough of the outputs."""

    weak: np.ndarray
    """Array: at least one input, no outputs, and a value in the column ``same_group``."""

    unpaired: np.ndarray
    """Array: no input, and the class or enough of the outputs."""


def row_kinds(
    table: Table,
    is_known: np.ndarray,
    numbers: Sequence[str],
    texts: Sequence[str],
    same_group: str | None = None,
) -> RowKinds:
    """Return the kinds of the rows of a table.

    `is_known` (n,) says whether the class, or enough of the outputs, of a row are known; `numbers`
    and `texts` are the columns of inputs that are numbers, and all others.
    """
    has_inputs = rows_with_inputs(table, numbers, texts)
    weak = np.zeros_like(is_known)
    if same_group is not None:
        weak = ~is_known & has_inputs & (table.strings(same_group) != "")
    return RowKinds(is_known & has_inputs, weak, is_known & ~has_inputs)


def rows_with_inputs(table: Table, numbers: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Return which rows (n,) have a value in an input column; all, without such columns."""
    if not numbers and not texts:
        return np.ones(table.n_rows, dtype=bool)
    found = np.zeros(table.n_rows, dtype=bool)
    for name in numbers:
        found |= ~np.isnan(table.numbers(name))
    for name in texts:
        found |= table.strings(name) != ""
    return found


def check_labelled(table: Table, n_labelled: int, what: str, n_unpaired: int = 0) -> None:
    """Refuse a table with fewer than MIN_LABELLED rows that have a known `what`.

    `n_unpaired` further rows have one, but no input.
    """
    if n_labelled < MIN_LABELLED:
        without = f" and an input ({n_unpaired} have no input)" if n_unpaired else ""
        raise UserError(
            location=table.location,
            found=f"{n_labelled} of {table.n_rows} rows have a known {what}{without}",
            expected=f"at least {MIN_LABELLED} such rows: some are kept for testing, and the "
            "others are divided into folds",
            remedy="add rows, or check that these are the intended columns to predict",
        )


def check_unpaired(table: Table, outputs: np.ndarray, kinds: RowKinds) -> None:
    """Refuse outputs (n, d), NaN where missing, without inputs that copy those of labelled rows.

    A method that learns from such rows knows the outputs of test rows. Outputs that take few values
    repeat one another by chance. The share of labelled rows whose outputs, all of them known, are
    those of another labelled row estimates how often: with r of n such rows it is taken to be
    (r + 2) / (n + 2), since none of few rows may repeat another by luck. The table is refused if at
    least `MIN_COPIES` rows without inputs repeat a labelled row, and so many would do so with a
    probability below `COPY_RISK` (one-sided binomial test). Fewer copies do no harm: those of test
    rows are left out of every split.

    Raises UserError with the number of rows, and the lines of some of them.
    """
    complete = ~np.isnan(outputs).any(axis=1)
    labelled = np.flatnonzero(kinds.labelled & complete)
    unpaired = np.flatnonzero(kinds.unpaired & complete)
    if not len(labelled) or not len(unpaired):
        return
    rows_of: dict[bytes, list[int]] = {}
    for row in labelled:
        rows_of.setdefault(row_key(outputs[row]), []).append(row)
    found = [
        (row, rows_of[key][0]) for row in unpaired if (key := row_key(outputs[row])) in rows_of
    ]
    n_repeats = sum(len(rows) for rows in rows_of.values() if len(rows) > 1)
    if len(found) < MIN_COPIES:
        return
    # Imported here, because it takes long to load.
    from scipy.stats import binom

    chance = min((n_repeats + 2) / (len(labelled) + 2), 1.0)
    if binom.sf(len(found) - 1, len(unpaired), chance) >= COPY_RISK:
        return
    locations = [[table.where(row).rpartition(", ")[2] for row in pair] for pair in found[:3]]
    examples = ", ".join(f"{row} those of {other}" for row, other in locations)
    raise UserError(
        location=f"{table.location}, rows without inputs",
        found=f"{len(found)} of {len(unpaired)} rows without inputs repeat all outputs of a "
        f"labelled row ({examples}), but only {n_repeats} of {len(labelled)} labelled rows repeat "
        "one another",
        expected="outputs without inputs that are not copies of labelled rows: a method would "
        "learn the outputs of test rows from copies",
        remedy="remove these rows, if they are labelled rows whose inputs were removed; otherwise "
        "remove all rows without inputs",
    )


def row_key(outputs: np.ndarray) -> bytes:
    """Return a key that is equal for equal outputs (d,) of a row."""
    # Adding zero makes -0.0 and 0.0 the same.
    return (np.asarray(outputs, dtype=np.float64) + 0.0).tobytes()


def codes_of(texts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the number (n,) of each text among the distinct texts, -1 if missing, and these."""
    import pandas

    codes, names = pandas.factorize(np.where(texts == "", None, texts), sort=True)
    return codes, names.tolist()


def group_codes(rows: Table, name: str, labelled: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the result of `codes_of` for a column of groups; `labelled` (n,) rows must have one.

    Raises UserError naming the first line whose group is missing.
    """
    codes, names = codes_of(rows.strings(name))
    for row in np.flatnonzero((codes < 0) & labelled):
        raise UserError(
            location=rows.where(row, name),
            found="the group is missing",
            expected="the group of every row with a known output, so that no group is split",
            remedy="fill it in (a row that belongs to no other may have a name of its own; if "
            "the cell holds a name such as NA, say not_missing=NA), or leave out the option group",
        )
    return codes, names


def classes_in_groups(groups: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number (n,) of the group of each row, and the rows (g, C) of each class in each.

    `groups` and `classes` (n,) are codes; groups and classes are numbered in their order.
    """
    group_of_row = np.unique(groups, return_inverse=True)[1]
    class_of_row = np.unique(classes, return_inverse=True)[1]
    counts = np.zeros((group_of_row.max() + 1, class_of_row.max() + 1), dtype=int)
    np.add.at(counts, (group_of_row, class_of_row), 1)
    return group_of_row, counts


def most_test_rows(counts: np.ndarray, n_test: int) -> int:
    """Return how many rows whole groups with about `n_test` rows of all classes have at most.

    More than `n_test` only where the smallest groups that hold every class once have more. `counts`
    (g, C) are the rows of each class in each group; a group with all rows of a class is no test
    group, because nothing would be left to learn this class from.
    """
    counts = counts[((counts < counts.sum(axis=0)) | (counts == 0)).all(axis=1)]
    sizes, is_tested, n_rows = counts.sum(axis=1), np.zeros(counts.shape[1], dtype=bool), 0
    for label in np.argsort((counts > 0).sum(axis=0), kind="stable"):
        holding = np.flatnonzero(counts[:, label])
        if len(holding) and not is_tested[label]:
            smallest = holding[sizes[holding].argmin()]
            is_tested |= counts[smallest] > 0
            n_rows += int(sizes[smallest])
    return max(n_test, n_rows)


def date_order(table: Table, name: str, order: str | None = None) -> str | None:
    """Return the order of day and month in the dates of a column; None where they need none.

    `order` is the one that the user gave; None: the one that the dates show.

    Raises UserError where no order is given and the dates show none, or both.
    """
    if table.is_numeric(name):
        return None
    texts = table.strings(name)
    orders = date_orders(texts)
    if order is not None or orders is None:
        return order
    if len(orders) != 1:
        row = next(row for row, text in enumerate(texts) if date_orders([text]) is not None)
        raise UserError(
            location=table.where(row, name),
            found="dates in which day and month stand in different orders"
            if orders
            else f"dates such as '{texts[row]}', of which no day is after the 12th, so that the "
            "order of day and month is unclear",
            expected="dates in one known order, or such as 2024-05-31",
            remedy="write all dates as 2024-05-31"
            if orders
            else f"say date_order={DAY_FIRST} or date_order={MONTH_FIRST} (in the command new, or "
            "in the options of the dataset)",
        )
    return orders.pop()


def row_times(rows: Table, name: str, order: str | None = None) -> np.ndarray:
    """Return the times (n,) in a column: numbers, or days since the year 1 of dates.

    `order` is that of day and month, as for `date_order`.

    Raises UserError naming the first line whose time is missing, or neither a number nor a date;
    and as `date_order`.
    """
    texts = rows.strings(name)
    for row in np.flatnonzero(texts == ""):
        raise UserError(
            location=rows.where(row, name),
            found="the time is missing",
            expected="the time of every row, so that no model learns from later rows",
            remedy="fill it in, or remove the row",
        )
    if rows.is_numeric(name):
        return rows.numbers(name)
    order = date_order(rows, name, order)
    times = np.empty(len(texts))
    for row, text in enumerate(texts):
        found = moment(text, order)
        if found is None:
            raise UserError(
                location=rows.where(row, name),
                found=f"'{text}' is not a time" + (f" that is {order}" if order else ""),
                expected="a number in every row, or a date such as 2024-05-31 or "
                "2024-05-31T18:30 in every row",
                remedy="write years with four digits"
                if has_short_year(text)
                else "write all times in one of these forms",
            )
        # Not converted to UTC, which may be before the year 1 and then does not exist.
        beginning = datetime.datetime.min.replace(tzinfo=found.tzinfo and datetime.UTC)
        times[row] = (found - beginning) / datetime.timedelta(days=1) + 1
    return times
