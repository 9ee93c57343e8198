"""Bad input ends a run with one readable error, and what was there before is still there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import h5py
import pytest
from small_run import (
    CONFIGURATION,
    EXPERIMENTS,
    GRIDS,
    contents,
    edit_yaml,
    files_below,
    measurements,
    snakemake,
    write_measurements,
)

TABLE = "resources/measurements/measurements.csv"
DATASET = "results/datasets/measurements.h5"
MIRRORED = "mirror/tables/measurements.csv"


def refused(folder: Path, log: str | None = None, lost: tuple[str, ...] = ()) -> str:
    """Run, check that the run ends as it should on bad input, and return its one error.

    `log` is the log of the job that meets it, None when it is met before any job; `lost` are the
    outputs of that job.
    """
    before = contents(folder, "results", "resources")
    outcome = snakemake(folder)
    assert outcome.status == 1, outcome.text
    assert "Traceback" not in outcome.text
    errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.text
    if log:
        assert f"full log   {log}" in outcome.stderr
        text = (folder / log).read_text()
        assert "Traceback (most recent call last):" in text and errors[0] in text
        assert "this is a defect" not in errors[0]

    after = contents(folder, "results", "resources")
    assert {name for name in before if after.get(name) != before[name]} == set(lost)
    assert [name for name in after if name.endswith((".part", ".tmp"))] == []
    assert [name for name in set(after) - set(before) if not (folder / name).stat().st_size] == []
    return errors[0]


@pytest.fixture
def empty_server() -> Iterator[str]:
    """Return the address of a server that has no file at all."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *arguments) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        (CONFIGURATION, {"n_split": 3}, [CONFIGURATION, "key n_split:", "write 'n_splits'"]),
        (CONFIGURATION, {"seed": "many"}, [CONFIGURATION, "key seed:", "'many'", "whole number"]),
        (CONFIGURATION, {"experiments": ["clutsers"]}, [CONFIGURATION, "write 'clusters'"]),
        (
            "config/experiments/clusters.yaml",
            {"dataset": "clusster"},
            ["config/experiments/clusters.yaml", "key dataset", "'clusster'", "'clusters'"],
        ),
        (
            "config/experiments/clusters.yaml",
            {"methods": ["m-kr", "ofer-gmm"]},
            ["config/experiments/clusters.yaml", "key methods", "'m-kr'", "'m-krr'"],
        ),
        (
            "config/methods/m-krr.yaml",
            {"grid": GRIDS["m-krr"] | {"penalties": [1.0]}},
            ["config/methods/m-krr.yaml", "key grid.penalties", "write 'penalty'"],
        ),
        (
            "config/datasets/measurements.yaml",
            {"options": {"output": ["sum"]}},
            ["config/datasets/measurements.yaml", "options.output", "write 'outputs'"],
        ),
        (
            "config/experiments/clusters.yaml",
            {"training_sizes": [2, 12]},
            ["experiment 'clusters'", "2 training rows", "3 folds", "raise training_sizes"],
        ),
    ],
)
def test_a_wrong_configuration_stops_the_run_before_any_job(finished, path, changes, words):
    edit_yaml(finished / path, **changes)
    if path.endswith("measurements.yaml") or "grid" in changes or "n_split" in changes:
        pass
    outcome = snakemake(finished)
    assert outcome.status == 1, outcome.text
    for word in words:
        assert word in outcome.stderr
    refused_files = files_below(finished, "results")
    assert "results/report.html" in refused_files
