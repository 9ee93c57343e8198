"""Properties of every registered method, on numbers, classes or boxes in images.

Settings that have no value in `SETTINGS` are those of the first shipped file of the method.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from each_case import each_case
from small_data import regression_data
from small_pipeline import assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.plugins import ITEM_KINDS, METHODS
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.items.kinds import bags
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, MethodFile, parameters_of
from workflow_lib.protocol import (
    annotation,
    features_stage,
    generative_models,
    preimages,
    regression,
)
from workflow_lib.protocol.splitting import split_rows
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).resolve().parents[2]
MODULES = method_modules()
OF_BOXES = [name for name, module in MODULES.items() if module.tasks == ("boxes",)]
OF_NUMBERS = [name for name, module in MODULES.items() if "regression" in module.tasks]
N_ROWS, N_CLASSES, N_TEST, SEED = 72, 4, 12, 7
MEMBERS = ("training_mean", "reduced_rank_ridge")
MEMBERS_OF_CLASSES = ("support_vector_machine", "random_forest_classifier")

SETTINGS = {
    "block_weights": [0.0, 1.0],
    "center": True,
    "combine": "best",
    "component_counts": [2],
    "components": "selected",
    "decoder": "one_hot",
    "estimator": "sklearn.linear_model.Ridge",
    "grid": {
        "width": [0.3, 3.0],
        "output_width": [1.0],
        "nu": [0.5, 1.0],
        "k": [1, 2, 9],
        "cost": [1.0],
        "l2_penalty": [0.1],
        "max_features": [1.0],
        "n_trees": 5,
        "prior_components": [2],
        "unpaired_weight": [0.0, 0.1, 1.0],
    },
    "kernel": "rbf",
    "laplacian_weights": [0.1],
    "max_features": [0.5, 1.0],
    "member_sizes": {},
    "members": list(MEMBERS),
    "method_file": "config/methods/tried.yaml",
    "metric": "arrmse",
    "n_trees": 5,
    "neighbours": [3],
    "one_example": {},
    "output_kernel": "rbf",
    "output_widths": [1.0],
    "alphas": [1e-4, 1e-2],
    "penalty": "shared",
    "preimage": "candidates",
    "projections": [False],
    "pseudo_classes": "soft",
    "ranks": [1, 2],
    "row_errors": "mean",
    "seed": SEED,
    "settings": {},
    "studies": {},
    "weak": False,
    "weak_outputs": None,
    "weak_weights": [],
    "widths": [0.3, 3.0],
}
N_WORDS, IMAGE = 5, np.array([80, 60])
"""Words of images and their size in pixels."""

OF_ONE = dict.fromkeys(("estimator", "stacked_features"), {"grid": {"alpha": [0.01, 1.0]}})
OF_ONE["fisher_vector_network"] = {
    "n_components": 2,
    "n_dimensions": 3,
    "n_epochs": 2,
    "grid": {"penalty": [0.01, 0.1], "learning_rate": [1e-3], "pseudo_weight": [0.0, 0.3]},
}
OF_ONE["structured_svm"] = {"loss": "zero_one", "class_similarity": "learned_tree"}
OF_ONE["class_stack"] = {"members": list(MEMBERS_OF_CLASSES)}
OF_ONE["box_machine"] = {"cells": 6}
OF_ONE["box_support"] = {"cells": 6}
OF_ONE["box_ranking"] = {"cells": 6, "candidates": 40}
OF_ONE["box_kernel_support"] = {"cells": 6}
OF_ONE["box_proposals"] = {"cells": 6, "candidates": 40}
"""Settings of some regressors that differ."""


class Data(NamedTuple):
    """Rows of numbers, or of classes where there are labels."""

    X: np.ndarray
    Y: np.ndarray
    lagged_values: np.ndarray
    split: dict
    labels: np.ndarray | None = None
    has_boxes: bool = False

    def changed(self, rows: np.ndarray, *names: str) -> Data:
        """Return a copy in which some rows of some fields have other values."""
        copies = {name: getattr(self, name).copy() for name in names}
        for name, values in copies.items():
            values[rows] = (values[rows] + 1) % N_CLASSES if name == "labels" else 50.0
        return self._replace(**copies)


def data_for(regressor: str, n_outputs: int = 3) -> Data:
    """Return data of a task of the regressor; of numbers where it has both."""
    X, Y = regression_data(N_ROWS)
    lagged_values = Y[:, :2] + np.random.default_rng(5).normal(size=(N_ROWS, 2))
    if regressor in OF_NUMBERS:
        split = split_rows(N_ROWS, [20, 30], [8], N_TEST, 4, SEED, unpaired_sizes=[6, 15])
        return Data(X, Y[:, :n_outputs], lagged_values, split)
    if regressor in OF_BOXES:
        random = np.random.default_rng(8)
        corners, sides = random.integers(0, 40, (N_ROWS, 2)), random.integers(10, 21, (N_ROWS, 2))
        boxes = np.concatenate([corners, corners + sides], axis=1).astype(float)
        split = split_rows(N_ROWS, [6, 9], [8], N_TEST, 3, SEED)
        return Data(X, boxes, lagged_values, split, has_boxes=True)
    labels = np.arange(N_ROWS) % N_CLASSES
    X = X + 3.0 * np.eye(N_CLASSES)[labels]
    split = split_rows(N_ROWS, [3, 5], [8], N_TEST / N_ROWS, 3, SEED, labels=labels)
    return Data(X, Y, lagged_values, split, labels)


def run(regressor: str, folder: Path, data: Data) -> dict:
    """Run a method in `folder`; return the tree of its artifact."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.h5" for name in ("dataset", "split", "features")}
    tree = {"inputs": data.X, "outputs": data.Y, "names": {"series_channels": 1}}
    tree["lagged_values"] = {"values": data.lagged_values}
    if data.labels is not None:
        vectors = np.random.default_rng(3).normal(size=(N_CLASSES, 2))
        tree["outputs"] = vectors[data.labels]
        tree["classes"] = {"labels": data.labels, "vectors": vectors}
    if data.has_boxes:
        points = ITEM_KINDS.load("points")
        positions = np.random.default_rng(9).random((30, 2))
        words = (np.abs(data.X[:, np.arange(30) % data.X.shape[1]]) * 7 + np.arange(30)) % N_WORDS
        images = [points.ImagePoints(each.astype(int), positions, IMAGE, N_WORDS) for each in words]
        tree |= points.pack(images)
    else:
        noise = np.random.default_rng(4).normal(size=(len(data.X), 5, data.X.shape[1]))
        tree |= bags.pack(list(data.X[:, None] + noise))
    write_artifact(paths["dataset"], tree, "dataset", allow_nan=("outputs",))
    write_artifact(paths["split"], data.split, "split")
    source = (paths["dataset"], paths["split"])
    features_stage.run(*source, paths["features"], "standard", "rbf", "separate")
    declared = MODULES[regressor]
    fields = dataclasses.fields(METHODS.load(declared.name).Method)
    needed = {field.name for field in fields if field.default is dataclasses.MISSING}
    if declared.name in ("joint_ridge", "self_training"):
        paths["models"] = folder / "models.h5"
        options = ("gaussian_mixture", "tied_spherical", 0.05, 2, [2], "none", SEED)
        generative_models.run(*source, paths["models"], *options)
    if declared.name == "self_training":
        annotated = [folder / name for name in ("annotated.h5", "weak_labels.h5")]
        annotation.run(*source, paths["models"], *annotated, "one-hot", SEED)
        paths |= dict(zip(("models", "weak_labels"), annotated, strict=True))
    if "regressions" in declared.artifacts:
        members = setting(regressor, "members")
        for name in members:
            run(name, folder / name, data)
        of_members = [folder / name / "regression.h5" for name in members]
        paths["regressions"] = of_members
        paths["predictions"] = [folder / name / "predictions.h5" for name in members]
        for source, predictions in zip(of_members, paths["predictions"], strict=True):
            preimages.run(source, None, predictions, predictions.with_suffix(".json"), *[None] * 4)
        paths["member_timings"] = [folder / name / "regression.json" for name in members]
        paths["member_timings"] += [path.with_suffix(".json") for path in paths["predictions"]]
    results = folder / "regression.h5", folder / "regression.json"
    settings = {name: setting(regressor, name) for name in needed}
    regression.run(declared.name, paths, settings, *results)
    return read_artifact(results[0], "regression")


