"""The smoke experiment before its run and after an undisturbed one, shared by the tests."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import smoke
from small_run import ROOT, Outcome, make_once


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the smoke experiment in which nothing has run yet; it must not be changed."""
    return make_once("fresh", smoke.make_smoke, tmp_path_factory)[0]


@pytest.fixture(scope="session")
def undisturbed(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an undisturbed run on two cores; it must not be changed."""

    def run(folder: Path) -> Outcome:
        return smoke.snakemake(smoke.copy_of(fresh, folder)).succeeded()

    return make_once("undisturbed", run, tmp_path_factory)[0]


@pytest.fixture(scope="session")
def packages_of_cloud(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with the packages of `envs/cloud.lock`, which `make env` does not install."""
    folder = str(tmp_path_factory.mktemp("cloud"))
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", folder]
    command = [sys.executable, *words, "--requirement", str(ROOT / "envs" / "cloud.lock")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        reason = f"the packages of envs/cloud.lock cannot be installed: {done.stderr[-500:]}"
        required = os.environ.get("STORAGE_TESTS") == "required"
        pytest.fail(reason) if required else pytest.skip(reason)
    return folder


@pytest.fixture
def cloud(packages_of_cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process and those that it starts import the packages of the extra `cloud`."""
    monkeypatch.syspath_prepend(packages_of_cloud)
    monkeypatch.setenv("PYTHONPATH", packages_of_cloud)


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
