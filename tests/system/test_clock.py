"""A clock that is set back or forward during a run destroys no result."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from random import Random

import pytest
import smoke
from running_workflow import RunAtWork
from whole_results import assert_whole

HOUR = 3600

CLOCK = """\
import os
import time

true_time = time.time
time.time = lambda: true_time() + {hours} * 3600 * (not os.path.exists({is_set!r}))
"""
"""A clock that is wrong by some hours, for Snakemake and for jobs, until a file says it is set."""

MADE_AGAIN = (
    "results/clusters/split-0/wofer-gmm/predictions.h5",
    "results/clusters/split-1/wofer-gmm/predictions.h5",
    "results/clusters/scores.csv",
    "results/clusters/coordinates.csv",
)
"""Results without which a run has some jobs to do, but not all."""


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    folder = tmp_path / "clock"
    folder.mkdir()
    return folder


@pytest.mark.fault("a clock that is set back or forward")
@pytest.mark.trials(short=2, full=10)
def test_a_clock_that_is_set_costs_no_result(finished, expected, clock, number):
    hours = 1 if number % 2 == 0 else -1
    for name in MADE_AGAIN:
        (finished / name).unlink()
    is_set = clock / "is_set"
    (clock / "sitecustomize.py").write_text(CLOCK.format(hours=hours, is_set=str(is_set)))
    with RunAtWork(finished, PYTHONPATH=str(clock)) as run:
        run.wait_for_a_moment(Random(f"clock {number}"))
        run.hold()
        shift_dates(finished, hours * HOUR)
        is_set.touch()
        run.go_on()
        outcome = run.end()
    if outcome.status:
        assert hours > 0, outcome.text
        outcome = fix_dates_and_resume(finished, outcome.text)
    assert outcome.status == 0, outcome.text
    assert_whole(finished, expected)
    again = smoke.snakemake(finished)
    assert "Nothing to be done" in again.text, again.text


def shift_dates(folder: Path, seconds: int) -> None:
    """Shift the dates of all files, as a wrong clock would."""
    for part in ("results", "resources", "logs", ".snakemake"):
        for path in (folder / part).rglob("*"):
            if path.is_file():
                status = path.stat()
                os.utime(path, (status.st_atime + seconds, status.st_mtime + seconds))


def fix_dates_and_resume(folder: Path, text: str) -> smoke.Outcome:
    """Follow the message about a date in the future; return the outcome of the run."""
    assert "lies in the future. The clock was set back" in text, text
    assert "Traceback" not in text
    remedies = set(re.findall(r"To fix it: (.+?) and run the same snakemake command", text))
    assert len(remedies) == 1, text
    subprocess.run(shlex.split(remedies.pop()), cwd=folder, check=True, timeout=60)
    return smoke.snakemake(folder)
