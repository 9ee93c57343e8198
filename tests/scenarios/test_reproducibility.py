"""The same bytes, whatever the number of cores."""

import re

import pytest
from small_run import EXPERIMENTS, contents, copy_folder, snakemake


@pytest.fixture(scope="module")
def second_folder(project, tmp_path_factory):
    """Return a folder in which everything was computed again, on one core."""
    folder = copy_folder(project, tmp_path_factory.mktemp("second") / "again")
    snakemake(folder, cores=1).succeeded()
    return folder


def shows_time(name: str) -> bool:
    """Return whether a result shows measured times."""
    times = {
        f"results/tables/{experiment}-{table['name']}"
        for experiment, settings in EXPERIMENTS.items()
        for table in settings["tables"]
        if table["kind"] == "time"
    }
    stem = name.rpartition(".")[0]
    return name.startswith("results/timings/") or stem in {*times, "results/report"}


def test_one_core_and_two_cores_give_the_same_bytes(first_folder, second_folder):
    first = contents(first_folder, "results", "resources")
    second = contents(second_folder, "results", "resources")
    assert set(first) == set(second)
    compared = {name for name in first if not shows_time(name)}
    assert {"results/run.json", "results/tables/clusters-error.tex"} <= compared
    assert {name for name in compared if first[name] != second[name]} == set()


def test_reports_differ_in_the_table_of_times_only(first_folder, second_folder):
    pages = []
    for folder in (first_folder, second_folder):
        text = (folder / "results" / "report.html").read_text()
        tables = re.split(r"(?=<article\b)|(?<=</article>)", text)
        kept = [part for part in tables if "<caption>Seconds of the clusters." not in part]
        assert len(kept) == len(tables) - 1
        pages.append(kept)
    assert pages[0] == pages[1]
