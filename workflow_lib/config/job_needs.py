"""How much memory and time a job asks of a scheduler.

One formula for all rules, from the size of the dataset and the rows of the kernel values in a job:

    memory  = attempt * (BASE_MB + more_mb + COPIES * megabytes + grams * 8 rows^2 / 2^20)   in MB
    runtime = attempt * (minutes + cubic_minutes * (rows / 1000)^3)                          in min

``grams`` is how many Gram matrices of all rows a job holds at once, and ``cubic_minutes`` what it
takes to decompose those of 1,000 rows for all folds and kernel widths of a usual grid. Both are
about twice what was measured; `results/timings/jobs/resource-usage.csv` compares what the jobs of a
run asked for with what they used. A job that was killed for asking too little is tried again, with
more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

BASE_MB = 700
"""Python with the libraries of any rule, and two processes of Snakemake around it."""

COPIES = 8
"""Copies of a dataset in memory: read, scaled, split, and what is computed of each row."""


MOST_CLASSES = 100
"""Classes that a dataset may have."""


class JobNeeds(NamedTuple):
    """What a job asks for: memory in MB, time in minutes, cores."""

    mem_mb: int
    runtime: int
    threads: int = 1


class Stage(NamedTuple):
    """What the formula says of one rule."""

    minutes: float = 1
    grams: float = 0
    cubic_minutes: float = 0
    more_mb: float = 0


STAGES: dict[str, Stage] = {
    # The data and the splits.
    "image_features": Stage(minutes=240, more_mb=2000),
    "read": Stage(minutes=10, more_mb=800),
    "alignments": Stage(minutes=60, grams=4),
    "split": Stage(),
    "features": Stage(grams=1),
    # What is fitted on the outputs.
    "models": Stage(minutes=4, cubic_minutes=0.1),
    "annotate": Stage(),
    "embeddings": Stage(grams=6),
    "preimages": Stage(minutes=2, grams=2, cubic_minutes=0.1),
    # What is made of the predictions.
    "scores": Stage(minutes=2),
    "equivalence_checks": Stage(minutes=2, grams=8),
    "calibration": Stage(minutes=10, grams=14, cubic_minutes=0.2),
    "saved_model": Stage(minutes=10, grams=14, cubic_minutes=0.2),
    "report": Stage(minutes=2),
}
"""What the rules of the workflow need, by their names; any other needs `Stage()`, but for jobs of
methods that declare what they need (`workflow_lib.methods.base`)."""


def most_gram_rows(
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    limit: int,
    per_class: bool = False,
    is_own: bool = False,
) -> int:
    """Return about how many rows the largest Gram matrix of an experiment has at most.

    Parameters
    ----------
    training_sizes, weak_sizes : sequence of int
    limit : int
        The rows above which landmarks are used.
    per_class : bool, default=False
        Whether the sizes are those of each class. How many classes there are is not known before
        the dataset is read.
    is_own : bool, default=False
        Whether it is on a table of the user's own, from all rows of which its saved model learns.
        These are not known either, but the largest training size is above half of them.
    """
    rows = max(training_sizes) * (MOST_CLASSES if per_class else 2 if is_own else 1)
    return min(rows + max(weak_sizes, default=0), limit)


def job_needs(
    rule: str,
    rows: int = 0,
    megabytes: float = 0,
    attempt: int = 1,
    declared: Mapping[str, float] | None = None,
) -> JobNeeds:
    """Return what a job of a rule asks for.

    Parameters
    ----------
    rule : str
    rows : int, default=0
        Rows of the largest Gram matrix: the most training rows and weakly labelled rows.
    megabytes : float, default=0
        Size of the dataset's file.
    attempt : int, default=1
        1 at first, one more whenever the job failed.
    declared : mapping of str to float, optional
        Fields of `Stage` that the method of the job declares, instead of its rule's.
    """
    values = STAGES.get(rule, Stage()) if declared is None else Stage(**declared)
    memory = BASE_MB + values.more_mb + COPIES * megabytes + values.grams * 8 * rows**2 / 2**20
    minutes = values.minutes + values.cubic_minutes * (rows / 1000) ** 3
    return JobNeeds(attempt * math.ceil(memory / 100) * 100, attempt * math.ceil(minutes))
