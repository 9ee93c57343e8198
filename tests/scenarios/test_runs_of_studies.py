"""Studies on the command line."""

import shutil

from small_run import CONFIGURATION, copy_folder, jobs_to_run, snakemake


def test_studies_are_listed_without_cores_and_without_a_valid_run(project):
    outcome = snakemake(project, "studies", "--config", "n_splits=none", cores=None).succeeded()
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("study ") and any(line.startswith("mulan ") for line in lines)
    assert "error" not in outcome.text


def test_a_study_is_the_run_of_its_file(project, tmp_path):
    folder = copy_folder(project, tmp_path / "run")
    shutil.copy(folder / CONFIGURATION, folder / "config" / "studies" / "small.yaml")
    # The helper of the tests names the small run where no file is named.
    (folder / "config" / "nothing.yaml").write_text("about: {}\n")
    by_name = ("--configfile", "config/nothing.yaml", "--config", "study=small")
    one = "experiments=[clusters]"
    of_study = jobs_to_run(folder, *by_name, one)
    assert of_study == jobs_to_run(folder, "--config", one)
    assert not [job for job in of_study if "assay" in job]


def test_an_unknown_study_is_refused_with_the_nearest_one(project):
    outcome = snakemake(project, "--dry-run", "--config", "study=mulam")
    assert outcome.status == 1
    assert "there is no study named 'mulam'" in outcome.text
    assert "To fix it: write study=mulan." in outcome.text
