"""The findings of an experiment, in sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import (
    ceiling_sentence,
    count_of,
    is_ceiling,
    join_words,
    method_label,
    variant_label,
)
from workflow_lib.report.quantities import QUANTITIES, chance_error, errors_by_size
from workflow_lib.report.results import outside_studies
from workflow_lib.report.tables import error_table, is_equal
from workflow_lib.report.variants import order_variants

OUTCOMES = {
    "lower": "is better",
    "higher": "is worse",
    "equal": "is equal up to rounding",
    "open": "is not distinguishable",
    "untested": "is not tested (one split)",
}
"""Outcome of a comparison with the reference -> its description."""


COMPARED = ["label", "method", "training_size", "n_splits", "outcome", "difference", "n_nonzero"]
COMPARED += ["effect", "hedges_g", "p_reference_student", "p_reference_corrected"]
COMPARED += ["largest_relative_difference"]
"""What is known of a row against the reference method at one training size: the label of the row,
and fields of `workflow_lib.report.tables.Cell`."""

TOLERANCE = 1e-9
"""A mean error this close to that of a guess does not beat it."""


@dataclass(frozen=True)
class Verdict:
    """The findings of one experiment.

    ``metric`` is the quantity compared, a key of `workflow_lib.report.quantities.QUANTITIES`, and
    ``reference`` the method that the others are compared with. ``best`` says which mean is the best
    at each training size. ``comparisons`` have every compared row at every training size, with the
    columns `COMPARED`. For each compared row there is a sentence in ``judgements``, where it is
    better, equal, worse or undecided. ``equalities`` say of rows of other methods at which sizes
    they equal the reference.
    """

    metric: str
    reference: str
    best: str
    comparisons: pd.DataFrame
    judgements: list[str]
    equalities: list[str]


def verdict(
    scores: pd.DataFrame,
    *,
    methods: Mapping[str, Mapping],
    subjects: Sequence[str] | None = None,
    metric: str = "arrmse",
) -> Verdict:
    """Return the verdict of one experiment on its error or accuracy.

    A row is called better or worse than the reference only when the corrected resampled t-test is
    significant at the risk `CORRECTED_RISK`, and equal only when every split gives the same score
    up to rounding (`workflow_lib.protocol.statistics.EQUALITY_TOLERANCE`), as for methods that
    are algebraically the same. Studies of weak labels are left out.

    The reference is that of the `metric`. `subjects` are the methods to compare, by
    default those named ``ofer-...`` or ``wofer-...``, and the order of `methods` is that of the
    sentences.
    """
    reference = QUANTITIES[metric].reference
    scores = outside_studies(scores)
    if subjects is None:
        names = set(scores["method"])
        subjects = [name for name in names if name.startswith(("ofer", "wofer"))]
    cells = error_table(scores, method_order=methods, reference=reference, errors=[metric])
    variants = order_variants([cell.variant for cell in cells], methods)
    rows = [
        vars(cell) | {"label": variant_label(cell.variant, methods)}
        for cell in sorted(cells, key=lambda cell: variants.index(cell.variant))
        if cell.outcome
    ]
    compared = pd.DataFrame(rows, columns=COMPARED)
    is_subject = compared["method"].isin(subjects)
    equal = compared[~is_subject & (compared["outcome"] == "equal")]
    compared = compared[is_subject]
    name = method_label(reference, methods)
    return Verdict(
        metric,
        reference,
        _best_sentence(scores, methods, metric),
        compared,
        [_judgement(*group, name) for group in compared.groupby("label", sort=False)],
        [_judgement(*group, name) for group in equal.groupby("label", sort=False)],
    )


def count_sentences(verdicts: Sequence[Verdict], methods: Mapping[str, Mapping]) -> list[str]:
    """Return, for every compared method, how often it is better, equal or worse over all runs.

    A comparison is an experiment, a training size and, where there are several, a number of
    components and of weak rows. Errors and accuracies, and different references, are counted
    separately.
    """
    order, sentences = list(methods), {}
    for better, worse in (("lower", "higher"), ("higher", "lower")):
        frames = [
            each.comparisons.assign(reference=each.reference)
            for each in verdicts
            if QUANTITIES[each.metric].better == better and len(each.comparisons)
        ]
        for key, group in pd.concat(frames).groupby(["method", "reference"]) if frames else ():
            outcomes = list(group["outcome"])
            parts = [f"{OUTCOMES[o]} in {outcomes.count(o)}" for o in OUTCOMES if o in outcomes]
            differing = group.loc[group["n_nonzero"] > 0, "difference"]
            n_better = (differing < 0).sum()
            means = f" (mean {better} in {n_better}, {worse} in {len(differing) - n_better})"
            index = order.index(key[0]) if key[0] in order else len(order)
            sentences[index, *key, better] = (
                f"{' against '.join(method_label(method, methods) for method in key)} "
                f"{join_words(parts)} of {count_of(len(group), 'comparison')}"
                f"{means if len(differing) else ''}."
            )
    return [sentences[key] for key in sorted(sentences)]


def unbeaten_sizes(scores: pd.DataFrame, metric: str, methods: Mapping[str, Mapping]) -> list[int]:
    """Return the training sizes at which no method but a ceiling has a lower error than a guess.

    A guess is the training mean, whose error is 1, and for classes a guess among the classes
    (`workflow_lib.report.quantities.chance_error`).
    """
    guess = chance_error(scores) if QUANTITIES[metric].is_accuracy else 1.0
    scores = outside_studies(scores)
    fair = scores[[not is_ceiling(method, methods) for method in scores["method"]]]
    lowest = {
        size: min(mean_and_deviation(list(errors.values()))[0] for errors in column.values())
        for size, column in errors_by_size(fair, metric).items()
    }
    return [size for size in sorted(lowest) if lowest[size] >= guess - TOLERANCE]


def replaced_sentences(replaced: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each experiment that did not run, with what stands in for it."""
    return [
        f"{name} did not run, because a file of its dataset is not on this machine; "
        f"{join_words(others)} {'stands' if len(others) == 1 else 'stand'} in for it."
        for name, others in replaced.items()
    ]


