"""Which method to use on a table: the leaderboard at its largest training size, and the winner.

The winner is the method with the lowest mean error over the splits, or the training mean where no
method is shown to beat it. Every row is compared with the winner and with the training mean by the
two paired tests of `workflow_lib.protocol.statistics`; the corrected test decides, two-sided, at
the risk `workflow_lib.report.tables.CORRECTED_RISK`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import write_text
from workflow_lib.methods.contract.saving import why_not_saved
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.gain_from_additional_rows import rows_used
from workflow_lib.report.labels import is_ceiling, method_label, variant_label
from workflow_lib.report.protocol_sentences import edge_sentence
from workflow_lib.report.quantities import QUANTITIES, chance_error, errors_by_size
from workflow_lib.report.results import (
    by_size,
    outside_studies,
    read_choices,
    read_json,
    read_scores,
    read_timings,
    rows_of_sizes,
)
from workflow_lib.report.tables import (
    Difference,
    column_comparison,
    difference,
    is_equal,
    reference_variant,
)
from workflow_lib.report.variants import Variant
from workflow_lib.table.answer_sentences import (
    answer_notes,
    answer_sentences,
    leak_sentence,
    states_range,
)
from workflow_lib.table.error_parts import error_parts, is_training_mean
from workflow_lib.table.leaderboard_records import (
    Baseline,
    Choice,
    Equivalence,
    Leaderboard,
    Learning,
    Row,
)

_OUTCOMES = {"lower": "better", "higher": "worse"}
"""Outcome of a comparison of errors -> what the JSON calls it, where that is something else."""

Errors = Mapping[int, float]
"""Split -> error; lower is better."""


def run(
    scores: str | Path,
    choices: str | Path,
    timings: Sequence[str | Path],
    methods: Mapping[str, Mapping],
    experiment_settings: Mapping,
    n_folds: int,
    output: str | Path,
    output_with_seconds: str | Path,
    data_profile: str | Path | None = None,
) -> None:
    """Write the answer of an experiment as JSON: the winner, the leaderboard and sentences.

    It is written twice, because what follows from an answer must not depend on measured times: to
    `output` without seconds, and to `output_with_seconds` with them. Numbers are as they are shown:
    errors as they are, an accuracy in percent with differences in percentage points, of which
    positive is better. What is undefined or infinite is null.

    `scores`, `choices` and `timings` are the ``scores.csv`` and ``choices.csv`` of the experiment,
    without the split named ``final``, and its timings, one file or none; without one, no cost is
    shown. `methods`, in the order of the experiment, have ``label`` and, where they are known,
    ``regressor``, ``weak_outputs``, ``members`` and what `is_kernel_ridge_by_theory` needs;
    `experiment_settings` have ``metric`` (default ``arrmse``), ``split`` (default ``random``) and
    ``title``; `n_folds` is that of the cross-validation that chose the hyper-parameters. The
    headline says where, by the JSON `data_profile`, rows of one sample both train and test; this
    sentence alone is ``leak``, null without it.

    Raises UserError if a file is damaged, the scores lack the metric, or no method can win.
    """
    metric = experiment_settings.get("metric") or "arrmse"
    errors, chosen = read_scores(scores), read_choices(choices)
    measured = read_timings(timings[0]) if timings else None
    on_edges = edge_sentence(outside_studies(errors), outside_studies(chosen), methods)
    names = {name: errors[name].iloc[0] for name in ("experiment", "dataset")}
    facts = read_json(data_profile) if data_profile else {}
    leak = leak_sentence(facts, experiment_settings.get("split") or "random", metric)
    for times, path in ((None, output), (measured, output_with_seconds)):
        board = leaderboard(errors, methods=methods, timings=times, metric=metric, choices=chosen)
        tree = names | answer_tree(board, experiment_settings, n_folds)
        tree["notes"] += [on_edges] if on_edges else []
        tree["leak"] = leak or None
        if leak:
            tree["sentences"][0] += f" WARNING: {leak}"
        text = json.dumps(_without_nan(tree), indent=1, ensure_ascii=False, allow_nan=False)
        write_text(path, text + "\n")
    print("\n".join(tree["sentences"]))


def leaderboard(
    scores: pd.DataFrame,
    *,
    methods: Mapping[str, Mapping],
    timings: pd.DataFrame | None = None,
    metric: str = "arrmse",
    choices: pd.DataFrame | None = None,
) -> Leaderboard:
    """Return the leaderboard of one experiment at its largest training size, best row first.

    The winner is the row with the lowest mean error, unless several splits show of no row that it
    beats the training mean: then a lower mean of some row is likely chance, and the training mean
    wins where it was run. Of rows that equal the winner in every split up to rounding, which are
    algebraically the same method, the reference method of the metric wins, else
    the first in `methods`. Rows that lack a split, ceilings, which learn from outputs that are not
    known in use (`weak_outputs: true`), and methods that cannot be saved
    (`workflow_lib.methods.contract.saving`) cannot win and come last. Studies count only for
    what weak rows and outputs without inputs were worth
    (`workflow_lib.report.gain_from_additional_rows`).

    `methods` are as in `run`; rows without measured seconds in `timings` have none. `choices` tell
    how many outputs without inputs were used.

    Raises UserError if no row can win.
    """
    all_scores, scores = scores, outside_studies(scores)
    n_train_of = rows_of_sizes(scores)
    size, n_train = list(n_train_of.items())[-1]
    at_size = scores[scores["training_size"] == size]
    # The corrected test is most conservative with the largest number of test rows.
    n_test = int(at_size["n_test"].max())
    columns = errors_by_size(scores, metric)
    column = columns[size]
    splits = set().union(*column.values())
    seconds = _mean_seconds(timings, size)
    baseline = _baseline(at_size, column, splits, methods, metric)
    compared = partial(difference, n_train=n_train, n_test=n_test)
    rows = []
    for variant, errors in column.items():
        mean, deviation = mean_and_deviation(list(errors.values()))
        versus_mean = None
        if baseline is not None and variant != baseline.variant:
            known = dict.fromkeys(splits, baseline.error)
            versus_mean = compared(errors, column.get(baseline.variant) or known)
        rows.append(
            Row(
                variant=variant,
                label=variant_label(variant, methods),
                mean=mean,
                deviation=deviation,
                n_splits=len(errors),
                is_complete=set(errors) == splits,
                is_ceiling=is_ceiling(variant.method, methods),
                is_bold=column_comparison(column, variant).get("bold", False),
                seconds=seconds.get(variant),
                versus_mean=versus_mean,
                why_not_saved=why_not_saved(variant.method, methods),
                plain_name=methods.get(variant.method, {}).get("plain_name"),
            )
        )
    rows.sort(key=lambda row: (not row.can_win, not row.is_complete, row.mean, row.variant))
    if not rows[0].can_win:
        raise UserError(
            location="the methods of the experiment",
            found=f"none of them can win: {', '.join(row.label for row in rows)}",
            expected="a method that has every split, learns from what is known in use, and can be "
            "saved",
            remedy="add m-krr to the methods of the experiment",
        )
    winner = _winner(rows, column, methods, metric, baseline)
    rows = [winner] + [
        replace(row, versus_best=compared(column[row.variant], column[winner.variant]))
        for row in rows
        if row is not winner
    ]
    board = Leaderboard(
        metric=metric,
        training_size=size,
        n_train=n_train,
        n_test=n_test,
        n_splits=len(splits),
        rows=rows,
        baseline=baseline,
        choice=_choice(
            {
                row.variant: column[row.variant]
                for row in rows
                if row.can_win and (baseline is None or row.variant != baseline.variant)
            },
            splits,
        ),
        split_errors=[column[winner.variant][split] for split in sorted(splits)],
        equivalences=_equivalences(column, methods, metric, compared),
    )
    ofer = [row for row in rows if row.can_win and row.variant.method.startswith(("ofer", "wofer"))]
    versus_reference = None
    if ofer and board.reference is not None:
        found = compared(column[ofer[0].variant], column[board.reference.variant])
        versus_reference = found and (ofer[0], found)
    learning = _learning(columns, n_train_of, board)
    used = rows_used(all_scores, size, metric, methods, compared, choices)
    return replace(
        board,
        learning=learning,
        error_parts=error_parts(scores, methods, metric),
        versus_reference=versus_reference,
        rows_used=used,
    )


def chosen_on_other_splits(errors: Sequence[Sequence[float]]) -> list[float]:
    """Return the error of each split by the winner that is chosen without it.

    For every split the method with the lowest mean error over the other splits is taken, and its
    error on this split counts: e[m(-j), j] with m(-j) = argmin_m sum_{k != j} e[m, k]. The lowest
    of several means is biased downwards by the choice; the mean of these errors, which is never
    below it, is not.

    `errors` are those of M methods in each of J splits, two at least; of equally good methods the
    first is taken. Raises ValueError if there is no method, or fewer than two splits.
    """
    if not errors or len(errors[0]) < 2:
        raise ValueError("a choice on other splits needs a method and two splits")
    return [
        min(errors, key=lambda row: sum(row[:split]) + sum(row[split + 1 :]))[split]
        for split in range(len(errors[0]))
    ]


def is_kernel_ridge_by_theory(method: Mapping) -> bool:
    """Return whether a method with one penalty and an intercept is kernel ridge regression.

    Its targets are then an affine map of the outputs and its pre-image is the inverse of that map,
    so that both cancel. This holds, without a projection and without weak rows, for the reduced
    form of one Gaussian, of a mixture whose components share one variance (`tied_spherical`), and
    of a state-space model. Where a setting is not known, the answer is no.

    `method` has ``regressor``, ``penalty``, ``center``, ``form``, ``preimage``, ``weak`` and
    ``grid`` as in the configuration, and ``model``: a mapping with ``kind`` and
    ``covariance_type``, or None.
    """
    model = method.get("model")
    if not isinstance(model, Mapping):
        return False
    is_affine = model.get("kind") in ("gaussian", "state_space") or (
        model.get("kind") == "gaussian_mixture" and model.get("covariance_type") == "tied_spherical"
    )
    projection = (method.get("grid") or {}).get("projection") or ()
    is_raw = method.get("preimage") == "closed_form" or (
        method.get("preimage") == "projected" and list(projection) == ["raw"]
    )
    return (
        is_affine
        and is_raw
        and method.get("regressor") == "kernel_ridge"
        and method.get("form") == "reduced"
        and method.get("penalty") == "shared"
        and method.get("center") is True
        and not method.get("weak")
    )


def answer_tree(board: Leaderboard, settings: Mapping, n_folds: int) -> dict:
    """Return the content of the JSON of an answer, with NaN and infinities not yet replaced.

    ``mean`` and ``deviation`` are those of the winner's error for new rows, and
    ``range_of_new_rows`` its ends (`workflow_lib.table.leaderboard_records.Expected`), null where
    the test rows of all splits are the same.
    ``winner`` is the method and ``training_size`` the number of its training rows, also of classes,
    whose examples per class are ``examples_per_class``; ``beats_mean`` is true or false, and null
    where nothing could be tested or compared. The first of the ``sentences`` is the headline.
    """
    measured, winner = QUANTITIES[board.metric], board.winner
    split = settings.get("split") or "random"
    nearest, cheapest = board.next_best, board.cheapest
    return {
        "title": settings.get("title") or "",
        "winner": winner.variant.method,
        "label": winner.label,
        "components": winner.variant.components,
        "weak_size": winner.variant.weak_size,
        "beats_mean": board.beats_mean,
        "training_size": board.n_train,
        "examples_per_class": board.training_size if measured.is_per_class else None,
        "n_splits": board.n_splits,
        "n_test": board.n_test,
        "metric": measured.measure.name,
        "unit": "percent" if measured.is_percent else "relative error",
        "better": measured.better,
        "mean": measured.shown(board.expected.mean),
        "deviation": measured.shown_spread(board.expected.deviation),
        "range_of_new_rows": sorted(map(measured.shown, board.expected.ends))
        if states_range(split)
        else None,
        "sentences": answer_sentences(board, split),
        "notes": answer_notes(board, settings, n_folds),
        "baseline": board.baseline
        and {
            "label": board.baseline.label,
            "method": board.baseline.variant.method if board.baseline.variant else None,
            "mean": measured.shown(board.baseline.error),
        },
        "next_best": nearest.variant.method if nearest else None,
        "not_distinguishable": [row.variant.method for row in board.tied],
        "cheapest": cheapest.variant.method if cheapest else None,
        "equivalences": [asdict(equivalence) for equivalence in board.equivalences],
        "learning": board.learning
        and {
            "method": board.learning.row.variant.method,
            "from": board.learning.from_size,
            "to": board.training_size,
            **_shown(board.learning.difference, board.metric),
        },
        "error_parts": board.error_parts
        and {
            "method": board.error_parts.variant.method,
            "training": measured.shown(board.error_parts.training),
            "cross_validated": measured.shown(board.error_parts.cross_validated),
            "test": measured.shown(board.error_parts.test),
            "largest_estimation_share": board.error_parts.gap,
        },
        "rows_used": [
            {
                **{
                    key: getattr(used, key)
                    for key in ("kind", "count", "in_splits", "method", "label")
                },
                "without": _shown(used.without, board.metric),
            }
            for used in board.rows_used
        ],
        "choice": board.choice
        and {
            "n_methods": board.choice.n_methods,
            "mean_of_winner": measured.shown(board.choice.winner_error),
            "mean_chosen_on_other_splits": measured.shown(board.choice.mean),
            "optimism": board.choice.mean - board.choice.winner_error,
            "gap_to_next": board.choice.gap,
        },
        "leaderboard": [
            {
                "method": row.variant.method,
                "label": row.label,
                "components": row.variant.components,
                "weak_size": row.variant.weak_size,
                "mean": measured.shown(row.mean),
                "deviation": measured.shown_spread(row.deviation),
                "n_splits": row.n_splits,
                "can_win": row.can_win,
                "why_not_saved": row.why_not_saved,
                "bold": row.is_bold,
                "seconds": row.seconds,
                "versus_best": _shown(row.versus_best, board.metric),
                "versus_mean": _shown(row.versus_mean, board.metric),
            }
            for row in board.rows
        ],
    }


def _shown(comparison: Difference | None, metric: str) -> dict | None:
    """Return a difference with the numbers that are shown."""
    if comparison is None:
        return None
    measured = QUANTITIES[metric]
    return asdict(comparison) | {
        "outcome": _OUTCOMES.get(comparison.outcome, comparison.outcome),
        "difference": measured.shown_difference(comparison.difference),
        # A difference of scores is not stated relative to a score.
        "relative": math.nan if measured.higher_is_better else comparison.relative,
        "effect": measured.shown_effect(comparison.effect),
    }


def _without_nan(value: object) -> object:
    """Return a tree in which null replaces NaN and infinities."""
    if isinstance(value, Mapping):
        return {key: _without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _mean_seconds(timings: pd.DataFrame | None, size: int) -> dict[Variant, dict[str, float]]:
    """Return the mean seconds over splits of each row at one training size."""
    if timings is None:
        return {}
    rows = outside_studies(timings)
    parts = {
        "training": rows["selection_seconds"] + rows["fit_seconds"],
        "prediction": rows["prediction_seconds"] + rows["preimage_seconds"],
    }
    means: dict[Variant, dict[str, float]] = {}
    for part, seconds in parts.items():
        for variant, splits in by_size(rows.assign(value=seconds)).get(size, {}).items():
            mean = mean_and_deviation(list(splits.values()))[0]
            means.setdefault(variant, {})[part] = mean
    return means


def _baseline(
    scores: pd.DataFrame,
    column: Mapping[Variant, Errors],
    splits: set[int],
    methods: Mapping[str, Mapping],
    metric: str,
) -> Baseline | None:
    """Return what a method must beat: the training mean, or a guess among the classes.

    Relative errors refer to the training mean, so that its own is 1 even where it was not run. A
    guess is that of the most frequent class, or one among K classes where sizes are examples per
    class; None where neither is known.
    """
    if QUANTITIES[metric].is_accuracy:
        if (scores["quantity"] == "guess_accuracy").any():
            return Baseline("guessing the most frequent class", None, chance_error(scores))
        if (scores["training_size"] == scores["n_train"]).all():
            return None
        return Baseline("a guess among the classes", None, chance_error(scores))
    for variant in column:
        if is_training_mean(variant.method, methods) and set(column[variant]) == splits:
            mean = mean_and_deviation(list(column[variant].values()))[0]
            return Baseline("the training mean", variant, mean)
    return Baseline("the training mean", None, 1.0)


def _winner(
    rows: Sequence[Row],
    column: Mapping[Variant, Errors],
    methods: Mapping[str, Mapping],
    metric: str,
    baseline: Baseline | None,
) -> Row:
    """Return the winner of rows sorted by their mean."""
    best, names = rows[0], list(methods)
    outcomes = {row.versus_mean.outcome for row in rows if row.can_win and row.versus_mean}
    if outcomes and not outcomes & {"lower", "untested"}:
        means = (row for row in rows if row.can_win and row.variant == baseline.variant)
        best = next(means, best)

    def order(row: Row) -> tuple:
        method = row.variant.method
        location = names.index(method) if method in names else len(names)
        return (method != QUANTITIES[metric].reference, location, row.variant)

    equal = [row for row in rows if row.can_win and is_equal(column, row.variant, best.variant)]
    return min(equal, key=order)


def _learning(
    columns: Mapping[int, Mapping[Variant, Errors]], n_train: Mapping[int, int], board: Leaderboard
) -> Learning | None:
    """Return the last step of the learning curve of the best row that is not the training mean.

    The corrected test takes the smaller of the two training sizes, which makes it conservative.
    """
    earlier = [size for size in columns if size < board.training_size]
    row = board.best_method
    if not earlier or row is None or row.variant not in columns[earlier[-1]]:
        return None
    before = columns[earlier[-1]][row.variant]
    after = columns[board.training_size][row.variant]
    found = difference(after, before, n_train[earlier[-1]], board.n_test)
    return None if found is None else Learning(row, earlier[-1], found)


def _choice(column: Mapping[Variant, Errors], splits: set[int]) -> Choice | None:
    """Return the optimism from choosing the winner by the test errors of these rows."""
    order = sorted(splits)
    errors = [[column[variant][split] for split in order] for variant in sorted(column)]
    if len(errors) < 2 or len(order) < 2:
        return None
    means = sorted(mean_and_deviation(row)[0] for row in errors)
    return Choice(len(errors), means[0], chosen_on_other_splits(errors), means[1] - means[0])


def _equivalences(
    column: Mapping[Variant, Errors],
    methods: Mapping[str, Mapping],
    metric: str,
    compared: Callable[[Errors, Errors], Difference | None],
) -> list[Equivalence]:
    """Return the rows that are the reference method by theory, or measured to be equal to it."""
    reference = QUANTITIES[metric].reference
    name = method_label(reference, methods)
    found = []
    for variant in sorted(column):
        other = reference_variant(column, variant, reference)
        if variant.method == reference or other is None:
            continue
        comparison = compared(column[variant], column[other])
        by_theory = not QUANTITIES[metric].is_accuracy and is_kernel_ridge_by_theory(
            methods.get(variant.method, {})
        )
        if comparison is not None and (by_theory or comparison.outcome == "equal"):
            found.append(
                Equivalence(
                    variant.method,
                    variant_label(variant, methods),
                    reference,
                    name,
                    by_theory,
                    comparison.outcome == "equal",
                    comparison.n_nonzero,
                    comparison.n_splits,
                    comparison.largest_relative_difference,
                )
            )
    return found
