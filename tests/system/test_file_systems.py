"""Full disks, folders that may not be written, no temporary folder, too little memory.

Each ends the run with a message, keeps complete results, and has no effect once it is fixed.
"""

import shutil
from pathlib import Path

import pytest
import smoke
from mounts import BLOCK, mounted_disk, mounted_read_only, without_permission
from small_run import Outcome
from whole_results import assert_none_incomplete, assert_whole, temporary_files

from workflow_lib.core.errors import UserError
from workflow_lib.core.file_digests import check_digest, digest_path, recorded_files

FULL = ("No space left on device", "the disk is full")
FORBIDDEN = ("Read-only file system", "Permission denied", "Write-protected output files")
NO_MEMORY = ("not enough memory", "the memory ran out")
WAYS_ON = ("run the same snakemake command again", "To resume:")

STAGES = [
    [
        "results/clusters/split-0/wofer-gmm/predictions.h5",
        "results/timings/clusters/split-0/wofer-gmm-preimages.json",
    ],
    ["resources/measurements/measurements.csv"],
    ["results/datasets/measurements.h5"],
    ["results/measurements/split-0/split.h5"],
    ["results/clusters/split-1/mixture-tied-annotated/embeddings-reduced.h5"],
    ["results/measurements/split-0/features.h5"],
    ["results/clusters/split-1/mixture-tied/models.h5"],
    [
        "results/clusters/split-1/mixture-tied-annotated/models.h5",
        "results/clusters/split-1/mixture-tied-annotated/weak_labels.h5",
    ],
    [
        "results/clusters/split-0/wofer-gmm/regression.h5",
        "results/timings/clusters/split-0/wofer-gmm-regression.json",
    ],
    ["results/timings/clusters.csv"],
    [f"results/figures/clusters-curve.{suffix}" for suffix in ("svg", "png", "csv")],
    ["results/tables/clusters-error.csv", "results/tables/clusters-error.tex"],
    ["results/timings/jobs/resource-usage.csv"],
    ["results/report.html"],
    ["results/measurements/scores.csv", "results/measurements/coordinates.csv"],
    ["results/run.json"],
]
"""What one job of each kind makes."""

OTHER_DISKS = [
    (".snakemake", 0),
    ("logs", 0),
    ("temporary", 0),
    (".snakemake", 1),
    (".snakemake", 2),
    (".snakemake", 5),
    (".snakemake", 9),
    (".snakemake", 12),
    (".snakemake", 16),
    (".snakemake", 24),
    ("logs", 1),
    ("temporary", 2),
    (".", 0),
    (".", 3),
    (".", 12),
]
"""Which further disk is full, and after how many blocks; the last are of all folders at once."""

FORBIDDEN_FOLDERS = ["results", ".snakemake", "logs", "resources", "."]

LIMITED_JOBS = [
    ("figure", "matplotlib.backends.backend_agg", STAGES[10]),
    ("embedding_regression", "workflow_lib.core.json_text", STAGES[8]),
    ("models", "workflow_lib.models.storage", STAGES[6]),
    ("scores", "workflow_lib.measures.metrics", STAGES[14]),
]
"""Rules, the last of the modules that their jobs load, and what these make."""

MIN_MIB = (8, 20, 40, 60, 100, 130, 160, 200, 300, 450)
"""With these limits no job can load its libraries."""


