"""Studies on the command line."""

from __future__ import annotations

from small_run import CONFIGURATION, jobs_to_run, snakemake

OF_SOURCES = {"manifest", "report", "resource usage"}
"""Jobs that depend on which files the configuration is from."""


def test_studies_are_listed_without_cores_and_without_a_valid_run(project):
    outcome = snakemake(project, "studies", "--config", "n_splits=none", cores=None)
    assert outcome.status == 0, outcome.text
    lines = outcome.stdout.splitlines()
    assert lines[0].startswith("study ") and any(line.startswith("boxes ") for line in lines)
    assert "error" not in outcome.text


def test_a_study_is_the_run_of_its_file(finished):
    text = (finished / CONFIGURATION).read_text()
    (finished / "config" / "studies" / "small.yaml").write_text(
        f"{text}\nabout: {{topic: Small}}\n"
    )
    (finished / "config" / "nothing.yaml").write_text("about: {}\n")
    # The helper of the tests names the small run where no file is named.
    by_name = ("--configfile", "config/nothing.yaml", "--config", "study=small")
    assert jobs_to_run(finished, *by_name) <= OF_SOURCES
    assert not jobs_to_run(finished, *by_name, "n_splits=3") <= OF_SOURCES


def test_an_unknown_study_is_refused_with_the_nearest_one(project):
    outcome = snakemake(project, "--dry-run", "--config", "study=boxs")
    assert outcome.status == 1
    assert "there is no study named 'boxs'" in outcome.text
    assert "To fix it: write study=boxes." in outcome.text
