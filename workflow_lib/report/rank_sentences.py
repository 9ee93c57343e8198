"""The ranks of methods over datasets, in sentences made from the numbers and as a table."""

import math
from collections.abc import Mapping, Sequence

from workflow_lib.report.labels import count_of, format_p_value, join_words, method_label
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.ranks import (
    MIN_DATASETS,
    MIN_METHODS,
    MIN_TESTED_DATASETS,
    RISK,
    RankedDataset,
    Ranking,
)
from workflow_lib.report.table_markup import Block, Layout

NOTHING_RANKED = (
    f"Nothing is ranked: fewer than {MIN_METHODS} methods that use no weak rows ran together on "
    f"{MIN_DATASETS} datasets or more."
)

TITLE = "Ranks of the methods by dataset, 1 for the lowest mean error"
NO_RANKING = "Too few methods ran on too few datasets, so that there are no ranks"

MAX_NAMES = 8
"""Names in a list; further names are only counted."""


def rank_sentences(ranking: Ranking | None, methods: Mapping[str, Mapping]) -> list[str]:
    """Return what was ranked, what the test says, and how OFER ranks against kernel ridge.

    Without a ranking it is the one sentence that nothing is ranked.
    """
    if ranking is None:
        return [NOTHING_RANKED]
    n_datasets, n_methods = ranking.ranks.shape
    error = "error rate" if ranking.is_accuracy else "error"
    sentences = [
        f"{n_methods} methods are ranked on {count_of(n_datasets, 'dataset')}. A dataset counts "
        f"once, by the mean {error} of each method over its splits at its largest training size; "
        f"the lowest has rank 1.",
        _test_sentence(ranking),
    ]
    if n_datasets < MIN_TESTED_DATASETS:
        sentences.append(
            f"With fewer than {MIN_TESTED_DATASETS} datasets the ranks describe these datasets "
            "only, and imply nothing about others."
        )
    sentences += _against_reference(ranking, methods)
    return sentences


def data_sentences(ranking: Ranking | None, methods: Mapping[str, Mapping]) -> list[str]:
    """Return on which data the ranks are based, and what is left out of them."""
    if ranking is None:
        return []
    per_class = " examples per class" if ranking.is_accuracy else ""
    datasets = "; ".join(_dataset_in_words(dataset) for dataset in ranking.datasets)
    sentences = [
        f"Datasets, with the training size n{per_class and f' in{per_class}'}: {datasets}."
    ]
    if ranking.averaged:
        names = _listed([method_label(method, methods) for method in ranking.averaged])
        sentences.append(
            f"Where several fixed numbers of components ran, the mean error over them counts: "
            f"{names}."
        )
    if ranking.left_out:
        names = _listed([method_label(method, methods) for method in ranking.left_out])
        sentences.append(f"Not ranked, since they did not run on all of these datasets: {names}.")
    if ranking.unranked:
        sentences.append(
            f"Left out are the datasets on which not all of these methods ran: "
            f"{_listed(ranking.unranked)}."
        )
    if ranking.n_other_kind:
        other = "numbers" if ranking.is_accuracy else "classes"
        verb = "is" if ranking.n_other_kind == 1 else "are"
        sentences.append(
            f"{count_of(ranking.n_other_kind, 'dataset')} whose outputs are {other} {verb} left "
            f"out too."
        )
    return sentences


def ranks_layout(ranking: Ranking | None, methods: Mapping[str, Mapping]) -> Layout:
    """Return the table of ranks, the best method first; without rows if nothing was ranked."""
    if ranking is None:
        return Layout(NO_RANKING, "Method", ["Average"], [Block("", [])], [])
    rows = []
    for index, method in enumerate(ranking.methods):
        of_datasets = [f"{rank:g}" for rank in ranking.ranks[:, index]]
        average = f"{ranking.average_ranks[index]:.2f}"
        rows.append((method_label(method, methods), [average, *of_datasets]))
    heads = ["Average", *(dataset.experiment for dataset in ranking.datasets)]
    return Layout(TITLE, "Method", heads, [Block("", rows)], _table_notes(ranking))


