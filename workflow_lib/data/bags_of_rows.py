"""Bags of a table that has a row for each instance, such as a cell of a patient.

The table of the bags has one row for each of them: its name, its class and its pooled columns
(`workflow_lib.items.kinds.bags.pooled_rows`), so that it can be inspected as any other table.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.copies import without_copies
from workflow_lib.core.errors import UserError
from workflow_lib.items.kinds.bags import pooled_rows
from workflow_lib.tabular.row_roles import codes_of, row_key
from workflow_lib.tabular.tables import listed
from workflow_lib.tabular.user_table import Table

REPEATED = "a bag with the rows of an earlier bag"
TWO_CLASSES = "a bag with two classes"
COPIED_CLASSES = "bags with the same rows and two classes"
WITHOUT_ROWS = "a bag without a complete row"


class BagsOfRows(NamedTuple):
    """The bags of a table."""

    table: Table
    """A row for each of the n bags, in the order of their first rows: the column of their names,
    that of their classes where it is known, and their pooled columns."""

    bags: list[np.ndarray]
    """List of n arrays (m_i, d)."""

    numbers: list[str]
    """Columns of the rows."""

    pooled: list[str]
    """Names of the pooled columns of `table`."""

    excluded: dict[str, int]
    """Bags left out, by reason."""

    n_incomplete: int
    """Rows left out, because a number is missing."""

    notes: list[str]
    """Of bags of new rows, such of their rows; "" for most bags."""


def labelled_bags(table: Table, bag: str, classes: str, numbers: Sequence[str]) -> BagsOfRows:
    """Return the bags that can be learned from; those without a class have the class "".

    Left out and counted are bags whose rows have two classes, bags with the rows of an earlier one,
    and all of such with two classes, which would be in training and test rows; rows that lack a
    number, and bags without another row.

    Raises UserError if a row names no bag, a column does not hold numbers, or no bag is left.

    Parameters
    ----------
    table : Table
    bag, classes : str
        Columns of the name of the bag of each row, and of the class of the bag.
    numbers : sequence of d str
    """
    rows = table.matrix(numbers)
    codes, names = _codes(table, bag)
    class_codes, class_names = codes_of(table.strings(classes))
    is_complete = ~np.isnan(rows).any(axis=1)
    excluded = dict.fromkeys((TWO_CLASSES, WITHOUT_ROWS, REPEATED, COPIED_CLASSES), 0)
    found: list[tuple[str, int, np.ndarray]] = []
    for own in _members(codes):
        labels = [class_names[number] for number in np.unique(class_codes[own]) if number >= 0]
        values = rows[own[is_complete[own]]]
        if len(labels) > 1:
            excluded[TWO_CLASSES] += 1
        elif not len(values):
            excluded[WITHOUT_ROWS] += 1
        else:
            found.append((labels[0] if labels else "", own[0], values))
    # The order of the rows of a bag has no meaning.
    keys = (b"".join(sorted(map(row_key, values))) for _, _, values in found)
    indices, excluded[REPEATED], excluded[COPIED_CLASSES] = without_copies(
        (index, key, found[index][0]) for index, key in enumerate(keys)
    )
    kept = [found[index] for index in indices]
    if not kept:
        raise UserError(
            location=f"{table.location}, column '{bag}'",
            found="no bag that can be used: " + listed([name for name, n in excluded.items() if n]),
            expected="bags with at least one complete row and one class",
            remedy="fix the columns",
        )
    labels, first, bags = (list(part) for part in zip(*kept))
    texts = {bag: [names[codes[row]] for row in first], classes: labels}
    n_incomplete = int((~is_complete).sum())
    return _with_table(table, texts, first, bags, numbers, excluded, n_incomplete, [""] * len(bags))


def profiled(table: Table, options: Mapping[str, Any]) -> tuple[Table, dict[str, Any]]:
    """Return the table of the bags, and its columns as in the options of the reader ``table``.

    Raises UserError as `labelled_bags`.

    Parameters
    ----------
    table : Table
    options : mapping
        Options of the reader ``bag_table``.
    """
    numbers = table.matching(options["numbers"], "numbers")
    found = labelled_bags(table, options["bag"], options["classes"], numbers)
    roles = {"classes": options["classes"], "row_name": options["bag"], "numbers": found.pooled}
    return found.table, roles


def all_bags(table: Table, bag: str, numbers: Sequence[str]) -> BagsOfRows:
    """Return all bags of a table of new rows.

    Raises UserError if a row names no bag, a column does not hold numbers, or a bag has no complete
    row.

    Parameters
    ----------
    table : Table
    bag : str
    numbers : sequence of d str
    """
    rows = table.matrix(numbers)
    codes, names = _codes(table, bag)
    is_complete = ~np.isnan(rows).any(axis=1)
    bags, first, notes = [], [], []
    for own in _members(codes):
        bags.append(rows[own[is_complete[own]]])
        first.append(own[0])
        n_left_out = len(own) - len(bags[-1])
        note = f"rows left out, because a number is missing: {n_left_out} of {len(own)}"
        notes.append(note if n_left_out else "")
        if not len(bags[-1]):
            missing = numbers[int(np.isnan(rows[own[0]]).argmax())]
            raise UserError(
                location=table.where(own[0], missing),
                found=f"a number is missing in every row of the bag '{names[codes[own[0]]]}'",
                expected=f"at least one row of each bag with a number in {listed(numbers)}",
                remedy="fill the cells, or leave the bag out",
            )
    texts = {bag: [names[codes[row]] for row in first]}
    n_incomplete = int((~is_complete).sum())
    return _with_table(table, texts, first, bags, numbers, {}, n_incomplete, notes)


def _codes(table: Table, bag: str) -> tuple[np.ndarray, list[str]]:
    """Return the number of the bag of each row (n,), and the names of the bags."""
    codes, names = codes_of(table.strings(bag))
    for row in np.flatnonzero(codes < 0):
        raise UserError(
            location=table.where(row, bag),
            found="the name of the bag is missing",
            expected="the bag of every row",
            remedy="fill it in, or remove the row",
        )
    return codes, names


def _members(codes: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each bag, in the order of the first rows of the bags."""
    first = np.unique(codes, return_index=True)[1]
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return [members[code] for code in np.argsort(first)]


def _with_table(
    table: Table,
    texts: dict[str, list[str]],
    first: Sequence[int],
    bags: list[np.ndarray],
    numbers: Sequence[str],
    excluded: dict[str, int],
    n_incomplete: int,
    notes: list[str],
) -> BagsOfRows:
    pooled = [f"{what} of {name}" for what in ("mean", "deviation") for name in numbers]
    columns = dict(zip(pooled, pooled_rows(bags)[0].T))

    def strings(name: str) -> np.ndarray:
        values = texts[name] if name in texts else map(repr, columns[name].tolist())
        return np.array(list(values), dtype=object)

    lines = table.lines[np.array(first, dtype=int)]
    of_bags = Table(table.location, [*texts, *pooled], columns, strings, lines, table.unit)
    return BagsOfRows(of_bags, bags, list(numbers), pooled, excluded, n_incomplete, notes)
