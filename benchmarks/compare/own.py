"""Our methods: the workflow itself, on experiments written for the comparison.

It runs in a separate folder on a copy of the code and the settings, so that edits during a run do
no harm and the results of other runs are not changed. Snakemake computes what is missing or out of
date there: after a new method, only that method.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from benchmarks.compare.tables import Table
from benchmarks.measuring import ROOT
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import SECONDS
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.results import (
    outside_studies,
    read_choices,
    read_scores,
    read_timings,
)
from workflow_lib.run.named_settings import SettingsFolder, folders_like

COPIED = ("Snakefile", "config", "envs", "profiles", "rules", "scripts", "workflow_lib")

RUN_FILE = "config/compare.yaml"

_FIT = ["method", "training_size", "split"]


def write_workflow(
    folder: Path,
    tables: Mapping[str, Table],
    methods: str | Sequence[str],
    n_splits: int,
    seed: int,
) -> None:
    """Copy the workflow of the checkout to `folder`, with an experiment for each table.

    `methods` are of ``config/methods``; ``default`` are those with ``in_default: true`` that can
    run on the table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, copy = ROOT / name, folder / name
        if source.is_dir():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy)
    for experiments in folders_like(folder / "config" / "experiments"):
        shutil.rmtree(experiments, ignore_errors=True)
    (folder / "config" / "experiments").mkdir()
    for name, table in tables.items():
        path = folder / "config" / "experiments" / f"{name}.yaml"
        _write_yaml(path, table.experiment | {"methods": methods})
    run = {"seed": seed, "n_splits": n_splits, "experiments": list(tables)}
    _write_yaml(folder / RUN_FILE, run)


def make_splits(folder: Path, tables: Sequence[str], n_splits: int, cores: int) -> None:
    """Read the tables and split their rows; all methods share the splits."""
    splits = [split_file(folder, name, number) for name in tables for number in range(n_splits)]
    run_snakemake(folder, [str(path.relative_to(folder)) for path in splits], cores)


def learn_methods(folder: Path, tables: Sequence[str], cores: int) -> None:
    """Fit and score our methods on all splits."""
    targets = [f"results/{name}/scores.csv" for name in tables]
    run_snakemake(folder, [*targets, *(f"results/timings/{name}.csv" for name in tables)], cores)


def dataset_file(folder: Path, table: str) -> Path:
    """Return the path of the artifact with all rows of a table."""
    return folder / "results" / "datasets" / f"{table}.h5"


def split_file(folder: Path, table: str, split: int) -> Path:
    """Return the path of the artifact that says which are training and test rows."""
    return folder / "results" / table / f"split-{split}" / "split.h5"


def run_snakemake(folder: Path, targets: Sequence[str], cores: int) -> None:
    """Let Snakemake make `targets` in `folder`.

    Raises UserError if a job fails; Snakemake has shown the end of its log.
    """
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "rules", "host"]
    command += ["--configfile", RUN_FILE, "--", *targets]
    # A test or another workflow may have set variables for its own Snakemake.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("SNAKEMAKE")}
    if subprocess.run(command, cwd=folder, env=environment).returncode:
        raise UserError(
            location=f"the workflow in {folder}",
            found="a job failed, as shown above",
            expected="all methods learned on all tables",
            remedy="fix what the log names and start the same command again; it continues there",
        )


def own_scores(folder: Path, tables: Sequence[str]) -> list[dict]:
    """Return the rows of our methods: table, size, split, method, source, error, seconds, settings.

    Tables that have not been scored are left out.
    """
    rows = []
    for name in tables:
        path = folder / "results" / name / "scores.csv"
        if not path.is_file():
            continue
        scores, timings, choices = (
            outside_studies(frame[frame["weak_size"] == 0])
            for frame in (
                read_scores(path),
                read_timings(folder / "results" / "timings" / f"{name}.csv"),
                read_choices(path.with_name("choices.csv")),
            )
        )
        texts = (choices["name"] + "=" + choices["value"]).groupby([choices[c] for c in _FIT])
        found = (
            scores[scores["quantity"] == "arrmse"]
            .set_index(_FIT)[["value"]]
            .assign(
                seconds=timings.set_index(_FIT)[list(SECONDS)].sum(axis=1),
                settings=texts.agg(" ".join),
            )
        )
        found["settings"] = found["settings"].fillna("")
        found = found.rename(columns={"value": "error"}).rename_axis(["method", "size", "split"])
        rows += found.reset_index().assign(table=name, source="own").to_dict("records")
    return rows


def method_settings(folder: Path) -> dict[str, dict]:
    """Return the settings of every method of the copied workflow."""
    methods = SettingsFolder(folder / "config" / "methods")
    return {name: methods.keys(name) for name in methods.names}


def _write_yaml(path: Path, content: Mapping) -> None:
    write_text(path, yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True))
