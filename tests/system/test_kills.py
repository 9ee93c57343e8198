"""A killed run, resumed by its own instructions, ends with the results of an undisturbed run."""

import shlex
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Timer

import psutil
import pytest
import smoke
from running_workflow import RunAtWork, jobs_at_work, jobs_to_run
from small_run import SNAKEMAKE, SUFFIX, Outcome
from whole_results import assert_none_incomplete, assert_whole

TYPED = "python -m snakemake --cores 2 --configfile config/smoke.yaml"
UNLOCK = "python -m snakemake --unlock --cores 2 --configfile config/smoke.yaml"

KILLED_AT_A_RENAME = """\
import os
import signal

rename = os.replace


def rename_and_die(source, target, **options):
    is_it = os.path.abspath(target) == {target!r}
    if is_it and not {is_renamed}:
        os.killpg(0, signal.SIGKILL)
    rename(source, target, **options)
    if is_it:
        os.killpg(0, signal.SIGKILL)


os.replace = rename_and_die
"""
"""Makes a job kill itself and its whole run just before or after a file gets its final name."""


@pytest.mark.fault("kill -9 of Snakemake")
@pytest.mark.trials(short=1, full=34)
def test_a_run_whose_snakemake_was_killed_continues(unrun, expected, number):
    random = Random(f"Snakemake {number}")
    with RunAtWork(unrun) as run:
        run.wait_for_a_moment(random)
        jobs = jobs_at_work(unrun)
        # Half of the times its jobs are slow, and continue during the next run.
        if number % 2 == 0:
            change(jobs, psutil.Process.suspend)
        run.kill_snakemake()
        going_on = Timer(random.uniform(5, 15), change, [jobs, psutil.Process.resume])
        going_on.start()
        outcome = unlock_and_resume(unrun)
        going_on.join()
        psutil.wait_procs(jobs, timeout=60)
    assert_resumed(run, outcome, expected)


@pytest.mark.fault("kill -9 of a job")
@pytest.mark.trials(short=1, full=33)
def test_a_run_of_which_a_job_was_killed_continues(unrun, expected, number):
    random = Random(f"job {number}")
    with RunAtWork(unrun) as run:
        run.wait_for_a_moment(random)
        run.kill_a_job(random)
        outcome = run.end()
    if outcome.status == 0:
        assert run.n_finished == run.n_jobs, "a job was killed, and the run did not notice"
        assert_whole(unrun, expected)
        return
    assert outcome.status == 1, outcome.text
    assert "the job ended with signal SIGKILL" in outcome.text
    assert "Traceback" not in outcome.text
    assert_none_incomplete(unrun, expected)
    assert_resumed(run, follow(unrun, last_command(outcome.text)), expected)


@pytest.mark.fault("kill -9 of Snakemake and its jobs")
@pytest.mark.trials(short=1, full=33)
def test_a_run_that_was_killed_with_its_jobs_continues(unrun, expected, number):
    with RunAtWork(unrun) as run:
        run.wait_for_a_moment(Random(f"both {number}"))
        run.kill_both()
    assert_none_incomplete(unrun, expected)
    assert_resumed(run, unlock_and_resume(unrun), expected)


@pytest.mark.fault("kill -9 as a file gets its name")
@pytest.mark.trials(short=1, full=20)
def test_a_run_that_was_killed_as_a_file_got_its_name_continues(
    unrun, undisturbed, expected, tmp_path, number
):
    random = Random(f"name {number}")
    digests = sorted(undisturbed.glob(f"re*/**/.*{SUFFIX}"))
    digest = random.choice(digests).relative_to(undisturbed)
    name = random.choice([digest, digest.with_name(digest.name[1 : -len(SUFFIX)])])
    is_renamed = random.random() < 0.5
    patch = tmp_path / "patch"
    patch.mkdir()
    (patch / "sitecustomize.py").write_text(
        KILLED_AT_A_RENAME.format(target=str(unrun / name), is_renamed=is_renamed)
    )
    with RunAtWork(unrun, PYTHONPATH=str(patch)) as run:
        outcome = run.end()
    assert outcome.status == -9, outcome.text
    assert (unrun / name).exists() == is_renamed
    assert_none_incomplete(unrun, expected)
    assert_resumed(run, unlock_and_resume(unrun), expected)


def change(processes: list[psutil.Process], how) -> None:
    """Suspend, or resume, those of some processes that still exist."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            how(process)


def unlock_and_resume(folder: Path) -> Outcome:
    """Repeat the command and follow its refusal; return the outcome of the last command."""
    is_locked = any((folder / ".snakemake" / "locks").glob("*"))
    outcome = smoke.snakemake(folder)
    if not is_locked:  # it was killed after its end
        return outcome
    assert outcome.status == 1, outcome.text
    assert outcome.text.count("error: ") == 1 and "Traceback" not in outcome.text
    unlock, again = (line.strip() for line in outcome.text.splitlines()[-2:])
    assert (unlock, again) == (UNLOCK, TYPED)
    follow(folder, unlock).succeeded()
    return follow(folder, again)


def last_command(text: str) -> str:
    """Return the command at the end of the output of a run, which resumes it."""
    *_, head, command = text.splitlines()
    assert head.endswith("To resume:"), text
    return command.strip()


def follow(folder: Path, command: str) -> Outcome:
    """Run a command that a message names."""
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "snakemake"], command
    # The Python of the tests, which need not be called `python`.
    done = subprocess.run(
        [*SNAKEMAKE, *words[3:]],
        cwd=folder,
        env=smoke.environment(folder),
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def assert_resumed(run: RunAtWork, outcome: Outcome, expected: dict[str, str]) -> None:
    """Check that it ended, repeated no finished job of `run`, and has the undisturbed results."""
    assert outcome.status == 0, outcome.text
    assert (jobs_to_run(outcome.text) or 0) <= run.n_jobs - run.n_finished, outcome.text
    assert_whole(run.folder, expected)
