"""What the jobs requested from a scheduler, and what they used."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.core.gram_limit import default_max_gram_rows
from workflow_lib.core.job_needs import job_needs, most_gram_rows
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.report.results import read_json, write_frame

RULES_OF_NO_SCHEDULER = frozenset({"acquire", "introductions", "new"})
"""Rules that run where Snakemake was started."""

MEASURED = {"s": "seconds", "cpu_time": "cpu_seconds", "max_rss": "used_mb"}
"""Columns of Snakemake's benchmark files that are read, and what they are called here."""


def run(
    manifest: str | Path, benchmarks: str | Path, datasets: str | Path, output: str | Path
) -> None:
    """Write the comparison of all jobs as CSV, and print the files that cannot be read.

    `manifest` is the record of the run, with its configuration, and `benchmarks` and `datasets` are
    the folders of the benchmark files and of the files of the datasets.
    """
    configuration = read_json(manifest)["configuration"]
    sizes = {path.stem: path.stat().st_size / 2**20 for path in Path(datasets).glob("*.h5")}
    jobs = read_jobs(benchmarks)
    unread = jobs[jobs["seconds"].isna()]
    for rule, name in zip(unread["rule"], unread["name"], strict=True):
        print(f"without a readable measurement, left out: {rule} {name}")
    write_frame(output, compare(jobs, configuration, sizes))


def read_jobs(folder: str | Path) -> pd.DataFrame:
    """Return a row for every benchmark file below a folder.

    They are called ``rule.tsv`` or ``rule/name.tsv``. Columns: ``rule`` and ``name`` (empty for the
    only job of a rule); ``seconds`` and ``cpu_seconds``, sums over repetitions, and ``used_mb``,
    the largest memory in MiB. Snakemake samples CPU time and memory every 0.5 s, and after about
    15 s every 30 s; they are NaN where the job ended before the first sample. All are NaN where the
    file cannot be read.

    Raises UserError if there is no benchmark file.
    """
    folder = Path(folder)
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        rule, _, name = path.relative_to(folder).with_suffix("").as_posix().partition("/")
        jobs.append({"rule": rule, "name": name} | _measurements(path))
    if not jobs:
        raise UserError(
            location=str(folder),
            found="there is no benchmark file of a job",
            expected="one .tsv file per job",
            remedy="run the workflow, which writes them",
        )
    return pd.DataFrame(jobs)


def _measurements(path: Path) -> dict[str, float]:
    """Return what a benchmark file holds, NaN where it is damaged."""
    try:
        table = pd.read_csv(path, sep="\t", usecols=list(MEASURED))
    except (OSError, ValueError):
        return dict.fromkeys(MEASURED.values(), float("nan"))
    # Snakemake writes NA or - for what it has not measured.
    numbers = table.apply(pd.to_numeric, errors="coerce").rename(columns=MEASURED)
    if numbers["seconds"].isna().any():
        return dict.fromkeys(MEASURED.values(), float("nan"))
    sums = numbers[["seconds", "cpu_seconds"]].sum(min_count=1)
    return {**sums, "used_mb": numbers["used_mb"].max()}


def compare(
    jobs: pd.DataFrame, configuration: Mapping, megabytes: Mapping[str, float]
) -> pd.DataFrame:
    """Return a row for every rule and dataset, those that used most of what they asked for first.

    `jobs` are those of `read_jobs`, of which those without a duration are left out;
    `configuration` is that of the run, as its record holds it, and `megabytes` are the sizes of the
    files of the datasets. Columns: ``rule``, ``dataset``, ``n_jobs``, ``seconds`` and
    ``cpu_seconds`` (of all these jobs), ``asked_mb``, ``used_mb``, ``asked_minutes`` and
    ``used_minutes`` (the most of one job).
    """
    known = jobs[jobs["seconds"].notna() & ~jobs["rule"].isin(RULES_OF_NO_SCHEDULER)]
    requested = [
        _asked(rule, name, configuration, megabytes)
        for rule, name in zip(known["rule"], known["name"], strict=True)
    ]
    columns = ["dataset", "asked_mb", "asked_minutes"]
    known = known.assign(**pd.DataFrame(requested, columns=columns, index=known.index))
    grouped = known.groupby(["rule", *columns], sort=False)
    rows = grouped.agg(
        n_jobs=("name", "size"),
        seconds=("seconds", "sum"),
        cpu_seconds=("cpu_seconds", "sum"),
        used_mb=("used_mb", "max"),
        used_minutes=("seconds", "max"),
    ).reset_index()
    rows["used_minutes"] = (rows["used_minutes"] / 60).round(2)
    rows[["seconds", "cpu_seconds"]] = rows[["seconds", "cpu_seconds"]].round(2)
    of_memory = rows["used_mb"].fillna(0) / rows["asked_mb"]
    share = of_memory.combine(rows["used_minutes"] / rows["asked_minutes"], max)
    rows = rows.assign(share=-share).sort_values(["share", "rule", "dataset"], ignore_index=True)
    measured = ["n_jobs", "seconds", "cpu_seconds"]
    limits = ["asked_mb", "used_mb", "asked_minutes", "used_minutes"]
    return rows[["rule", "dataset", *measured, *limits]]


def _asked(
    rule: str, name: str, configuration: Mapping, megabytes: Mapping[str, float]
) -> tuple[str, int, int]:
    experiment, dataset = _subject(name, configuration)
    rows = _gram_rows(configuration, experiment) if experiment else 0
    declared = _declared_needs(rule, name, experiment, configuration)
    # The name of a job of a split is EXPERIMENT-SPLIT or EXPERIMENT-SPLIT-..., of several splits
    # with FIRSTtoLAST as SPLIT.
    several = re.match(r"(\d+)to(\d+)(-|$)", name.removeprefix(f"{experiment}-"))
    n_splits = int(several[2]) - int(several[1]) + 1 if several else 1
    size = megabytes.get(dataset, 0)
    needs = job_needs(rule, rows, size, declared=declared, n_splits=n_splits)
    return dataset, needs.mem_mb, needs.runtime


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


def _declared_needs(
    rule: str, name: str, experiment: str, configuration: Mapping
) -> Mapping | None:
    """Return what the module of a job's method or figure declares that it needs, if it has one."""
    if rule == "figure" and experiment:
        figures = configuration["experiments"][experiment]["figures"]
        kinds = {f"{experiment}-{figure['name']}": figure["kind"] for figure in figures}
        return figure_modules()[kinds[name]].needs if name in kinds else None
    if rule != "regression" or not experiment:
        return None
    # The name of a job is EXPERIMENT-SPLIT-METHOD.
    method = name.removeprefix(f"{experiment}-").partition("-")[2]
    regressor = configuration["methods"].get(method, {}).get("regressor")
    return method_modules()[regressor].needs if regressor in method_modules() else None


def _gram_rows(configuration: Mapping, experiment: str) -> int:
    values = configuration["experiments"][experiment]
    dataset = configuration["datasets"][values["dataset"]]
    limit = configuration["run"].get("max_gram_rows") or default_max_gram_rows()
    return most_gram_rows(
        values["training_sizes"],
        values["weak_sizes"] or (),
        limit,
        per_class=values["split"] == "per_class",
        is_user_table=not dataset["sources"] and bool(dataset["options"].get("file")),
    )
