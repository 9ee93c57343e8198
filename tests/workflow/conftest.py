"""One small run of the real workflow, which the tests share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_run import Outcome, copy_folder, copy_project, snakemake


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in which nothing has run yet; it must not be changed."""
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    return folder


@pytest.fixture(scope="session")
def first_run(project: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """Return a folder with a finished run on two cores, and how it ended; not to be changed."""
    folder = copy_folder(project, tmp_path_factory.mktemp("first") / "run")
    return folder, snakemake(folder, cores=2)


@pytest.fixture(scope="session")
def first_folder(first_run: tuple[Path, Outcome]) -> Path:
    """Return the folder of the finished run; it must not be changed."""
    folder, outcome = first_run
    if outcome.status:
        pytest.fail(f"the small run failed:\n{outcome.text}")
    return folder


@pytest.fixture
def finished(first_folder: Path, tmp_path: Path) -> Iterator[Path]:
    """Return a copy of the finished run, dates kept, that a test may change."""
    folder = copy_folder(first_folder, tmp_path / "run")
    yield folder
    shutil.rmtree(folder)
