"""The comparison of requested and used resources of jobs."""

import json
import math

import pandas as pd
import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.core.job_needs import job_needs
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.report.resource_usage import compare, read_jobs, run

RANDOM = {"dataset": "table", "split": "random"}
CONFIGURATION = {
    "run": {"max_gram_rows": 10_000},
    "experiments": {
        "small": RANDOM | {"training_sizes": [10, 50], "weak_sizes": []},
        "small-weak": RANDOM | {"training_sizes": [50], "weak_sizes": [4000]},
    },
    "datasets": {"table": {"sources": ["a"], "options": {}}},
    "methods": {
        "m-krr": {"regressor": "kernel_ridge"},
        "m-rf": {"regressor": "random_forest"},
        "wofer-gmm": {"regressor": "kernel_ridge"},
    },
}
NEEDS = method_modules()["kernel_ridge"].needs


def job(rule, name, seconds=6.0, memory=100.0):
    measured = {"seconds": seconds, "cpu_seconds": seconds, "used_mb": memory}
    return {"rule": rule, "name": name} | measured


def compared(jobs, megabytes=()):
    """Return the rows of the comparison of jobs."""
    return list(compare(pd.DataFrame(jobs), CONFIGURATION, dict(megabytes)).itertuples())


def test_jobs_of_one_rule_and_dataset_are_reported_together():
    jobs = [
        job("regression", "small-0-m-krr"),
        job("regression", "small-1-m-krr", seconds=90.0, memory=350.0),
        job("regression", "small-weak-0-wofer-gmm", memory=2000.0),
        job("read", "table", memory=math.nan),
        job("report", ""),
    ]
    rows = compared(jobs, {"table": 10.0})
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
    assert math.isnan(found["read", "table", 1].used_mb)


def test_jobs_of_one_rule_differ_by_what_their_methods_declare():
    # The last two are left from a run of other methods, and of another experiment.
    names = ("small-final-m-rf", "small-0-m-gone", "gone-0-m-rf")
    rows = compared([job("regression", name) for name in names])
    forest = job_needs("regression", 50, declared=method_modules()["random_forest"].needs)
    assert sorted(row.asked_minutes for row in rows) == [1, 1, forest.runtime]


def test_a_job_of_several_splits_asks_for_the_time_of_each():
    names = ("small-0to4-m-rf", "small-weak-5to6-wofer-gmm", "small-3-m-rf")
    found = {
        row.n_jobs * row.asked_minutes for row in compared(job("regression", x) for x in names)
    }
    forest, ridge = (method_modules()[name].needs for name in ("random_forest", "kernel_ridge"))
    assert found == {
        job_needs("regression", 50, declared=forest, n_splits=5).runtime,
        job_needs("regression", 4050, declared=ridge, n_splits=2).runtime,
        job_needs("regression", 50, declared=forest).runtime,
    }


def test_the_tightest_are_first():
    jobs = [job("read", "table", memory=10.0), job("split", "small-0", memory=650.0)]
    assert [row.rule for row in compared(jobs)] == ["split", "read"]


def test_what_no_scheduler_was_asked_for_is_left_out():
    jobs = [job("acquire", "table-x.csv"), job("split", "small-0", seconds=math.nan)]
    assert compared(jobs) == []


def write_benchmark(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def test_the_csv(tmp_path, capsys):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "table.h5").write_bytes(b"\0" * 2**20)
    (tmp_path / "run.json").write_text(json.dumps({"configuration": CONFIGURATION}))
    header = "s\th:m:s\tmax_rss\tcpu_time\n"
    write_benchmark(tmp_path, "jobs/features/small-0.tsv", header + "6.0\t0:00:06\tNA\tNA\n")
    write_benchmark(tmp_path, "jobs/features/small-1.tsv", header[:4])
    run(tmp_path / "run.json", tmp_path / "jobs", tmp_path / "datasets", tmp_path / "out.csv")
    assert "features small-1" in capsys.readouterr().out
    requested = job_needs("features", 50, 1.0)
    assert (tmp_path / "out.csv").read_text() == (
        "rule,dataset,n_jobs,seconds,cpu_seconds,asked_mb,used_mb,asked_minutes,used_minutes\n"
        f"features,table,1,6.0,0.0,{requested.mem_mb},,{requested.runtime},0.1\n"
    )


def test_repetitions_are_one_job_and_take_their_sum(tmp_path):
    text = "s\tmax_rss\tcpu_time\n2.0\t10\t1.5\n3.0\t30\t-\n"
    write_benchmark(tmp_path, "report.tsv", text)
    (row,) = read_jobs(tmp_path).to_dict("records")
    assert row == {"rule": "report", "name": ""} | {
        "seconds": 5.0,
        "cpu_seconds": 1.5,
        "used_mb": 30.0,
    }


@pytest.mark.parametrize(
    "text", ["", "s\tmax_rss\n1\t2\n", "s\tmax_rss\tcpu_time\nx\t1\t1\n", "\0"]
)
def test_a_damaged_measurement_is_not_a_number(tmp_path, text):
    write_benchmark(tmp_path, "read/table.tsv", text)
    assert read_jobs(tmp_path)[["seconds", "cpu_seconds", "used_mb"]].isna().all(axis=None)


def test_a_folder_without_measurements_is_reported(tmp_path):
    with pytest.raises(UserError, match="there is no benchmark file"):
        read_jobs(tmp_path)
