"""Runs whose files are in a storage with the interface of S3, on this machine.

Without the packages of the extras `storage` and `test` these tests are skipped, or fail if
STORAGE_TESTS is "required".
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest
import smoke
from running_workflow import RunAtWork
from small_run import edit_yaml, write_yaml

from workflow_lib.core.file_digests import SUFFIX, digest_path
from workflow_lib.table.saved_model import load_model

SCORES = "results/measurements/scores.csv"
SPLIT = "results/measurements/split-0/split.h5"
FEATURES = "results/measurements/split-0/features.h5"
PREDICTIONS = "results/measurements/split-0/m-krr/predictions.h5"
SOURCE = "resources/measurements/measurements.csv"
JOBS = 6
"""From the source to the scores."""

NAME = "blend"
MODEL = f"results/{NAME}/model.h5"
REQUESTS_PER_JOB = 150
"""More than a run needs; it is to be noticed if their number grows with the square of the jobs."""


@pytest.fixture(scope="module")
def store():
    missing = [
        name
        for name in ("snakemake_storage_plugin_s3", "moto", "flask_cors")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        required = os.environ.get("STORAGE_TESTS") == "required"
        pytest.fail(reason) if required else pytest.skip(reason)
    import object_store

    with object_store.served() as store:
        yield store


def options(store, folder_name: str, *more: str) -> list[str]:
    prefix = f"s3://{store.bucket.name}/{folder_name}"
    return ["--profile", "profiles/s3", "--default-storage-prefix", prefix, *more]


def run(folder: Path, store, folder_name: str, *more: str):
    return smoke.snakemake(folder, *options(store, folder_name, *more), **store.variables())


def planned(outcome) -> set[str]:
    """Return the jobs that a dry run lists."""
    assert outcome.status == 0, outcome.text
    return set(re.findall(r"^ *Job \d+: (.+)$", outcome.text, re.MULTILINE))


def assert_finished(store, folder_name: str, expected: dict[str, str], folder: Path) -> None:
    """Check that the results in the storage are those of a run without one, with their digests."""
    found = store.contents(folder_name)
    made = {name for name in found if name.startswith(("results/measurements/", "resources/"))}
    files = {name for name in made if not name.endswith(SUFFIX)}
    assert {SCORES, SPLIT, FEATURES, PREDICTIONS, SOURCE} <= files
    for name in files:
        digest = hashlib.sha256(found[name]).hexdigest()
        assert digest == expected[name], name
        assert found[str(digest_path(name))].decode().split()[0] == digest
    assert not (folder / "results").exists() and not (folder / "resources").exists()


def test_a_run_and_what_is_lost_or_replaced(store, fresh, unrun, expected, tmp_path):
    folder_name = "run"
    outcome = run(unrun, store, folder_name, SCORES).succeeded()
    assert f"{JOBS} jobs finished" in outcome.text
    assert "Storing in storage" not in outcome.text
    assert_finished(store, folder_name, expected, unrun)
    assert len(store.requests) < REQUESTS_PER_JOB * JOBS
    # On another machine, which has nothing but what is in the storage, everything is there.
    other = smoke.copy_of(fresh, tmp_path / "other")
    outcome = run(other, store, folder_name, SCORES)
    assert outcome.status == 0 and "Nothing to be done" in outcome.text, outcome.text

    # What was lost is made again, from copies of what it is made from.
    for lost in (FEATURES, str(digest_path(SCORES))):
        store.remove(f"{folder_name}/{lost}")
    outcome = run(other, store, folder_name, SCORES, FEATURES).succeeded()
    assert "features" in outcome.text and "split measurements" not in outcome.text
    assert_finished(store, folder_name, expected, other)

    # What was replaced is refused, until it is removed.
    content = store.contents(folder_name)[SPLIT]
    store.put(f"{folder_name}/{SPLIT}", content[:-1] + bytes([content[-1] ^ 1]))
    outcome = run(other, store, folder_name, SCORES)
    assert outcome.status == 1, outcome.text
    assert f"{SPLIT}: the file differs from its digest" in outcome.text
    assert "remove the file of this path from the storage" in outcome.text
    assert "Traceback" not in outcome.text
    store.remove(f"{folder_name}/{SPLIT}")
    run(other, store, folder_name, SCORES, SPLIT, FEATURES).succeeded()
    assert_finished(store, folder_name, expected, other)


def test_an_upload_that_fails_leaves_no_result(store, unrun, expected, monkeypatch):
    folder_name = "refused"
    monkeypatch.setattr(store, "fails", f"PUT .*/{folder_name}/{FEATURES}")
    outcome = run(unrun, store, folder_name, "--storage-s3-retries", "1", SCORES)
    assert outcome.status == 1, outcome.text
    assert FEATURES not in store.contents(folder_name)
    monkeypatch.undo()
    run(unrun, store, folder_name, SCORES).succeeded()
    assert_finished(store, folder_name, expected, unrun)


def test_a_run_killed_during_an_upload_is_resumed(store, unrun, expected, monkeypatch):
    folder_name = "killed"
    monkeypatch.setattr(store, "holds", f"PUT .*/{folder_name}/{PREDICTIONS}")
    words = options(store, folder_name, SCORES)
    with RunAtWork(unrun, *words, **store.variables()) as killed:
        killed.wait_until(store.held.is_set)
        killed.kill_both()
    store.released.set()
    monkeypatch.undo()
    assert PREDICTIONS not in store.contents(folder_name)
    assert run(unrun, store, folder_name, "--unlock", SCORES).status == 0
    run(unrun, store, folder_name, SCORES).succeeded()
    assert_finished(store, folder_name, expected, unrun)


def run_in_containers(folder: Path, store, name: str, *more: str, **variables: str):
    """Run the scores with the profile of a service that takes jobs in containers."""
    prefix = f"s3://{store.bucket.name}/{name}"
    words = ["--profile", f"profiles/{name}", "--default-storage-prefix", prefix, *more]
    soon = ["--seconds-between-status-checks", "1"]
    variables = store.variables() | variables
    return smoke.snakemake(folder, *words, *soon, "--", SCORES, cores=None, **variables)


def test_jobs_on_kubernetes(cloud, store, unrun, expected, tmp_path):
    import container_jobs

    settings = tmp_path / "kubernetes.json"
    with container_jobs.served(tmp_path) as jobs:
        settings.write_text(container_jobs.kubernetes_settings(jobs.address))
        jobs.lost.add(1)
        outcome = run_in_containers(unrun, store, "kubernetes", KUBECONFIG=str(settings))
    assert outcome.status == 0, outcome.text + jobs.text()
    assert_finished(store, "kubernetes", expected, unrun)
    assert outcome.text.count("Trying to restart job") == 1
    assert len(jobs.manifests) == 4
    for manifest in jobs.manifests:
        assert container_jobs.known_to_kubernetes(manifest) == manifest
        pod = manifest["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["image"].startswith("registry.example.org/")
        assert pod["restartPolicy"] == "Never" and manifest["spec"]["backoffLimit"] == 0
        assert int(container["resources"]["requests"]["memory"].removesuffix("M")) >= 700
        # Keys of the storage are read from a secret of the cluster.
        assert store.variables()["SNAKEMAKE_STORAGE_S3_SECRET_KEY"] not in str(container["env"])


def test_jobs_on_aws_batch(cloud, store, unrun, expected, tmp_path):
    import container_jobs

    with container_jobs.served(tmp_path) as jobs:
        jobs.lost.add(1)
        outcome = run_in_containers(
            unrun,
            store,
            "aws-batch",
            AWS_ENDPOINT_URL_BATCH=jobs.address,
            AWS_ACCESS_KEY_ID="tests",
            AWS_SECRET_ACCESS_KEY="tests",
            SNAKEMAKE_AWS_BATCH_JOB_QUEUE="a-queue",
            SNAKEMAKE_AWS_BATCH_JOB_ROLE="a-role",
        )
    assert outcome.status == 0, outcome.text + jobs.text()
    assert_finished(store, "aws-batch", expected, unrun)
    assert outcome.text.count("Trying to restart job") == 1
    for manifest in jobs.manifests:
        assert manifest["jobQueue"] == "a-queue"
        assert manifest["timeout"]["attemptDurationSeconds"] > 3600
        assert manifest["containerProperties"]["image"].startswith("registry.example.org/")


def write_own_table(folder: Path) -> None:
    """Write a table of the user's own, its settings, and new rows."""
    rows = [f"{row % 7},{row % 5},{row % 7 + 2 * (row % 5)}" for row in range(30)]
    (folder / f"{NAME}.csv").write_text("\n".join(["heat,weight,strength", *rows]) + "\n")
    (folder / "rows.csv").write_text("heat,weight\n3,4\n")
    tables = folder / "config" / "tables"
    for kind in ("datasets", "experiments"):
        (tables / kind).mkdir(parents=True, exist_ok=True)
    write_yaml(
        tables / "datasets" / f"{NAME}.yaml",
        {
            "title": NAME,
            "description": "Made by the tests.",
            "task": "regression",
            "reader": "table",
            "options": {
                "file": f"{NAME}.csv",
                "numbers": ["heat", "weight"],
                "outputs": ["strength"],
            },
            "inputs": {"scale": "standard", "kernel": "rbf"},
            "outputs": {"scale": "standard"},
            "sources": [],
            "licence": "Own data",
            "citation": "Own data",
        },
    )
    write_yaml(
        tables / "experiments" / f"{NAME}.yaml",
        {
            "title": NAME,
            "dataset": NAME,
            "split": "random",
            "test_size": 6,
            "training_sizes": [20],
            "methods": ["m-krr"],
            "tables": [],
            "figures": [],
        },
    )