@cache
def shipped(regressor: str) -> MethodFile:
    """Return the first method of `config/methods` with a regressor."""
    methods = SettingsFolder(ROOT / "config/methods")
    for keys in map(methods.keys, methods.names):
        if keys.get("regressor", DEFAULT_REGRESSOR) == regressor:
            return parameters_of(regressor)(**keys)
    raise AssertionError(f"no file of config/methods has the regressor {regressor}")


def setting(regressor: str, name: str):
    """Return the value of a setting of a regressor."""
    if name in OF_ONE.get(regressor, {}):
        return OF_ONE[regressor][name]
    if name == "regressor":
        return regressor
    if name == "grid":
        grid = shipped(regressor).plain_grid()
        return {key: SETTINGS["grid"].get(key, values) for key, values in grid.items()}
    return SETTINGS[name] if name in SETTINGS else getattr(shipped(regressor), name)


def assert_same_but_for_test_rows(item: dict, other: dict, kept: slice) -> None:
    """Assert that two items are the same, and the predictions of the kept test rows."""
    names = item.keys() - {"test_targets", DETECTIONS}
    assert_same_tree({name: item[name] for name in names}, {name: other[name] for name in names})
    before, after = item["test_targets"], other["test_targets"]
    np.testing.assert_allclose(before[kept], after[kept], atol=1e-8)


