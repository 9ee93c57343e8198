"""How much memory and time a job requests from a scheduler.

One formula for all rules, with the size of the dataset and the rows of the kernel values in a job:

    memory  = attempt * (BASE_MB + more_mb + COPIES * megabytes + grams * 8 rows^2 / 2^20)   in MB
    runtime = attempt * n_splits * (minutes + cubic_minutes * (rows / 1000)^3)               in min

in steps of 100 MB, and above `IN_STEPS_MB` in whole GiB. ``grams`` is the number of Gram matrices
of all rows that a job holds at once, and ``cubic_minutes`` the time to decompose those of 1,000
rows for all folds and kernel widths of a usual grid. Both are about twice the measured values;
`results/timings/jobs/resource-usage.csv` compares what the jobs of a run requested with what they
used. A job that was killed because it requested too little is tried again, with more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workflow_lib.core.values import ALL

BASE_MB = 700
"""Python with the libraries of any rule, and two processes of Snakemake around it."""

COPIES = 8
"""Copies of a dataset in memory: as read, scaled and split, and the results for each row."""

IN_STEPS_MB = 2048
"""Memory above which AWS Batch takes whole GiB only; its plugin lowers other values to this one."""

MAX_CLASSES = 100
"""Classes that a dataset may have."""

ROWS_OF_ALL = 2000
"""Rows that the training size `ALL` is assumed to be; a Gram matrix of them has 31 MB."""


class JobNeeds(NamedTuple):
    """Resources that a job requests: memory in MB, time in minutes, cores."""

    mem_mb: int
    runtime: int
    threads: int = 1


class Stage(NamedTuple):
    """The coefficients of the formula for a rule."""

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
    # Fits to the outputs.
    "models": Stage(minutes=4, cubic_minutes=0.1),
    "annotate": Stage(),
    "embeddings": Stage(grams=6),
    "preimages": Stage(minutes=2, grams=2, cubic_minutes=0.1),
    # Models of inputs that are sequences or bags.
    "input_models": Stage(minutes=30, more_mb=3000),
    "input_scores": Stage(minutes=10, grams=4, more_mb=3000),
    # Results from the predictions.
    "scores": Stage(minutes=2),
    "queue_costs": Stage(minutes=10),
    "equivalence_checks": Stage(minutes=2, grams=8),
    "calibration": Stage(minutes=10, grams=14, cubic_minutes=0.2),
    "importance": Stage(minutes=20, grams=14, cubic_minutes=0.4, more_mb=300),
    "saved_model": Stage(minutes=10, grams=14, cubic_minutes=0.2),
    "report": Stage(minutes=2),
    # Sums over many rows: each is a matrix of all landmarks, for each of six folds.
    "row_plan": Stage(minutes=20, grams=40, more_mb=1000),
    "row_sums": Stage(minutes=30, grams=12, more_mb=300),
    "added_sums": Stage(minutes=2, grams=24),
    "solved_sums": Stage(minutes=5, grams=24),
    "row_errors": Stage(minutes=60, grams=12, more_mb=300),
    "learned_model": Stage(minutes=10, grams=12, more_mb=300),
}
"""The needs of the rules of the workflow, by name; all others need `Stage()`, except the jobs of
methods, which may declare their own needs (`workflow_lib.methods.contract.base`)."""


def most_gram_rows(
    training_sizes: Sequence[int],
    weak_sizes: Sequence[int],
    limit: int,
    per_class: bool = False,
    is_user_table: bool = False,
) -> int:
    """Return an upper bound on the rows of the largest Gram matrix of an experiment.

    Parameters
    ----------
    training_sizes, weak_sizes : sequence of int
        The training size `ALL` counts as `ROWS_OF_ALL`, since their number is not known before the
        dataset is read; later attempts of a job request more.
    limit : int
        The number of rows above which landmarks are used.
    per_class : bool, default=False
        Whether the sizes are those of each class. The number of classes is not known before the
        dataset is read.
    is_user_table : bool, default=False
        Whether it is on a user table, from all rows of which its saved model learns. Their number
        is not known either, but the largest training size is above half of it.
    """
    largest = max(ROWS_OF_ALL if size == ALL else size for size in training_sizes)
    rows = largest * (MAX_CLASSES if per_class else 2 if is_user_table else 1)
    return min(rows + max(weak_sizes, default=0), limit)


def job_needs(
    rule: str,
    rows: int = 0,
    megabytes: float = 0,
    attempt: int = 1,
    declared: Mapping[str, float] | None = None,
    n_splits: int = 1,
) -> JobNeeds:
    """Return the resources that a job of a rule requests.

    Parameters
    ----------
    rule : str
    rows : int, default=0
        Rows of the largest Gram matrix: the largest numbers of training and weakly labelled rows.
    megabytes : float, default=0
        Size of the dataset's file.
    attempt : int, default=1
        1 at first, increased by 1 after each failure of the job.
    declared : mapping of str to float, optional
        Fields of `Stage` that the method of the job declares, instead of those of its rule.
    n_splits : int, default=1
        Splits that the job handles one after the other.
    """
    values = STAGES.get(rule, Stage()) if declared is None else Stage(**declared)
    memory = BASE_MB + values.more_mb + COPIES * megabytes + values.grams * 8 * rows**2 / 2**20
    requested = attempt * math.ceil(memory / 100) * 100
    if requested > IN_STEPS_MB:
        requested = math.ceil(requested / 1024) * 1024
    minutes = values.minutes + values.cubic_minutes * (rows / 1000) ** 3
    return JobNeeds(requested, attempt * n_splits * math.ceil(minutes))
