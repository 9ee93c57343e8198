"""A smoke run in progress: its finished jobs, its running jobs, and its output at the end."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import NamedTemporaryFile
from typing import Self

import psutil
import smoke
from small_run import Outcome

LIMIT = 240.0
"""Seconds after which a run is taken to hang."""

MAX_STEP = 1.5
"""Seconds within which a run finishes its next job, on a machine that does little else."""


class RunAtWork:
    """The smoke run, or another command, started in `folder`, in a separate session."""

    def __init__(
        self, folder: Path, *options: str, command: list[str] | None = None, **variables: str
    ) -> None:
        self.folder = folder
        # Outside of the folder of the run, and separate for each run in it.
        with NamedTemporaryFile(dir=folder.parent, suffix=".txt", delete=False) as words:
            self.words = Path(words.name)
            self.process = subprocess.Popen(
                command or smoke.command(*options),
                cwd=folder,
                env=smoke.environment(folder, **variables),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *arguments) -> None:
        """End all processes."""
        if not self.has_ended:
            self.kill_both()
        jobs = jobs_at_work(self.folder)
        for job in jobs:
            kill(job)
        psutil.wait_procs(jobs, timeout=30)

    @property
    def text(self) -> str:
        """The output so far."""
        return self.words.read_text(encoding="utf-8", errors="replace")

    @property
    def n_jobs(self) -> int | None:
        """The number of all jobs, once it is known."""
        return jobs_to_run(self.text)

    @property
    def n_finished(self) -> int:
        return len(re.findall(r"^\[ *\d+/\d+ +\d+%\] (?!FAILED)", self.text, re.MULTILINE))

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def wait_until(self, condition: Callable[[], object]) -> None:
        """Wait until something holds, or the run has ended."""
        limit = time.monotonic() + LIMIT
        while not condition() and not self.has_ended:
            assert time.monotonic() < limit, f"the run hangs:\n{self.text}"
            time.sleep(0.02)

    def wait_for_a_moment(self, random: Random) -> None:
        """Wait for a random moment between the start of the first job and about the end."""
        self.wait_until(lambda: self.n_jobs)
        assert self.n_jobs, self.text
        # The number of finished jobs and not the time alone: the machine may do other work.
        n_finished = random.randrange(self.n_jobs - 1)
        self.wait_until(lambda: self.n_finished >= n_finished)
        time.sleep(random.uniform(0, MAX_STEP))

    def kill_snakemake(self) -> None:
        """Kill Snakemake alone; its jobs continue."""
        self.process.kill()
        self.process.wait()

    def kill_a_job(self, random: Random) -> None:
        """Kill one of the running jobs, or the next job."""
        killed = False
        while not killed and not self.has_ended:
            self.wait_until(lambda: jobs_at_work(self.folder))
            jobs = jobs_at_work(self.folder)
            killed = bool(jobs) and kill(random.choice(jobs))

    def kill_both(self) -> None:
        """Kill Snakemake and its jobs at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def hold(self) -> None:
        """Suspend Snakemake and its jobs."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)

    def end(self) -> Outcome:
        """Wait for the end of the run and return its outcome."""
        # On a busy machine a process that is forked while the run is held can stay stopped.
        self.wait_until(self.go_on)
        return Outcome(self.process.returncode, self.text, "")


def jobs_at_work(folder: Path) -> list[psutil.Process]:
    """Return the jobs of any run in `folder`, including those whose run has ended."""
    location = str(folder / ".snakemake" / "scripts") + os.sep
    words = {
        process: process.info["cmdline"] or []
        for process in psutil.process_iter(["cmdline", "cwd", "ppid"])
        if process.info["cwd"] == str(folder)
    }
    # A copy of the process that all jobs begin as has its command line.
    servers = {
        process.pid
        for process, command in words.items()
        if any(word.endswith("job_processes.py") for word in command)
    }
    return [
        process
        for process, command in words.items()
        if any(word.startswith(location) for word in command)
        or (process.pid in servers and process.info["ppid"] in servers)
    ]


def kill(process: psutil.Process) -> bool:
    """Kill a process; return whether it was still there."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def jobs_to_run(text: str) -> int | None:
    """Return the number of jobs of a run, from its output; None where it shows none."""
    found = re.search(r"^(\d+) jobs? to run$", text, re.MULTILINE)
    return int(found.group(1)) if found else None
