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


class _Bag(NamedTuple):
    """A bag, the numbers of its rows in the table, and the complete ones of its rows (m, d)."""

    name: str
    rows: np.ndarray
    values: np.ndarray

    @property
    def n_incomplete(self) -> int:
        return len(self.rows) - len(self.values)


def labelled_bags(table: Table, bag: str, classes: str, numbers: Sequence[str]) -> BagsOfRows:
    """Return the bags that can be learned from; those without a class have the class "".

    `bag`, `classes` and the d `numbers` are columns: of the name of the bag of each row, of the
    class of the bag, and of what describes a row.

    Left out and counted are bags whose rows have two classes, bags with the rows of an earlier one,
    and all of such with two classes, which would be in training and test rows; rows that lack a
    number, and bags without another row.

    Raises UserError if a row names no bag, a column does not hold numbers, or no bag is left.
    """
    every = _bags(table, bag, numbers)
    class_codes, class_names = codes_of(table.strings(classes))
    excluded = dict.fromkeys((TWO_CLASSES, WITHOUT_ROWS, REPEATED, COPIED_CLASSES), 0)
    found: list[tuple[_Bag, str]] = []
    for each in every:
        labels = [class_names[code] for code in np.unique(class_codes[each.rows]) if code >= 0]
        if len(labels) > 1:
            excluded[TWO_CLASSES] += 1
        elif not len(each.values):
            excluded[WITHOUT_ROWS] += 1
        else:
            found.append((each, labels[0] if labels else ""))
    # The order of the rows of a bag has no meaning.
    keys = (b"".join(sorted(map(row_key, each.values))) for each, _ in found)
    indices, excluded[REPEATED], excluded[COPIED_CLASSES] = without_copies(
        (index, key, found[index][1]) for index, key in enumerate(keys)
    )
    if not indices:
        raise UserError(
            location=f"{table.location}, column '{bag}'",
            found="no bag that can be used: " + listed([name for name, n in excluded.items() if n]),
            expected="bags with at least one complete row and one class",
            remedy="fix the columns",
        )
    kept, labels = zip(*(found[index] for index in indices))
    made = _with_table(table, bag, kept, {classes: labels}, numbers)
    return made._replace(excluded=excluded, n_incomplete=sum(each.n_incomplete for each in every))


def profiled(table: Table, options: Mapping[str, Any]) -> tuple[Table, dict[str, Any]]:
    """Return the table of the bags, and its columns as in the options of the reader ``table``.

    `options` are those of the reader ``bag_table``. Raises UserError as `labelled_bags`.
    """
    numbers = table.matching(options["numbers"], "numbers")
    found = labelled_bags(table, options["bag"], options["classes"], numbers)
    roles = {"classes": options["classes"], "row_name": options["bag"], "numbers": found.pooled}
    return found.table, roles


def all_bags(table: Table, bag: str, numbers: Sequence[str]) -> BagsOfRows:
    """Return all bags of a table of new rows; `bag` and `numbers` as of `labelled_bags`.

    Raises UserError if a row names no bag, a column does not hold numbers, or a bag has no complete
    row.
    """
    bags, notes = _bags(table, bag, numbers), []
    for each in bags:
        note = "rows left out, because a number is missing: "
        note += f"{each.n_incomplete} of {len(each.rows)}"
        notes.append(note if each.n_incomplete else "")
        if not len(each.values):
            first = each.rows[0]
            missing = np.isnan(table.matrix(numbers)[first])
            raise UserError(
                location=table.where(first, numbers[int(missing.argmax())]),
                found=f"a number is missing in every row of the bag '{each.name}'",
                expected=f"at least one row of each bag with a number in {listed(numbers)}",
                remedy="fill the cells, or leave the bag out",
            )
    made = _with_table(table, bag, bags, {}, numbers)
    return made._replace(n_incomplete=sum(each.n_incomplete for each in bags), notes=notes)


def _bags(table: Table, bag: str, numbers: Sequence[str]) -> list[_Bag]:
    """Return the bags in the order of their first rows."""
    values = table.matrix(numbers)
    is_complete = ~np.isnan(values).any(axis=1)
    codes, names = codes_of(table.strings(bag))
    for row in np.flatnonzero(codes < 0):
        raise UserError(
            location=table.where(row, bag),
            found="the name of the bag is missing",
            expected="the bag of every row",
            remedy="fill it in, or remove the row",
        )
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    order = np.argsort(np.unique(codes, return_index=True)[1])
    return [
        _Bag(names[code], own := members[code], values[own[is_complete[own]]]) for code in order
    ]


def _with_table(
    table: Table,
    bag: str,
    bags: Sequence[_Bag],
    labels: Mapping[str, Sequence[str]],
    numbers: Sequence[str],
) -> BagsOfRows:
    texts = {bag: [each.name for each in bags], **labels}
    values = [each.values for each in bags]
    pooled = [f"{what} of {name}" for what in ("mean", "deviation") for name in numbers]
    columns = dict(zip(pooled, pooled_rows(values)[0].T))

    def strings(name: str) -> np.ndarray:
        found = texts[name] if name in texts else map(repr, columns[name].tolist())
        return np.array(list(found), dtype=object)

    lines = table.lines[np.array([each.rows[0] for each in bags], dtype=int)]
    of_bags = Table(table.location, [*texts, *pooled], columns, strings, lines, table.unit)
    return BagsOfRows(of_bags, values, list(numbers), pooled, {}, 0, [""] * len(bags))
