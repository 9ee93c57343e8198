"""The figures of an answer show the scores, the calibration and the answer."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from report_samples import (
    CLASS_METHODS,
    METHODS,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    names_of_lines,
    write_accuracies,
    write_calibration,
    write_choices,
    write_scores,
)

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report import leaderboard
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures import answer

LONG = "concentration of cadmium in the upper twenty centimetres of soil"
ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]


def write_answer(folder, scores, rows, methods, metric):
    paths = folder / "answer.json", folder / "with-seconds.json"
    choices = write_choices(folder / "choices.csv", rows)
    leaderboard.run(scores, choices, [], methods, {"metric": metric}, 5, *paths)
    return json.loads(paths[0].read_text())


@pytest.fixture
def numbers(tmp_path):
    scores = write_scores(tmp_path / "scores.csv", ROWS)
    return read_scores(scores), write_answer(tmp_path, scores, ROWS, METHODS, "arrmse")


@pytest.fixture
def accuracies(tmp_path):
    rows = [
        ("class-krr", "selected", 0, base_accuracy),
        ("ofer-semantic", "selected", 0, better_accuracy),
    ]
    scores = write_accuracies(tmp_path / "scores.csv", rows)
    return read_scores(scores), write_answer(tmp_path, scores, rows, CLASS_METHODS, "accuracy")


def test_the_files_hold_what_is_drawn(tmp_path, numbers):
    calibration, dataset = write_calibration(tmp_path, names=["short", LONG])
    files = {
        name: {suffix: tmp_path / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")}
        for name in ("methods", "outputs", "curve")
    }
    paths = tmp_path / "scores.csv", tmp_path / "answer.json", calibration, dataset
    answer.run(*paths, METHODS, "arrmse", files)
    first = {path: path.read_bytes() for each in files.values() for path in each.values()}
    answer.run(*paths, METHODS, "arrmse", files)
    assert first == {path: path.read_bytes() for path in first}
    points = pd.read_csv(files["methods"]["csv"])
    for row in numbers[1]["leaderboard"]:
        values = points.loc[points["method"] == row["method"], "value"]
        assert values.mean() == pytest.approx(row["mean"])
        assert values.std() == pytest.approx(row["deviation"])
    tested = pd.read_csv(files["outputs"]["csv"])
    truth = np.concatenate(
        [read_artifact(calibration, "calibration")[f"split-{k}"]["truth"] for k in range(3)]
    )
    assert sorted(tested["truth"]) == pytest.approx(sorted(truth[~np.isnan(truth)]))
    assert set(tested["output"]) == {"short", LONG}


def test_the_best_method_is_the_first_row_and_none_leaves_the_axis(numbers):
    points = answer.method_points(*numbers, "arrmse")
    points.loc[points["method"] == "m-krr", "value"] = 40.0
    figure = answer.draw_methods(points, numbers[1], METHODS, "arrmse")
    (axis,) = figure.axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["OFER-GMM", "m-KRR"]
    low, high = axis.get_xlim()
    assert high < 40.0
    figure.draw_without_rendering()
    for line in axis.lines:
        assert all(low <= place <= high for place in np.atleast_1d(line.get_xdata())), line
    assert "40.000 \u00b1 0.000" in [text.get_text() for text in axis.texts]


def test_the_learning_curve_has_the_winner_the_reference_and_no_other(numbers):
    points = answer.curve_points(*numbers, "arrmse")
    assert set(points["method"]) == {"ofer-gmm", "m-krr"}
    for size, rows in points[points["method"] == "ofer-gmm"].groupby("training_size"):
        splits = numbers[0][
            (numbers[0]["method"] == "ofer-gmm")
            & (numbers[0]["training_size"] == size)
            & (numbers[0]["quantity"] == "arrmse")
        ]["value"]
        expected = mean_and_deviation(list(splits))
        assert rows[["mean", "deviation"]].iloc[0].tolist() == pytest.approx(expected)
    figure = answer.draw_curve(points, numbers[1], METHODS, "arrmse")
    assert {"OFER-GMM", "m-KRR"} <= set(names_of_lines(figure.axes[0]))


def test_the_easiest_and_the_hardest_output_are_drawn_in_this_order(tmp_path, numbers):
    calibration, dataset = write_calibration(tmp_path, n_outputs=5, names=[*"abcd", LONG])
    tree, data = read_artifact(calibration, "calibration"), read_artifact(dataset, "dataset")
    figure, points = answer.draw_outputs(tree, data, numbers[1], calibration)
    errors = [
        np.mean(
            [
                np.sqrt(tree[f"split-{k}"]["errors"][i] / tree[f"split-{k}"]["reference"][i])
                for k in range(3)
            ]
        )
        for i in range(5)
    ]
    names = [*"abcd", LONG]
    expected = [names[int(np.argmin(errors))], names[int(np.argmax(errors))]]
    assert list(dict.fromkeys(points["output"])) == expected
    assert len(figure.axes) == 2


def test_classes_are_bars_from_the_easiest_to_the_hardest(accuracies):
    scores, found = accuracies
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    tree = {
        "split-0": {"true_classes": labels, "predicted_classes": np.array([0, 1, 1, 1] + [1] * 4)}
    }
    dataset = {"classes": {}, "names": {"classes": json.dumps(["a class with $", LONG])}}
    figure, shares = answer.draw_outputs(tree, dataset, found, "calibration.h5")
    assert shares["class"].tolist() == [LONG, "a class with $"]
    assert shares["right_percent"].tolist() == [100.0, 25.0]
    assert shares["test_rows"].tolist() == [4, 4]
    (axis,) = figure.axes
    wrong = [bar.get_width() for bar in axis.patches if bar.get_facecolor()[3] < 1]
    assert wrong == [0.0, 75.0]
    figure.draw_without_rendering()
    points = answer.method_points(scores, found, "accuracy")
    for row in found["leaderboard"]:
        values = points.loc[points["method"] == row["method"], "value"]
        assert values.mean() == pytest.approx(row["mean"])
