"""Without the folders of a paper, everything else works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_run import ROOT, copy_files, snakemake

PAPERS = sorted(path.parent.name for path in ROOT.glob("workflow_lib/papers/*/__init__.py"))
FOLDERS = ("workflow_lib/papers", "config/papers", "tests/papers")

TESTED = (
    "config_capabilities config_files config_loading config_models "
    "config_reference imports measures_contract method_modules named_settings output_models "
    "paper_runs plugins public_names studies tables_contract tasks_contract"
).split()
"""Tests of the library that load all that is found: each kind of plug-in, and the settings."""


@pytest.fixture(scope="module", params=PAPERS)
def without(request, tmp_path_factory) -> tuple[str, Path]:
    """Return the name of a paper, and a copy of the project without its folders."""
    folder = tmp_path_factory.mktemp(request.param)
    copy_files(folder)
    for parent in FOLDERS:
        shutil.rmtree(folder / parent / request.param)
    return request.param, folder


def run_in(folder: Path, *command: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_its_settings_are_gone_and_the_default_run_is_planned(without):
    paper, folder = without
    outcome = snakemake(folder, "-n", "--configfile", "config/config.yaml")
    assert outcome.status == 0, outcome.stderr
    listed = snakemake(folder, "studies", "--configfile", "config/config.yaml")
    assert listed.status == 0, listed.stderr
    studies = [path.stem for path in ROOT.glob(f"config/papers/{paper}/studies/*.yaml")]
    assert studies and not [name for name in studies if f"\n{name} " in listed.stdout]


def test_every_module_that_is_left_is_imported(without):
    _, folder = without
    program = """
import importlib, pkgutil, workflow_lib
for module in pkgutil.walk_packages(workflow_lib.__path__, "workflow_lib."):
    importlib.import_module(module.name)
for name in workflow_lib.__all__:
    getattr(workflow_lib, name)
print(workflow_lib.__file__)
"""
    done = run_in(folder, "-c", program)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(folder)


def test_the_tests_of_all_that_is_left_pass(without):
    _, folder = without
    files = [f"tests/library/test_{name}.py" for name in TESTED]
    done = run_in(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files)
    assert done.returncode == 0, done.stdout[-3000:]
