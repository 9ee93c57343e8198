"""The findings that open the report: where OFER helps, equals its reference, and loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.labels import (
    MINUS,
    count_of,
    format_p_value,
    is_ceiling,
    join_words,
    method_label,
)
from workflow_lib.report.quantities import QUANTITIES, chance_error, errors_by_size
from workflow_lib.report.results import outside_studies
from workflow_lib.report.verdict import Comparison, Verdict

if TYPE_CHECKING:
    import pandas as pd

TOLERANCE = 1e-9
"""A mean error this close to that of a guess does not beat it."""


class Found(NamedTuple):
    """A comparison, with its verdict and its experiment."""

    comparison: Comparison
    verdict: Verdict
    section: Mapping


def three_findings(
    verdicts: Sequence[Verdict], sections: Sequence[Mapping], methods: Mapping[str, Mapping]
) -> list[str]:
    """Return three findings over all experiments as sentences, fewer where nothing was compared.

    The first says which OFER method is most often better than its reference and the largest of its
    effects, the second where OFER equals the reference up to rounding, the third where it is worse
    and where no method beats a guess. What does not occur is stated too.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Of each experiment; better and worse are those of `workflow_lib.report.verdict.verdict`.
    sections : sequence of mappings
        Of the same experiments: ``name``, ``is_made``, ``stand_in_for`` and ``unbeaten`` (see
        `unbeaten_sizes`).
    methods : mapping of method name to {"label": ...}
        Its order decides between methods that are better equally often.
    """
    found = [
        Found(comparison, verdict, section)
        for verdict, section in zip(verdicts, sections, strict=True)
        for comparison in verdict.comparisons
    ]
    unbeaten = _unbeaten(verdicts, sections)
    if not found:
        nothing = "No OFER method was compared with a reference, so that there are no findings"
        return [f"{nothing} but the best means below.", *([unbeaten] if unbeaten else [])]
    if all(finding.comparison.outcome in ("equal", "untested") for finding in found):
        first = (
            f"None of the {count_of(len(found), 'comparison')} of OFER with a reference could be "
            f"tested: there is one split, or all scores are equal."
        )
    else:
        first = _gains(found, methods)
    worse = _losses(found, methods)
    return [first, _equals(found, methods), f"{worse} {unbeaten}".strip()]


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


def data_words(section: Mapping) -> str:
    """Return an experiment with the kind of its data, as ``digits (a stand-in)``."""
    if section["stand_in_for"]:
        return f"{section['name']} (a stand-in)"
    kind = "data made by a recipe" if section["is_made"] else "real data"
    return f"{section['name']} ({kind})"


def effect_words(effect: float) -> str:
    """Return a difference in units of its spread with one decimal, its sign and a true minus."""
    text = f"{effect:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", MINUS)


def where_words(found: Found) -> str:
    """Return a comparison in words: row, reference, experiment, size, difference and tests."""
    comparison, cell = found.comparison, found.comparison.cell
    measured = QUANTITIES[found.verdict.metric]
    effect = effect_words(measured.shown_effect(cell.effect))
    return (
        f"{comparison.label} on {data_words(found.section)} at n = {comparison.training_size}: "
        f"{measured.write_difference(cell.difference)} in {measured.difference_name}, {effect} in "
        f"units of its spread (corrected {format_p_value(cell.p_reference_corrected)})"
    )


def _gains(found: Sequence[Found], methods: Mapping[str, Mapping]) -> str:
    """Return which method is most often better, and its largest effect."""
    better = [finding for finding in found if finding.comparison.outcome == "lower"]
    if not better:
        tried = f"any of the {len(found)} comparisons" if len(found) > 1 else "the one comparison"
        return f"No OFER method is significantly better than its reference in {tried}."
    names = list(methods)
    groups: dict[tuple[str, str], int] = {}
    for finding in better:
        key = finding.comparison.cell.method, finding.verdict.reference
        groups[key] = groups.get(key, 0) + 1
    winner = max(groups, key=lambda key: (groups[key], -_position(key[0], names), key))
    method, reference = winner
    of_winner = [
        finding
        for finding in found
        if (finding.comparison.cell.method, finding.verdict.reference) == (method, reference)
    ]
    outcomes = [finding.comparison.outcome for finding in of_winner]
    largest = min(
        (finding for finding in of_winner if finding.comparison.outcome == "lower"),
        key=lambda finding: finding.comparison.cell.effect,
    )
    others = [
        f"{word} in {outcomes.count(outcome)}"
        for outcome, word in (("higher", "worse"), ("equal", "equal"), ("open", "open"))
        if outcome in outcomes
    ]
    details = f" ({', '.join(others)})" if others else ""
    return (
        f"{method_label(method, methods)} is most often better than "
        f"{method_label(reference, methods)}: in {groups[winner]} of "
        f"{count_of(len(of_winner), 'comparison')}{details}; of all OFER methods together that is "
        f"{len(better)} of {len(found)}. Its largest effect: {where_words(largest)}."
    )


def _equals(found: Sequence[Found], methods: Mapping[str, Mapping]) -> str:
    """Return where OFER equals the reference up to rounding."""
    equal = [finding for finding in found if finding.comparison.outcome == "equal"]
    if not equal:
        return (
            f"OFER equals its reference up to rounding in none of the "
            f"{count_of(len(found), 'comparison')}."
        )
    labels = list(dict.fromkeys(finding.comparison.label for finding in equal))
    counts = {
        label: sum(finding.comparison.label == label for finding in equal) for label in labels
    }
    most = max(counts, key=lambda label: counts[label])
    largest = max(finding.comparison.cell.largest_relative_difference for finding in equal)
    references = list(
        dict.fromkeys(method_label(finding.verdict.reference, methods) for finding in equal)
    )
    where = list(
        dict.fromkeys(
            data_words(finding.section) for finding in equal if finding.comparison.label == most
        )
    )
    return (
        f"OFER equals {join_words(references)} up to rounding in {len(equal)} of "
        f"{count_of(len(found), 'comparison')} (largest relative difference in a split: "
        f"{largest:.1g}), most often {most}: {counts[most]}, on {join_words(where)}."
    )


def _losses(found: Sequence[Found], methods: Mapping[str, Mapping]) -> str:
    """Return where OFER is worse than the reference."""
    worse = [finding for finding in found if finding.comparison.outcome == "higher"]
    if not worse:
        n_open = sum(finding.comparison.outcome == "open" for finding in found)
        return (
            f"OFER is significantly worse than its reference in no comparison; {n_open} of "
            f"{len(found)} are not distinguishable, which does not mean equal."
        )
    largest = max(worse, key=lambda finding: finding.comparison.cell.effect)
    reference = method_label(largest.verdict.reference, methods)
    return (
        f"OFER is worse than its reference in {len(worse)} of "
        f"{count_of(len(found), 'comparison')}. The largest effect, against {reference}: "
        f"{where_words(largest)}."
    )


def _unbeaten(verdicts: Sequence[Verdict], sections: Sequence[Mapping]) -> str:
    """Return where no method beats a guess; empty where some method always does."""
    where: dict[str, list[str]] = {}
    for verdict, section in zip(verdicts, sections, strict=True):
        if section["unbeaten"]:
            sizes = join_words([str(size) for size in section["unbeaten"]])
            guess = "chance" if QUANTITIES[verdict.metric].is_accuracy else "the training mean"
            where.setdefault(guess, []).append(f"{data_words(section)} at n = {sizes}")
    return " ".join(
        f"No method at all beats {guess} on {join_words(places)}."
        for guess, places in where.items()
    )


def _position(method: str, names: Sequence[str]) -> int:
    return names.index(method) if method in names else len(names)


def replaced_sentences(replaced: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each experiment that did not run, with what stands in for it."""
    return [
        f"{name} did not run, because a file of its dataset is not on this machine; "
        f"{join_words(others)} {'stands' if len(others) == 1 else 'stand'} in for it."
        for name, others in replaced.items()
    ]
