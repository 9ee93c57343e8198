"""The ranks of the methods over the datasets of a run, and the test of their differences.

A dataset counts once, however many experiments and splits it has: datasets are independent of each
other, the splits of a dataset are not. Only methods that learn from the same rows are compared, so
that methods that also use weak rows, and studies of weak labels, are left out.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.protocol.statistics import (
    FriedmanTest,
    friedman_test,
    indistinguishable_groups,
    nemenyi_critical_difference,
    ranks_by_dataset,
)
from workflow_lib.report.labels import method_label
from workflow_lib.report.quantities import QUANTITIES, errors_of
from workflow_lib.report.results import outside_studies, write_frame
from workflow_lib.report.variants import SELECTED

RISK = 0.05
"""The risk of the Friedman test and of the critical difference."""

MIN_METHODS = 3
"""Two methods are compared by the paired tests over splits instead."""

MIN_DATASETS = 2

MIN_TESTED_DATASETS = 5
"""With fewer datasets the ranks describe these datasets alone."""


RANK_COLUMNS = ["method", "label", "average_rank", "dataset", "stand_in_for", "is_made"]
RANK_COLUMNS += ["experiment", "training_size", "n_splits", "rank", "metric", "mean_error"]


@dataclass(frozen=True)
class RankedDataset:
    """One dataset of the ranking: the experiment that represents it, and what is known of it.

    ``is_made`` says whether the data are simulated. ``errors`` are those of the methods at
    ``training_size`` (of classes in examples per class), means over ``n_splits`` splits; those in
    ``averaged`` are means over several fixed numbers of components too.
    """

    experiment: str
    title: str
    stand_in_for: str | None
    is_made: bool
    metric: str
    training_size: int
    n_splits: int
    errors: Mapping[str, float]
    averaged: frozenset[str]


@dataclass(frozen=True)
class Ranking:
    """The ranks of k methods on N datasets.

    ``datasets`` are the datasets in the order of the run, all with errors of numbers or all with
    accuracies, and ``methods`` are by average rank, the best first, ties in the order of the run;
    ``ranks`` have the shape (N, k). ``critical_difference`` is Nemenyi's at the risk `RISK`, and
    ``groups`` hold the positions of methods that are not distinguishable. ``averaged`` are those of
    which several fixed numbers of components ran, so that the mean error over them counts, and
    ``left_out`` those without weak rows that did not run on all of these datasets. ``unranked`` are
    the titles of the datasets with the same kind of outputs on which these methods did not all run,
    and ``n_other_kind`` is the number of datasets with the other kind.
    """

    datasets: list[RankedDataset]
    methods: tuple[str, ...]
    ranks: np.ndarray
    test: FriedmanTest
    critical_difference: float
    groups: list[tuple[int, ...]]
    averaged: tuple[str, ...]
    left_out: tuple[str, ...]
    unranked: tuple[str, ...]
    n_other_kind: int

    @property
    def average_ranks(self) -> np.ndarray:
        """The mean rank (k,) of each method; 1 is the best."""
        return self.ranks.mean(axis=0)

    @property
    def is_accuracy(self) -> bool:
        """Whether the outputs are classes, so that error rates are ranked."""
        return QUANTITIES[self.datasets[0].metric].is_accuracy

    @property
    def has_differences(self) -> bool:
        """Whether the Friedman test finds that the methods are not all equal."""
        return self.test.p_value < RISK


def rank_methods(
    scores: Mapping[str, pd.DataFrame],
    experiments: Mapping[str, Mapping],
    method_order: Sequence[str] = (),
) -> Ranking | None:
    """Return the ranking over the largest block of datasets and methods without a gap.

    Of all sets of methods that ran together, the set with the most cells is taken, its number of
    methods times the number of datasets on which all of them ran; but sets on `MIN_TESTED_DATASETS`
    datasets or more are preferred to the others. Errors of numbers and accuracies of classes are
    not mixed: the kind with more datasets is ranked. The error of a method on a dataset is its mean
    over the splits, at the training size at which most methods have every split, the largest of
    equals. Of several experiments on a dataset the first that has all of the methods counts.

    `scores` and `experiments` map the experiments, in the order of the run, to their frames and to
    ``title`` (of the dataset), ``dataset`` (the name from which its splits are drawn: datasets that
    share it have the same rows), ``stand_in_for``, ``is_made`` and ``metric``. `method_order` is
    the order of methods of equal rank.

    Returns None where fewer than `MIN_METHODS` methods ran together on `MIN_DATASETS` datasets.
    Raises UserError if the scores of an experiment lack its metric.
    """
    kind, others = _kinds(scores, experiments)
    datasets = {name: _ranked_dataset(name, scores[name], experiments[name]) for name in kind}
    block = _largest_block(
        {name: frozenset(dataset.errors) for name, dataset in datasets.items()},
        {name: experiments[name]["dataset"] for name in kind},
    )
    if block is None:
        return None
    methods, chosen = block
    all_methods = sorted({method for dataset in datasets.values() for method in dataset.errors})
    order = [method for method in method_order if method in all_methods]
    order += [method for method in all_methods if method not in order]
    names = [method for method in order if method in methods]
    errors = np.array([[datasets[name].errors[method] for method in names] for name in chosen])
    ranks, test = ranks_by_dataset(errors), friedman_test(errors)
    by_rank = np.argsort(ranks.mean(axis=0), kind="stable")
    ranks = ranks[:, by_rank]
    critical = nemenyi_critical_difference(len(names), len(chosen), RISK)
    # The test of all methods comes first: where it finds no difference, no pair is distinguished.
    distance = critical if test.p_value < RISK else math.inf
    ranked = {experiments[name]["dataset"] for name in chosen}
    unranked: dict[str, str] = {}
    for name in kind:
        if experiments[name]["dataset"] not in ranked:
            unranked.setdefault(experiments[name]["dataset"], datasets[name].title)
    return Ranking(
        datasets=[datasets[name] for name in chosen],
        methods=tuple(names[index] for index in by_rank),
        ranks=ranks,
        test=test,
        critical_difference=critical,
        groups=indistinguishable_groups(ranks.mean(axis=0), distance),
        averaged=tuple(m for m in names if any(m in datasets[name].averaged for name in chosen)),
        left_out=tuple(method for method in order if method not in methods),
        unranked=tuple(unranked.values()),
        n_other_kind=len({experiments[name]["dataset"] for name in others}),
    )


def write_ranks(path: str | Path, ranking: Ranking | None, methods: Mapping[str, Mapping]) -> None:
    """Write the ranks as CSV with `RANK_COLUMNS`: a row for each method and dataset, best first.

    ``dataset`` is its title, ``is_made`` 0 or 1, and ``mean_error`` of classes is the error rate.
    Without a ranking there is only the header.
    """
    rows = [
        {
            "method": method,
            "label": method_label(method, methods),
            "average_rank": ranking.average_ranks[index],
            "dataset": dataset.title,
            "stand_in_for": dataset.stand_in_for,
            "is_made": int(dataset.is_made),
            "experiment": dataset.experiment,
            "training_size": dataset.training_size,
            "n_splits": dataset.n_splits,
            "rank": f"{ranks[index]:g}",
            "metric": dataset.metric,
            "mean_error": dataset.errors[method],
        }
        for index, method in enumerate(ranking.methods if ranking else ())
        for dataset, ranks in zip(ranking.datasets, ranking.ranks, strict=True)
    ]
    write_frame(path, pd.DataFrame(rows, columns=RANK_COLUMNS))


def _kinds(scores: Mapping, experiments: Mapping[str, Mapping]) -> tuple[list[str], list[str]]:
    """Return the experiments with the kind of outputs that more datasets have, and the others."""
    kinds: dict[bool, list[str]] = {False: [], True: []}
    for name in scores:
        metric = experiments[name].get("metric") or "arrmse"
        kinds[QUANTITIES[metric].is_accuracy].append(name)
    n_datasets = [len({experiments[name]["dataset"] for name in kinds[kind]}) for kind in kinds]
    has_more_classes = n_datasets[1] > n_datasets[0]
    return kinds[has_more_classes], kinds[not has_more_classes]


def _ranked_dataset(name: str, scores: pd.DataFrame, settings: Mapping) -> RankedDataset:
    metric = settings.get("metric") or "arrmse"
    alike = outside_studies(scores)
    errors = errors_of(alike[alike["weak_size"] == 0], metric)
    n_splits = errors.groupby("training_size")["split"].nunique()
    rows = errors.groupby(["training_size", "method", "components"])["split"].nunique()
    has_every_split = rows == rows.index.get_level_values("training_size").map(n_splits)
    # A method counts at a size where all of its component settings have every split.
    complete = has_every_split.groupby(["training_size", "method"]).all()
    n_complete = complete.groupby("training_size").sum()
    size = max(n_complete.index, key=lambda size: (n_complete[size], size), default=0)
    methods = [
        method for (at, method), is_complete in complete.items() if at == size and is_complete
    ]
    shown = errors[(errors["training_size"] == size) & errors["method"].isin(methods)]
    with_selected = shown.loc[shown["components"] == SELECTED, "method"]
    shown = shown[(shown["components"] == SELECTED) | ~shown["method"].isin(with_selected)]
    n_settings = shown.groupby("method")["components"].nunique()
    return RankedDataset(
        experiment=name,
        title=settings["title"],
        stand_in_for=settings.get("stand_in_for") or None,
        is_made=bool(settings.get("is_made")),
        metric=metric,
        training_size=size,
        n_splits=shown["split"].nunique(),
        errors={m: float(np.mean(rows.to_numpy())) for m, rows in shown.groupby("method")["value"]},
        averaged=frozenset(n_settings[n_settings > 1].index),
    )


def _largest_block(
    methods_of: Mapping[str, frozenset[str]], dataset_of: Mapping[str, str]
) -> tuple[frozenset[str], list[str]] | None:
    """Return the methods of the largest block, and one experiment for each of its datasets.
    `methods_of` and `dataset_of` map experiments to the methods that ran, and to the dataset."""
    # A largest block has all methods that some experiments share.
    shared: set[frozenset[str]] = set()
    for own in methods_of.values():
        shared |= {own & other for other in shared} | {own}
    blocks = []
    for methods in shared:
        chosen: dict[str, str] = {}
        for name, own in methods_of.items():
            if methods <= own:
                chosen.setdefault(dataset_of[name], name)
        if len(methods) >= MIN_METHODS and len(chosen) >= MIN_DATASETS:
            blocks.append((methods, list(chosen.values())))

    def preference(block: tuple[frozenset[str], list[str]]) -> tuple:
        methods, chosen = block
        is_enough = len(chosen) >= MIN_TESTED_DATASETS
        return (not is_enough, -len(chosen) * len(methods), -len(chosen), sorted(methods))

    return min(blocks, key=preference, default=None)
