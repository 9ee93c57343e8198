"""Scripts of rules as Snakemake runs them, but without Snakemake: in one process with limits.

    ended = run_jobs(folder, [Job("acquire.py", outputs=["resources/a.csv"], params={...}), ...])

A process takes a second where Snakemake takes seven, so that hundreds of trials are possible.
"""

import json
import os
import resource
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

SECONDS = 60
"""Longest time that jobs may take in all; longer jobs count as hanging."""

MEMORY = 4 << 30
"""Limit of the address space of the process, in bytes."""

MAX_WRITTEN = 1 << 30
"""Bytes of the largest file that the process may write."""


@dataclass(frozen=True)
class Job:
    """One script of a rule and the arguments that Snakemake would give it."""

    script: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    wildcards: Mapping[str, str] = field(default_factory=dict)


class Ended(NamedTuple):
    """How the jobs ended: the status of the first that failed, else 0, and their output."""

    status: int
    text: str

    @property
    def error(self) -> str:
        """The line that is shown to the user."""
        return self.text.splitlines()[-1] if self.text else ""


def run_jobs(
    folder: Path, jobs: Sequence[Job], seconds: float = SECONDS, **variables: str
) -> Ended:
    """Run jobs one after the other in `folder`, up to the first that fails.

    Raises
    ------
    subprocess.TimeoutExpired
        When they take longer than `seconds`.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "COV", "SNAKEMAKE")) and not name.endswith("_proxy")
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__)), json.dumps([asdict(job) for job in jobs])],
        cwd=folder,
        env=kept | {"OPENBLAS_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
    )
    return Ended(done.returncode, done.stderr)


class _Files(list):
    """Paths, some of them also by name, as the `input` and `output` of Snakemake."""

    def __init__(self, named: Mapping[str, Any] = (), unnamed: Sequence[str] = ()) -> None:
        super().__init__(unnamed)
        for name, value in dict(named).items():
            self.extend(value if isinstance(value, list) else [value])
            setattr(self, name, value)


def _run(job: Mapping[str, Any]) -> None:
    values = SimpleNamespace(
        input=_Files(job["inputs"]),
        output=_Files(unnamed=job["outputs"]),
        params=SimpleNamespace(**job["params"]),
        wildcards=SimpleNamespace(**job["wildcards"]),
        log=[],
        threads=1,
    )
    runpy.run_path(str(ROOT / "scripts" / job["script"]), init_globals={"snakemake": values})


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
    for described in json.loads(sys.argv[1]):
        _run(described)