def test_a_table_in_the_storage_and_edits(store, unrun, tmp_path):
    folder_name, own = "table", ("--config", f"name={NAME}")
    write_own_table(unrun)
    local = smoke.copy_of(unrun, tmp_path / "local")
    for name in (f"{NAME}.csv", "rows.csv"):
        store.put(f"{folder_name}/{name}", (unrun / name).read_bytes())
        (unrun / name).unlink()
    predict = [*own, "rows=rows.csv", "--", "predict"]
    for outcome in (run(unrun, store, folder_name, *predict), smoke.snakemake(local, *predict)):
        outcome.succeeded()
    found = store.contents(folder_name)
    of_table = {name for name in smoke.results(local) if name.startswith(f"results/{NAME}/")}
    assert {MODEL, f"results/{NAME}/predictions/rows.csv"} <= of_table
    for name in of_table:
        assert found[name] == (local / name).read_bytes(), name
    copy = unrun / ".snakemake" / "storage" / "s3" / store.bucket.name / folder_name / MODEL
    assert load_model(copy).predict(local / "rows.csv").to_frame().notna().all(axis=None)

    dry = ["--dry-run", "--printshellcmds"]
    for changes in ({"test_size": 8}, {"methods": ["m-krr", "m-mean"]}):
        for folder in (unrun, local):
            edit_yaml(folder / "config" / "tables" / "experiments" / f"{NAME}.yaml", **changes)
        jobs = planned(smoke.snakemake(local, *dry, *predict))
        assert jobs and planned(run(unrun, store, folder_name, *dry, *predict)) == jobs
    shutil.rmtree(local)
