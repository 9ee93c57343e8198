"""The evaluation stage: scores by hand, one row per item, the same text every time."""

import csv
import json

import numpy as np
import pytest
from small_data import regression_data

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import CHOICES, COORDINATES, SCORES, TIMINGS
from workflow_lib.protocol.evaluation import by_method, run_scores, run_timings, write_rows
from workflow_lib.protocol.splitting import run as run_split
from workflow_lib.tasks.found import measures_of


def write_split(path, generator, n_rows=30):
    order = generator.permutation(n_rows)
    tree = {"train": order[:15], "weak": order[15:20], "test": order[20:]}
    write_artifact(path, tree, "split")
    return tree


def write_predictions(path, outputs, alpha=0.1):
    tree = {
        f"n-{size}_w-0_C-selected": {
            "outputs": outputs,
            "training_size": size,
            "weak_size": 0,
            "components": "selected",
            "n_components": 3,
            "width": 0.3,
            "alpha_leading": alpha,
            "alpha_rest": np.inf,
        }
        for size in (15, 10)
    }
    write_artifact(path, tree, "predictions", allow_nan=("alpha_rest",))


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def scored(folder, splits, predictions, name="", dataset="dataset.h5", of=("small", "data")):
    """Score predictions; return the paths of the scores, the choices and the coordinates."""
    files = [folder / f"{name}{kind}.csv" for kind in ("scores", "choices", "coordinates")]
    run_scores(folder / dataset, splits, predictions, *files, *of)
    return files


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
            error = ((truth - outputs) ** 2).sum() / (truth**2).sum()
            expected[method, "norm", split] = np.sqrt(error)
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
    files = scored(folder, splits, predictions)
    rows = rows_of(files[0])
    assert list(rows[0]) == list(SCORES)
    assert len(rows) == 8 * len(measures_of("numbers"))
    for row in rows:
        key = row["method"], int(row["training_size"]), int(row["split"])
        assert (row["experiment"], row["dataset"], row["n_test"]) == ("small", "data", "10")
        # The third output is constant in training and test rows: it has no relative error.
        by_hand = {
            "arrmse": expected[key].mean(),
            "root_sum_rrmse": np.sqrt((expected[key] ** 2).sum()),
            "norm_rrmse": expected[row["method"], "norm", int(row["split"])],
        }
        if row["quantity"] in by_hand:
            assert float(row["value"]) == pytest.approx(by_hand[row["quantity"]], rel=1e-12)
    choices = rows_of(files[1])
    assert list(choices[0]) == list(CHOICES)
    chosen = {(row["method"], row["training_size"], row["split"]) for row in choices}
    assert len(chosen) == 8
    assert {(row["name"], row["value"]) for row in choices} == {
        ("alpha_leading", "0.1"),
        ("alpha_rest", "inf"),
        ("n_components", "3"),
        ("width", "0.3"),
    }
    order = [(row["method"], int(row["training_size"]), row["split"]) for row in rows]
    assert order == sorted(order)


def test_errors_are_those_of_predictions_in_the_range(tmp_path):
    _, Y = regression_data(30)
    partition = write_split(tmp_path / "split.h5", np.random.default_rng(0))
    ranges = json.dumps([{"least": 0.0}, {"largest": 0.5}, {}])
    names = {"outputs": json.dumps(["a", "b", "c"]), "ranges": ranges}
    write_artifact(tmp_path / "dataset.h5", {"outputs": Y, "names": names}, "dataset")
    outputs = Y[partition["test"]] + np.random.default_rng(1).normal(size=(10, 3))
    clipped = np.column_stack(
        [np.maximum(outputs[:, 0], 0.0), np.minimum(outputs[:, 1], 0.5), outputs[:, 2]]
    )
    found = []
    for name, values in (("raw", outputs), ("clipped", clipped)):
        write_predictions(tmp_path / f"{name}.h5", values)
        paths = {"m": [tmp_path / f"{name}.h5"]}
        found.append(scored(tmp_path, [tmp_path / "split.h5"], paths, name)[0].read_text())
    assert (outputs != clipped).any()
    assert found[0] == found[1]


def test_errors_of_coordinates_by_hand(experiment):
    folder, splits, predictions, _, expected = experiment
    rows = rows_of(scored(folder, splits, predictions)[2])
    assert list(rows[0]) == list(COORDINATES)
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
    X, Y = regression_data(30)
    Y[:, 0] = 7.0
    names = {"outputs": json.dumps(["first", "second", "third"])}
    write_artifact(folder / "constant.h5", {"inputs": X, "outputs": Y, "names": names}, "dataset")
    files = scored(folder, splits, predictions, dataset="constant.h5")
    found = {(row["coordinate"], row["name"]) for row in rows_of(files[-1])}
    assert found == {("1", "second"), ("2", "third")}


