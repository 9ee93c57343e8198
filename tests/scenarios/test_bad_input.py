"""Bad input ends a run with one readable error, and earlier results are kept."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import pytest
from small_run import (
    CONFIGURATION,
    GRIDS,
    contents,
    edit_yaml,
    measurements,
    snakemake,
    write_measurements,
)
from web_server import Handler, served

from workflow_lib.core.file_digests import digest_path

TABLE = "resources/measurements/measurements.csv"
DATASET = "results/datasets/measurements.h5"
MIRRORED = "mirror/tables/measurements.csv"


def results(folder: Path) -> dict[str, str]:
    """Return the checksums of all results and sources, but for the times of single jobs."""
    found = contents(folder, "results", "resources")
    return {name: found[name] for name in found if not name.startswith("results/timings/jobs/")}


def refused(folder: Path, log: str | None = None, lost: tuple[str, ...] = ()) -> str:
    """Run, check that the run ends as it should on bad input, and return its one error.

    `log` is the log of the job that meets it, None when it is met before any job; `lost` are the
    outputs of that job.
    """
    before = results(folder)
    outcome = snakemake(folder)
    assert outcome.status == 1, outcome.text
    assert "Traceback" not in outcome.text
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.text
    if log:
        assert f"full log   {log}" in outcome.stderr
        text = (folder / log).read_text()
        assert "Traceback (most recent call last):" in text and errors[0] in text
        assert "this is a defect" not in errors[0]

    after = results(folder)
    assert {name for name in before if after.get(name) != before[name]} == set(lost)
    assert [name for name in after if name.endswith((".part", ".tmp"))] == []
    assert [name for name in set(after) - set(before) if not (folder / name).stat().st_size] == []
    return errors[0]


@pytest.fixture
def empty_server() -> Iterator[str]:
    """Return the address of a server that has no file at all."""

    class Empty(Handler):
        def do_GET(self) -> None:
            self.send_error(404)

    with served(Empty) as server:
        yield server.address


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        (CONFIGURATION, {"n_split": 3}, [CONFIGURATION, "key n_split:", "write 'n_splits'"]),
        (CONFIGURATION, {"seed": "many"}, [CONFIGURATION, "key seed:", "'many'", "whole number"]),
        (CONFIGURATION, {"experiments": ["clutsers"]}, [CONFIGURATION, "write 'clusters'"]),
        (
            "config/experiments/digits.yaml",
            {"dataset": "digits-completions"},
            ["config/experiments/digits.yaml", "key dataset", "write 'digits-completion'"],
        ),
        (
            "config/experiments/clusters.yaml",
            {"methods": ["m-kr", "ofer-gmm"]},
            ["config/experiments/clusters.yaml", "key methods", "write 'm-krr'"],
        ),
        (
            "config/experiments/clusters.yaml",
            {"training_sizes": [2, 12]},
            ["experiment 'clusters'", "2 training rows", "3 folds", "raise training_sizes"],
        ),
        (
            "config/methods/m-krr.yaml",
            {"grid": GRIDS["m-krr"] | {"alphas": [1.0]}},
            ["config/methods/m-krr.yaml", "key grid.alphas", "write 'alpha'"],
        ),
        (
            "config/datasets/measurements.yaml",
            {"options": {"outputs": ["sum"], "delimeter": ";"}},
            ["config/datasets/measurements.yaml", "options.delimeter", "write 'delimiter'"],
        ),
    ],
)
def test_a_wrong_configuration_ends_the_run_before_any_job(finished, path, changes, words):
    edit_yaml(finished / path, **changes)
    error = refused(finished)
    for word in words:
        assert word in error


def test_a_missing_source(finished, empty_server):
    write_measurements(finished, address=f"{empty_server}/measurements.csv")
    (finished / MIRRORED).unlink()
    error = refused(finished, "logs/acquire/measurements-measurements.csv.log", lost=(TABLE,))
    assert error.startswith(f"error: {empty_server}/measurements.csv: ")
    assert "404" in error and "OFER_MIRROR" in error
    assert f"by hand at {TABLE}" in error


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:200], ["is truncated: it has 200 bytes", "bytes. To fix it"]),
        (lambda text: text.replace("3", "5"), ["has the SHA-256", "Expected the SHA-256"]),
    ],
)
def test_a_damaged_source_in_the_mirror(finished, change, words):
    path = finished / MIRRORED
    path.write_text(change(path.read_text()))
    (finished / TABLE).unlink()
    (finished / DATASET).unlink()
    error = refused(finished, "logs/acquire/measurements-measurements.csv.log")
    assert error.startswith(f"error: {path}: ")
    assert f"remove or replace {path}" in error
    for word in words:
        assert word in error


def with_cell(row: int, column: int, text: str) -> str:
    """Return the table of measurements with another text in one cell; row 0 is the header."""
    rows = [line.split(",") for line in measurements().splitlines()]
    rows[row][column] = text
    return "".join(",".join(row) + "\n" for row in rows)


def with_column(column: int, text: str) -> str:
    """Return the table of measurements with the same text in a whole column."""
    rows = [line.split(",") for line in measurements().splitlines()]
    for row in rows[1:]:
        row[column] = text
    return "".join(",".join(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (with_cell(5, 1, "many"), ["line 6, column 'second'", "'many'", "a decimal number"]),
        (with_cell(7, 3, "inf"), ["line 8, column 'sum'", "'inf'", "fix the value"]),
        (with_column(4, "NaN"), ["0 of 24 rows have all their outputs", "at least 2", "add rows"]),
        (with_column(4, "1.5"), ["the output difference has the same value", "leave it out"]),
    ],
)
def test_a_table_that_cannot_be_used(finished, text, words):
    write_measurements(finished, text)
    # The table itself is fetched again, because its checksum is another one.
    error = refused(finished, "logs/read/measurements.log", lost=(TABLE, DATASET))
    assert error.startswith(f"error: {TABLE}")
    for word in words:
        assert word in error
    assert not (finished / DATASET).exists()


def test_fewer_rows_than_folds(finished):
    write_measurements(finished, "".join(measurements().splitlines(keepends=True)[:11]))
    edit_yaml(finished / "config/experiments/measurements.yaml", training_sizes=[3])
    split = "results/measurements/split-0/split.h5"
    log = "logs/split/measurements-0.log"
    error = refused(finished, log, lost=(TABLE, DATASET, split))
    assert error.startswith("error: experiment measurements, keys training_sizes and test_size: ")
    assert "2 rows are left after 8 for testing" in error
    assert "of measurements in config/experiments" in error


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def alter(path: Path) -> None:
    """Change one number of an artifact, as an edit or a failing disk would."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file.visit(lambda name: names.append(name) if name.endswith("/test_targets") else None)
        values = file[names[0]]
        values[...] = values[...] + 1.0


