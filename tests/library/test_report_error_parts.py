"""Training errors: what is measured, what is drawn, and the one sentence that is made of it."""

import csv
import json
import math

import numpy as np
import pytest
from report_samples import METHODS, NOISE, add_training_rows, base_error, write_scores
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import CROSS_VALIDATED, TRAINING
from workflow_lib.protocol import evaluation
from workflow_lib.report.figures.training_error import draw
from workflow_lib.report.quantities import errors_of
from workflow_lib.report.results import read_scores
from workflow_lib.table.error_parts import error_parts, error_parts_sentence


def test_a_fit_has_the_errors_of_its_own_rows(tmp_path):
    X, Y = regression_data(60)
    stages = Stages(tmp_path, X, Y, kind=None).all()
    item = stages.tree("regression")["n-30_w-0_C-selected"]
    names = {"outputs": json.dumps(["a", "b", "c"])}
    write_artifact(stages.path("dataset"), {**stages.tree("dataset"), "names": names}, "dataset")
    path = tmp_path / "scores.csv"
    evaluation.run_scores(
        stages.path("dataset"),
        [stages.path("split")],
        {"m-krr": [stages.path("predictions")]},
        path,
        *(tmp_path / "choices.csv", tmp_path / "coordinates.csv"),
        *("toy", "toy"),
    )
    with open(path, newline="") as file:
        found = {
            row["quantity"]: float(row["value"])
            for row in csv.DictReader(file)
            if row["training_size"] == "30"
        }
    outputs = Y[stages.tree("split")["train"][:30]]
    errors = ((outputs - item["training_targets"]) ** 2).sum(axis=0)
    mean_errors = ((outputs - outputs.mean(axis=0)) ** 2).sum(axis=0)
    assert found[f"{TRAINING}arrmse"] == pytest.approx(np.sqrt(errors / mean_errors).mean())
    assert found[f"{CROSS_VALIDATED}arrmse"] == pytest.approx(item["score"])
    scores = read_scores(path)
    assert set(errors_of(scores, "arrmse")["quantity"]) == {"arrmse"}


def falling(size, split):
    return (0.9 if size == 20 else 0.5) * (1 + NOISE[split])


@pytest.mark.parametrize(
    ("error", "factor", "folds", "expected"),
    [
        (base_error, 0.8, 1.0, "at most 20 % of the error is estimation error"),
        (base_error, 0.8, 1.0, "richer features promise more than more rows."),
        (falling, 0.4, 1.0, "As the error still falls, more rows promise more"),
        (falling, 0.55, 1.0, "Which of both would help more is open."),
        (falling, 0.05, 1.0, "it nearly repeats its training rows"),
        (falling, 1.1, 1.0, "no estimation error is seen"),
        (falling, 0.8, 0.9, "10 % of the error is not seen in cross-validation"),
    ],
)
def test_what_the_sentence_says(tmp_path, error, factor, folds, expected):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, error)])
    scores = read_scores(add_training_rows(path, factor, folds))
    parts = error_parts(scores, METHODS, "arrmse")
    assert parts.training == pytest.approx(factor * parts.test)
    sentence = error_parts_sentence(parts, "arrmse")
    assert sentence.startswith("The relative error of m-KRR is ") and sentence.endswith(".")
    assert expected in sentence
    assert ("not seen in cross-validation" in sentence) == (folds < 1)


def test_without_errors_of_training_rows_there_is_no_sentence(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    assert error_parts(read_scores(path), METHODS, "arrmse") is None
    with pytest.raises(UserError, match="no method has an error of its training rows"):
        draw(path, title="Toy", shown_methods=METHODS, metric="arrmse")


def test_the_figure_shows_both_errors_in_equal_limits(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    add_training_rows(path, 0.5)
    figure = draw(path, title="Toy", shown_methods=METHODS, metric="arrmse")
    test, training = (axis.containers[0].lines[0].get_ydata() for axis in figure.axes[:2])
    np.testing.assert_allclose(training, 0.5 * np.asarray(test))
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    assert math.isfinite(figure.axes[0].get_ylim()[0])


def test_methods_that_repeat_their_training_outputs_are_named_and_stretch_no_axis(tmp_path):
    rows = [(name, "selected", 0, base_error) for name in ("m-krr", "m-rf")]
    path = write_scores(tmp_path / "scores.csv", rows)
    add_training_rows(path, 0.5)
    lines = path.read_text().splitlines()
    repeats = [i for i, line in enumerate(lines) if "m-rf" in line and TRAINING in line]
    for index in repeats:
        lines[index] = ",".join([*lines[index].split(",")[:-1], "1e-15"])
    path.write_text("\n".join(lines) + "\n")
    figure = draw(path, title="Toy", shown_methods=METHODS, metric="arrmse")
    assert figure.axes[1].get_title("left") == f"training rows (0: {METHODS['m-rf']['label']})"
    assert figure.axes[0].get_ylim()[0] > 1e-3
    assert len(figure.axes[1].containers) == 1