def test_text_is_the_same_every_time(experiment):
    folder, splits, predictions, _, _ = experiment
    reverse = dict(reversed(predictions.items()))
    files = (
        scored(folder, splits, predictions, "first"),
        scored(folder, splits, reverse, "second"),
    )
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert not list(folder.glob("*.part"))


def test_timings_of_all_stages_are_in_one_row(experiment):
    folder, splits, predictions, seconds, _ = experiment
    output = folder / "timings.csv"
    run_timings(splits, predictions, seconds, output, "small", "data")
    rows = rows_of(output)
    assert list(rows[0]) == list(TIMINGS)
    assert len(rows) == 8
    for row in rows:
        split = int(row["split"])
        assert float(row["selection_seconds"]) == split + 1.0
        assert float(row["preimage_seconds"]) == split + 0.5
        assert row["prediction_seconds"] == ""


STACK = "n-15_w-0_C-selected"


@pytest.fixture
def studied(experiment):
    """The same with one method, whose predictions are of a study of weak labels and of a stack."""
    folder, splits, predictions, _, _ = experiment
    names = ["", "weak_noise=0.5", "weak_weight=10", "weak_weight=2"]
    items = {
        f"n-10_w-5_C-selected_{name}": {
            "outputs": np.ones((10, 3)),
            "training_size": 10,
            "weak_size": 5,
            "components": "selected",
            "setting": name,
            "projected": name == "",
        }
        for name in names
    }
    stack = {
        "outputs": np.ones((10, 3)),
        "training_size": 15,
        "weak_size": 0,
        "components": "selected",
        "weight_m-krr": 0.7,
        "weight_ofer-gmm": 0.1 + 0.2,
    }
    paths = {"w": [folder / f"w-{split}.h5" for split in range(2)]}
    stages = [folder / f"w-{split}.json" for split in range(2)]
    for path, stage in zip(paths["w"], stages, strict=True):
        write_artifact(path, items | {STACK: stack}, "predictions")
        stage.write_text(json.dumps({name: {"fit_seconds": 1.0} for name in [*items, STACK]}))
    return folder, splits, paths, {"w": stages}


def test_settings_of_studies_are_a_part_of_the_key(studied):
    folder, splits, predictions, seconds = studied
    scores, _, coordinates = scored(folder, splits, predictions)
    run_timings(splits, predictions, seconds, folder / "t.csv", "small", "data")
    # By study and value, and only then by split: 2 comes before 10.
    order = ["", "weak_noise=0.5", "weak_weight=2", "weak_weight=10"]
    of_study = [
        row for row in rows_of(scores) if row["weak_size"] == "5" and row["quantity"] == "arrmse"
    ]
    assert [row["setting"] for row in of_study] == [name for name in order for _ in range(2)]
    assert [row["split"] for row in of_study] == ["0", "1"] * 4
    for path in (coordinates, folder / "t.csv"):
        found = [row["setting"] for row in rows_of(path) if row["weak_size"] == "5"]
        assert list(dict.fromkeys(found)) == order
    # Stages of methods without studies write no setting.
    assert {row["setting"] for row in rows_of(scores) if row["weak_size"] == "0"} == {""}


def test_each_weight_of_a_stack_is_a_choice(studied):
    folder, splits, predictions, _ = studied
    rows = rows_of(scored(folder, splits, predictions)[1])
    weights = {row["name"]: row["value"] for row in rows if row["training_size"] == "15"}
    assert weights["weight_m-krr"] == "0.7"
    assert float(weights["weight_ofer-gmm"]) == 0.1 + 0.2
    projected = {row["setting"]: row["value"] for row in rows if row["name"] == "projected"}
    assert (projected[""], projected["weak_noise=0.5"]) == ("1", "0")


def test_paths_are_assigned_by_method():
    assert by_method(["a", "b"], [1, 2, 3, 4]) == {"a": [1, 2], "b": [3, 4]}


def test_numbers_keep_all_their_digits(tmp_path):
    row = {"method": "a", "components": "4", "training_size": 1, "weak_size": 0, "split": 0}
    values = {"x": np.float64(0.1) + 0.2, "y": np.int64(3), "z": True}
    write_rows(tmp_path / "rows.csv", [*row, *values], [row | values])
    found = rows_of(tmp_path / "rows.csv")[0]
    assert float(found["x"]) == 0.1 + 0.2
    assert (found["y"], found["z"]) == ("3", "1")


