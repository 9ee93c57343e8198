"""What the jobs requested from a scheduler, and what they used."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from workflow_lib.config.gram_limit import default_max_gram_rows
from workflow_lib.config.job_needs import JobNeeds, job_needs, most_gram_rows
from workflow_lib.methods.registry import method_modules
from workflow_lib.report.figures.registry import figure_modules
from workflow_lib.report.timeline import Job, read_jobs
from workflow_lib.whole_files import write_text

RULES_OF_NO_SCHEDULER = frozenset({"acquire", "introductions", "new"})
"""Rules that run where Snakemake was started."""


class Comparison(NamedTuple):
    """The jobs of a rule on one dataset: what each requested, and the most that any of them used.

    `used_mb` is None where no job ran for long enough to be measured.
    """

    rule: str
    dataset: str
    n_jobs: int
    asked_mb: int
    used_mb: float | None
    asked_minutes: int
    used_minutes: float


def run(
    manifest: str | Path, jobs_csv: str | Path, datasets: str | Path, output: str | Path
) -> None:
    """Write the comparison of all jobs as CSV.

    Parameters
    ----------
    manifest : path
        The record of the run, with its configuration.
    jobs_csv : path
        The jobs, written by `workflow_lib.report.timeline.write_jobs`.
    datasets : path
        The folder of the files of the datasets.
    output : path
    """
    configuration = json.loads(Path(manifest).read_text(encoding="utf-8"))["configuration"]
    sizes = {path.stem: path.stat().st_size / 2**20 for path in Path(datasets).glob("*.h5")}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Comparison._fields)
    for row in compare(read_jobs(jobs_csv), configuration, sizes):
        writer.writerow(["" if value is None else value for value in row])
    write_text(output, text.getvalue())


def compare(
    jobs: Sequence[Job], configuration: Mapping, megabytes: Mapping[str, float]
) -> list[Comparison]:
    """Return a row for every rule and dataset, by falling share of the request that was used.

    Parameters
    ----------
    jobs : sequence of Job
        Those without a duration are left out.
    configuration : mapping
        That of the run, as its record holds it.
    megabytes : mapping of dataset to float
        Sizes of the files of the datasets.
    """
    groups: dict[tuple[str, str, JobNeeds], list[Job]] = defaultdict(list)
    for job in jobs:
        if job.seconds is not None and job.rule not in RULES_OF_NO_SCHEDULER:
            experiment, dataset = _subject(job.name, configuration)
            rows = _gram_rows(configuration, experiment) if experiment else 0
            declared = _declared_needs(job, experiment, configuration)
            needs = job_needs(job.rule, rows, megabytes.get(dataset, 0), declared=declared)
            groups[job.rule, dataset, needs].append(job)
    rows = []
    for (rule, dataset, needs), members in groups.items():
        memories = [job.max_rss_mb for job in members if job.max_rss_mb is not None]
        rows.append(
            Comparison(
                rule=rule,
                dataset=dataset,
                n_jobs=len(members),
                asked_mb=needs.mem_mb,
                used_mb=max(memories, default=None),
                asked_minutes=needs.runtime,
                used_minutes=round(max(job.seconds for job in members) / 60, 2),
            )
        )
    return sorted(rows, key=lambda row: (-_share(row), row.rule, row.dataset))


def _share(row: Comparison) -> float:
    """Return the larger share of memory and of time that was used."""
    return max((row.used_mb or 0) / row.asked_mb, row.used_minutes / row.asked_minutes)


def _subject(name: str, configuration: Mapping) -> tuple[str, str]:
    """Return the experiment and the dataset in the name of a job, '' where it has none."""
    experiments, datasets = configuration["experiments"], configuration["datasets"]
    named = [
        candidate
        for candidate in {*experiments, *datasets}
        if f"{name}-".startswith(f"{candidate}-")
    ]
    longest = max(named, key=len, default="")
    if longest in experiments:
        return longest, experiments[longest]["dataset"]
    return "", longest


def _declared_needs(job: Job, experiment: str, configuration: Mapping) -> Mapping | None:
    """Return what the module of a job's method or figure declares that it needs, if it has one."""
    if job.rule == "figure" and experiment:
        figures = configuration["experiments"][experiment]["figures"]
        kinds = {f"{experiment}-{figure['name']}": figure["kind"] for figure in figures}
        return figure_modules()[kinds[job.name]].needs if job.name in kinds else None
    if job.rule != "regression" or not experiment:
        return None
    # The name of a job is EXPERIMENT-SPLIT-METHOD.
    method = job.name.removeprefix(f"{experiment}-").partition("-")[2]
    regressor = configuration["methods"].get(method, {}).get("regressor")
    return method_modules()[regressor].needs if regressor in method_modules() else None


def _gram_rows(configuration: Mapping, experiment: str) -> int:
    values = configuration["experiments"][experiment]
    reader = configuration["datasets"][values["dataset"]]["reader"]
    limit = configuration["run"].get("max_gram_rows") or default_max_gram_rows()
    return most_gram_rows(
        values["training_sizes"],
        values["weak_sizes"] or (),
        limit,
        per_class=values["split"] == "per_class",
        is_own=reader == "table",
    )
