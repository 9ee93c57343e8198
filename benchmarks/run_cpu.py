"""Where the CPU seconds of a run go: `python -m benchmarks.run_cpu [answer | default] [--own]`.

A run is made in a copy of the project: `answer`, the answer on a table of 60 rows with 10 inputs
and 2 outputs, or `default`, the default run. Every process of it notes its CPU seconds, and how
many of them its imports took. With ``--own`` every job starts Python itself. The number of
processes that waited for a processor says whether the machine was idle otherwise.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.job_graph import write_copy
from benchmarks.measuring import THREAD_VARIABLES

CORES = 2

FITS = {
    *("alignments", "annotate", "embeddings", "importance", "input_models", "input_scores"),
    *("models", "preimages", "regression", "saved_model"),
}
PAGES = {
    *("answer_figures", "critical_difference", "embedding_or_raw", "figure"),
    *("importance_figures", "overview", "protocol", "report", "table"),
}
"""Scripts that fit or predict, and those that show; all others split, score, read or record."""

PARTS = (
    "Snakemake's own process",
    "start of Python",
    "imports",
    "fits and predictions",
    "tables, figures and pages",
    "other stages, ends of processes",
    "sum",
)

NOTES = """\
import atexit, builtins, json, os, sys, time

original, leave, clock = builtins.__import__, os._exit, time.process_time
began, imports, depth = clock(), 0.0, 0


def counted(*arguments, **options):
    global imports, depth
    depth += 1
    start = clock()
    try:
        return original(*arguments, **options)
    finally:
        depth -= 1
        if depth == 0:
            imports += clock() - start


def forget():
    global began, imports, depth
    began, imports, depth = clock(), 0.0, 0


def note():
    spent = {{"program": sys.argv[0], "start": began, "imports": imports, "all": clock()}}
    with open({folder!r} + f"/{{os.getpid()}}.json", "w") as file:
        json.dump(spent, file)


def note_and_leave(status):
    note()
    leave(status)


builtins.__import__, os._exit = counted, note_and_leave
os.register_at_fork(after_in_child=forget)
atexit.register(note)
"""
"""A ``sitecustomize`` with which every process of Python notes its seconds when it ends."""


def measured(run: str, own: bool) -> tuple[Counter, float, float]:
    """Return the CPU seconds of each part, those of all processes, and how many were waiting."""
    with tempfile.TemporaryDirectory() as folder:
        copy, notes = write_copy(Path(folder, "project")), Path(folder, "notes")
        notes.mkdir()
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
        environment |= {"PYTHONPATH": str(copy), "OFER_OWN_PROCESSES": "1" if own else ""}

        def call(*words: str) -> None:
            command = [sys.executable, "-m", *words]
            subprocess.run(command, cwd=copy, env=environment, check=True, stdout=sys.stderr)

        snakemake = ["snakemake", "--cores", str(CORES)]
        call("compileall", "-q", "workflow_lib")
        if run == "answer":
            write_table(copy / "small.csv")
            call(*snakemake, "new", "--config", "name=small", "data=small.csv", "outputs=y1,y2")
        (notes / "sitecustomize.py").write_text(NOTES.format(folder=str(notes)))
        environment["PYTHONPATH"] += os.pathsep + str(notes)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call(*snakemake, *(["answer", "--config", "name=small"] if run == "answer" else []))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = [json.loads(path.read_text()) for path in notes.glob("*.json")]
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return by_part(spent), used, os.getloadavg()[1]


def by_part(spent: list[dict]) -> Counter:
    """Return the seconds of each of `PARTS` but the last, from what the processes noted."""
    seconds: Counter = Counter()
    for process in spent:
        name = Path(process["program"]).stem
        if process["program"].endswith("__main__.py"):
            seconds["Snakemake's own process"] += process["all"]
            continue
        stage = name.rpartition(".")[2]
        work = process["all"] - process["start"] - process["imports"]
        part = PARTS[3] if stage in FITS else PARTS[4] if stage in PAGES else PARTS[5]
        seconds["start of Python"] += process["start"]
        seconds["imports"] += process["imports"] + work * (name == "job_processes")
        seconds[part] += work * (name != "job_processes")
    return seconds


def write_table(path: Path) -> None:
    """Write a table of 60 rows with 10 inputs and 2 outputs that depend on three of them."""
    generator = np.random.default_rng(0)
    inputs = generator.standard_normal((60, 10))
    noise = 0.3 * generator.standard_normal((60, 2))
    outputs = np.c_[inputs[:, 0] + inputs[:, 1], np.sin(inputs[:, 2])] + noise
    names = [*(f"x{number}" for number in range(1, 11)), "y1", "y2"]
    pd.DataFrame(np.c_[inputs, outputs].round(4), columns=names).to_csv(path, index=False)


def main() -> None:
    """Measure one run, and print the table."""
    words = sys.argv[1:]
    run = next((word for word in words if word in ("answer", "default")), "answer")
    seconds, used, load = measured(run, "--own" in words)
    # What no process of Python noted: shells, and processes that were ended.
    seconds["other stages, ends of processes"] += used - seconds.total()
    seconds["sum"] = used
    print(f"| {run}, {CORES} cores, {load:.1f} processes at work or waiting | CPU s |\n|---|---|")
    for part in PARTS:
        print(f"| {part} | {seconds[part]:.1f} |")


if __name__ == "__main__":
    main()