def _judgement(label: str, group: pd.DataFrame, reference: str) -> str:
    """Return where one row is better, equal or worse than the reference.

    Where it is equal, the largest difference measured in a split is given.
    """
    parts = []
    for outcome, words in OUTCOMES.items():
        found = group[group["outcome"] == outcome]
        if found.empty:
            continue
        part = f"{words} at n = {join_words(found['training_size'])}"
        if outcome == "equal":
            largest = found["largest_relative_difference"].max()
            part += f" (largest relative difference in a split: {largest:.1g})"
        parts.append(part)
    return f"{label} against {reference} {'; '.join(parts)}."


def _best_sentence(scores: pd.DataFrame, methods: Mapping[str, Mapping], metric: str) -> str:
    """Return which row has the best mean at each training size, ties to rounding included.

    Ceilings are named after it: they are better because of outputs that are not known in use.
    """
    measured = QUANTITIES[metric]
    ceilings = sorted({name for name in scores["method"] if is_ceiling(name, methods)})
    fair = scores[~scores["method"].isin(ceilings)]
    sizes_of_winner: dict[str, list[str]] = {}
    for size, column in errors_by_size(fair, metric).items():
        best = min(column, key=lambda v: (mean_and_deviation(list(column[v].values()))[0], v))
        tied = [v for v in column if v == best or is_equal(column, v, best)]
        winner = join_words([variant_label(v, methods) for v in order_variants(tied, methods)])
        if len(tied) > 1:
            winner += " (equal up to rounding)"
        number = measured.write(*mean_and_deviation(list(column[best].values())), unit=True)
        sizes_of_winner.setdefault(winner, []).append(f"n = {size} ({number})")
    parts = [f"{winner} at {join_words(sizes)}" for winner, sizes in sizes_of_winner.items()]
    sentences = []
    if parts:
        sentences.append(f"{measured.best.capitalize()} mean {measured.name}: {'; '.join(parts)}.")
    if ceilings:
        sentences.append(ceiling_sentence([method_label(name, methods) for name in ceilings]))
    return " ".join(sentences)
