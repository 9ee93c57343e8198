"""The figures of an answer show the scores, the calibration and the answer."""

import json

import numpy as np
import pandas as pd
import pytest
from each_case import each_case, in_turn
from overlaps import overlaps
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

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.figure_words import in_words, words_of
from workflow_lib.report.figures.predicted_true import OutputPanel, draw_panels
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures import answer
from workflow_lib.report.style import short_names
from workflow_lib.table import leaderboard

LONG = "concentration of cadmium in the upper twenty centimetres of soil"
NAN, INF = np.nan, np.inf

BY_SPLIT = {
    "two splits far apart": [[0.1, 5.0], [0.3, 0.4], [0.2, 3.0]],
    "bars longer than all that is between the splits": [[0.1, 1.0], [0.3, 1.2], [0.6, 0.9]],
    "many methods": np.random.default_rng(0).random((20, 3)),
    "one method": [[0.5, 0.5]],
    "one split": [[0.5]],
    "equal": [[0.5, 0.5]] * 4,
    "tiny": 1e-9 * np.random.default_rng(1).random((4, 3)),
    "huge": [[0.5, 0.6], [1e9, 2e9], [0.7, 1e6]],
    "unknown": [[NAN, NAN], [0.5, INF], [0.7, 0.8]],
}
"""What is hard to draw -> errors of methods (rows) in splits, drawn as other quantities as well."""

SHOWN_AS = {
    "arrmse": np.array,
    "accuracy": lambda errors: 100 * np.clip(1 - np.array(errors), 0, 1),
    "correlation": lambda errors: np.clip(1 - 2 * np.array(errors), -1, 1),
}

CURVES = {
    "two splits far apart": ([10, 20], [[2.5, 0.7], [1.6, 0.4]], [[3.4, 0.1], [1.9, 0.1]]),
    "one size": ([20], [[0.5], [0.5]], [[NAN], [0.1]]),
    "near sizes": ([97, 98, 99, 100, 101], [[0.5, 0.4, 0.3, 0.2, 0.1]], [[0.1] * 5]),
    "many sizes": ([10, 12, 15, 20, 25, 30, 40, 80, 1000, 2000], [[0.5] * 10], [[0.1] * 10]),
    "tiny and equal": ([10, 20], [[1e-9] * 2] * 2, [[0.0] * 2] * 2),
    "huge": ([10, 20, 50], [[0.5, 0.4, 0.3], [1e9, 1e12, 0.7]], [[0.1] * 3, [1e9, 1e12, 0.1]]),
    "unknown": ([10, 20], [[0.5, NAN], [NAN, NAN]], [[NAN, NAN], [NAN, NAN]]),
}
"""What is hard to draw -> training sizes, means and deviations of the winner and the reference."""

SAMPLE = np.random.default_rng(2).normal(size=60)

OUTPUTS = {
    "numbers": [(SAMPLE, SAMPLE**3, 0.5, 0.5), (SAMPLE, SAMPLE, 0.0, 1.0)],
    "one output": [(SAMPLE, SAMPLE, 0.0, 1.0)],
    "constant": [(0 * SAMPLE + 3, SAMPLE, NAN, NAN), (SAMPLE, SAMPLE, 0.0, 1.0)],
    "no test row": [(SAMPLE[:0], SAMPLE[:0], NAN, NAN)],
    "tiny": [(1e-9 * SAMPLE, 0 * SAMPLE, 1.0, 0.0), (5 + 1e-12 * SAMPLE, 0 * SAMPLE, 1e6, -1e12)],
    "huge": [(1e15 * SAMPLE, 1e20 * SAMPLE, 1e6, -1e12), (1e9 + SAMPLE, 1e9 + SAMPLE, 0.1, 1.0)],
}
"""What is hard to draw -> truth, predictions, relative error and R^2 of outputs."""

ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]


def write_answer(folder, scores, rows, methods, metric):
    paths = folder / "answer.json", folder / "with-seconds.json"
    choices = write_choices(folder / "choices.csv", rows)
    leaderboard.run(scores, choices, [], methods, {"metric": metric}, 5, *paths)
    return json.loads(paths[0].read_text())


def files_in(folder):
    return {
        name: {suffix: folder / f"{name}.{suffix}" for suffix in ("svg", "png", "csv")}
        for name in ("methods", "outputs", "curve", "calibration")
    }


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
    files = files_in(tmp_path)
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