def scores_of_classes(tmp_path, test, positive_class=None):
    """Return the paths of the three files of a fit to three classes."""
    labels = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    vectors = np.eye(3)
    tree = {
        "inputs": np.zeros((10, 2)),
        "outputs": vectors[labels],
        "classes": {"labels": labels, "vectors": vectors},
        "names": {"classes": json.dumps(["ant", "bee", "cow"])},
    }
    write_artifact(tmp_path / "dataset.h5", tree, "dataset")
    partition = {
        "train": np.arange(3),
        "weak": np.arange(0),
        "test": test,
        "sizes": np.array([3]),
        "examples": np.array([1]),
    }
    write_artifact(tmp_path / "split.h5", partition, "split")
    classes = np.array([0, 1, 1, 0, 2, 2, 1])[: len(test)]
    item = {
        "outputs": np.zeros((len(test), 3)),
        "classes": classes,
        "class_scores": np.eye(3)[classes] + 0.1 * labels[test, None],
        "training_size": 3,
        "weak_size": 0,
        "components": "selected",
        "cost": 10.0,
    }
    write_artifact(tmp_path / "p.h5", {"n-3_w-0_C-selected": item}, "predictions")
    files = {"m": [tmp_path / "p.h5"]}
    return scored(tmp_path, [tmp_path / "split.h5"], files, of=("e", "d", positive_class))


def test_the_ranking_of_one_class_may_be_measured(tmp_path):
    test = np.arange(3, 10)
    found = {
        name: {
            row["quantity"]: row["value"]
            for row in rows_of(scores_of_classes(tmp_path, test, name)[0])
        }
        for name in ("ant", "bee", "cow")
    }
    # One of two cows is before the others, and one of the five others is before a cow.
    assert float(found["cow"]["auc"]) == pytest.approx((1 + 1 / 2 - 1 / 5) / 2)
    assert len({row["auc"] for row in found.values()}) == 3
    with pytest.raises(UserError, match="dataset d, key positive_class: there is no"):
        scores_of_classes(tmp_path, test, "ants")


def test_classes_have_an_accuracy_and_sizes_per_class(tmp_path):
    outputs = scores_of_classes(tmp_path, np.arange(3, 10))
    row, *ranked = rows_of(outputs[0])
    assert row["quantity"] == "accuracy"
    assert float(row["value"]) == pytest.approx(4 / 7)
    assert (row["training_size"], row["n_train"], row["n_test"]) == ("1", "3", "7")
    (choice,) = rows_of(outputs[1])
    assert (choice["name"], choice["value"]) == ("cost", "10.0")
    errors = {row["name"]: float(row["error"]) for row in rows_of(outputs[2])}
    assert errors == pytest.approx({"ant": 1 / 3, "bee": 1 / 2, "cow": 1 / 2})
    # Shares of the rows of the class and of the others that are predicted to be of it.
    rates = {"ant": (2 / 3, 0), "bee": (1 / 2, 2 / 5), "cow": (1 / 2, 1 / 5)}
    expected = {
        "auc": np.mean([(1 + hit - false) / 2 for hit, false in rates.values()]),
        "median_rfp": np.mean([0, (2 / 5 + 1) / 2, (1 / 5 + 1) / 2]),
        "equal_error_rate": np.mean([1 / 4, 5 / 11, 5 / 13]),
    }
    found = {row["quantity"]: float(row["value"]) for row in ranked}
    assert found == pytest.approx(expected | {"roc50": expected["auc"]})


@pytest.mark.parametrize("rows", [[3], [3, 6]])
def test_test_rows_of_one_class_are_not_ranked(tmp_path, rows):
    (row,) = rows_of(scores_of_classes(tmp_path, np.array(rows))[0])
    assert (row["quantity"], row["n_test"]) == ("accuracy", str(len(rows)))


def test_leave_one_out_is_compared_with_the_most_frequent_class_of_all_rows(tmp_path):
    labels = np.array([0, 1] * 4)
    vectors = np.eye(2)
    tree = {
        "inputs": np.zeros((8, 2)),
        "outputs": vectors[labels],
        "classes": {"labels": labels, "vectors": vectors},
        "names": {"classes": json.dumps(["ant", "bee"])},
    }
    write_artifact(tmp_path / "dataset.h5", tree, "dataset")
    splits, predictions = [], []
    for fold in range(8):
        splits.append(tmp_path / f"split-{fold}.h5")
        run_split(
            tmp_path / "dataset.h5",
            splits[-1],
            ["all"],
            [],
            0.4,
            3,
            fold,
            "e",
            "k_fold",
            outer_folds=8,
            fold=(0, fold),
            partition_seeds=[5],
        )
        item = {"outputs": np.zeros((1, 2)), "classes": np.array([0]), "training_size": 7}
        item |= {"weak_size": 0, "components": "selected"}
        predictions.append(tmp_path / f"p-{fold}.h5")
        write_artifact(predictions[-1], {"n-7_w-0_C-selected": item}, "predictions")
    outputs = [tmp_path / f"{name}.csv" for name in ("scores", "choices", "coordinates")]
    run_scores(tmp_path / "dataset.h5", splits, {"m": predictions}, *outputs, "e", "d")
    rows = rows_of(outputs[0])
    assert {(row["n_train"], row["n_test"]) for row in rows} == {("7", "1")}
    for name in ("accuracy", "guess_accuracy"):
        values = [float(row["value"]) for row in rows if row["quantity"] == name]
        # The most frequent class of the training rows would be wrong in every split.
        assert len(values) == 8 and np.mean(values) == 0.5
