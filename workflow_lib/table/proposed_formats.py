"""Columns whose numbers are not written as usual, and the formats in which `new` reads them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

import numpy as np

from workflow_lib.data.column_kinds import looks_like_row_id
from workflow_lib.tabular.tables import finite_number, listed_names
from workflow_lib.tabular.user_table import Table
from workflow_lib.tabular.written_numbers import (
    DECIMAL_MARKS,
    NumberFormat,
    first_unclear,
    formats_of,
    shown_number,
)

MAX_COMPARED = 50
"""Largest number of columns of usual numbers whose cells are read for evidence."""


class ProposedFormats(NamedTuple):
    """The formats by column, in the form of `number_formats`, and what to tell the user."""

    formats: dict[str, str]
    notes: list[str]
    warnings: list[str]


def proposed_formats(
    table: Table, others: Collection[str | None], decimal: str | None = None
) -> ProposedFormats:
    """Return the formats of the columns that are numbers, but not as Python writes them.

    A column is read where all its cells have one reading. Where they have two, such as 12,572, the
    decimal mark decides that the user gave, or that all other columns share: of these a warning
    says so. A column that stays open is not read, and `column_kinds` warns of it.

    `others` are columns that are no numbers: groups, classes, categories; `decimal` is the decimal
    mark, as the user gave it.
    """
    skipped = {*others, *table.typed, *table.categories, *table.unreadable}
    texts: dict[str, list[str]] = {}
    readings: dict[str, list[NumberFormat]] = {}
    for name in table.names:
        if name in skipped or table.is_numeric(name):
            continue
        present = [text for text in dict.fromkeys(table.strings(name)) if text]
        is_identity = len(present) == table.n_rows and looks_like_row_id(name)
        if not is_identity and (found := formats_of(present)):
            texts[name], readings[name] = present, found
    settled = {name: found[0] for name, found in readings.items() if len(found) == 1}
    marks = {
        format_.decimal
        for name, format_ in settled.items()
        if format_.thousands in DECIMAL_MARKS or any(format_.decimal in t for t in texts[name])
    }
    if len(settled) < len(readings) or "," in marks or decimal == ",":
        usual = [name for name in table.names if name not in {*others, *table.unreadable}]
        usual = (name for name in usual if table.is_numeric(name))
        fractional = (name for name in usual if np.nan_to_num(table.numbers(name) % 1).any())
        for name in islice(fractional, MAX_COMPARED):
            present = [text for text in dict.fromkeys(table.strings(name)) if text]
            if len(found := formats_of(present)) > 1:
                texts[name], readings[name] = present, found
            else:
                marks.add(".")
    marks = {decimal} if decimal else marks
    warnings = {}
    for name in [name for name in readings if name not in settled]:
        # Without evidence a point is a decimal point, as in all tables.
        chosen = [
            format_
            for format_ in readings[name]
            if {format_.decimal} == marks or (not marks and format_[:2] == ("", "."))
        ]
        if len(chosen) != 1 or (table.is_numeric(name) and chosen[0] == NumberFormat()):
            continue
        settled[name] = chosen[0]
        if marks and decimal is None:
            text = first_unclear(texts[name], readings[name])
            other = next(format_ for format_ in readings[name] if format_ not in chosen)
            known = {".": "point", ",": "comma"}
            warnings[name] = (
                f"Column '{name}': '{text}' is read as {shown_number(chosen[0].number(text))}, "
                f"because other columns have a decimal {known[chosen[0].decimal]}. If it is "
                f"{shown_number(other.number(text))}, say decimal={known[other.decimal]}."
            )
    alike: dict[str, list[str]] = {}
    for name, format_ in settled.items():
        if name not in warnings:
            alike.setdefault(format_.example, []).append(name)
    notes = []
    for names in alike.values():
        format_, present = settled[names[0]], texts[names[0]]
        unusual = (text for text in present if finite_number(text) != format_.number(text))
        text = next(unusual, present[0])
        notes.append(
            f"Numbers are read as they are written in {listed_names(names)}: '{text}' is "
            f"{shown_number(format_.number(text))}."
        )
    examples = {name: format_.example for name, format_ in settled.items()}
    return ProposedFormats(examples, notes, list(warnings.values()))
