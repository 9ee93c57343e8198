"""Approximate duration of `answer` on a table, to propose as many splits as fit into five minutes.

The numbers were measured on a machine with two cores, on synthetic tables of 60 to 500 rows, 10 to
500 inputs and 3 to 60 outputs; those of sequences and bags on real data of up to 2300 rows and on
digits. The CPU seconds of every job are in ``results/timings/jobs``. They are rough: they serve to
distinguish one minute from ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Cost(NamedTuple):
    """CPU seconds of a method on a split, without those of starting its jobs.

    With q inputs, they are the sum over the training sizes n of
    ``fixed + by_inputs * q * sqrt(n) + by_rows * (n / 100)^2 + each_row * n``
    ``+ by_cells * q * (n + FEW_ROWS)``. There are ``jobs`` of the same splits, each of which starts
    Python and loads the libraries. ``models`` is the generative model of its inputs in
    `MODEL_COSTS`, which serves all methods that name it; "" for none.
    """

    jobs: int
    fixed: float
    by_inputs: float = 0.0
    by_rows: float = 0.0
    by_cells: float = 0.0
    each_row: float = 0.0
    models: str = ""


FEW_ROWS = 80
"""Rows whose time a model of sequences takes in addition: it goes through the positions of all
sequences together, in a loop that takes its time even for few."""

MODEL_COSTS = {
    "hmm": Cost(jobs=1, fixed=0.2, by_cells=8e-4),
    "hmm-classes": Cost(jobs=1, fixed=0.2, by_cells=8e-4),
    "topics": Cost(jobs=2, fixed=0.2, each_row=0.015),
    "topics-classes": Cost(jobs=2, fixed=0.2, each_row=0.015),
}
"""Measured costs of the models of ``config/input_models``; the inputs of a sequence are its
letters."""

ON_SCORES = Cost(jobs=3, fixed=0.8, by_rows=0.03, by_cells=1.3e-5, models="hmm-classes")
"""Measured costs of most methods with a ``score_space`` of sequences."""

ON_BAGS = Cost(jobs=2, fixed=1.5, by_cells=4e-4)
"""Measured costs of networks on bags of rows."""

ON_TOPICS = Cost(jobs=3, fixed=0.4, by_rows=0.03, each_row=0.01, models="topics-classes")
"""Measured costs of most methods with a ``score_space`` of bags of words."""

COSTS = {
    "ofer-stack": Cost(jobs=1, fixed=0.02),
    "ofer-gmm": Cost(jobs=4, fixed=0.05, by_rows=0.08),
    "ofer-density": Cost(jobs=1, fixed=0.19, by_rows=0.12),
    "ofer-gssm": Cost(jobs=4, fixed=0.9, by_rows=0.03),
    # These two were measured with 300 to 1000 outputs without inputs, and fits without them.
    "ofer-unpaired": Cost(jobs=2, fixed=0.45, by_rows=0.06),
    "back-translation": Cost(jobs=2, fixed=0.06, by_rows=0.055),
    "m-krr": Cost(jobs=2, fixed=0.02, by_rows=0.04),
    "m-krr-bagged": Cost(jobs=2, fixed=0.025, by_rows=0.05),
    "m-krr-pc": Cost(jobs=1, fixed=0.1, by_rows=0.02),
    "ridge": Cost(jobs=2, fixed=0.01, by_rows=0.01),
    # A job that loads scikit-learn counts as two.
    "m-rf": Cost(jobs=2, fixed=0.37, by_inputs=2.4e-4),
    "extra-trees": Cost(jobs=2, fixed=0.25, by_inputs=1.7e-4, by_rows=0.006),
    "m-mean": Cost(jobs=1, fixed=0.0),
    "class-krr": Cost(jobs=1, fixed=0.06, by_rows=0.04),
    "class-krr-cost": Cost(jobs=1, fixed=0.06, by_rows=0.04),
    "m-svm": Cost(jobs=2, fixed=0.3, by_rows=0.025),
    # Measured with 20 inputs only.
    "m-rf-classes": Cost(jobs=2, fixed=0.2, by_inputs=7e-4),
    "nfess": ON_SCORES,
    "fess-symbol": ON_SCORES,
    "fisher-class-models": ON_SCORES,
    "top-kernel": ON_SCORES,
    "fisher-one-model": ON_SCORES._replace(models="hmm"),
    "nfess-mean-field": ON_SCORES._replace(by_cells=4e-5),
    "fess": ON_SCORES._replace(fixed=1.4, by_rows=0.12),
    "map-hmm": ON_SCORES._replace(jobs=2, fixed=0.3, by_rows=0.0),
    "spectrum": Cost(jobs=2, fixed=0.7, by_rows=0.06),
    "composition": Cost(jobs=2, fixed=0.4, by_rows=0.013),
    "sequence-length": Cost(jobs=2, fixed=0.4, by_rows=0.035),
    "one-hot-letters": Cost(jobs=2, fixed=0.7, by_rows=0.025),
    "position-naive-bayes": Cost(jobs=2, fixed=0.15),
    "lda-fess": ON_TOPICS,
    # Of a thousand words it takes five times as long.
    "lda-fisher": ON_TOPICS._replace(each_row=0.02, models="topics"),
    "topic-proportions": ON_TOPICS._replace(models="topics"),
    "map-lda": ON_TOPICS._replace(jobs=2, fixed=0.3, by_rows=0.0),
    "word-histogram": Cost(jobs=2, fixed=0.5, by_rows=0.03),
    "fv-svm": Cost(jobs=2, fixed=0.4, by_cells=1.5e-4),
    "fv-svm-labelled": Cost(jobs=2, fixed=0.25, by_cells=4e-5),
    "fv-network": ON_BAGS,
    "ssfv-network": ON_BAGS,
    "fv-self-training": ON_BAGS._replace(fixed=1.0, by_cells=2e-4),
    "fv-network-pseudo": ON_BAGS,
}
"""Measured costs by method, with the grids of ``config/methods`` and one thread. If those or the
method change: run `answer` with ``splits=1`` on tables of 60 to 500 rows, with one training size
and with five, and use the column ``cpu_time`` of ``results/timings/jobs/*/NAME*.tsv``, minus half
of `JOB_SECONDS`."""

OTHER_COST = Cost(jobs=2, fixed=0.3, by_rows=0.1)
"""Assumed costs of methods that were not measured."""

JOB_SECONDS = 0.6
"""CPU seconds of starting a job."""

SPLITS_PER_JOB, MAX_JOB_SECONDS = 5, 30.0
"""Splits that a job handles, as in ``config/config.yaml``; the CPU seconds up to which it handles
all splits of a method: more jobs then cost more time than they save on a few cores."""

SPLIT_JOBS = 2
"""Jobs of a split that do not belong to a method: the split itself, and its inputs."""

SINGLE_SECONDS = 35.0
"""CPU seconds of all jobs outside of splits: tables, figures, the model, the report."""

MAX_MINUTES, CORES, USED_SHARE = 5.0, 2, 0.8
"""Largest duration of a proposal in minutes, the number of cores, and the share of their time that
is used: near its end a run has fewer jobs than cores."""


def split_seconds(methods: Sequence[str], sizes: Sequence[int], n_inputs: int) -> float:
    """Return the approximate CPU seconds of a split, without those of starting its jobs.

    `sizes` are training sizes, in rows, and `n_inputs` the number of inputs that encode the columns
    of the table; of sequences, and of bags of rows, their length.
    """
    return sum(
        cost.fixed
        + cost.by_inputs * n_inputs * n**0.5
        + cost.by_rows * (n / 100) ** 2
        + cost.each_row * n
        + cost.by_cells * n_inputs * (n + FEW_ROWS)
        for cost in _costs(methods)
        for n in sizes
    )


def _costs(methods: Sequence[str]) -> list[Cost]:
    """Return the costs of methods, and of the models of their inputs, once for each model."""
    costs = [COSTS.get(name, OTHER_COST) for name in methods]
    return costs + [MODEL_COSTS[name] for name in sorted({cost.models for cost in costs} - {""})]


def answer_minutes(
    methods: Sequence[str], sizes: Sequence[int], n_inputs: int, n_splits: int
) -> float:
    """Return the approximate duration of `answer` in minutes on `CORES` cores.

    It includes another split, in which all rows are training rows, for the saved model.
    """
    jobs = SPLIT_JOBS + sum(cost.jobs for cost in _costs(methods))
    size = splits_per_job(methods, sizes, n_inputs, n_splits)
    starts = JOB_SECONDS * jobs * (math.ceil(n_splits / size) + 1)
    seconds = SINGLE_SECONDS + starts + (n_splits + 1) * split_seconds(methods, sizes, n_inputs)
    return seconds / (60 * CORES * USED_SHARE)


def splits_per_job(
    methods: Sequence[str], sizes: Sequence[int], n_inputs: int, n_splits: int
) -> int:
    """Return how many splits a job handles: all, where that is quick for the slowest method."""
    slowest = max(split_seconds([name], sizes, n_inputs) for name in methods)
    return n_splits if n_splits * slowest <= MAX_JOB_SECONDS else SPLITS_PER_JOB


def splits_that_fit(
    methods: Sequence[str], sizes: Sequence[int], n_inputs: int, most: int, fewest: int
) -> int:
    """Return the number of splits that fit in `MAX_MINUTES`, between `fewest` and `most`."""
    more = range(most, fewest, -1)
    fitting = (n for n in more if answer_minutes(methods, sizes, n_inputs, n) <= MAX_MINUTES)
    return next(fitting, min(fewest, most))
