"""The smoke experiment before its run and after an undisturbed one, shared by the tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import smoke
from small_run import Outcome, make_once


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the smoke experiment in which nothing has run yet; it must not be changed."""
    return make_once("fresh", smoke.make_smoke, tmp_path_factory)[0]


@pytest.fixture(scope="session")
def undisturbed(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an undisturbed run on two cores; it must not be changed."""

    def run(folder: Path) -> Outcome:
        return smoke.snakemake(smoke.copy_of(fresh, folder))

    folder, outcome = make_once("undisturbed", run, tmp_path_factory)
    assert outcome.status == 0, outcome.text
    return folder


@pytest.fixture(scope="session")
def expected(undisturbed: Path) -> dict[str, str]:
    """Return the SHA-256 of every result of the undisturbed run."""
    return smoke.results(undisturbed)


@pytest.fixture
def unrun(fresh: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of the smoke experiment before any job, which a test may change."""
    folder = smoke.copy_of(fresh, tmp_path / "run")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def finished(undisturbed: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of the finished run, dates kept, which a test may change."""
    folder = smoke.copy_of(undisturbed, tmp_path / "run")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
