"""The sentences under a table: what its numbers are, and what its marks mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from workflow_lib.report.agreement import agreement_note
from workflow_lib.report.labels import join_words, method_label, range_in_words
from workflow_lib.report.published_tables import source_and_name
from workflow_lib.report.quantities import QUANTITIES, Quantity
from workflow_lib.report.table_markup import MARKS
from workflow_lib.report.tables import CORRECTED_RISK, STUDENT_RISK, Cell
from workflow_lib.tasks.found import all_measures
from workflow_lib.uncertainty.accuracy_interval import accuracy_interval

if TYPE_CHECKING:
    from workflow_lib.report.table_text import TableOptions

READINGS = {name: each.reading for name, each in all_measures().items() if each.reading}
"""Errors of published numbers that are inferred from their size -> the sentence that says so."""


def table_notes(
    cells: Sequence[Cell],
    options: TableOptions,
    measured: Quantity,
    *,
    sizes: str = "",
    own: Sequence[str] = (),
    bold_within: str = "",
) -> list[str]:
    """Return the sentences under a table; marks that occur nowhere are not explained.

    `measured` is the quantity on which the findings of the experiment are based. `sizes` says what
    training sizes are, where they are shown, `own` are sentences of the kind, and `bold_within`
    says what a bold number is compared within; empty for a table without any.
    """
    if not cells:
        return ["There are no results."]
    shown = {QUANTITIES[cell.quantity] for cell in cells if cell.quantity in QUANTITIES}
    if len({quantity.better for quantity in shown}) > 1:
        # Of a score higher is better, of an error beside it lower.
        measured = replace(measured, better="better")
    test_rows = f"{range_in_words({cell.n_test for cell in cells})} test rows."
    return [
        _spread_note(cells),
        f"{sizes}; {test_rows}" if sizes else test_rows,
        *own,
        *_binomial_note(cells),
        *(_bold_notes(cells, bold_within, measured) if bold_within else []),
        *_mark_notes(cells, options, measured),
        *_published_notes(cells),
    ]


def _mark_notes(cells: Sequence[Cell], options: TableOptions, measured: Quantity) -> list[str]:
    if _is_one_split(cells) or not any(cell.outcome for cell in cells):
        return []
    name = method_label(options.reference, options.methods)
    risk = f"corrected resampled t-test at {CORRECTED_RISK:g}"
    sentences = [
        f"{MARKS[outcome]}: {side} than {name} ({risk})."
        for outcome, side in (("lower", measured.better), ("higher", measured.worse))
        if any(cell.outcome == outcome for cell in cells)
    ]
    return sentences or [f"No row differs from {name} by the {risk}."]


def is_published(cell: Cell) -> bool:
    """Return whether a cell has a published number."""
    return not math.isnan(cell.published_value)


def has_differences(cells: Sequence[Cell]) -> bool:
    """Return whether the differences from published numbers are known, in spreads."""
    return any(not math.isnan(cell.published_difference_in_spreads) for cell in cells)


def _is_one_split(cells: Sequence[Cell]) -> bool:
    return {cell.n_splits for cell in cells} == {1}


def _spread_note(cells: Sequence[Cell]) -> str:
    if _is_one_split(cells):
        return "One split, so neither a deviation nor a test."
    n_splits = range_in_words({cell.n_splits for cell in cells})
    return f"Mean \u00b1 standard deviation over {n_splits} splits."


def _binomial_note(cells: Sequence[Cell]) -> list[str]:
    """Return the sentence on what the number of test rows allows, of accuracies alone."""
    found = [
        accuracy_interval(1.0 - cell.mean, cell.n_test)
        for cell in cells
        if cell.quantity in QUANTITIES and QUANTITIES[cell.quantity].is_accuracy
    ]
    if not found:
        return []
    low, high = (100 * limit for limit in max(found, key=lambda limits: limits[1] - limits[0]))
    return [
        "By the binomial law of the test rows alone, the 95 % interval of an accuracy is up to "
        f"{high - low:.1f} points wide, from {low:.1f} to {high:.1f} %."
    ]


def _bold_notes(cells: Sequence[Cell], scope: str, measured: Quantity) -> list[str]:
    if _is_one_split(cells):
        return []
    test = f"paired Student t-test at {STUDENT_RISK:g}"
    if any(cell.bold for cell in cells):
        return [f"Bold: {measured.better} than every other number {scope} ({test})."]
    return [f"No number is bold: none is {measured.better} than every other {scope} by the {test}."]


def _published_notes(cells: Sequence[Cell]) -> list[str]:
    published = {cell.quantity for cell in cells if is_published(cell)}
    if not published:
        return []
    tables = {cell.published_table for cell in cells if is_published(cell)}
    sources = join_words(sorted({source_and_name(table)[0] for table in tables}))
    notes = [f"Published numbers are those of {sources} on the data of their authors."]
    notes += [sentence for error, sentence in READINGS.items() if error in published]
    if has_differences(cells):
        compared = [cell for cell in cells if not math.isnan(cell.published_difference)]
        in_spreads = [cell.published_difference_in_spreads for cell in compared]
        notes.append(agreement_note(pd.Series(in_spreads)))
    return notes
