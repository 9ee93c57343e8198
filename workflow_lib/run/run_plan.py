"""What a run would need, the end of a dry run: jobs by stage, time, memory and missing data."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workflow_lib.run.models import DatasetSettings
from workflow_lib.run.needed_data import megabytes, missing_downloads, steps_to_get

RANGE = re.compile(r"_\d+(to\d+)?$")
"""The end of the name of a rule whose jobs handle a range of splits."""

DOWNLOADS = ("acquire", "introductions")
"""Rules that fetch files: they request the time after which they are given up."""

FOLLOWS = "input files updated by another job"
"""The reason of a job that follows from the reasons of others."""

ROW = "{:<22} {:>6} {:>11} {:>9}  {}"

AT_ONCE = 4
"""Jobs that run at once in the sum of memory."""


class PlannedJob(NamedTuple):
    """A job that a dry run lists: its rule, Snakemake's reason for it, and what it requests."""

    rule: str
    reason: str = ""
    threads: int = 1
    mem_mb: float = 0
    runtime: float = 0
    """Minutes."""

    benchmark: str | None = None
    """The file of its measured time, which is there if it has run before."""

    @property
    def stage(self) -> str:
        """The rule, without the range of splits."""
        return RANGE.sub("", self.rule)

    @property
    def measured_hours(self) -> float | None:
        """Hours of its last run; None if it has not run."""
        try:
            with open(self.benchmark or "", encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file, delimiter="\t"))
            return float(rows[-1]["s"]) / 3600
        except (OSError, IndexError, KeyError, TypeError, ValueError):
            return None


def core_hours(jobs: Sequence[PlannedJob]) -> tuple[float, int, int]:
    """Return the core hours of jobs, and of how many jobs they are measured and requested.

    What a job requests from a scheduler is the most that it takes. `DOWNLOADS` do not count.
    """
    counted = [job for job in jobs if job.runtime and job.rule not in DOWNLOADS]
    measured = [job.measured_hours for job in counted]
    hours = [
        (job.runtime / 60 if known is None else known) * job.threads
        for job, known in zip(counted, measured, strict=True)
    ]
    n_measured = sum(known is not None for known in measured)
    return sum(hours), n_measured, len(counted) - n_measured


def stage_lines(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return a table with a line for each stage, in the order of the jobs."""
    stages: dict[str, list[PlannedJob]] = {}
    for job in jobs:
        stages.setdefault(job.stage, []).append(job)
    lines = [ROW.format("stage", "jobs", "core hours", "memory", "why")]
    for stage, members in stages.items():
        memory = max(job.mem_mb for job in members)
        lines.append(
            ROW.format(
                stage,
                len(members),
                hours_in_words(core_hours(members)[0]),
                gigabytes(memory) if memory else "",
                reasons(members),
            ).rstrip()
        )
    return lines


def reasons(jobs: Sequence[PlannedJob]) -> str:
    """Return why jobs run, in the words of Snakemake, without the names of files."""
    words = {
        part.partition(":")[0].strip().lower()
        for job in jobs
        for part in re.split(r"; ", job.reason)
        if part.strip()
    }
    return ", ".join(sorted(words - {FOLLOWS} or words))


def total_lines(jobs: Sequence[PlannedJob], n_submissions: int = 0) -> list[str]:
    """Return the number of jobs, their core hours and their memory, one line each."""
    hours, n_measured, n_requested = core_hours(jobs)
    submissions = f", on a scheduler {n_submissions:,} submissions" if n_submissions else ""
    how = "at most, as requested from a scheduler; most jobs take a fraction of it"
    if not n_requested:
        how = "as measured when the jobs ran before"
    elif n_measured:
        how = f"at most: {n_measured:,} jobs as measured before, {n_requested:,} as requested"
    memory = sorted((job.mem_mb for job in jobs), reverse=True)
    largest, together = max(memory, default=0), sum(memory[:AT_ONCE])
    return [
        f"jobs        {len(jobs):,}{submissions}",
        f"core hours  {hours_in_words(hours)} {how}",
        f"memory      {gigabytes(largest)} for the largest job, {gigabytes(together)} for the "
        f"{AT_ONCE} largest, as requested",
    ]


def data_lines(datasets: Mapping[str, DatasetSettings], locations: Mapping[str, str]) -> list[str]:
    """Return what is missing of the datasets of a run, and what to do about it.

    Parameters
    ----------
    datasets : mapping of name to DatasetSettings
    locations : mapping of name to str
        How messages name the settings of each dataset: the file, and where they stand in it.
    """
    sizes = {name: missing_downloads(name, dataset) for name, dataset in datasets.items()}
    sizes = {name: missing for name, missing in sizes.items() if missing}
    if sizes:
        total = megabytes(sum(sum(missing) for missing in sizes.values()))
        lines = [f"download    {total}: {', '.join(sorted(sizes))}"]
    else:
        lines = ["download    nothing"]
    steps: dict[tuple[str, ...], list[str]] = {}
    for name, dataset in sorted(datasets.items()):
        if found := steps_to_get(dataset, locations[name]):
            steps.setdefault(tuple(found), []).append(name)
    for found, names in steps.items():
        lines += ["", f"missing     {', '.join(names)}: {found[0]}"]
        lines += [f"            {line}".rstrip() for line in found[1:]]
    return lines


def hours_in_words(hours: float) -> str:
    """Return hours with one decimal, or two below an hour."""
    return f"{hours:,.1f}" if hours >= 1 else f"{hours:.2f}"


def gigabytes(mem_mb: float) -> str:
    """Return a memory in MB as ``1.5 GB``."""
    return f"{mem_mb / 1000:.1f} GB"
