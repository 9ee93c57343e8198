"""The comparison of requested and used resources of jobs."""

from __future__ import annotations

import csv
import json

from workflow_lib.config.job_needs import job_needs
from workflow_lib.methods.registry import method_modules
from workflow_lib.report.resource_usage import compare, run
from workflow_lib.report.timeline import Job, write_jobs

CONFIGURATION = {
    "run": {"max_gram_rows": 10_000},
    "experiments": {
        "small": {
            "dataset": "table",
            "training_sizes": [10, 50],
            "weak_sizes": [],
            "split": "random",
        },
        "small-weak": {
            "dataset": "table",
            "training_sizes": [50],
            "weak_sizes": [4000],
            "split": "random",
        },
    },
    "datasets": {"table": {"reader": "csv"}},
    "methods": {
        "m-krr": {"regressor": "kernel_ridge"},
        "m-rf": {"regressor": "random_forest"},
        "wofer-gmm": {"regressor": "kernel_ridge"},
    },
}
NEEDS = method_modules()["kernel_ridge"].needs


def job(rule, name, seconds=6.0, memory=100.0):
    start = None if seconds is None else 0.0
    return Job(rule, name, start, seconds or 1.0, seconds, seconds, memory)


def test_jobs_of_one_rule_and_dataset_are_reported_together():
    jobs = [
        job("regression", "small-0-m-krr"),
        job("regression", "small-1-m-krr", seconds=90.0, memory=350.0),
        job("regression", "small-weak-0-wofer-gmm", memory=2000.0),
        job("read", "table", memory=None),
        job("report", ""),
    ]
    rows = compare(jobs, CONFIGURATION, {"table": 10.0})
    found = {(row.rule, row.dataset, row.n_jobs): row for row in rows}
    assert set(found) == {
        ("regression", "table", 2),
        ("regression", "table", 1),
        ("read", "table", 1),
        ("report", "", 1),
    }
    small = found["regression", "table", 2]
    needs = job_needs("regression", 50, 10.0, declared=NEEDS)
    assert (small.asked_mb, small.asked_minutes) == (needs.mem_mb, needs.runtime)
    assert (small.used_mb, small.used_minutes) == (350.0, 1.5)
    weak = found["regression", "table", 1]
    assert weak.asked_mb == job_needs("regression", 4050, 10.0, declared=NEEDS).mem_mb
    assert found["read", "table", 1].used_mb is None


def test_jobs_of_one_rule_differ_by_what_their_methods_declare():
    # The last two are left from a run of other methods, and of another experiment.
    names = ("small-final-m-rf", "small-0-m-gone", "gone-0-m-rf")
    rows = compare([job("regression", name) for name in names], CONFIGURATION, {})
    forest = job_needs("regression", 50, declared=method_modules()["random_forest"].needs)
    assert sorted(row.asked_minutes for row in rows) == [1, 1, forest.runtime]


def test_the_tightest_are_first():
    jobs = [job("read", "table", memory=10.0), job("split", "small-0", memory=650.0)]
    assert [row.rule for row in compare(jobs, CONFIGURATION, {})] == ["split", "read"]


def test_jobs_without_requested_resources_are_left_out():
    jobs = [job("acquire", "table-x.csv"), job("split", "small-0", seconds=None)]
    assert compare(jobs, CONFIGURATION, {}) == []


def test_the_csv(tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "table.h5").write_bytes(b"\0" * 2**20)
    (tmp_path / "run.json").write_text(json.dumps({"configuration": CONFIGURATION}))
    write_jobs(tmp_path / "jobs.csv", [job("features", "small-0", memory=None)])
    run(tmp_path / "run.json", tmp_path / "jobs.csv", tmp_path / "datasets", tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    asked = job_needs("features", 50, 1.0)
    assert row == {
        "rule": "features",
        "dataset": "table",
        "n_jobs": "1",
        "asked_mb": str(asked.mem_mb),
        "used_mb": "",
        "asked_minutes": str(asked.runtime),
        "used_minutes": "0.1",
    }