def _table_notes(ranking: Ranking) -> list[str]:
    notes = [
        f"At the largest training size of each of {count_of(len(ranking.datasets), 'dataset')}, by "
        "the mean over its splits; equal means share their ranks."
    ]
    for what, named in (
        ("stand-ins", [dataset.experiment for dataset in ranking.datasets if dataset.stand_in_for]),
        ("simulated", [dataset.experiment for dataset in ranking.datasets if dataset.is_made]),
    ):
        if named:
            notes.append(f"Data that are {what}: {', '.join(named)}.")
    return notes


def _test_sentence(ranking: Ranking) -> str:
    test, critical = ranking.test, ranking.critical_difference
    numbers = f"chi-squared = {test.statistic:.2f}, {format_p_value(test.p_value)}"
    if math.isfinite(test.f_statistic):
        numbers += (
            f"; Iman and Davenport's F = {test.f_statistic:.2f}, {format_p_value(test.f_p_value)}"
        )
    begin = f"Friedman's test ({numbers})"
    if not ranking.has_differences:
        return f"{begin} does not distinguish the methods at the risk {RISK:g}."
    largest = len(ranking.methods) - 1
    if critical > largest:
        return (
            f"{begin} shows that the methods are not all equal, but Nemenyi's critical difference "
            f"of {critical:.2f} exceeds the largest possible difference of ranks ({largest}): no "
            "two methods are distinguished."
        )
    return (
        f"{begin} shows that the methods are not all equal; two are distinguished where their "
        f"average ranks differ by {critical:.2f} or more (Nemenyi's critical difference at the "
        f"risk {RISK:g})."
    )


def _against_reference(ranking: Ranking, methods: Mapping[str, Mapping]) -> list[str]:
    """Return how each OFER method ranks against the reference method; nothing without either."""
    reference = QUANTITIES[ranking.datasets[0].metric].reference
    subjects = [method for method in ranking.methods if method.startswith(("ofer", "wofer"))]
    if reference not in ranking.methods or not subjects:
        return []
    reference_index = ranking.methods.index(reference)
    averages = ranking.average_ranks
    parts = []
    for method in subjects:
        index = ranking.methods.index(method)
        name = f"{method_label(method, methods)} ({averages[index]:.2f})"
        if (ranking.ranks[:, index] == ranking.ranks[:, reference_index]).all():
            parts.append(f"{name} is equal up to rounding on every dataset")
            continue
        where = "has the same rank"
        if averages[index] != averages[reference_index]:
            is_better = averages[index] < averages[reference_index]
            where = "ranks before it" if is_better else "ranks behind it"
        is_joined = any({index, reference_index} <= set(group) for group in ranking.groups)
        parts.append(f"{name} {where}, {'not ' if is_joined else ''}distinguishable")
    name = method_label(reference, methods)
    return [f"Against {name} (average rank {averages[reference_index]:.2f}): {'; '.join(parts)}."]


def _dataset_in_words(dataset: RankedDataset) -> str:
    # No line ends within the number.
    marks = [f"n\u00a0=\u00a0{dataset.training_size}"]
    if dataset.stand_in_for:
        marks.append("a stand-in")
    if dataset.is_made and "recipe" not in dataset.title:
        marks.append("simulated")
    return f"{dataset.title} ({', '.join(marks)})"


def _listed(names: Sequence[str]) -> str:
    """Return names in words; of many the first, and how many more there are."""
    shown = list(names)
    if len(shown) > MAX_NAMES + 1:
        shown[MAX_NAMES:] = [f"{len(shown) - MAX_NAMES} more"]
    # Names may contain commas.
    return "; ".join(shown) if any("," in name for name in shown) else join_words(shown)
