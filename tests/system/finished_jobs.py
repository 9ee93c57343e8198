"""The jobs of a finished run as recorded by Snakemake, and which files can be damaged at once."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import smoke


class Job(NamedTuple):
    """A finished job: the files of other jobs that it read, and the files that it made."""

    inputs: frozenset[str]
    outputs: frozenset[str]


def finished_jobs(folder: Path) -> list[Job]:
    """Return the jobs of a finished run, each after those whose files it read."""
    outcome = smoke.snakemake(folder, "--detailed-summary", cores=None).succeeded()
    rows = list(csv.DictReader(io.StringIO(outcome.stdout), delimiter="\t"))
    made = {row["output_file"] for row in rows}
    outputs: dict[tuple[str, str], set[str]] = {}
    inputs: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        job = (row["rule"], row["log-file(s)"])
        outputs.setdefault(job, set()).add(row["output_file"])
        inputs.setdefault(job, set()).update(made.intersection(row["input-file(s)"].split(",")))
    left = [Job(frozenset(inputs[job]), frozenset(outputs[job])) for job in sorted(outputs)]
    ordered: list[Job] = []
    while left:
        waiting = frozenset().union(*(job.outputs for job in left))
        ready = [job for job in left if not job.inputs & waiting]
        assert ready, "jobs wait for each other"
        ordered += ready
        left = [job for job in left if job not in ready]
    return ordered


def readers_of(jobs: Iterable[Job], paths: Iterable[str]) -> list[Job]:
    """Return the jobs that read one of some files."""
    return [job for job in jobs if job.inputs.intersection(paths)]


def batches_of_files(jobs: Sequence[Job]) -> list[list[str]]:
    """Return the files that jobs read, in batches that can be damaged at once.

    With the outputs of all readers of a batch removed, each of its files still has a reader that
    can start.
    """
    batches: list[list[str]] = []
    for job in jobs:
        for path in sorted(job.outputs):
            if not readers_of(jobs, [path]):
                continue
            fitting = (batch for batch in batches if _are_read_at_once(jobs, [*batch, path]))
            batch = next(fitting, None)
            if batch is None:
                batches.append(batch := [])
            batch.append(path)
    return batches


def _are_read_at_once(jobs: Sequence[Job], batch: Sequence[str]) -> bool:
    removed: set[str] = set()
    read: set[str] = set()
    for job in jobs:
        if job.inputs & removed:
            removed |= job.outputs
        elif job.inputs.intersection(batch):
            removed |= job.outputs
            read |= job.inputs
    return read.issuperset(batch)
