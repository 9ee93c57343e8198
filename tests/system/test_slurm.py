"""The smoke experiment on a real scheduler: Slurm on this machine, installed where it is missing.

Where it cannot be installed, these tests are skipped, or fail if SLURM_TESTS is "required".
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest
import smoke
from running_workflow import jobs_at_work

NODE = Path(__file__).with_name("slurm_node.sh")
PROFILE = ["--profile", "profiles/slurm"]
# Short intervals, because this scheduler has no other jobs.
SOON = ["--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5"]
LIMIT = 600
MAX_SUBMISSIONS = 15
"""Of a run with some forty jobs; they are few, because jobs of one split are given as one."""


def slurm(*arguments: str) -> str:
    """Return what a command of Slurm prints."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def jobs(state: str = "all") -> list[str]:
    """Return the numbers of the jobs in a state."""
    return slurm("squeue", "--noheader", f"--states={state}", "--format=%A").split()


@pytest.fixture(scope="module")
def node():
    """Return the name of a node of Slurm that takes jobs."""
    required = os.environ.get("SLURM_TESTS") == "required"
    if os.geteuid() or not shutil.which("apt-get"):
        reason = "a node of Slurm can be started by root on Debian alone"
        pytest.fail(reason) if required else pytest.skip(reason)
    done = subprocess.run([NODE, "up"], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode:
        reason = f"Slurm could not be installed or started: {done.stderr[-1000:]}"
        pytest.fail(reason) if required else pytest.skip(reason)
    yield slurm("sinfo", "--noheader", "--format=%n").split()[0]
    subprocess.run([NODE, "leave"], timeout=60, check=True)


@pytest.fixture
def queue(node):
    """Return the name of the node, with no job on it before and after."""
    yield node
    for run in Run.started:
        run.process.kill()
    Run.started.clear()
    if left := jobs("PENDING,RUNNING"):
        subprocess.run(["scancel", "--full", *left], capture_output=True, timeout=60)


class Run:
    """A run on the scheduler, observed while it runs."""

    started: ClassVar[list[Run]] = []

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            smoke.command(*options, cores=None),
            cwd=folder,
            env=smoke.environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.text = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.started.append(self)

    def read(self) -> None:
        for line in self.process.stdout:
            self.text += line

    def running_job(self, others_than: tuple[str, ...] = ()) -> str:
        """Return the number of a job that runs, once there is one."""
        limit = time.monotonic() + LIMIT
        while time.monotonic() < limit and self.process.poll() is None:
            for job in jobs("RUNNING"):
                if job not in others_than:
                    return job
            time.sleep(0.2)
        raise AssertionError(f"no job runs on the scheduler:\n{self.text}")

    def end(self) -> int:
        """Return the exit status, once the run has ended."""
        try:
            status = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            # Only an interrupt also cancels the jobs on the scheduler.
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
            raise AssertionError(f"the run did not end:\n{self.text}") from None
        self.reader.join(10)
        return status


def stated_submissions(text: str) -> int:
    """Return the number of submissions that is stated at the end of a run."""
    return int(re.search(r"jobs? finished in .+ \((\d+) submissions\)", text)[1])


def test_slurm_runs_everything_to_the_same_bytes(unrun, expected, queue):
    before = set(jobs())
    run = Run(unrun, *PROFILE, *SOON)
    assert run.end() == 0, run.text
    assert smoke.results(unrun) == expected
    ended = set(jobs("COMPLETED")) - before
    assert len(ended) == stated_submissions(run.text) == run.text.count("submitted as ")
    assert len(ended) < MAX_SUBMISSIONS


@pytest.mark.fault("a job that is cancelled, a node that goes away")
def test_a_cancelled_job_and_a_node_that_goes_away(unrun, expected, queue):
    run = Run(unrun, *PROFILE, *SOON)
    cancelled = run.running_job()
    slurm("scancel", cancelled)
    lost = run.running_job(others_than=(cancelled,))
    slurm("scontrol", "update", f"nodename={queue}", "state=DOWN", "reason=test")
    limit = time.monotonic() + 60
    while lost in jobs("RUNNING") and time.monotonic() < limit:
        time.sleep(0.5)
    time.sleep(5)
    assert run.process.poll() is None, run.text
    slurm("scontrol", "update", f"nodename={queue}", "state=RESUME")
    assert run.end() == 0, run.text
    assert smoke.results(unrun) == expected
    assert run.text.count("Trying to restart job") >= 2
    assert "Traceback" not in run.text
    assert not jobs("PENDING,RUNNING") and not jobs_at_work(unrun)


def test_what_slurm_refuses_is_reported(unrun, queue):
    options = [
        "--default-resources",
        "slurm_partition=tests",
        "--set-resources",
        "read:mem_mb=900000000",
    ]
    run = Run(unrun, *PROFILE, *SOON, *options, "--retries", "0")
    assert run.end() == 1
    assert "error: none of its jobs began." in run.text
    assert "Traceback" not in run.text


def test_another_scheduler_by_commands_of_its_own(unrun, expected, queue):
    run = Run(
        unrun,
        *("--profile", "profiles/generic", "--seconds-between-status-checks", "2"),
        *("--latency-wait", "5"),
    )
    assert run.end() == 0, run.text
    assert smoke.results(unrun) == expected
    assert stated_submissions(run.text) == run.text.count("submitted as ") < MAX_SUBMISSIONS
