"""Counts of the words of bags in a user table, and the rows that can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.copies import without_copies
from workflow_lib.core.errors import UserError
from workflow_lib.tabular.row_roles import row_key

if TYPE_CHECKING:
    from workflow_lib.tabular.table_file import Table

REPEATED = "the bag of an earlier row of its class"
TWO_CLASSES = "a bag with two classes"
EMPTY = "a bag without a word"


def bag_counts(table: Table, names: Sequence[str]) -> np.ndarray:
    """Return the counts (n, q) of the words of bags with at least one word.

    Raises UserError naming the first line with a bag without a word, or a cell without a whole
    number from 0.
    """
    counts = _checked_counts(table, names, np.ones(table.n_rows, dtype=bool))
    for row in np.flatnonzero(counts.sum(axis=1) == 0):
        raise UserError(
            location=table.where(row),
            found="no word: all counts are 0",
            expected="a bag with at least one word in every row",
            remedy="fix the counts, or remove the row",
        )
    return counts


def with_usable_bags(
    table: Table, names: Sequence[str], classes: str
) -> tuple[Table, dict[str, int]]:
    """Return the table without rows whose bag cannot be used, and their number by reason.

    Of rows with a class and any count, those are left out that have no word, whose bag has two
    classes, or whose bag is that of an earlier row, so that no bag is both in training and test
    rows. Other rows stay.

    Raises UserError naming the first line with a count that is missing or no whole number from 0,
    in rows with a class and any count; where no such row is left.
    """
    labels = table.strings(classes)
    is_bag = (labels != "") & ~np.isnan(table.matrix(names)).all(axis=1)
    counts = _checked_counts(table, names, is_bag)
    with_words = is_bag & (counts > 0).any(axis=1)
    kept, n_repeated, n_two_classes = without_copies(
        (row, row_key(counts[row]), labels[row]) for row in np.flatnonzero(with_words)
    )
    n_empty = int((is_bag & ~with_words).sum())
    excluded = {REPEATED: n_repeated, TWO_CLASSES: n_two_classes, EMPTY: n_empty}
    stays = ~is_bag
    stays[kept] = True
    if not kept:
        raise UserError(
            location=f"{table.location}, column '{classes}' and the counts",
            found="no row with a class and a bag that can be used",
            expected="the class of each bag, and different bags",
            remedy="fix the columns",
        )
    return (table if stays.all() else table.selected(stays)), excluded


def _checked_counts(table: Table, names: Sequence[str], is_bag: np.ndarray) -> np.ndarray:
    """Return the values (n, q); in the rows of the mask `is_bag`, whole numbers from 0."""
    counts = table.matrix(names)
    wrong = is_bag[:, None] & ~((counts >= 0) & (counts == np.rint(counts)))
    for row, column in np.argwhere(wrong):
        value = counts[row, column]
        raise UserError(
            location=table.where(row, names[column]),
            found="no count" if np.isnan(value) else f"the count {value:g}",
            expected="how often the word occurs, a whole number from 0, in every column of a bag",
            remedy="fix the count (0 for a word that does not occur), or leave the column out",
        )
    return counts
