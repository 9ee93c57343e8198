"""The workflow as a module of another one: from a local folder, and from a repository."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from small_run import Outcome, files_below, snakemake

NAMES = ["measurements", "objects", "assay"]

OTHER = """\
module ofer:
    snakefile:
        "{project}/Snakefile"
    config:
        config["ofer"]
    prefix:
        "predictions"


use rule * from ofer as ofer_*


rule errors:
    input:
        scores="predictions/results/measurements/scores.csv",
        report="predictions/results/report.html",
        resources="predictions/results/timings/jobs/resource-usage.csv",
    output:
        "errors.txt",
    default_target: True
    shell:
        "wc -l < {{input.scores}} > {{output}}"
"""

CONFIG = """\
ofer:
  seed: 7
  n_splits: 2
  n_folds: 3
  experiments: [measurements, objects, assay]
"""

REPOSITORY = "https://github.com/laboratory/ofer"


def run(folder: Path, project: Path, *options: str, **variables: str) -> Outcome:
    """Run Snakemake in a user's folder."""
    variables["OFER_MIRROR"] = str(project / "mirror")
    return snakemake(folder, *options, "--configfile", "config/config.yaml", **variables)


# In another workflow


@pytest.fixture(scope="module")
def other(project, tmp_path_factory):
    """Return the folder of another workflow that has run this one as a module."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "config").mkdir()
    (folder / "config" / "config.yaml").write_text(CONFIG)
    (folder / "Snakefile").write_text(OTHER.format(project=project))
    shutil.copy(project / "assay.csv", folder)
    run(folder, project).succeeded()
    return folder


def test_it_gives_the_same_results_as_by_itself(other, first_folder):
    made = files_below(other / "predictions", "results")
    numbers = {
        f"results/{name}/{file}"
        for name in NAMES
        for file in ("scores.csv", "choices.csv", "coordinates.csv")
    }
    shown = {
        name
        for name in made
        if name.startswith(("results/tables/", "results/figures/"))
        and any(f"/{experiment}-" in name for experiment in NAMES)
    }
    assert numbers <= made and len(shown) > 10
    for name in numbers | shown:
        ours, alone = other / "predictions" / name, first_folder / name
        assert ours.read_bytes() == alone.read_bytes(), name


def test_all_its_files_are_below_the_prefix(other):
    named = {"Snakefile", "config", "assay.csv", "errors.txt", "predictions", ".snakemake"}
    assert {path.name for path in other.iterdir()} == named
    assert {path.name for path in (other / "predictions").iterdir()} == {
        "results",
        "resources",
        "logs",
    }


def test_its_report_names_the_results_and_the_other_workflow_continues(other):
    page = (other / "predictions" / "results" / "report.html").read_text()
    assert all(f'id="experiment-{name}"' in page for name in NAMES)
    n_lines = len((other / "predictions/results/measurements/scores.csv").read_text().splitlines())
    assert int((other / "errors.txt").read_text()) == n_lines


def test_used_resources_are_compared_with_requested_ones(other):
    text = (other / "predictions/results/timings/jobs/resource-usage.csv").read_text()
    assert len(text.splitlines()) > 10 and "ofer_" not in text


def test_a_second_run_does_nothing(other, project):
    outcome = run(other, project, "--dry-run")
    assert "Nothing to be done" in outcome.text, outcome.text


def test_a_wrong_key_is_reported_by_the_message_of_the_module(other, project, tmp_path):
    folder = tmp_path / "wrong"
    folder.mkdir()
    shutil.copytree(other / "config", folder / "config")
    shutil.copy(other / "Snakefile", folder)
    text = CONFIG.replace("n_folds", "n_fold")
    (folder / "config" / "config.yaml").write_text(text)
    outcome = run(folder, project)
    assert outcome.status == 1
    assert "the config of the module" in outcome.text and "write 'n_folds'" in outcome.text
    assert "Traceback" not in outcome.text


# From a repository


@pytest.fixture(scope="module")
def deployed(project, tmp_path_factory):
    """Return what snakedeploy made of the project in a public repository, and the variables.

    The repository is a local folder here, to which git maps the public address.
    """
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("deployed")
    hub = folder / "hub" / "laboratory" / "ofer"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(project), str(hub)], check=True)
    subprocess.run(["git", "-C", str(hub), "tag", "v1"], check=True)
    settings = folder / "gitconfig"
    settings.write_text(
        f'[url "file://{folder}/hub/"]\n\tinsteadOf = https://github.com/\n'
        "[safe]\n\tdirectory = *\n"
    )
    variables = {"GIT_CONFIG_GLOBAL": str(settings), "XDG_CACHE_HOME": str(folder / "cache")}
    target = folder / "mine"
    target.mkdir()
    command = [str(Path(sys.executable).with_name("snakedeploy")), "deploy-workflow", REPOSITORY]
    done = subprocess.run(
        [*command, str(target), "--tag", "v1"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target, variables


def test_snakedeploy_makes_a_folder_that_runs(deployed, project, first_folder):
    folder, variables = deployed
    assert (
        'github("laboratory/ofer", path="Snakefile", tag="v1")'
        in (folder / "workflow" / "Snakefile").read_text()
    )
    options = ["experiments=[measurements]", "n_splits=1", "n_folds=3", "seed=7"]
    run(folder, project, "--config", *options, **variables).succeeded()
    for name in ("measurements/scores.csv", "tables/measurements-error.csv"):
        ours, alone = folder / "results" / name, first_folder / "results" / name
        assert ours.read_bytes() == alone.read_bytes(), name
    again = run(folder, project, "--dry-run", "--config", *options, **variables)
    assert "Nothing to be done" in again.text, again.text


def test_the_settings_that_it_copied_are_those_of_the_run(deployed, project):
    folder, variables = deployed
    path = folder / "config" / "experiments" / "measurements.yaml"
    text = path.read_text()
    path.write_text(text.replace("Errors of the measurements.", "My errors."))
    options = ["experiments=[measurements]", "n_splits=1", "n_folds=3", "seed=7"]
    outcome = run(folder, project, "--config", *options, **variables)
    path.write_text(text)
    assert outcome.status == 0, outcome.text
    assert "My errors." in (folder / "results" / "tables" / "measurements-error.tex").read_text()


def test_the_catalogue_file_is_correct(project):
    catalogue = yaml.safe_load((project / ".snakemake-workflow-catalog.yml").read_text())
    assert catalogue["usage"]["software-stack-deployment"]["conda"] is True
    assert catalogue["usage"]["report"] is True
    assert (project / "envs" / "workflow.yaml").is_file()
    assert (project / "config" / "README.md").is_file()
