"""Seconds and memory that planning a run takes: `python -m benchmarks.job_graph [JOBS ...]`.

In a copy of the project, a dry run plans an invented study of many tables, splits and methods, one
job for each method and split. Its time and memory are those of one Snakemake process, which a real
run takes as well before its first job.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.measuring import ROOT

STUDIES = {2_000: (10, 10, 18), 20_000: (20, 40, 23), 200_000: (100, 100, 19)}
"""Tables, splits and methods by the approximate number of jobs."""

METHOD, DATASET = "m-krr-pc", "synthetic-names"
"""What the invented ones are like."""


def write_copy(copy: Path) -> Path:
    """Copy the project without its results; return the copy."""
    ignored = shutil.ignore_patterns(".venv", ".git", "results", "logs", ".snakemake")
    return Path(shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored))


def write_study(
    copy: Path, n_tables: int, n_splits: int, n_methods: int, method: str = METHOD
) -> Path:
    """Write the files of a study into a copy of the project, and return that of the run."""
    config = copy / "config"
    methods = [f"method-{number}" for number in range(n_methods)]
    settings = yaml.safe_load((config / f"methods/{method}.yaml").read_text(encoding="utf-8"))
    for name in methods:
        write(config / f"methods/{name}.yaml", settings | {"label": name})
    tables = [f"table-{number}" for number in range(n_tables)]
    for name in tables:
        write(config / f"datasets/{name}.yaml", {"like": DATASET, "title": name})
        experiment = {"title": name, "dataset": name, "methods": methods, "training_sizes": [20]}
        write(config / f"experiments/{name}.yaml", experiment | {"n_splits": n_splits})
    run = copy / "study.yaml"
    write(run, {"experiments": tables, "splits_per_job": 1})
    return run


def write(file: Path, settings: dict) -> None:
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")


def planned(n_tables: int, n_splits: int, n_methods: int) -> int:
    """Plan a study, and return the number of its jobs."""
    with tempfile.TemporaryDirectory() as folder:
        copy = write_copy(Path(folder, "project"))
        run = write_study(copy, n_tables, n_splits, n_methods)
        snakemake = [sys.executable, "-m", "snakemake", "--cores", "2"]
        command = [*snakemake, "--dry-run", "--configfile", run.name, "--", "overview"]
        plan = subprocess.run(command, cwd=copy, stdout=subprocess.PIPE, text=True)
        if plan.returncode:
            raise SystemExit(plan.returncode)
        return int(re.search(r"^jobs +([\d,]+)", plan.stdout, re.MULTILINE)[1].replace(",", ""))


def main() -> None:
    """Plan the study of each size, each in a process of its own, and print a table."""
    if sys.argv[1:2] == ["--one"]:
        n_jobs = planned(*map(int, sys.argv[2:]))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, kilobytes = used.ru_utime + used.ru_stime, used.ru_maxrss
        cells = f"{n_jobs:,}", f"{seconds:.0f}", f"{kilobytes / 2**20:.2f}"
        each = f"{1000 * seconds / n_jobs:.1f}", f"{kilobytes / n_jobs:.0f}"
        print("|", " | ".join(cells + each), "|", flush=True)
        return
    sizes = [int(size) for size in sys.argv[1:]] or list(STUDIES)
    if unknown := set(sizes) - set(STUDIES):
        raise SystemExit(f"error: no study has about {unknown} jobs; there are {list(STUDIES)}")
    print("| jobs | CPU s | memory, GB | ms a job | kB a job |\n|---|---|---|---|---|", flush=True)
    for size in sizes:
        one = [sys.executable, "-m", "benchmarks.job_graph", "--one", *map(str, STUDIES[size])]
        subprocess.run(one, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
