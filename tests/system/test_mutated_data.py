"""Faulty data files are refused with a message or read correctly, without traceback or hanging."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import smoke
from mutated_data import SAMPLES, Archive, Sample, Trial, mutated
from one_job import Ended, run_jobs
from sample_runs import arrays_of, dataset_of, jobs_of, run, source_of
from small_run import snakemake, write_yaml

MAX_ERROR_LENGTH = 6500
"""Largest number of characters of an error that is readable on a terminal."""


def readable_samples() -> list[Sample]:
    """Return every sample once, without those that need a package that is not installed."""
    samples = {sample.name: sample for sample in (make() for make in SAMPLES)}
    return [sample for sample in samples.values() if importable(sample)]


def importable(sample: Sample) -> bool:
    return sample.package is None or importlib.util.find_spec(sample.package) is not None


# Expected outcomes


def assert_reported(ended: Ended, sample: Sample) -> None:
    """Check that the job ended with one error that names a file and says what to do."""
    error = ended.error
    assert ended.status == 1, ended
    assert error.startswith("error: "), ended.text[-3000:]
    assert "this is a defect" not in error, ended.text[-3000:]
    assert " Expected " in error and " To fix it: " in error, error
    assert any(name in error for name in names_of_files(sample)), error
    assert error.isprintable(), repr(error)
    assert len(error) <= MAX_ERROR_LENGTH, error[:MAX_ERROR_LENGTH]


def names_of_files(sample: Sample) -> set[str]:
    """Return the names of the files of a sample, and of what is in its archives."""
    inner = [
        name.rpartition("/")[2]
        for content in sample.files.values()
        if isinstance(content, Archive)
        for name, _ in content.members
    ]
    return {*sample.files, *inner}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory) -> Path:
    """Return a folder in which all samples were read unchanged."""
    folder = tmp_path_factory.mktemp("untouched")
    samples = readable_samples()
    plain, new = [], []
    for sample in samples:
        files = {
            name: content if isinstance(content, bytes) else content.packed()
            for name, content in sample.files.items()
        }
        jobs = jobs_of(folder, sample, files)
        if sample.reader == "new":
            new.append((sample, jobs))
        else:
            plain += jobs
    ended = run_jobs(folder, plain, OFER_MIRROR=str(folder / "mirror"))
    assert ended.status == 0, ended.text
    for sample, jobs in new:
        # A list of sequences in the FASTA format is no table.
        ended = run(folder, sample, jobs)
        if sample.name.startswith("FASTA"):
            assert_reported(ended, sample)
        else:
            assert ended.status == 0, ended.text
    return folder


def test_the_samples_are_read_as_they_are(untouched):
    for sample in readable_samples():
        if not sample.name.startswith("FASTA"):
            arrays_of(untouched, sample)


@pytest.mark.fault("a mutated data file")
@pytest.mark.trials(short=20, full=200)
def test_a_mutated_file_is_refused_with_a_message_or_read_correctly(number, untouched, tmp_path):
    trial = mutated(number)
    print(trial)
    if not importable(trial.sample):
        pytest.skip(f"the package {trial.sample.package} is not installed")
    jobs = jobs_of(tmp_path, trial.sample, trial.files, by_members=number % 2 == 1)
    check(trial, tmp_path, run(tmp_path, trial.sample, jobs), untouched)


def check(trial: Trial, folder: Path, ended: Ended, untouched: Path) -> None:
    """Check how the jobs of a trial ended, and what they read."""
    if ended.status:
        assert not trial.is_same, f"{trial}: {ended.error}"
        assert_reported(ended, trial.sample)
        return
    found = arrays_of(folder, trial.sample)
    if trial.is_same:
        for before, after in zip(arrays_of(untouched, trial.sample), found):
            np.testing.assert_array_equal(before, after)


# Through the real command

SAMPLES_OF_COMMANDS = ("csv", "arff", "user table", "new table", "calls")

TRIALS_OF_COMMANDS = [
    number
    for number in range(200, 600)
    if SAMPLES[number % len(SAMPLES)]().name in SAMPLES_OF_COMMANDS
]


@pytest.mark.fault("a mutated data file")
@pytest.mark.trials(short=2, full=20)
def test_the_terminal_shows_one_error_and_no_traceback(number, unrun):
    trial = mutated(TRIALS_OF_COMMANDS[number])
    print(trial)
    sample, name = trial.sample, "measurements"
    chosen = ["--configfile", smoke.CONFIGURATION]
    if sample.reader in ("table", "new"):
        for file, content in trial.files.items():
            (unrun / file).write_bytes(content)
    if sample.reader == "new":
        request = {"name": name + "-new", **sample.options}
        typed = ["new", *chosen, "--config", *(f"{key}={value}" for key, value in request.items())]
    else:
        typed = [f"results/datasets/{name}.h5", *chosen]
        dataset = {"title": "Mutated", "description": "Mutated.", "reader": sample.reader}
        dataset |= {"options": dict(sample.options), "licence": ".", "citation": "."}
        if sample.reader != "table":
            dataset["sources"] = [
                source_of(unrun, file, content) for file, content in trial.files.items()
            ]
        if sample.reader == "earnings_calls":
            dataset["inputs"] = {"scale": "tf-idf", "kernel": "linear", "lagged_values": "separate"}
        write_yaml(unrun / "config" / "datasets" / f"{name}.yaml", dataset)
    outcome = snakemake(unrun, *typed)
    errors = [line for line in outcome.text.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in outcome.text, outcome.text
    if outcome.status == 0:
        assert not errors, outcome.text
        if sample.reader != "new":
            (unrun / f"results/datasets/{name}.h5").rename(unrun / dataset_of(sample))
            arrays_of(unrun, sample)
    else:
        assert not trial.is_same, outcome.text
        assert len(errors) == 1, outcome.text
        assert_reported(Ended(outcome.status, errors[0]), sample)
