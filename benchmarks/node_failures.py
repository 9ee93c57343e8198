"""A study of thousands of short jobs on Slurm, whose node fails meanwhile.

    tests/system/slurm_node.sh up
    python -m benchmarks.node_failures 10000 --failures 12

It takes a cluster of one node on this machine, as root, because it kills the daemons of Slurm. The
study is invented (`benchmarks.job_graph`); its method predicts the mean, so that a job takes little
more than the start of Python. While it runs with `profiles/slurm`, failures are caused one after
the other. At the end nothing may be lost: no submission is left on the scheduler and no process on
the node, all files agree with their digests, and they are, byte for byte, those of the same stages
in this process without a scheduler. The commands of Slurm that Snakemake calls are counted.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import yaml

from benchmarks.job_graph import write_copy, write_study
from workflow_lib.core.file_digests import SUFFIX, differing_files
from workflow_lib.data import read_stage
from workflow_lib.run.loading import load_configuration
from workflow_lib.table.in_process import TableRun

STUDIES = {200: (2, 2, 50), 3_000: (6, 5, 100), 10_000: (20, 5, 100)}
"""Tables, splits and methods by the approximate number of jobs."""

METHOD = "m-mean"

COMMANDS = ("sbatch", "srun", "squeue", "sacct", "scontrol", "scancel")

ASIDE = ("-regression.json", "-preimages.json", "features.h5")
"""Files with measured seconds; prepared inputs, which the mean does not need."""


def slurm(*words: str) -> str:
    """Return what a command of Slurm prints, also where it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout.strip()


def submissions(states: str) -> list[str]:
    return slurm("squeue", "--noheader", f"--states={states}", "--format=%A").split()


def wait_until(condition: Callable[[], object], seconds: float = 120) -> bool:
    """Wait until something holds; return whether it does."""
    limit = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < limit:
        time.sleep(0.5)
    return bool(holds)


