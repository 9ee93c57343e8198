"""The end of a dry run: stages, time, memory and missing data."""

from pathlib import Path

from workflow_lib.run.models import DatasetSettings
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.run.run_plan import PlannedJob, data_lines, stage_lines, total_lines

CONFIG = Path(__file__).parents[2] / "config"
MISSING = "Missing output files: a.h5, b.h5; Input files updated by another job: c.h5"
FOLLOWS = "Input files updated by another job: a.h5, b.h5"


def jobs_of(folder) -> list[PlannedJob]:
    (folder / "read.tsv").write_text("s\th:m:s\n36.0\t0:00:36\n")
    return [
        PlannedJob("read", MISSING, 1, 1500, 10, str(folder / "read.tsv")),
        PlannedJob("split_0to4", MISSING, 1, 700, 5, str(folder / "absent.tsv")),
        PlannedJob("split_5", MISSING, 2, 700, 25),
        PlannedJob("all", FOLLOWS),
    ]


def test_jobs_of_all_splits_are_one_stage(tmp_path):
    head, *rows = (line.split(maxsplit=3) for line in stage_lines(jobs_of(tmp_path)))
    assert head == ["stage", "jobs", "core", "hours    memory  why"]
    assert rows == [
        ["read", "1", "0.01", "1.5 GB  missing output files"],
        ["split", "2", "0.92", "0.7 GB  missing output files"],
        ["all", "1", "0.00", "input files updated by another job"],
    ]


def test_time_is_measured_where_the_job_ran_before_and_else_as_requested(tmp_path):
    jobs = jobs_of(tmp_path)
    assert total_lines(jobs, 1200) == [
        "jobs        4, on a scheduler 1,200 submissions",
        "core hours  0.93 at most: 1 jobs as measured before, 2 as requested",
        "memory      1.5 GB for the largest job, 2.9 GB for the 4 largest, as requested",
    ]
    assert "as measured when the jobs ran before" in total_lines(jobs[:1])[1]
    assert "as requested from a scheduler" in total_lines(jobs[1:])[1]


def test_missing_files_are_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFER_MIRROR", raising=False)
    names = ("first-impressions-s1", "first-impressions-s2", "linnerud", "kogan10k")
    folder = SettingsFolder(CONFIG / "datasets")
    datasets = {name: DatasetSettings.model_validate(folder.keys(name)) for name in names}
    locations = {name: f"{name}.yaml" for name in names}
    download, empty, missing, *steps = data_lines(datasets, locations)
    assert download == "download    227 MB: kogan10k" and empty == ""
    assert missing == (
        "missing     first-impressions-s1, first-impressions-s2: you supply "
        "resources/first-impressions"
    )
    assert any("annotations.csv" in line for line in steps)
    assert data_lines({"linnerud": datasets["linnerud"]}, locations) == ["download    nothing"]
