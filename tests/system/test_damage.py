"""Damaged files of a finished run, with their dates kept, are refused and can be repaired."""

import hashlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import smoke
from damages import Damage, another_file, cut_off, damage, empty, flip_bit, make_unreadable, replace
from finished_jobs import Job, batches_of_files, finished_jobs, readers_of
from small_run import ROOT, Outcome, files_below
from unprivileged import unprivileged

from workflow_lib.core.file_digests import differing_files, recorded_files

PROTECTED = "error: ProtectedOutputException"
"""Beginning of Snakemake's message about an unreadable file that it was about to replace."""

BATCHES = 9
"""Number of batches in which the files that jobs read are damaged."""

FOLDERS = ("results", "resources")


class Files(NamedTuple):
    """Facts on the files of the undisturbed run."""

    undisturbed: Path
    jobs: list[Job]
    batches: list[list[str]]
    names: set[str]


@pytest.fixture(scope="session")
def files(undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = smoke.copy_of(undisturbed, tmp_path_factory.mktemp("asked") / "run")
    jobs = finished_jobs(folder)
    names = {str(path.relative_to(undisturbed)) for path in recorded_in(undisturbed)}
    return Files(undisturbed, jobs, batches_of_files(jobs), names)


def recorded_in(folder: Path) -> list[Path]:
    return list(recorded_files(folder / name for name in FOLDERS))


@pytest.mark.fault("a result cut off")
@pytest.mark.trials(short=1, full=2 * BATCHES)
def test_a_truncated_file_is_refused_and_repaired(number, finished, files, expected):
    is_refused_and_repaired(finished, files, expected, number, cut_off)


@pytest.mark.fault("a bit of a result flipped")
@pytest.mark.trials(short=1, full=2 * BATCHES)
def test_one_flipped_bit_is_refused_and_repaired(number, finished, files, expected):
    is_refused_and_repaired(finished, files, expected, number + 2, flip_bit)


@pytest.mark.fault("a result replaced by another")
@pytest.mark.trials(short=1, full=BATCHES)
def test_another_file_is_refused_and_repaired(number, finished, files, expected):
    is_refused_and_repaired(finished, files, expected, number + 5, replace)


@pytest.mark.fault("a result emptied")
@pytest.mark.trials(short=1, full=BATCHES)
def test_an_emptied_file_is_refused_and_repaired(number, finished, files, expected):
    is_refused_and_repaired(finished, files, expected, number + 7, empty)


@pytest.mark.fault("a result that cannot be read")
@pytest.mark.trials(short=1, full=BATCHES)
def test_an_unreadable_file_is_refused_and_repaired(number, finished, files, expected, tmp_path):
    prefix = unprivileged(tmp_path)
    left = set(damage_batch(finished, files, number + 9, make_unreadable))
    while left:
        # Snakemake ends at the first job that could not read one, `--keep-going` or not.
        left -= set(refused(finished, files, expected, left, prefix))
    ends_well(finished, expected, prefix)


@pytest.mark.fault("a result that cannot be read")
def test_a_file_that_snakemake_itself_cannot_read_or_replace_is_named(finished, files, tmp_path):
    prefix = unprivileged(tmp_path)
    name = "results/clusters/split-0/m-krr/predictions.h5"
    (finished / name).chmod(0)
    # Of a file with a later date, Snakemake compares the checksum before any job.
    (finished / name).touch()
    outcome = run(finished, prefix)
    assert (outcome.status, "Traceback" in outcome.text) == (1, False)
    error = next(line for line in outcome.stderr.splitlines() if line.startswith("error: "))
    assert f"error: {name}: the file cannot be read" in error
    assert remedy_for(name, [error]) == f"rm {name}"
    # With another file of its job missing, Snakemake would write the file again.
    (finished / "results/timings/clusters/split-0/m-krr-regression.json").unlink()
    (finished / name).with_name("regression.h5").unlink()
    outcome = run(finished, prefix)
    assert (outcome.status, "Traceback" in outcome.text) == (1, False)
    assert f"To fix it: rm {name} and run the same snakemake command again." in outcome.text


def is_refused_and_repaired(
    finished: Path, files: Files, expected: dict[str, str], number: int, how: Damage
) -> None:
    batch = damage_batch(finished, files, number, how)
    assert set(refused(finished, files, expected, batch)) == set(batch)
    ends_well(finished, expected)


def damage_batch(folder: Path, files: Files, number: int, how: Damage) -> list[str]:
    """Damage a batch of files, remove what was made from them, and return their names."""
    batch = files.batches[number % BATCHES]
    for index, name in enumerate(batch):
        other = files.undisturbed / another_file(name, files.names)
        damage(folder / name, how, other, variant=bool((index + number // BATCHES) % 2))
    for job in readers_of(files.jobs, batch):
        for output in job.outputs:
            (folder / output).unlink()
    return batch


def run(folder: Path, prefix: Sequence[str] = ()) -> Outcome:
    done = subprocess.run(
        [*prefix, *smoke.command("--keep-going")],
        cwd=folder,
        env=smoke.environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def refused(
    folder: Path,
    files: Files,
    expected: dict[str, str],
    damaged: Sequence[str] | set[str],
    prefix: Sequence[str] = (),
) -> list[str]:
    """Run, check that damaged files are refused and read by no job, and do what the errors say.

    Return the names of the files in the errors.
    """
    outcome = run(folder, prefix)
    assert outcome.status == 1, outcome.text
    assert "Traceback" not in outcome.text
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    remedies = {name: remedy_for(name, errors) for name in damaged} | protected(outcome, damaged)
    named = [name for name in damaged if remedies[name]]
    assert named, outcome.text
    begins = tuple(f"error: {name}: " for name in named)
    assert all(error.startswith((*begins, PROTECTED)) for error in errors)

    kept = files_below(folder, *FOLDERS)
    made = {output for job in readers_of(files.jobs, damaged) for output in job.outputs}
    assert not made & kept, outcome.text
    assert kept <= files_below(files.undisturbed, *FOLDERS)
    for name in kept.intersection(expected).difference(damaged):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == expected[name]

    for command in {remedies[name] for name in named}:
        subprocess.run([*prefix, *shlex.split(command)], cwd=folder, check=True, timeout=60)
    for name in named:
        assert not (folder / name).exists()
    return named


def protected(outcome: Outcome, damaged: Iterable[str]) -> dict[str, str]:
    """Return the command given for each unreadable file that Snakemake was about to replace."""
    if PROTECTED not in outcome.stderr:
        return {}
    command = re.search("^To fix it: (rm .+) and run the same snakemake", outcome.stderr, re.M)
    names = shlex.split(command.group(1))[1:]
    assert set(names) <= set(damaged)
    return {name: command.group(1) for name in names}


def remedy_for(name: str, errors: Sequence[str]) -> str:
    """Return the command that the error about a file gives; '' where there is no such error."""
    reported = {error for error in errors if error.startswith(f"error: {name}: ")}
    commands = [
        re.search("To fix it: (rm .+) and run the same snakemake command again\\.$", error)
        for error in reported
    ]
    assert all(commands) and len(reported) <= 1
    return commands[0].group(1) if commands else ""


def ends_well(folder: Path, expected: dict[str, str], prefix: Sequence[str] = ()) -> None:
    run(folder, prefix).succeeded()
    assert smoke.results(folder) == expected
    assert differing_files(folder / name for name in FOLDERS) == []


def test_every_file_that_a_job_reads_is_in_a_batch(files):
    assert len(files.batches) == BATCHES, "set BATCHES in this file"
    read = [name for name in files.names if readers_of(files.jobs, [name])]
    assert sorted(name for batch in files.batches for name in batch) == sorted(read)
    assert {Path(name).suffix for name in read} >= {".h5", ".csv", ".json", ".svg", ".tex"}


@pytest.mark.fault("a damaged file among results that were moved")
@pytest.mark.parametrize("variant", [False, True])
@pytest.mark.parametrize("how", [cut_off, flip_bit, replace, empty])
def test_the_list_of_differing_files_names_each(how, variant, finished, files, monkeypatch):
    monkeypatch.chdir(finished)
    assert differing_files(FOLDERS) == []
    names = sorted(files.names)
    for name in names:
        damage(Path(name), how, files.undisturbed / another_file(name, names), variant)
        assert [fault.split(": ")[0] for fault in differing_files(FOLDERS)] == [name]
        Path(name).write_bytes((files.undisturbed / name).read_bytes())
    assert differing_files(FOLDERS) == []


@pytest.mark.fault("a damaged file among results that were moved")
def test_the_command_names_all_that_cannot_be_read_or_are_gone(finished, files, tmp_path):
    prefix = unprivileged(tmp_path)
    names = sorted(files.names)
    for name in names[::2]:
        (finished / name).chmod(0)
    for name in names[1::2]:
        (finished / name).unlink()
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "workflow_lib.core.file_digests", *FOLDERS],
        cwd=finished,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    lines = done.stderr.splitlines()
    assert sorted(line.split(": ")[1] for line in lines) == names
