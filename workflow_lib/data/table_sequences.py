"""A column of sequences of letters in a user table: its letters, and the rows that can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.data.sequence_records import Record, checked_letters, usable_records

if TYPE_CHECKING:
    from workflow_lib.tabular.table_file import Table

ALPHABETS = ("ACGT", "ACGU", "ACDEFGHIKLMNPQRSTVWY")
"""The letters of DNA, of RNA and of proteins."""

KNOWN_SHARE = 0.95
"""Smallest share of letters that are known, for a sequence to be of DNA or RNA."""

MIN_LETTERS = 2
"""Known letters in a row that a sequence must have: one letter follows no other."""


def proposed_letters(sequences: Sequence[str]) -> str:
    """Return the letters of DNA, RNA or proteins, the first of which nearly all letters are.

    All letters that occur, sorted, where they are those of none.
    """
    counts = Counter("".join(sequences).upper())
    for letters in ALPHABETS:
        known = sum(counts[letter] for letter in letters)
        if known >= KNOWN_SHARE * counts.total():
            return letters
    return "".join(sorted(counts))


def table_sequences(table: Table, name: str) -> list[str]:
    """Return the sequences of a column in capital letters, "" where missing.

    Raises UserError naming the line of a cell with another sign than a letter.
    """
    return [
        checked_letters(text, table.where(row, name)) if text else ""
        for row, text in enumerate(table.strings(name))
    ]


def with_usable_sequences(
    table: Table, name: str, classes: str, letters: str
) -> tuple[Table, dict[str, int]]:
    """Return the table without rows whose sequence cannot be used, and their number by reason.

    Of rows with a sequence and a class, those are left out that
    `workflow_lib.data.sequence_records.usable_records` leaves out, so that no sequence is both
    in training and test rows. Other rows stay.
    """
    labels = table.strings(classes)
    records = [
        Record(labels[row], "", sequence, group=row)
        for row, sequence in enumerate(table_sequences(table, name))
        if sequence and labels[row]
    ]
    if not records:
        raise UserError(
            location=f"{table.location}, columns '{name}' and '{classes}'",
            found="no row with a sequence and a class",
            expected="the class of each sequence",
            remedy="fix the columns",
        )
    kept, excluded = usable_records(records, letters, MIN_LETTERS, table.location)
    stays = np.ones(table.n_rows, dtype=bool)
    stays[[record.group for record in records]] = False
    stays[[record.group for record in kept]] = True
    return (table if stays.all() else table.selected(stays)), excluded
