"""The leaderboard in plain English: what to use, how certain that is, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.gain_from_additional_rows import RowsUsed
from workflow_lib.report.labels import (
    ceiling_sentence,
    count_of,
    format_p_value,
    format_seconds,
    format_share,
    join_words,
)
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.tables import CORRECTED_RISK, Difference
from workflow_lib.table.error_parts import ERROR_NAMES, error_parts_sentence
from workflow_lib.table.leaderboard_records import CLAIM_LEVEL, Equivalence, Leaderboard, Row
from workflow_lib.table.replicates import AGAIN, replicates_remedy, replicates_sentence

FLAT = 0.01
"""A learning curve whose error changes by less than this part of it counts as flat; that of an
accuracy, by less than this share of the rows."""

MAX_NAMED = 5
"""Methods that are not distinguishable are named up to this number, and only counted above."""

USUAL_SPLITS = 10
"""Number of splits of a table, where time allows."""

ENOUGH_SPLITS = 5
"""Number of splits from which on a test can distinguish a clear lead from chance."""

_DEPENDENT_SPLITS = {
    "chronological": "the latest rows are the test rows of every split",
    "given": "the data define the test rows, the same in every split",
}
"""Kinds of split whose test rows are not drawn, in words."""


_KINDS_OF_ROWS = {
    "unpaired": ("output that lacks inputs", "outputs that lack inputs"),
    "weak": ("weak row", "weak rows"),
    "unlabelled": ("row that lacks outputs", "rows that lack outputs"),
}
"""Kinds of rows other than labelled ones, one and several."""


def answer_sentences(board: Leaderboard, split: str = "random") -> list[str]:
    """Return what a leaderboard says; the first sentence, or pair of sentences, is the headline.

    `split` is the kind of split of the experiment.
    """
    # The sentence of tied methods states those that equal a winner that is the reference. Equal
    # numbers of right classes are often due to chance.
    is_stated = board.n_splits > 1 and board.winner is board.reference
    is_stated = is_stated or QUANTITIES[board.metric].is_accuracy
    equal = [each for each in board.equivalences if each.by_theory or not is_stated]
    found = [
        headline(board),
        _range_sentence(board) if states_range(split) else "",
        _tied_sentence(board),
        _worse_than_mean_sentence(board),
        _reference_sentence(board),
        *map(_equivalence_sentence, equal),
        *(_rows_sentence(board, used) for used in board.rows_used),
        _learning_sentence(board),
        error_parts_sentence(board.error_parts, board.metric) if board.error_parts else "",
        _cost_sentence(board),
    ]
    return [sentence for sentence in found if sentence]


def answer_notes(board: Leaderboard, settings: Mapping, n_folds: int) -> list[str]:
    """Return what must be known to read the sentences: how they were made, and their limits.

    `settings` are those of the experiment, of which ``split`` counts, and `n_folds` is the number
    of folds of the selection.
    """
    measured = QUANTITIES[board.metric]
    notes = []
    if not measured.higher_is_better:
        notes.append(
            "A relative error of 1 is that of predicting the mean of the training rows; 0 is "
            "perfect."
        )
    notes.append(
        f"Hyper-parameters are chosen by {n_folds}-fold cross-validation on the training rows of "
        f"each split; its test rows have no part in it."
    )
    if board.n_splits < USUAL_SPLITS:
        notes.append(
            f"{count_of(board.n_splits, 'split')} instead of {USUAL_SPLITS}, because of the time "
            f"that they take or as requested: differences are less certain. The key splits of a "
            f"request sets their number, and n_splits where it has been written to a file."
        )
    if board.n_splits > 1:
        notes.append(
            "Better and worse are decided by the corrected resampled t-test "
            f"(Nadeau and Bengio, 2003), two-sided at {CORRECTED_RISK}, one test for each "
            f"comparison without a correction for multiple testing. Not distinguishable does not "
            f"mean equal. Bold is the paper's rule: the best mean, with p < 0.001 against every "
            f"other method by Student's paired t-test, which assumes that the overlapping training "
            f"sets are independent."
        )
    kind = settings.get("split") or "random"
    if kind in _DEPENDENT_SPLITS:
        notes.append(
            f"Here {_DEPENDENT_SPLITS[kind]}, so that the splits differ only in the training rows "
            f"drawn; the tests, which assume random splits, give p values that are too small."
        )
    if board.choice is not None:
        notes.append(_choice_note(board))
    incomplete = [row.label for row in board.rows if not row.is_complete]
    if incomplete:
        verb = "lacks" if len(incomplete) == 1 else "lack"
        notes.append(f"{join_words(incomplete)} {verb} some of the splits and cannot win.")
    ceilings = [row.label for row in board.rows if row.is_ceiling]
    if ceilings:
        notes.append(ceiling_sentence(ceilings))
    for row in board.rows:
        if row.why_not_saved and not row.is_ceiling:
            notes.append(
                f"{row.label} cannot be saved for predictions of new rows, and so cannot win: "
                f"{row.why_not_saved}."
            )
    return notes


def states_range(split: str) -> bool:
    """Return whether the splits of a kind tell how much the error varies between test rows."""
    return split not in _DEPENDENT_SPLITS


def leak_sentence(facts: Mapping, split: str, metric: str) -> str:
    """Return that rows of one sample both train and test; empty where they do not.

    `facts` are the data profile of the table, and `split` is the kind of split of the experiment.
    """
    replicates = facts.get("replicates")
    is_together = split in ("grouped", "k_fold") and replicates and replicates["kept_together"]
    if not replicates or is_together or split in _DEPENDENT_SPLITS:
        return ""
    drawn = "whole groups that divide samples" if split == "grouped" else "drawn at random"
    measured = QUANTITIES[metric]
    wrong = "high" if measured.higher_is_better else "low"
    return (
        f"{replicates_sentence(replicates, facts['rows_labelled'])} The test rows were {drawn}: "
        f"the {ERROR_NAMES[metric]} is far too {wrong} for new samples. To measure it, "
        f"{replicates_remedy(replicates)} {AGAIN}."
    )


def headline(board: Leaderboard) -> str:
    """Return the answer: the method to use, or that none beats the training mean.

    A method beats the training mean (of classes, a guess) when its error is lower and the corrected
    resampled t-test is significant, two-sided at `CORRECTED_RISK`.
    """
    best = board.best_method
    if best is None:
        return f"No method but {board.baseline.label} was run, so there is nothing to compare."
    beating = [row for row in board.rows if row.can_win and _outcome(row) == "lower"]
    if board.beats_mean is False:
        return _against_the_mean(board, best, beating)
    winner, comparison = board.winner, board.winner.versus_mean
    number = f"{ERROR_NAMES[board.metric]} is {_claim(board, winner)}"
    meaning = f", {winner.plain_name}" if winner.plain_name else ""
    start = f"Use {winner.label}{meaning}: its {number} ({_basis(board)})."
    rivals = []
    if comparison is not None:
        rivals.append(f"{board.baseline.label} by {_by(board, winner.versus_mean)}")
    nearest = board.next_best
    if nearest is not None:
        by = _by(board, nearest.versus_best, is_other_better=False)
        rivals.append(f"the next best method, {nearest.label}, by {by}")
    if not rivals:
        return start
    text = f"{start} It beats {join_words(rivals)}."
    if board.n_splits == 1:
        text = f"{start} It is ahead of {join_words(rivals)}; one split cannot be tested, so that "
        text += "this may be chance."
    return text


def _range_sentence(board: Leaderboard) -> str:
    """Return the range of the error on new rows, as many as a split has test rows."""
    expected, write = board.expected, QUANTITIES[board.metric].write
    if not expected.deviation > 0:
        return ""
    low, high = (write(end, math.nan, unit=True) for end in expected.ends)
    if QUANTITIES[board.metric].higher_is_better:
        low, high = high, low
    text = (
        f"On {count_of(board.n_test, 'new row')} of the same kind, the {ERROR_NAMES[board.metric]} "
        f"lies between {low} and {high} in {100 * CLAIM_LEVEL:.0f} % of all cases."
    )
    own = write(board.winner.mean, math.nan, unit=True)
    if own == write(expected.mean, math.nan, unit=True):
        return text
    return (
        f"{text} The {own} in the table is slightly too good, because {board.winner.label} was "
        f"chosen by it; what is stated is free of this choice."
    )


def _against_the_mean(board: Leaderboard, best: Row, beating: list[Row]) -> str:
    """Return the headline where the winner does not beat the training mean."""
    mean, comparison = board.baseline.label, best.versus_mean
    details = _basis(board)
    if comparison is not None and not math.isnan(comparison.p_corrected):
        details += f", {format_p_value(comparison.p_corrected)}"
    if beating:
        other, lead = beating[0], board.winner
        # The winner remains the method with the best mean, which is saved and used to predict.
        return (
            f"{lead.label} has the {QUANTITIES[board.metric].best} {ERROR_NAMES[board.metric]}, "
            f"{_claim(board, lead)} ({_basis(board)}), but its lead over {mean} may be chance "
            f"({format_p_value(lead.versus_mean.p_corrected)}). The best method that significantly "
            f"beats {mean} is {other.label}, with {_value(board, other)}, by "
            f"{_by(board, other.versus_mean)}."
        )
    name, beats = ERROR_NAMES[board.metric], "beats"
    number = f"{'an' if name[0] in 'aeiou' else 'a'} {name} of {_claim(board, best)}"
    if comparison is not None and comparison.difference < 0:
        if board.choice is None or board.choice.mean < board.baseline.error:
            number += ", a lead that may be chance"
        if 1 < board.n_splits < ENOUGH_SPLITS:
            beats = "is shown to beat"
            details += "; few splits give the test little power, so raise n_splits"
    text = (
        f"No method {beats} {mean} on this table: the best, {best.label}, has {number} ({details})."
    )
    return f"{text} Predictions are {mean}." if board.is_mean(board.winner) else text


def _outcome(row: Row) -> str:
    """Return the outcome of a row against the training mean, empty without that comparison."""
    return row.versus_mean.outcome if row.versus_mean else ""


def _claim(board: Leaderboard, row: Row) -> str:
    """Return the error of the winner, or of the best method, to expect on new rows.

    The best of several by its own errors looks too good; chosen on other splits it does not.
    """
    if board.choice is None or board.is_mean(row):
        return _value(board, row)
    mean, deviation = mean_and_deviation(board.choice.errors)
    return QUANTITIES[board.metric].write(mean, deviation, unit=True)


def _value(board: Leaderboard, row: Row) -> str:
    return QUANTITIES[board.metric].write(row.mean, row.deviation, unit=True)


def _basis(board: Leaderboard) -> str:
    """Return what an error was measured on, as ``10 splits, 160 training rows``."""
    size = QUANTITIES[board.metric].size_in_words(board.training_size)
    return f"{count_of(board.n_splits, 'split')}, {size}"


def _amount(board: Leaderboard, comparison: Difference) -> str:
    """Return the size of a difference: parts of the second error, or percentage points."""
    measured = QUANTITIES[board.metric]
    if not measured.higher_is_better:
        return format_share(abs(comparison.relative))
    if not measured.is_percent:
        return f"{abs(comparison.difference):.3f}"
    return _points(comparison.difference)


def _points(difference: float) -> str:
    """Return the size of a difference of accuracies in percentage points."""
    points = 100 * abs(difference)
    return f"{points:.1f} percentage points" if points >= 0.1 else "less than 0.1 percentage points"


def _by(board: Leaderboard, comparison: Difference, is_other_better: bool = True) -> str:
    """Return ``4 % (p = 0.21: the difference may be chance)``.

    A difference from the best is the other row minus the best; it is stated the other way round,
    relative to the error of the other row.
    """
    if not is_other_better:
        comparison = _reversed(comparison)
    text = _amount(board, comparison)
    if comparison.n_splits == 1:
        return text
    doubt = "" if comparison.outcome in ("lower", "higher") else ": the difference may be chance"
    return f"{text} ({format_p_value(comparison.p_corrected)}{doubt})"


def _reversed(comparison: Difference) -> Difference:
    """Return a comparison with the two methods exchanged."""
    relative, other = comparison.relative, {"lower": "higher", "higher": "lower"}
    return replace(
        comparison,
        difference=-comparison.difference,
        # With r = (a - b) / b the other way round is (b - a) / a = -r / (1 + r).
        relative=-relative / (1.0 + relative) if relative != -1.0 else math.nan,
        effect=-comparison.effect,
        outcome=other.get(comparison.outcome, comparison.outcome),
    )


def _tied_sentence(board: Leaderboard) -> str:
    """Return which methods no test distinguishes from the winner, and the cheapest of them."""
    winner = board.winner
    if len(board.rows) < 2 or board.n_splits == 1:
        return ""
    if not board.tied:
        return (
            f"Every other method is worse than {winner.label} "
            f"(corrected test, p < {CORRECTED_RISK})."
        )
    equal = [row for row in board.tied if row.versus_best.outcome == "equal"]
    others = [row for row in board.tied if row.versus_best.outcome == "open"]
    parts = []
    if equal:
        is_one = len(equal) == 1
        names = join_words([row.label for row in equal])
        parts.append(f"{names} {'equals' if is_one else 'equal'} {winner.label} up to rounding.")
    if others:
        listed = [
            f"{row.label} ({_value(board, row)}, {format_p_value(row.versus_best.p_corrected)})"
            for row in others[:MAX_NAMED]
        ]
        if len(others) > MAX_NAMED:
            listed.append(f"{len(others) - MAX_NAMED} more")
        parts.append(f"Not distinguishable from {winner.label}: {join_words(listed)}.")
    cheapest = board.cheapest
    if cheapest is winner:
        parts.append(f"{winner.label} is the cheapest of these.")
    elif cheapest is not None:
        parts.append(
            f"The cheapest of these is {cheapest.label}: {_seconds(cheapest.total_seconds)} of "
            f"training and prediction instead of {_seconds(winner.total_seconds)}."
        )
    return " ".join(parts)


def _worse_than_mean_sentence(board: Leaderboard) -> str:
    """Return which methods are significantly worse than the training mean."""
    worse = [row for row in board.rows if _outcome(row) == "higher"]
    if not worse:
        return ""
    listed = [
        f"{row.label} ({_value(board, row)}, {format_p_value(row.versus_mean.p_corrected)})"
        for row in worse
    ]
    return f"Worse than {board.baseline.label}: {join_words(listed)}."


def _reference_sentence(board: Leaderboard) -> str:
    """Return how the best OFER method compares with kernel ridge regression, if not yet stated."""
    if board.versus_reference is None:
        return ""
    row, comparison = board.versus_reference
    reference = board.reference
    # The headline or the sentence of equal methods states it already.
    if comparison.outcome == "equal" or (row is board.winner and board.next_best is reference):
        return ""
    side = "better" if comparison.difference < 0 else "worse"
    text = (
        f"The best OFER method, {row.label}, is {_amount(board, comparison)} {side} than "
        f"{reference.label}"
    )
    if comparison.outcome == "untested":
        return f"{text} (one split, not tested)."
    doubt = "" if comparison.outcome in ("lower", "higher") else ", which may be chance"
    return f"{text}{doubt} ({format_p_value(comparison.p_corrected)})."


def _equivalence_sentence(equivalence: Equivalence) -> str:
    """Return where a method is the reference method by theory, by measurement or both."""
    largest = f"{equivalence.largest_relative_difference:.1g}"
    if equivalence.by_theory:
        start = (
            f"By theory {equivalence.label} is {equivalence.other_label}: with one penalty and an "
            f"intercept its embedding and pre-image cancel"
        )
        if equivalence.measured:
            return (
                f"{start}; measured, they are equal up to rounding in every split (largest "
                f"relative difference: {largest})."
            )
        return (
            f"{start}; measured, they differ in {equivalence.n_differing} of "
            f"{count_of(equivalence.n_splits, 'split')} (largest relative difference: {largest}), "
            f"because their grids, or the values chosen from them, differ."
        )
    return (
        f"{equivalence.label} and {equivalence.other_label} are equal up to rounding in every "
        f"split (largest relative difference: {largest})."
    )


def _learning_sentence(board: Leaderboard) -> str:
    """Return whether more rows would help, from the last step of the learning curve."""
    if board.learning is None:
        if board.best_method is None:
            return ""
        return "The run does not show whether more rows would help: it has one training size."
    learning, measured = board.learning, QUANTITIES[board.metric]
    comparison = learning.difference
    change = comparison.difference if measured.higher_is_better else comparison.relative
    steps = f"From {learning.from_size} to {measured.size_in_words(board.training_size)}"
    whose = f"the {ERROR_NAMES[board.metric]} of {learning.row.label}"
    if comparison.outcome == "equal":
        return f"{steps} {whose} did not change: more rows of the same kind would hardly help."
    is_rise = (comparison.difference > 0) != measured.higher_is_better
    text = f"{steps} {whose} {'rose' if is_rise else 'fell'} by {_amount(board, comparison)}"
    if comparison.outcome == "untested":
        return f"{text}; one split cannot be tested, so that this may be chance."
    p_value = f"({format_p_value(comparison.p_corrected)})"
    if abs(change) < FLAT:
        return f"{text} {p_value}: the curve is flat, more rows of the same kind would hardly help."
    if comparison.outcome == "lower":
        return f"{text} {p_value}: more rows would probably help."
    if comparison.outcome == "higher":
        return f"{text} {p_value}: more rows did not help."
    return f"{text} {p_value}, which may be chance: whether more rows would help is open."


def _rows_sentence(board: Leaderboard, used: RowsUsed) -> str:
    """Return what the rows of one kind were worth to the best method that used them."""
    comparison, one = used.without, used.count == 1
    noun = _KINDS_OF_ROWS[used.kind][not one]
    rows = f"the {noun}" if one else f"the {used.count} {noun}"
    if used.in_splits == 0:
        return (
            f"What {rows} {'is' if one else 'are'} worth is unknown: none could be used in a "
            f"split, where copies of test rows, rows of test groups and later rows are left out."
        )
    if used.in_splits < used.count:
        rows += f" (on average {used.in_splits:.0f} of them in a split)"
    whose = f"the {ERROR_NAMES[board.metric]} of {used.label}"
    if comparison.outcome == "equal":
        return f"Without {rows} {whose} would be the same."
    is_rise = (comparison.difference > 0) != QUANTITIES[board.metric].higher_is_better
    change = f"{_amount(board, comparison)} {'higher' if is_rise else 'lower'}"
    if comparison.outcome == "untested":
        return (
            f"Without {rows} {whose} would be {change}; one split cannot be tested, so that this "
            f"may be chance."
        )
    test = (
        f"({format_p_value(comparison.p_corrected)}, corrected resampled t-test over "
        f"{count_of(comparison.n_splits, 'split')})"
    )
    if comparison.outcome == "open":
        helps, them = ("helps", "it") if one else ("help", "them")
        return (
            f"Whether {rows} {helps} {used.label} is open: without {them} its "
            f"{ERROR_NAMES[board.metric]} would be {change} {test}, which may be chance."
        )
    harm = ""
    if comparison.outcome == "lower":
        harm = f": {'it does' if one else 'they do'} harm"
    return f"Without {rows} {whose} would be {change} {test}{harm}."


def _cost_sentence(board: Leaderboard) -> str:
    """Return the seconds of the winner and of the next best method."""
    rows = [row for row in (board.winner, board.next_best) if row is not None and row.seconds]
    if not rows or rows[0] is not board.winner:
        return ""
    training, prediction = (
        join_words([f"{_seconds(row.seconds[part])} for {row.label}" for row in rows])
        for part in ("training", "prediction")
    )
    return (
        f"Training on {count_of(board.n_train, 'row')}, the choice of hyper-parameters included, "
        f"took {training}; predicting {count_of(board.n_test, 'row')} took "
        f"{prediction}."
    )


def _seconds(value: float) -> str:
    return format_seconds(value, math.nan)


def _choice_note(board: Leaderboard) -> str:
    """Return how optimistic the lowest error is because the best method was chosen by it."""
    choice, measured = board.choice, QUANTITIES[board.metric]
    lowest = measured.write(choice.winner_error, math.nan, unit=True)
    chosen = measured.write(choice.mean, math.nan, unit=True)
    gap = f"{choice.gap:.3f}" if choice.gap >= 0.001 else "less than 0.001"
    if measured.is_percent:
        gap = _points(choice.gap)
    found = f"it is {chosen} {'as well' if chosen == lowest else f'instead of {lowest}'}"
    return (
        f"The {measured.best} of {choice.n_methods} numbers of methods is slightly too good, since "
        f"the best method was chosen by it. With the choice for every split made on the other "
        f"splits only, {found}, which the answer states; the next best is {gap} behind."
    )