def test_the_calibration_of_classes_is_that_of_their_probabilities(tmp_path, accuracies):
    random, numbers = np.random.default_rng(0), np.arange(40)
    true, predicted = random.integers(0, 2, (2, 40))
    split = {"rows": numbers, "certainty": random.uniform(0.5, 1, 40)}
    split |= {"true_classes": true, "predicted_classes": predicted}
    names = {"classes": json.dumps(["one", "two"])}
    calibration, dataset = tmp_path / "calibration.h5", tmp_path / "dataset.h5"
    write_artifact(calibration, {"split-0": split}, "calibration")
    write_artifact(dataset, {"classes": {"labels": true}, "names": names}, "dataset")
    files = files_in(tmp_path)
    paths = tmp_path / "scores.csv", tmp_path / "answer.json", calibration, dataset
    answer.run(*paths, CLASS_METHODS, "accuracy", files)
    assert "Right of rows at a predicted probability" in words_of(files["calibration"]["svg"])
    assert len(pd.read_csv(files["calibration"]["csv"])) > 2


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
        assert all(low <= location <= high for location in np.atleast_1d(line.get_xdata())), line
    assert "40.000 \u00b1 0.000" in [text.get_text() for text in axis.texts]


def test_the_learning_curve_has_the_winner_the_reference_and_no_other(numbers):
    points = answer.curve_points(*numbers, "arrmse")
    assert set(points["method"]) == {"ofer-gmm", "m-krr"}
    for size, rows in points[points["method"] == "ofer-gmm"].groupby("training_size"):
        expected = mean_and_deviation([better_error(size, split) for split in range(5)])
        assert rows[["mean", "deviation"]].iloc[0].tolist() == pytest.approx(expected)
    figure = answer.draw_curve(points, numbers[1], METHODS, "arrmse")
    assert {"OFER-GMM", "m-KRR"} <= set(names_of_lines(figure.axes[0]))


@each_case("n_outputs", [5, 8])
def test_of_many_outputs_those_from_the_easiest_to_the_hardest_are_drawn(
    n_outputs, tmp_path, numbers
):
    names = [*"abcdefg"[: n_outputs - 1], LONG]
    calibration, dataset = write_calibration(tmp_path, n_outputs=n_outputs, names=names)
    tree, data = read_artifact(calibration, "calibration"), read_artifact(dataset, "dataset")
    figure, points = answer.draw_outputs(tree, data, numbers[1], calibration)
    splits = [tree[f"split-{k}"] for k in range(3)]
    errors = np.mean([np.sqrt(each["errors"] / each["reference"]) for each in splits], axis=0)
    drawn = list(dict.fromkeys(points["output"]))
    if n_outputs == 5:
        assert drawn == names
    else:
        ordered = [names[index] for index in np.argsort(errors)]
        assert (drawn[0], drawn[-1]) == (ordered[0], ordered[-1])
        assert drawn == [name for name in ordered if name in drawn]
    assert len(figure.axes) == len(drawn) == min(n_outputs, answer.MAX_OUTPUTS)
    assert LONG in in_words(figure) or LONG not in drawn


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


@each_case(("case", "metric"), in_turn([*BY_SPLIT, *BY_SPLIT], [*SHOWN_AS, "arrmse"]))
def test_no_name_or_number_of_the_methods_is_crossed(case, metric):
    values = SHOWN_AS[metric](BY_SPLIT[case])
    labels = [f"{LONG} {index}" for index in range(len(values))]
    points = pd.DataFrame(
        [
            (f"m-{index}", labels[index], split, value)
            for (index, split), value in np.ndenumerate(values)
        ],
        columns=["method", "label", "split", "value"],
    )
    found = {"metric": metric, "training_size": 20, "n_splits": values.shape[1]}
    for baseline in (None, {"label": "training mean", "mean": float(SHOWN_AS[metric](1.0))}):
        figure = answer.draw_methods(points, found | {"baseline": baseline}, {}, metric)
        assert overlaps(figure) == []


def test_what_lies_beyond_the_axis_of_the_methods_is_a_triangle_at_its_edge():
    points = pd.DataFrame(
        [("a", "a", 0, 0.1), ("a", "a", 1, 9.0), ("b", "b", 0, 0.5), ("b", "b", 1, 0.7)],
        columns=["method", "label", "split", "value"],
    )
    found = {"metric": "arrmse", "training_size": 20, "n_splits": 2}
    figure = answer.draw_methods(points, found, {}, "arrmse")
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    beyond = [
        (line.get_marker(), *line.get_xdata())
        for line in axis.lines
        if line.get_marker() in ("<", ">") and len(line.get_xdata())
    ]
    # The split 9.0, and the mean and both ends of the bar 4.55 +- 6.29.
    assert [mark for mark, _ in sorted(beyond)] == ["<", ">", ">", ">"]
    assert [at for _, at in sorted(beyond)] == pytest.approx([low, high, high, high])
    assert high < 9.0 and low <= 0.0
    assert "triangles: beyond the axis" in figure._suptitle.get_text()


