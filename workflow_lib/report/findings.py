"""Comparisons with the reference in words, and the sizes at which no method beats a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.labels import (
    MINUS,
    format_p_value,
    is_ceiling,
    join_words,
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


def replaced_sentences(replaced: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a sentence for each experiment that did not run, with what stands in for it."""
    return [
        f"{name} did not run, because a file of its dataset is not on this machine; "
        f"{join_words(others)} {'stands' if len(others) == 1 else 'stand'} in for it."
        for name, others in replaced.items()
    ]