REGRESSION = "results/clusters/split-0/ofer-gmm/regression.h5"
# One job makes those of both splits.
OF_ITS_CONSUMER = tuple(
    name
    for split in (0, 1)
    for name in (
        f"results/clusters/split-{split}/ofer-gmm/predictions.h5",
        f"results/timings/clusters/split-{split}/ofer-gmm-preimages.json",
    )
)


@pytest.mark.parametrize(
    ("damage", "has_digest", "words"),
    [
        (truncate, True, "the file differs from its digest: it has "),
        (empty, True, "the file differs from its digest: it is empty"),
        # An artifact without the file of its digest, as in a copy without hidden files, holds a
        # digest.
        (alter, False, "the contents do not match their digest"),
    ],
)
def test_a_damaged_artifact(finished, damage, has_digest, words):
    damage(finished / REGRESSION)
    if not has_digest:
        digest_path(finished / REGRESSION).unlink()
    error = refused(finished, "logs/preimages/clusters-0to1-ofer-gmm.log", lost=OF_ITS_CONSUMER)
    assert error.startswith(f"error: {REGRESSION}: {words}")
    assert f"rm {REGRESSION} and run the same snakemake command again" in error


def test_the_remedy_for_a_damaged_artifact(finished):
    before = results(finished)
    for name in OF_ITS_CONSUMER:
        (finished / name).unlink()
    (finished / REGRESSION).unlink()
    snakemake(finished).succeeded()
    after = results(finished)
    assert set(after) == set(before)
    for name in (REGRESSION, OF_ITS_CONSUMER[0], "results/clusters/scores.csv"):
        assert after[name] == before[name]