@pytest.mark.fault("a full disk")
@pytest.mark.trials(short=4, full=40)
def test_a_disk_that_a_job_fills_is_named_and_no_file_is_incomplete(number, finished, expected):
    stage = STAGES[number % len(STAGES)]
    needed = sum(-(-size(finished / name) // BLOCK) + 1 for name in stage)
    with mounted_disk(finished / Path(stage[0]).parts[0]) as disk:
        remove(finished, stage)
        disk.leave(needed * (number // len(STAGES)) // 3)
        refused(finished, expected, FULL)
        disk.make_room()
        ends_well(finished, expected)


@pytest.mark.fault("a full disk")
@pytest.mark.trials(short=1, full=len(OTHER_DISKS))
def test_another_full_disk_does_not_harm_the_results(number, finished, expected, tmp_path):
    name, blocks = OTHER_DISKS[number]
    # In the folder of the run, which is a repository, temporary files would be changes to record.
    location = tmp_path / name if name == "temporary" else finished / name
    with mounted_disk(location) as disk:
        remove(finished, STAGES[6])
        shutil.rmtree(finished / "logs", ignore_errors=True)
        disk.leave(blocks)
        variables = {"TMPDIR": str(location)} if name == "temporary" else {}
        outcome = run(finished, **variables)
        if outcome.status:
            assert_words(outcome, FULL + NO_MEMORY if name == "logs" else FULL)
            assert_nothing_incomplete(finished, expected)
        else:
            assert blocks or name == "temporary", "all was written to a full disk"
        disk.make_room()
        ends_well(finished, expected)


@pytest.mark.fault("a folder that may not be written")
@pytest.mark.trials(short=1, full=2 * len(FORBIDDEN_FOLDERS))
def test_a_folder_that_may_not_be_written_is_named(number, finished, expected):
    forbid = (mounted_read_only, without_permission)[number // len(FORBIDDEN_FOLDERS)]
    remove(finished, STAGES[1])
    with forbid(finished / FORBIDDEN_FOLDERS[number % len(FORBIDDEN_FOLDERS)]) as prefix:
        refused(finished, expected, FORBIDDEN, prefix)
    ends_well(finished, expected)


@pytest.mark.fault("a missing temporary folder")
@pytest.mark.trials(short=1, full=3)
def test_a_missing_temporary_folder_does_no_harm(number, finished, expected, tmp_path):
    remove(finished, STAGES[10])
    temporary = tmp_path / "temporary"
    if number == 1:
        temporary.write_text("no folder")
    if number < 2:
        ends_well(finished, expected, TMPDIR=str(temporary))
        return
    temporary.mkdir()
    with without_permission(temporary) as prefix:
        ends_well(finished, expected, prefix, TMPDIR=str(temporary))


@pytest.mark.fault("a job past its memory limit")
@pytest.mark.trials(short=1, full=len(MIN_MIB) * len(LIMITED_JOBS) // 2)
def test_a_memory_limit_too_low_for_the_libraries_is_reported(number, finished, expected):
    rule, _, made = LIMITED_JOBS[number % len(LIMITED_JOBS)]
    remove(finished, made)
    mib = MIN_MIB[(number + number // len(LIMITED_JOBS)) % len(MIN_MIB)]
    refused(finished, expected, NO_MEMORY, **limited(rule, "adapter", mib))
    ends_well(finished, expected)


@pytest.mark.fault("a job past its memory limit")
@pytest.mark.trials(short=1, full=16)
def test_a_job_without_enough_memory_says_so_or_ends_well(number, finished, expected):
    rule, module, made = LIMITED_JOBS[number % len(LIMITED_JOBS)]
    remove(finished, made)
    mib = 8 * (number // len(LIMITED_JOBS)) ** 2
    outcome = run(finished, **limited(rule, module, mib))
    if outcome.status:
        assert_words(outcome, NO_MEMORY)
        assert_nothing_incomplete(finished, expected)
    ends_well(finished, expected)


@pytest.mark.fault("a job past its memory limit")
@pytest.mark.trials(short=1, full=len(LIMITED_JOBS))
def test_a_job_that_the_kernel_kills_for_its_memory_says_so(number, finished, expected):
    rule, module, made = LIMITED_JOBS[number]
    remove(finished, made)
    outcome = refused(finished, expected, NO_MEMORY, **limited(rule, module, "kill"))
    assert "error: the job ended with signal SIGKILL; often the memory ran out" in outcome.text
    ends_well(finished, expected)


def limited(rule: str, module: str, more: int | str) -> dict[str, str]:
    """Return the variables that limit the memory of a job (`limited_memory/sitecustomize.py`)."""
    folder = Path(__file__).with_name("limited_memory")
    limit = {"PYTHONPATH": str(folder), "LIMITED_JOB": f"{rule}:{module}:{more}"}
    return limit | {"OFER_OWN_PROCESSES": "1"}


def run(folder: Path, prefix: list[str] | None = None, **variables: str) -> Outcome:
    """Run the smoke experiment in `folder` to its end."""
    return smoke.ended(folder, [*(prefix or []), *smoke.command()], **variables)


def refused(
    folder: Path,
    expected: dict[str, str],
    words: tuple[str, ...],
    prefix: list[str] | None = None,
    **variables: str,
) -> Outcome:
    """Run, check that the run ends with one of these messages and no incomplete file; return it."""
    outcome = run(folder, prefix, **variables)
    assert outcome.status == 1, outcome.text
    assert_words(outcome, words)
    assert_nothing_incomplete(folder, expected)
    assert temporary_files(folder) == []
    return outcome


def assert_words(outcome: Outcome, words: tuple[str, ...]) -> None:
    """Check that an error has one of these messages and a remedy; no traceback is shown."""
    assert "error: " in outcome.text, outcome.text
    assert any(word in outcome.text for word in words), outcome.text
    assert any(way in outcome.text for way in WAYS_ON), outcome.text
    for word in ("Traceback", "this is a defect", "Logging error"):
        assert word not in outcome.text, outcome.text


def assert_nothing_incomplete(folder: Path, expected: dict[str, str]) -> None:
    """Check that every existing result is that of the undisturbed run, or what its job wrote."""
    assert_none_incomplete(folder, expected)
    for path in recorded_files([folder / "results", folder / "resources"]):
        if path.exists():
            try:
                check_digest(path)
            except UserError as error:
                pytest.fail(str(error))


def ends_well(
    folder: Path, expected: dict[str, str], prefix: list[str] | None = None, **variables: str
) -> None:
    """Check that the same command makes all results of an undisturbed run."""
    run(folder, prefix, **variables).succeeded()
    assert_whole(folder, expected)


def remove(folder: Path, names: list[str]) -> None:
    """Remove results with their digests."""
    for name in names:
        (folder / name).unlink()
        digest_path(folder / name).unlink()


def size(path: Path) -> int:
    return path.stat().st_size
