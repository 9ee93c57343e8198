"""The smoke experiment: a run of a few seconds through every kind of stage, to be disturbed."""

import hashlib
import os
import subprocess
from pathlib import Path

from small_run import (
    SNAKEMAKE,
    Outcome,
    commit,
    copy_folder,
    copy_project,
    edit_yaml,
    files_below,
    write_yaml,
)

CONFIGURATION = "config/smoke.yaml"

RUN = {
    "seed": 7,
    "n_splits": 2,
    "splits_per_job": 2,
    "n_folds": 3,
    "experiments": ["clusters", "measurements"],
    "report": {"title": "A smoke run", "author": "The tests"},
}

CHANGES = {
    "clusters": {
        "methods": ["m-krr", "wofer-gmm"],
        "training_sizes": [12],
        "tables": [
            {"name": "error", "kind": "error", "caption": "Errors of the clusters."},
            {"name": "time", "kind": "time", "caption": "Seconds of the clusters."},
        ],
    },
    "measurements": {"methods": ["m-krr"], "figures": []},
}
"""What differs from the experiments of the small run."""


def make_smoke(folder: Path) -> None:
    """Copy the project to `folder` and give it the smoke experiment."""
    copy_project(folder)
    write_yaml(folder / CONFIGURATION, RUN)
    for name, changes in CHANGES.items():
        edit_yaml(folder / "config" / "experiments" / f"{name}.yaml", **changes)
    commit(folder)


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return the variables for a command in `folder`: its mirror, and none of the tests' own."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV", "SNAKEMAKE"))
    }
    return kept | {"OFER_MIRROR": str(folder / "mirror"), "OPENBLAS_NUM_THREADS": "1"} | variables


def command(*options: str, cores: int | None = 2) -> list[str]:
    """Return the command of the smoke run with further options."""
    cores_option = ["--cores", str(cores)] if cores else []
    return [*SNAKEMAKE, *cores_option, "--configfile", CONFIGURATION, *options]


def ended(folder: Path, words: list[str], **variables: str) -> Outcome:
    """Run a command in `folder` to its end."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        # In a locale of another encoding, its output has that encoding.
        errors="replace",
        timeout=900,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def snakemake(folder: Path, *options: str, cores: int | None = 2, **variables: str) -> Outcome:
    """Run the smoke experiment in `folder` to its end."""
    return ended(folder, command(*options, cores=cores), **variables)


def results(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every result and source, but for those that show measured times."""
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in files_below(folder, "results", "resources")
        if not shows_time(name)
    }


def shows_time(name: str) -> bool:
    """Return whether a result shows measured times, which differ from run to run."""
    shown = ("results/timings/", "results/tables/clusters-time.")
    return name.startswith(shown) or name.endswith("/report.html")


def copy_of(folder: Path, target: Path) -> Path:
    """Return a copy of a folder with the dates of its files."""
    return copy_folder(folder, target)
