"""Tables 7 and 8 of the core paper run on files of the published form, small and made here.

The files of the first impressions challenge cannot be part of the project. These have their form
and no more: scores that depend on the features of each video, and few videos.
"""

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest
from small_run import copy_files, edit_yaml, snakemake, write_yaml

TRAITS = ("extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness")
N_STRONG, N_MIDDLE, N_OTHERS, N_FEATURES = 104, 26, 90, 8
METHODS = ["m-mean", "m-krr", "iokr-linear", "m-rf", "ofer-gmm-paper", "wofer-gmm"]


def write_first_impressions(folder: Path, seed: int = 0) -> None:
    """Write the pickle of scores and the features of two frames of each video.

    Of the videos, `N_STRONG` have a score from 0.9 on or up to 0.1, `N_MIDDLE` one from 0.75 on or
    up to 0.25, and all scores of the others are between.
    """
    random = np.random.default_rng(seed)
    n_videos = N_STRONG + N_MIDDLE + N_OTHERS
    weights = random.normal(size=(N_FEATURES, len(TRAITS)))
    directions = random.normal(size=(n_videos, N_FEATURES))
    directions /= np.abs(directions @ weights).max(axis=1, keepdims=True)
    limits, counts = [[0.41, 0.45], [0.27, 0.35], [0.0, 0.2]], [N_STRONG, N_MIDDLE, N_OTHERS]
    features = directions * random.uniform(*np.repeat(limits, counts, axis=0).T)[:, None]
    scores = 0.5 + features @ weights
    names = [f"clip{number:03d}.00{number % 5}.mp4" for number in random.permutation(n_videos)]
    content = {
        trait: dict(zip(names, column.tolist(), strict=True))
        for trait, column in zip(TRAITS, scores.T, strict=True)
    }
    content["interview"] = dict.fromkeys(names, 0.5)
    folder.mkdir(parents=True)
    (folder / "annotation_training.pkl").write_bytes(pickle.dumps(content, 2))
    frames = np.repeat(features, 2, axis=0)
    frames += 0.01 * random.normal(size=frames.shape)
    np.save(folder / "features.npy", frames.astype(np.float32))
    lines = [name.removesuffix(".mp4") for name in names for _ in range(2)]
    (folder / "features.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("first-impressions")
    copy_files(folder)
    write_first_impressions(folder / "resources" / "first-impressions")
    experiment = folder / "config" / "experiments" / "first-impressions-task-1.yaml"
    # The published experiment, with the training size of task 1 and fewer of all else.
    edit_yaml(
        experiment,
        methods=METHODS,
        weak_sizes=[20, 40],
        n_splits=2,
        studies={"weak_weight": [0.0, 1.0]},
    )
    write_yaml(
        folder / "config" / "small.yaml",
        {
            **{"seed": 7, "n_splits": 2, "splits_per_job": 2, "n_folds": 3},
            "experiments": ["first-impressions-task-1", "first-impressions-task-2"],
            "defaults": {"training_sizes": [100]},
        },
    )
    edited = experiment.read_text().replace("- 1000\n", "- 120\n")
    assert edited.count("- 120\n") == 1
    experiment.write_text(edited)
    snakemake(folder).succeeded()
    return folder


def cells_of(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / "results" / "tables" / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_errors_of_task_1_stand_beside_those_of_table_7(run_folder):
    cells = [
        cell
        for cell in cells_of(run_folder, "first-impressions-task-1-error")
        if cell["quantity"] == "norm_rrmse" and cell["weak_size"] == "0"
    ]
    ours = {cell["method"]: float(cell["mean"]) for cell in cells}
    assert ours.keys() >= set(METHODS) - {"wofer-gmm"}
    assert ours["m-krr"] < ours["m-mean"]
    published = {cell["method"]: cell["published_value"] for cell in cells}
    with open(run_folder / "config" / "paper_tables" / "djerrab-7.csv", newline="") as file:
        printed = {
            row["method"]: float(row["value"])
            for row in csv.DictReader(file)
            if row["training_size"] == "100" and row["method"] in ours
        }
    assert len(printed) == 4
    assert {name: float(published[name]) for name in printed} == printed


def test_weak_labels_of_both_tasks_are_in_tables_like_table_8(run_folder):
    for task, size in (("task-1", "100"), ("task-2", "120")):
        cells = cells_of(run_folder, f"first-impressions-{task}-weak")
        assert {(cell["training_size"], cell["weak_size"]) for cell in cells} >= {
            (size, "20"),
            (size, "40"),
        }
        assert all(float(cell["mean"]) > 0 for cell in cells)


def test_the_report_counts_both_tables_as_run_on_the_form_of_the_own_data(run_folder):
    report = (run_folder / "results" / "report.html").read_text(encoding="utf-8")
    for name in ("first-impressions-task-1-error", "first-impressions-task-1-weak"):
        assert f'href="#table-{name}"' in report
