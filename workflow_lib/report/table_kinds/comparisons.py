"""Questions about an experiment, each answered by the comparison of two of its methods."""

from collections.abc import Iterable

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import (
    MISSING,
    PLUS_MINUS,
    count_of,
    format_p_value,
    format_signed,
    variant_label,
)
from workflow_lib.report.quantities import QUANTITIES, errors_by_size
from workflow_lib.report.results import most_test_rows, outside_studies, rows_of_sizes
from workflow_lib.report.table_markup import Block, Layout
from workflow_lib.report.table_text import TableOptions
from workflow_lib.report.tables import CORRECTED_RISK, common_splits, difference
from workflow_lib.report.variants import Variant, components_order

SHOWS = "questions, each answered by two methods"
READS = {"scores": "results/{experiment}/scores.csv"}
COLUMNS = (
    *("question", "answer", "quantity", "training_size"),
    *("method", "components", "weak_size"),
    *("against", "against_components", "against_weak_size"),
    *("difference", "deviation", "p_student", "p_corrected", "n_splits"),
)

HEADS = ["difference", "Student", "corrected", "answer"]

NOTE = (
    "Differences are mean ± standard deviation over the splits, the first method minus the second "
    "on the same test rows, each with its most weak rows; a method against itself, with them and "
    "without; for each fixed number C of components. p values are of the paired Student t-test and "
    "of the corrected resampled t-test, not adjusted for their number; the answer is by the "
    f"corrected one at {CORRECTED_RISK}."
)


def cells(scores: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return the answers, by training size in the order of the questions.

    Each of ``comparisons`` in the keys has a ``question``, whether ``method`` is better than
    ``against``.
    ``difference`` and ``deviation`` are as they are shown: in percentage points of an accuracy.
    ``answer`` is ``yes``, ``no, worse``, ``not shown`` or, for one split, ``not tested``.

    Raises UserError if no size has the scores of both methods of any question.
    """
    measured, rows = QUANTITIES[options.metric], outside_studies(scores)
    n_train, n_test = rows_of_sizes(rows), most_test_rows(rows)
    answers = []
    for size, column in errors_by_size(rows, options.metric).items():
        for requested in options.keys["comparisons"]:
            for first, second in _compared(column, requested["method"], requested["against"]):
                found = difference(
                    column[first], column[second], n_train[size], n_test[first, size]
                )
                if found is None:
                    continue
                by_split = [
                    measured.shown_difference(column[first][split] - column[second][split])
                    for split in common_splits(column[first], column[second])
                ]
                answer = requested["question"], _ANSWERS[found.outcome], options.metric, size
                answer += *first[:3], *second[:3], *mean_and_deviation(by_split)
                answers.append((*answer, found.p_student, found.p_corrected, found.n_splits))
    if not answers:
        raise UserError(
            location="a table of kind comparisons",
            found="no training size at which both methods of a question have scores",
            expected="two methods of the experiment, or one with weak rows against itself",
            remedy="change the key comparisons of the table, or leave the table out",
        )
    return pd.DataFrame(answers, columns=COLUMNS)


def _compared(variants: Iterable[Variant], method: str, against: str) -> list[tuple]:
    """Return the variants to compare: each with its most weak rows, a method against itself
    without; where both have fixed numbers of components, a pair for each number."""
    firsts, seconds = (
        sorted((v for v in variants if v.method == name), key=lambda v: v.weak_size)
        for name in (method, against)
    )
    shared = {v.components for v in firsts} & {v.components for v in seconds}
    pairs = []
    for components in sorted(shared, key=components_order):
        first, second = (
            [v for v in found if v.components == components] for found in (firsts, seconds)
        )
        pairs.append((first[-1], second[0 if method == against else -1]))
    if not shared and firsts and seconds:
        pairs.append((firsts[-1], seconds[-1]))
    return [(first, second) for first, second in pairs if first != second]


_ANSWERS = {"lower": "yes", "higher": "no, worse", "untested": "not tested"}
_ANSWERS |= {"open": "not shown", "equal": "not shown"}
"""Outcome of the comparison of errors -> the answer."""


def layout(cells: pd.DataFrame, options: TableOptions) -> Layout:
    """Return the layout: a block for each training size, a row for each question."""
    measured = QUANTITIES[options.metric]
    decimals = 1 if measured.is_percent else 3
    blocks = []
    for size, of_size in cells.groupby("training_size", sort=False):
        rows = []
        for cell in of_size.itertuples():
            first = Variant(cell.method, cell.components, cell.weak_size)
            second = Variant(cell.against, cell.against_components, cell.against_weak_size)
            names = [variant_label(variant, options.methods) for variant in (first, second)]
            shown = format_signed(cell.difference, decimals)
            entries = [shown, MISSING, MISSING, cell.answer]
            if cell.n_splits > 1:
                entries[0] = f"{shown} {PLUS_MINUS} {cell.deviation:.{decimals}f}"
                entries[1:3] = (format_p_value(p) for p in (cell.p_student, cell.p_corrected))
            rows.append((f"{cell.question} {' against '.join(names)}", entries))
        sizes = f"{measured.size_in_words(size)}, {count_of(of_size['n_splits'].max(), 'split')}"
        blocks.append(Block(f"{measured.difference_name}, {sizes}", rows))
    return Layout(options.title, "Question", HEADS, blocks, [NOTE], is_prose=True)