@each_case(("case", "metric"), in_turn(CURVES, ["arrmse", "accuracy"]))
def test_no_name_or_number_of_the_learning_curves_is_crossed(case, metric):
    sizes, means, deviations = CURVES[case]
    percent = 100 if metric == "accuracy" else 1
    labels = [f"{LONG} {index}" for index in range(len(means))]
    points = pd.DataFrame(
        [
            (f"m-{index}", labels[index], size, percent * mean, percent * deviation)
            for index in range(len(means))
            for size, mean, deviation in zip(sizes, means[index], deviations[index], strict=True)
        ],
        columns=["method", "label", "training_size", "mean", "deviation"],
    )
    found = {"winner": "m-0", "baseline": {"label": "training mean", "mean": percent}}
    methods = {f"m-{index}": {"label": label} for index, label in enumerate(labels)}
    assert overlaps(answer.draw_curve(points, found, methods, metric)) == []


@each_case(("case", "name"), in_turn(OUTPUTS, [LONG, "w" * 90]))
def test_no_name_or_number_of_the_outputs_is_crossed(case, name):
    panels = [
        OutputPanel(name, truth, predicted, predicted > 1, None, *errors)
        for truth, predicted, *errors in OUTPUTS[case]
    ]
    title = f"{LONG}: predicted against true\nOutput with the lowest and the highest error of 13"
    assert overlaps(draw_panels(panels, 0.9, title, answer.WIDTH)) == []


@each_case(
    ("name", "n_classes"), [("{}", 30), (LONG + " {}", 2), (LONG + " {}", 30), ("w" * 60 + "{}", 2)]
)
def test_no_name_or_number_of_the_classes_is_crossed(name, n_classes):
    names = [name.format(index) for index in range(n_classes)]
    truth = np.repeat(np.arange(n_classes), 4)
    split = {"true_classes": truth, "predicted_classes": truth[::-1]}
    dataset = {"classes": {}, "names": {"classes": json.dumps(names)}}
    figure, _ = answer.draw_outputs({"split-0": split}, dataset, {"label": LONG}, "calibration.h5")
    shown = {label.get_text() for label in figure.axes[0].get_yticklabels()}
    assert len(shown) == min(n_classes, answer.MAX_CLASSES)
    assert overlaps(figure) == []


METALS = [f"concentration of {metal} in the upper twenty centimetres" for metal in ("lead", "tin")]


@each_case(
    "names",
    [
        [*METALS, METALS[0] + " of soil"],
        [f"{'a' * 40}{'b' * n}{'a' * 40}" for n in (1, 2, 3)],
        ["a" * n for n in (30, 31, 300)],
        ["$" * 30, "$" * 31, "short", "short_"],
    ],
)
def test_names_that_begin_and_end_alike_stay_different_in_figures(names):
    for letters in (12, 18, 26):
        short = short_names([*names, names[0]], letters)
        assert len(set(short)) == len(names) and short[-1] == short[0]
        assert max(len(name.replace(r"\$", "$")) for name in short) <= letters
    assert all(metal in "".join(short_names(METALS, 26)) for metal in ("lead", "tin"))


def test_every_figure_of_an_answer_names_what_it_shows(tmp_path, numbers):
    data = write_calibration(tmp_path, n_outputs=2, names=METALS)
    tree, dataset = read_artifact(data[0], "calibration"), read_artifact(data[1], "dataset")
    points = answer.method_points(*numbers, "arrmse").replace({"label": {"m-KRR": METALS[0]}})
    methods = answer.draw_methods(
        points.replace({"label": {"OFER-GMM": METALS[1]}}), numbers[1], METHODS, "arrmse"
    )
    split = {"true_classes": np.arange(2), "predicted_classes": np.arange(2)}
    of_classes = {"classes": {}, "names": {"classes": json.dumps(METALS)}}
    outputs, _ = answer.draw_outputs(tree, dataset, numbers[1], "calibration.h5")
    figures = [
        methods,
        answer.draw_outputs({"split-0": split}, of_classes, numbers[1], "calibration.h5")[0],
        outputs,
        answer.calibrated.draw(tree, METALS, "Method"),
    ]
    for figure in figures:
        axes = figure.axes
        shown = [axis.get_title(loc="left") or axis.get_title() for axis in axes]
        shown += [label.get_text() for label in axes[0].get_yticklabels()]
        text = " ".join("".join(shown).split())
        assert "lead" in text and "tin" in text
        assert all(name in in_words(figure) for name in METALS)