def on_node(folder: Path) -> list[psutil.Process]:
    """Return the processes of submissions that work in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and "SLURM_JOB_ID" in process.environ():
                found.append(process)
        except psutil.Error:
            pass
    return found


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            pass


def daemons(*names: str) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["name"]) if each.info["name"] in names]


def take_back() -> None:
    """Make the node available again, as an administrator does."""
    slurm("scontrol", "update", f"nodename={node()}", "state=RESUME")


def node() -> str:
    return slurm("sinfo", "--noheader", "--format=%n").split()[0]


def node_down(folder: Path) -> str:
    """Set the node down, and take it back."""
    lost = submissions("RUNNING")
    slurm("scontrol", "update", f"nodename={node()}", "state=DOWN", "reason=test")
    wait_until(lambda: not submissions("RUNNING"))
    time.sleep(5)
    take_back()
    return f"the node was set down with {len(lost)} submissions"


def node_crash(folder: Path) -> str:
    """Kill all processes of Slurm and of jobs on the node, and start its daemon again."""
    lost = submissions("RUNNING")
    kill(daemons("slurmd", "slurmstepd"))
    kill(on_node(folder))
    time.sleep(5)
    # -b: as after a start of the whole node.
    subprocess.run(["slurmd", "-b"], check=True)
    gone = wait_until(lambda: not set(lost) & set(submissions("RUNNING")))
    take_back()
    return f"the node crashed with {len(lost)} submissions, {'' if gone else 'NOT '}all ended"


def daemon_killed(folder: Path) -> str:
    """Kill the daemon of the node alone, and start it again: its jobs continue."""
    kept = submissions("RUNNING")
    kill(daemons("slurmd"))
    time.sleep(5)
    subprocess.run(["slurmd"], check=True)
    return f"slurmd was killed and started again, with {len(kept)} submissions"


def controller_killed(folder: Path) -> str:
    """Kill the controller, which answers nothing for ten seconds."""
    kill(daemons("slurmctld"))
    time.sleep(10)
    subprocess.run(["slurmctld"], check=True)
    return "slurmctld was killed, and started again 10 s later"


def step_killed(folder: Path) -> str:
    """Kill one process of a submission: that of a job, or the Snakemake that started it."""
    chosen = on_node(folder)[-1:]
    names = [" ".join(process.cmdline()[:3])[-40:] for process in chosen]
    kill(chosen)
    return f"a process of a submission was killed: {names}"


def cancelled(folder: Path) -> str:
    """Cancel a submission by hand."""
    chosen = submissions("RUNNING")[:1]
    slurm("scancel", *chosen)
    return f"{len(chosen)} submission was cancelled"


def requeued(folder: Path) -> str:
    """Requeue a submission by hand, which the profile forbids."""
    answer = [slurm("scontrol", "requeue", job) for job in submissions("RUNNING")[:1]]
    return f"a submission was to be requeued: {answer}"


FAILURES = (
    node_down,
    step_killed,
    node_crash,
    cancelled,
    controller_killed,
    requeued,
    daemon_killed,
)


def counting(folder: Path) -> Path:
    """Write commands that count their calls; return the folder of the commands."""
    commands = folder / "commands"
    commands.mkdir()
    for name in COMMANDS:
        real = shutil.which(name)
        text = f'#!/bin/sh\necho {name} >> {folder}/calls.txt\nexec {real} "$@"\n'
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    return commands


def run(copy: Path, n_failures: int, options: list[str]) -> tuple[str, float, list[str]]:
    """Run the study with failures; return its output, the seconds and what was done to it."""
    path = f"{counting(copy.parent)}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = [sys.executable, "-m", "snakemake", "--profile", "profiles/slurm"]
    words += ["--configfile", "study.yaml", *options, "--", "overview"]
    output, started, done = copy.parent / "output.txt", time.monotonic(), []
    with output.open("w") as file:
        process = subprocess.Popen(
            words,
            cwd=copy,
            env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        while process.poll() is None:
            time.sleep(2)
            progress = re.findall(r"^\[ *(\d+)/(\d+) ", output.read_text(), re.MULTILINE)
            n_done, n_jobs = map(int, progress[-1]) if progress else (0, 1)
            due = n_done >= n_jobs * (len(done) + 1) / (n_failures + 2)
            if due and len(done) < n_failures and on_node(copy):
                happened = FAILURES[len(done) % len(FAILURES)](copy)
                done.append(f"{n_done} of {n_jobs} jobs finished: {happened}")
                print(f"{time.monotonic() - started:.0f} s, {done[-1]}", flush=True)
    text = output.read_text()
    if process.returncode:
        raise SystemExit(f"error: the run failed; its last lines:\n{text[-3000:]}")
    return text, time.monotonic() - started, done


def without_scheduler(copy: Path, folder: Path) -> Iterator[Path]:
    """Run the stages of the study in this process, and return the files that they write."""
    merged = {}
    for name in ("config/config.yaml", "study.yaml"):
        merged |= yaml.safe_load((copy / name).read_text(encoding="utf-8"))
    settings = load_configuration(copy / "config", merged)
    for name in settings.run.experiments:
        table = TableRun(settings, name, folder)
        dataset = settings.experiments[name].dataset
        read_stage.run(**table.stages.reading(dataset), output=table.dataset_file, files=[])
        for split in table.splits():
            table.learn(split)
        table.score()
    for path in sorted((folder / "results").rglob("*")):
        if path.is_file() and path.suffix != SUFFIX and not path.name.endswith(ASIDE):
            yield path.relative_to(folder)


def main() -> None:
    """Run a study with failures, check it, and print what was measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.node_failures", description=__doc__.split("\n")[0]
    )
    parser.add_argument("jobs", nargs="?", type=int, choices=list(STUDIES), default=200)
    parser.add_argument("--failures", type=int, default=len(FAILURES))
    parser.add_argument("--folder", type=Path, required=True, help="a new folder, which stays")
    known, options = parser.parse_known_args()
    folder = known.folder.resolve()
    folder.mkdir(parents=True)
    copy = write_copy(folder / "project")
    write_study(copy, *STUDIES[known.jobs], METHOD)
    text, seconds, done = run(copy, known.failures, options)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)

    calls = Counter((folder / "calls.txt").read_text().split())
    n_jobs, spent, n_submissions = re.search(
        r"^(\d+) jobs finished in (.+) \((\d+) submissions\)", text, re.MULTILINE
    ).groups()
    print(f"{n_jobs} jobs in {n_submissions} submissions, {seconds:.0f} s ({spent})")
    print(f"Snakemake took {used.ru_utime + used.ru_stime:.0f} s of a processor")
    print("calls:", ", ".join(f"{name} {calls[name]}" for name in COMMANDS))
    print(f"{len(done)} failures, {text.count('Trying to restart job')} submissions again")

    lost = [f"still on the scheduler: {job}" for job in submissions("PENDING,RUNNING")]
    lost += [f"still running: {process}" for process in on_node(copy)]
    os.chdir(copy)
    lost += differing_files(["results"])
    n_files = 0
    for path in without_scheduler(copy, folder / "reference"):
        n_files += 1
        if not (copy / path).is_file():
            lost.append(f"missing: {path}")
        elif (copy / path).read_bytes() != (folder / "reference" / path).read_bytes():
            lost.append(f"different: {path}")
    print(f"{n_files} files compared with those of a run without a scheduler")
    print("\n".join(lost[:20] or ["nothing is lost"]))
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