@pytest.fixture(scope="module")
def first_runs(tmp_path_factory) -> Callable[[str], Path]:
    """Return the function that runs a method on its data once, and returns the folder."""
    folder = tmp_path_factory.mktemp("first")

    @cache
    def first_run(regressor: str) -> Path:
        run(regressor, folder / regressor, data_for(regressor))
        return folder / regressor

    return first_run


@each_case("regressor", MODULES)
def test_items_and_their_seconds(first_runs, regressor):
    data, folder = data_for(regressor), first_runs(regressor)
    tree = read_artifact(folder / "regression.h5", "regression")
    assert {item["training_size"] for item in tree.values()} == set(map(int, data.split["sizes"]))
    for item in tree.values():
        assert {"training_size", "weak_size", "components", "score"} <= item.keys()
        n_targets = item["test_targets"].shape[1]
        assert item["test_targets"].shape[0] == len(data.split["test"])
        assert item["heldout_outputs"].shape == (item["training_size"], n_targets)
        assert np.isfinite(item["test_targets"]).all() and np.isfinite(item["score"])
    seconds = json.loads((folder / "regression.json").read_text())
    assert seconds.keys() == tree.keys()
    parts = ["fit_seconds", "prediction_seconds", "selection_seconds"]
    assert all(sorted(values) == parts for values in seconds.values())


@each_case("regressor", MODULES)
def test_the_same_bytes_when_computed_again(first_runs, tmp_path, regressor):
    first = first_runs(regressor) / "regression.h5"
    run(regressor, tmp_path, data_for(regressor))
    assert first.read_bytes() == (tmp_path / "regression.h5").read_bytes()


def change_of_test_rows(data: Data) -> Data:
    """Return data in which the test rows have other outputs, and but for three other inputs."""
    rows = data.split["test"]
    outputs = data.changed(rows, *(("Y",) if data.labels is None else ("Y", "labels")))
    return outputs.changed(rows[3:], "X", "lagged_values")


@each_case("regressor", MODULES)
def test_test_rows_change_their_own_predictions_only(first_runs, tmp_path, regressor):
    first = read_artifact(first_runs(regressor) / "regression.h5", "regression")
    second = run(regressor, tmp_path, change_of_test_rows(data_for(regressor)))
    for name, item in first.items():
        assert_same_but_for_test_rows(item, second[name], slice(3))
        if regressor != "training_mean":
            assert (item["test_targets"][3:] != second[name]["test_targets"][3:]).any()


@each_case("regressor", OF_NUMBERS)
def test_outputs_of_test_rows_are_not_used_where_some_are_missing(tmp_path, regressor):
    data = data_for(regressor, n_outputs=2)
    data.Y[np.random.default_rng(6).random(data.Y.shape) < 0.1] = np.nan
    # One input is enough.
    data = data._replace(X=data.X[:, :1])
    first = run(regressor, tmp_path / "first", data)
    for item in first.values():
        assert item["test_targets"].shape == (N_TEST, 2)
        assert np.isfinite(item["test_targets"]).all() and np.isfinite(item["score"])
    changed = data.changed(data.split["test"], "Y")
    assert_same_tree(first, run(regressor, tmp_path / "second", changed))


@each_case("regressor", MODULES)
def test_rows_of_larger_training_sets_are_not_used_in_smaller_ones(first_runs, tmp_path, regressor):
    data = data_for(regressor)
    size = int(data.split["sizes"][0])
    names = ("X", "lagged_values", "Y") if data.labels is None else ("X", "lagged_values")
    changed = data.changed(data.split["train"][size:], *names)
    first = read_artifact(first_runs(regressor) / "regression.h5", "regression")
    second = run(regressor, tmp_path, changed)
    smaller = [name for name in first if name.startswith(f"n-{size}_")]
    assert smaller
    for name in smaller:
        assert_same_tree(first[name], second[name])


@each_case("regressor", OF_NUMBERS)
def test_a_constant_output_is_predicted_as_it_is(tmp_path, regressor):
    data = data_for(regressor, n_outputs=1)
    tree = run(regressor, tmp_path, data._replace(Y=np.full_like(data.Y, 0.1)))
    for item in tree.values():
        assert item["score"] == np.inf and item["test_targets"].shape == (N_TEST, 1)
        np.testing.assert_allclose(item["test_targets"], 0.1, rtol=1e-9)
        np.testing.assert_allclose(item["heldout_outputs"], 0.1, rtol=1e-9)
