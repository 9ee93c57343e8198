"""The evaluation stage: scores by hand, one row an item, the same text every time."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from small_data import regression_data

from workflow_lib.artifacts import write_artifact
from workflow_lib.experiments.evaluation import (
    COORDINATE_COLUMNS,
    SCORE_COLUMNS,
    TIMING_COLUMNS,
    by_method,
    run_scores,
    run_timings,
    write_rows,
)


def write_split(path, generator, n_rows=30):
    order = generator.permutation(n_rows)
    tree = {"train": order[:15], "weak": order[15:20], "test": order[20:]}
    write_artifact(path, tree, "split")
    return tree


def write_predictions(path, outputs, penalty=0.1):
    tree = {
        f"n-{size}_w-0_C-selected": {
            "outputs": outputs,
            "training_size": size,
            "weak_size": 0,
            "components": "selected",
            "n_components": 3,
            "width": 0.3,
            "penalty_pi": penalty,
            "penalty_mu": np.inf,
        }
        for size in (15, 10)
    }
    write_artifact(path, tree, "predictions", allow_nan=("penalty_mu",))


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def experiment(tmp_path):
    """Two methods on two splits, with their artifacts."""
    generator = np.random.default_rng(0)
    X, Y = regression_data(30)
    Y[:, 2] = 0.1
    names = {"outputs": json.dumps(["größe", "weight, dry", "constant"])}
    write_artifact(tmp_path / "dataset.h5", {"inputs": X, "outputs": Y, "names": names}, "dataset")
    splits, predictions, seconds, expected = [], {"b": [], "a": []}, {"b": [], "a": []}, {}
    for split in range(2):
        path = tmp_path / f"split-{split}.h5"
        partition = write_split(path, generator)
        splits.append(path)
        for method in ("b", "a"):
            outputs = Y[partition["test"]] + generator.normal(size=(10, 3))
            file = tmp_path / f"{method}-{split}.h5"
            write_predictions(file, outputs)
            predictions[method].append(file)
            for size in (10, 15):
                mean = Y[partition["train"][:size]].mean(axis=0)
                truth = Y[partition["test"]]
                ratio = ((truth - outputs) ** 2).sum(axis=0)[:2] / (
                    ((truth - mean) ** 2).sum(axis=0)[:2]
                )
                expected[method, size, split] = np.sqrt(ratio)
    for method in ("b", "a"):
        for stage in ("regression", "preimages"):
            for split in range(2):
                path = tmp_path / f"{method}-{split}-{stage}.json"
                parts = {"preimage_seconds": split + 0.5}
                if stage == "regression":
                    parts = {"selection_seconds": split + 1.0, "fit_seconds": 2.0}
                path.write_text(
                    json.dumps({f"n-{size}_w-0_C-selected": parts for size in (10, 15)})
                )
                seconds[method].append(path)
    return tmp_path, splits, predictions, seconds, expected


def test_scores_by_hand(experiment):
    folder, splits, predictions, _, expected = experiment
    output = folder / "scores.csv"
    coordinates = folder / "coordinates.csv"
    run_scores(folder / "dataset.h5", splits, predictions, output, coordinates, "small", "data")
    rows = rows_of(output)
    assert list(rows[0]) == SCORE_COLUMNS
    assert len(rows) == 8
    for row in rows:
        key = row["method"], int(row["training_size"]), int(row["split"])
        # The third output is constant in training and test rows: it has no relative error.
        assert float(row["arrmse"]) == pytest.approx(expected[key].mean(), rel=1e-12)
        squares = (expected[key] ** 2).sum()
        assert float(row["root_sum_rrmse"]) == pytest.approx(np.sqrt(squares), rel=1e-12)
        assert (row["experiment"], row["dataset"], row["n_test"]) == ("small", "data", "10")
        assert (row["penalty_mu"], row["penalty_pi"], row["weak_weight"]) == ("inf", "0.1", "")
    order = [(row["method"], int(row["training_size"]), row["split"]) for row in rows]
    assert order == sorted(order)


def test_errors_of_coordinates_by_hand(experiment):
    folder, splits, predictions, _, expected = experiment
    output = folder / "coordinates.csv"
    run_scores(
        folder / "dataset.h5", splits, predictions, folder / "scores.csv", output, "small", "data"
    )
    rows = rows_of(output)
    assert list(rows[0]) == COORDINATE_COLUMNS
    # The constant output is left out.
    assert len(rows) == 8 * 2
    for row in rows:
        key = row["method"], int(row["training_size"]), int(row["split"])
        number = int(row["coordinate"])
        assert float(row["error"]) == pytest.approx(expected[key][number], rel=1e-12)
        assert row["name"] == ["größe", "weight, dry"][number]
        assert (row["experiment"], row["dataset"], row["n_test"]) == ("small", "data", "10")
    order = [(r["method"], int(r["training_size"]), r["split"], r["coordinate"]) for r in rows]
    assert order == sorted(order)


def test_coordinates_keep_their_numbers_where_one_is_left_out(experiment):
    folder, splits, predictions, _, _ = experiment
    data = folder / "constant.h5"
    X, Y = regression_data(30)
    Y[:, 0] = 7.0
    names = {"outputs": json.dumps(["first", "second", "third"])}
    write_artifact(data, {"inputs": X, "outputs": Y, "names": names}, "dataset")
    run_scores(data, splits, predictions, folder / "a.csv", folder / "b.csv", "small", "data")
    found = {(row["coordinate"], row["name"]) for row in rows_of(folder / "b.csv")}
    assert found == {("1", "second"), ("2", "third")}


def test_text_is_the_same_every_time(experiment):
    folder, splits, predictions, _, _ = experiment
    reverse = dict(reversed(predictions.items()))
    for name, given in (("first", predictions), ("second", reverse)):
        outputs = folder / f"{name}.csv", folder / f"{name}-coordinates.csv"
        run_scores(folder / "dataset.h5", splits, given, *outputs, "small", "data")
    for suffix in ("", "-coordinates"):
        first, second = (folder / f"{name}{suffix}.csv" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
    assert not list(folder.glob("*.part"))


def test_timings_of_all_stages_stand_in_one_row(experiment):
    folder, splits, predictions, seconds, _ = experiment
    output = folder / "timings.csv"
    run_timings(splits, predictions, seconds, output, "small", "data")
    rows = rows_of(output)
    assert list(rows[0]) == TIMING_COLUMNS
    assert len(rows) == 8
    for row in rows:
        split = int(row["split"])
        assert float(row["selection_seconds"]) == split + 1.0
        assert float(row["preimage_seconds"]) == split + 0.5
        assert row["prediction_seconds"] == ""


def test_paths_are_dealt_out_by_method():
    assert by_method(["a", "b"], [1, 2, 3, 4]) == {"a": [1, 2], "b": [3, 4]}


def test_numbers_keep_all_their_digits(tmp_path):
    row = {"method": "a", "components": "4", "training_size": 1, "weak_size": 0, "split": 0}
    values = {"x": np.float64(0.1) + 0.2, "y": np.int64(3), "z": True}
    write_rows(tmp_path / "rows.csv", [*row, *values], [row | values])
    found = rows_of(tmp_path / "rows.csv")[0]
    assert float(found["x"]) == 0.1 + 0.2
    assert (found["y"], found["z"]) == ("3", "1")
