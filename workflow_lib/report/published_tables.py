"""Published tables whose rows and columns are not those of a run: shown as they were printed."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workflow_lib.report.labels import MISSING, format_published_error, method_label
from workflow_lib.report.quantities import PERCENT
from workflow_lib.report.results import Published, read_published_apart
from workflow_lib.report.table_markup import Block, Layout

PAPER = "Djerrab et al. (2018)"
"""The source of tables that name none; other tables are named as ``Blaschko (2014) 4.1``."""

COUNT = "resets"
"""The unit of numbers that are printed without decimals."""

ABSENT = "missing in the text"
"""What is shown instead of a number that the text of a paper does not contain."""

_OF_ANOTHER_SOURCE = re.compile(r"(.*\(\d{4}\)) (.+)")


def source_and_name(table: str) -> tuple[str, str]:
    """Return the source of a published table, with its year in brackets, and its name there."""
    named = _OF_ANOTHER_SOURCE.fullmatch(table)
    return (named[1], named[2]) if named else (PAPER, table)


def published_layouts(
    paths: Iterable[str | Path], methods: Mapping[str, Mapping], stand_in_for: str | None
) -> list[Layout]:
    """Return each table of the files that holds numbers without a training size.

    Rows and columns have the names and the order of the printed table; a row whose method has
    another label here says so. The numbers keep the digits they were printed with.

    The notes are those of the file and of the unit, and say that the data differ where those of the
    run stand in for others.
    """
    by_table: dict[str, list[Published]] = {}
    for number in read_published_apart(paths):
        by_table.setdefault(number.table, []).append(number)
    return [_layout(numbers, methods, stand_in_for) for numbers in by_table.values()]


def beside(layout: Layout, published: Sequence[Layout]) -> tuple[Layout, list[Layout]]:
    """Return a layout with a published table of the same columns and rows beside it, and the rest.

    `published` are as from `published_layouts`; where none has the same columns and rows, the
    layout is unchanged and all are the rest.
    """
    for table in published:
        found = {row.label: row.ours for block in table.blocks for row in block.all_rows}
        rows = {row.label for block in layout.blocks for row in block.all_rows}
        if table.heads == layout.heads and rows == found.keys():
            blocks = [
                replace(
                    block, rows=[row._replace(published=found[row.label]) for row in block.all_rows]
                )
                for block in layout.blocks
            ]
            added = {"published_heads": table.heads, "published_heading": table.title}
            added |= {"notes": [*layout.notes, *table.notes]}
            return replace(layout, blocks=blocks, **added), [
                each for each in published if each is not table
            ]
    return layout, list(published)


def _layout(numbers: list[Published], methods, stand_in_for: str | None) -> Layout:
    columns = list(dict.fromkeys(number.column for number in numbers))
    texts: dict[tuple[str, str], dict[str, str]] = {}
    for number in numbers:
        text = format_published_error(number.value, number.spread)
        if math.isnan(number.value):
            text = ABSENT
        elif number.unit == COUNT:
            text = f"{number.value:g}"
        elif number.unit == "s":
            text += " s"
        texts.setdefault((number.row, number.method), {})[number.column] = text
    rows = []
    for (row, method), found in texts.items():
        label = method_label(method, methods) if method in methods else row
        name = row if label == row else f"{row} (here: {label})"
        rows.append((name, [found.get(column, MISSING) for column in columns]))
    source, name = source_and_name(numbers[0].table)
    # Numbers of the text have a name in words, as "experiment 2".
    title = f"Published: {'table ' * name[0].isdigit()}{name} of {source}"
    return Layout(title, "Method", columns, [Block("", rows)], _notes(numbers, stand_in_for))


def _notes(numbers: list[Published], stand_in_for: str | None) -> list[str]:
    own = list(dict.fromkeys(number.note for number in numbers if number.note))
    if all(math.isnan(number.value) for number in numbers):
        return own
    notes = ["Published numbers are shown as they were printed.", *own]
    if {number.unit for number in numbers} == {"s"}:
        notes.append("Seconds are those of the machine of the authors.")
    if {number.unit for number in numbers} == {PERCENT}:
        notes.append("Accuracies are in percent.")
    if stand_in_for:
        notes.append(
            "The data of this run only stand in for theirs, so that the numbers are not comparable."
        )
    else:
        notes.append("They were measured on the data of the authors, in their splits.")
    return notes
