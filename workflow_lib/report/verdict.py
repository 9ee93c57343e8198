"""The findings of an experiment, in sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.labels import (
    ceiling_sentence,
    count_of,
    format_p_value,
    is_ceiling,
    join_words,
    method_label,
    variant_label,
)
from workflow_lib.report.quantities import QUANTITIES, errors_by_size
from workflow_lib.report.results import outside_studies
from workflow_lib.report.tables import (
    Cell,
    error_table,
    is_equal,
)
from workflow_lib.report.variants import order_variants

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = {
    "lower": "is better",
    "higher": "is worse",
    "equal": "is equal up to rounding",
    "open": "is not distinguishable",
    "untested": "is not tested (one split)",
}
"""Outcome of a comparison with the reference -> its description."""


@dataclass(frozen=True)
class Comparison:
    """A row against the reference method at one training size; ``outcome`` is in `OUTCOMES`."""

    label: str
    training_size: int
    outcome: str
    cell: Cell


@dataclass(frozen=True)
class Verdict:
    """The findings of one experiment.

    Attributes
    ----------
    metric, reference : str
        The quantity compared, a key of `workflow_lib.report.quantities.QUANTITIES`, and the method
        that the others are compared with.
    best : str
        The best mean at each training size, as a sentence.
    comparisons : list of Comparison
        Every compared row at every training size.
    judgements : list of str
        One per compared row: where it is better, equal, worse or undecided against the reference.
    numbers : list of str
        The numbers of each judgement: differences, p values and numbers of differing splits.
    equalities : list of str
        For each row of other methods that equals the reference, at which sizes.
    """

    metric: str
    reference: str
    best: str
    comparisons: list[Comparison]
    judgements: list[str]
    numbers: list[str]
    equalities: list[str]

    @property
    def sentences(self) -> list[str]:
        """The best rows, every judgement with its numbers, then the other equal rows."""
        pairs = zip(self.judgements, self.numbers)
        judged = [f"{judgement} {number}" for judgement, number in pairs]
        return [self.best, *judged, *self.equalities]


def verdict(
    scores: pd.DataFrame,
    *,
    methods: Mapping[str, Mapping],
    reference: str | None = None,
    subjects: Sequence[str] | None = None,
    metric: str = "arrmse",
) -> Verdict:
    """Return the verdict of one experiment on its error or accuracy.

    A row is called better or worse than the reference only when the corrected resampled t-test is
    significant at the risk `CORRECTED_RISK`, and equal only when every split gives the same score
    up to rounding (`workflow_lib.experiments.statistics.EQUALITY_TOLERANCE`), as for methods that
    are algebraically the same. Studies of weak labels are left out.

    Parameters
    ----------
    scores : data frame
        The rows of one ``scores.csv`` (`workflow_lib.report.results.read_scores`).
    methods : mapping of method name to {"label": ...}
        Its order is the order of the sentences.
    reference : str, optional
        The method that the others are compared with; by default that of the `metric`.
    subjects : sequence of str, optional
        The methods to compare; by default those named ``ofer-...`` or ``wofer-...``.
    metric : {"arrmse", "rrmse", "accuracy"}, default="arrmse"
    """
    reference = reference or QUANTITIES[metric].reference
    scores = outside_studies(scores)
    if subjects is None:
        names = set(scores["method"])
        subjects = [name for name in names if name.startswith(("ofer", "wofer"))]
    cells = error_table(scores, method_order=methods, reference=reference, errors=[metric])
    compared = [
        Comparison(variant_label(cell.variant, methods), cell.training_size, cell.outcome, cell)
        for cell in cells
        if cell.n_nonzero is not None
    ]
    by_label = _by_label([c for c in compared if c.cell.method in subjects], methods)
    equal = [c for c in compared if c.cell.method not in subjects and c.outcome == "equal"]
    name = method_label(reference, methods)
    return Verdict(
        metric,
        reference,
        _best_sentence(scores, methods, metric),
        [comparison for group in by_label.values() for comparison in group],
        [_judgement(label, group, name) for label, group in by_label.items()],
        [_numbers(label, group, name, metric) for label, group in by_label.items()],
        [_judgement(label, group, name) for label, group in _by_label(equal, methods).items()],
    )


def count_sentences(verdicts: Sequence[Verdict], methods: Mapping[str, Mapping]) -> list[str]:
    """Return, for every compared method, how often it is better, equal or worse over all runs.

    A comparison is an experiment, a training size and, where there are several, a number of
    components and of weak rows. Errors and accuracies, and different references, are counted
    separately.
    """
    groups: dict[tuple[str, str, str, str], list[Comparison]] = {}
    for verdict in verdicts:
        measured = QUANTITIES[verdict.metric]
        for comparison in verdict.comparisons:
            key = (comparison.cell.method, verdict.reference, measured.better, measured.worse)
            groups.setdefault(key, []).append(comparison)
    sentences = []
    for key in sorted(groups, key=lambda key: (_position(key[0], methods), key)):
        (method, reference, better, worse), group = key, groups[key]
        outcomes = [comparison.outcome for comparison in group]
        parts = [f"{OUTCOMES[o]} in {outcomes.count(o)}" for o in OUTCOMES if o in outcomes]
        differing = [c.cell.difference for c in group if c.cell.n_nonzero]
        means = ""
        if differing:
            n_better = sum(difference < 0 for difference in differing)
            means = f" (mean {better} in {n_better}, {worse} in {len(differing) - n_better})"
        sentences.append(
            f"{method_label(method, methods)} against {method_label(reference, methods)} "
            f"{join_words(parts)} of {count_of(len(group), 'comparison')}{means}."
        )
    return sentences


def _by_label(
    comparisons: Sequence[Comparison], methods: Mapping[str, Mapping]
) -> dict[str, list[Comparison]]:
    """Return the comparisons of each row, by its label and in the order of the rows."""
    groups: dict[str, list[Comparison]] = {}
    for variant in order_variants([c.cell.variant for c in comparisons], methods):
        label = variant_label(variant, methods)
        groups[label] = [c for c in comparisons if c.cell.variant == variant]
    return groups


def _position(method: str, methods: Mapping[str, Mapping]) -> int:
    """Return the place of a method in the order of `methods`, after all of them if unknown."""
    names = list(methods)
    return names.index(method) if method in names else len(names)


def _judgement(label: str, group: Sequence[Comparison], reference: str) -> str:
    """Return where one row is better, equal or worse than the reference.

    Where it is equal, the largest difference measured in a split is given.
    """
    parts = []
    for outcome, words in OUTCOMES.items():
        cells = [c.cell for c in group if c.outcome == outcome]
        if not cells:
            continue
        part = f"{words} at n = {join_words([str(cell.training_size) for cell in cells])}"
        if outcome == "equal":
            largest = max(cell.largest_relative_difference for cell in cells)
            part += f" (largest relative difference in a split: {largest:.1g})"
        parts.append(part)
    return f"{label} against {reference} {'; '.join(parts)}."


def _numbers(label: str, group: Sequence[Comparison], reference: str, metric: str) -> str:
    """Return the differences of one row from the reference, with their tests."""
    measured = QUANTITIES[metric]
    parts = []
    for comparison in group:
        cell = comparison.cell
        part = f"{measured.write_difference(cell.difference)} at n = {comparison.training_size}"
        if comparison.outcome not in ("equal", "untested"):
            part += (
                f" ({format_p_value(cell.p_reference_student)}, corrected "
                f"{format_p_value(cell.p_reference_corrected)}, "
                f"{cell.n_nonzero} of {count_of(cell.n_splits, 'split')} differ)"
            )
        parts.append(part)
    what = measured.difference_name
    return f"Difference in {what}, {label} minus {reference}: {'; '.join(parts)}."


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
