"""The wheel holds all that a comparison needs, without the checkout and without Snakemake."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from built_wheel import built_wheel
from test_user_table import blend

ROOT = Path(__file__).parents[2]

WITHOUT_SNAKEMAKE = """
import sys
sys.modules["snakemake"] = None  # its import fails
import workflow_lib
from workflow_lib.table.command_line import main
assert workflow_lib.__file__.startswith({folder!r}), workflow_lib.__file__
sys.exit(main({arguments!r}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = built_wheel(folder)
    assert wheel.stat().st_size < 2 * 2**20
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_installed_library_compares_and_predicts(installed, tmp_path):
    (tmp_path / "blend.csv").write_text(blend())
    (tmp_path / "new.csv").write_text("heat,colour\n2.5,red\n")
    request = ["--outputs", "strength,weight", "--row-name", "sample", "--splits", "2"]
    for arguments in (
        ["run", "blend.csv", *request, "--methods", "m-krr,ridge,m-mean", "--jobs", "1"],
        ["predict", "blend-model.h5", "new.csv"],
    ):
        code = WITHOUT_SNAKEMAKE.format(folder=str(installed), arguments=arguments)
        found = subprocess.run(
            [sys.executable, "-P", "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
        )
        assert found.returncode == 0, found.stderr
    assert (tmp_path / "new-predictions.csv").read_text().count("\n") == 2
    assert (installed / "workflow_lib" / "py.typed").is_file()


def test_snakemake_is_needed_by_the_workflow_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [each for each in project["dependencies"] if each.startswith("snakemake")]
    assert project["scripts"] == {"ofer": "workflow_lib.table.command_line:main"}
    (needed,) = project["optional-dependencies"]["workflow"]
    assert needed.startswith("snakemake")
