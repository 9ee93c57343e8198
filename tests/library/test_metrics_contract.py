"""Properties of every metric of the configuration, as written to the file of scores.

A new metric needs its formula here in `FORMULAS`, and an entry in the lists below it.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score
from small_data import clustered_outputs

from workflow_lib.artifacts import write_artifact
from workflow_lib.error_measures import BOX_MEASURES, CLASS_MEASURES, ERROR_MEASURES, TOP_MEASURES
from workflow_lib.experiments.evaluation import run_scores
from workflow_lib.metrics import METRICS, relative_error, squared_error_sums, training_mean_errors

OF_NUMBERS = tuple(ERROR_MEASURES)
NAMES = (*OF_NUMBERS, *BOX_MEASURES, *CLASS_MEASURES)
SCORES = ("correlation", "overlap", "recall_at_half", "accuracy", "auc", "roc50", *TOP_MEASURES)
ERRORS = [name for name in OF_NUMBERS if name not in SCORES]


LOSSES = {
    "path_length": np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 3.0], [3.0, 3.0, 0.0]]),
    "class_cost": np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 0.5], [1.0, 7.0, 0.0]]),
}


class Rows(NamedTuple):
    """True and predicted outputs (n, d) of test rows, or classes (n,); then those of training."""

    truth: np.ndarray
    predictions: np.ndarray
    train: np.ndarray


def classes_of(name: str) -> int:
    """Return a number of classes; a recall among the first needs more classes than it returns."""
    return 7 if name in TOP_MEASURES else 3


def sample(name: str) -> Rows:
    random = np.random.default_rng(1)
    if name in CLASS_MEASURES:
        n_classes = classes_of(name)
        return Rows(*random.integers(0, n_classes, size=(2, 12)), np.arange(20) % n_classes)
    if name in BOX_MEASURES:
        corners, sides = random.normal(size=(32, 2)), random.uniform(2, 4, size=(32, 2))
        boxes = np.concatenate([corners, corners + sides], axis=1)
        near = boxes[:12] + random.normal(scale=0.6, size=(12, 4))
        return Rows(boxes[:12], near, boxes[12:])
    truth = clustered_outputs(12)
    return Rows(truth, truth + random.normal(size=truth.shape), clustered_outputs(20, seed=5))


@pytest.fixture
def score(tmp_path):
    """Return the function that gives the value of a metric in the file of scores."""

    def score(name: str, rows: Rows) -> float:
        everything = np.concatenate([rows.truth, rows.train])
        n_test, n_rows = len(rows.truth), len(everything)
        tree = {"inputs": np.zeros((n_rows, 1)), "outputs": everything}
        item = {"training_size": n_rows - n_test, "weak_size": 0, "components": "selected"}
        if name in CLASS_MEASURES:
            vectors = np.eye(classes_of(name))
            names = [*"abcdefg"[: len(vectors)]]
            tree |= {"outputs": vectors[everything], "names": {"classes": json.dumps(names)}}
            tree["classes"] = {"labels": everything, "vectors": vectors}
            if len(vectors) == 3:
                tree["classes"]["losses"] = LOSSES
            scores = vectors[rows.predictions]
            item |= {"outputs": scores, "class_scores": scores, "classes": rows.predictions}
        else:
            columns = [f"y{column}" for column in range(everything.shape[1])]
            tree["names"] = {"outputs": json.dumps(columns)}
            item["outputs"] = rows.predictions
            if name in BOX_MEASURES:
                tree["boxes"] = {"sizes": np.full((n_rows, 2), 9)}
        write_artifact(tmp_path / "d.h5", tree, "dataset", allow_nan=("outputs",))
        split = {"test": np.arange(n_test), "train": np.arange(n_test, n_rows)}
        write_artifact(tmp_path / "s.h5", split, "split")
        write_artifact(tmp_path / "p.h5", {"item": item}, "predictions")
        files = tmp_path / "d.h5", [tmp_path / "s.h5"], {"m": [tmp_path / "p.h5"]}
        outputs = [tmp_path / f"{name}.csv" for name in ("scores", "choices", "coordinates")]
        run_scores(*files, *outputs, "e", "d")
        rows = csv.DictReader(Path(outputs[0]).read_text().splitlines())
        return {row["quantity"]: float(row["value"]) for row in rows}[name]

    return score


def squares(rows: Rows) -> tuple[list[float], list[float], list[float]]:
    """Return the sums over observed rows of (y - p)^2, (y - training mean)^2 and y^2 by output."""
    sums = []
    for column in range(rows.truth.shape[1]):
        mean = np.nanmean(rows.train[:, column])
        known = [
            (y, p)
            for y, p in zip(rows.truth[:, column], rows.predictions[:, column], strict=True)
            if not np.isnan(y)
        ]
        sums.append(
            [
                sum((y - p) ** 2 for y, p in known),
                sum((y - mean) ** 2 for y, _ in known),
                sum(y**2 for y, _ in known),
            ]
        )
    return tuple(zip(*sums, strict=True))


def ratios(rows: Rows) -> list[float]:
    errors, of_mean, _ = squares(rows)
    return [error / base for error, base in zip(errors, of_mean, strict=True)]


def rates(rows: Rows) -> list[tuple[float, float]]:
    """Return the shares of the rows of each class, and of all others, predicted to be of it.

    They are the one point between the ends of the ROC curve of predictions without scores.
    """
    return [
        (np.mean(rows.predictions[is_class] == k), np.mean(rows.predictions[~is_class] == k))
        for k, is_class in ((k, rows.truth == k) for k in np.unique(rows.truth))
    ]


def mean_loss(name: str, rows: Rows) -> float:
    pairs = zip(rows.truth, rows.predictions, strict=True)
    return np.mean([LOSSES[name][true, found] for true, found in pairs])


def mean_recall(k: int, rows: Rows) -> float:
    """Return the recall of one class that is predicted and others that are drawn."""
    drawn = (k - 1) / (classes_of(f"top_{k}") - 1)
    return np.mean(np.where(rows.predictions == rows.truth, 1.0, drawn))


def box_overlaps(rows: Rows) -> list[float]:
    """Return the shares of the union of each pair of boxes that both hold."""
    found = []
    for box, other in zip(rows.truth, rows.predictions, strict=True):
        sides = [min(box[k + 2], other[k + 2]) - max(box[k], other[k]) for k in (0, 1)]
        shared = max(sides[0], 0) * max(sides[1], 0)
        area, further = ((b[2] - b[0]) * (b[3] - b[1]) for b in (box, other))
        found.append(shared / (area + further - shared))
    return found


FORMULAS = {
    "overlap": lambda rows: np.mean(box_overlaps(rows)),
    "recall_at_half": lambda rows: np.mean([each >= 0.5 for each in box_overlaps(rows)]),
    "detection_error_rate": lambda rows: np.mean([each < 0.5 for each in box_overlaps(rows)]),
    "arrmse": lambda rows: np.mean(np.sqrt(ratios(rows))),
    "rrmse": lambda rows: np.sqrt(sum(squares(rows)[0]) / sum(squares(rows)[1])),
    "root_sum_rrmse": lambda rows: np.sqrt(sum(ratios(rows))),
    "norm_rrmse": lambda rows: np.sqrt(sum(squares(rows)[0]) / sum(squares(rows)[2])),
    "correlation": lambda rows: np.mean(
        [
            np.corrcoef(y[~np.isnan(y)], p[~np.isnan(y)])[0, 1]
            for y, p in zip(rows.truth.T, rows.predictions.T, strict=True)
        ]
    ),
    "path_length": lambda rows: mean_loss("path_length", rows),
    "class_cost": lambda rows: mean_loss("class_cost", rows),
    "top_3": lambda rows: mean_recall(3, rows),
    "top_5": lambda rows: mean_recall(5, rows),
    "accuracy": lambda rows: accuracy_score(rows.truth, rows.predictions),
    "auc": lambda rows: np.mean([(1 + hit - false) / 2 for hit, false in rates(rows)]),
    # The AUC, because fewer than 50 rows are negatives.
    "roc50": lambda rows: np.mean([(1 + hit - false) / 2 for hit, false in rates(rows)]),
    "median_rfp": lambda rows: np.mean(
        [false if hit > 0.5 else (1 + false) / 2 if hit == 0.5 else 1 for hit, false in rates(rows)]
    ),
    "equal_error_rate": lambda rows: np.mean(
        [
            false / (hit + false) if hit + false >= 1 else (1 - hit) / (2 - hit - false)
            for hit, false in rates(rows)
        ]
    ),
}
OF_TRAINING_MEAN = {"arrmse": 1.0, "rrmse": 1.0, "root_sum_rrmse": np.sqrt(3)}
IN_ANY_UNITS = ("arrmse", "root_sum_rrmse")
"""Metrics that do not depend on the units of each output; that of the others is common to all."""


def with_gaps(rows: Rows) -> Rows:
    """Return rows of which true outputs are missing, those of one test row altogether."""
    random = np.random.default_rng(2)
    truth, train = (
        np.where(random.random(values.shape) < 0.2, np.nan, values)
        for values in (rows.truth, rows.train)
    )
    truth[3] = np.nan
    return Rows(truth, rows.predictions, train)


@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_its_formula(score, name):
    assert score(name, sample(name)) == pytest.approx(FORMULAS[name](sample(name)), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_perfect_predictions(score, name):
    rows = sample(name)
    assert score(name, rows._replace(predictions=rows.truth)) == pytest.approx(
        float(name in SCORES)
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_and_outputs_does_not_matter(score, name):
    rows = sample(name)
    order = np.random.default_rng(0).permutation(len(rows.truth))
    other = Rows(rows.truth[order], rows.predictions[order], rows.train[::-1])
    if name in OF_NUMBERS:
        other = Rows(*(values[:, ::-1] for values in other))
    assert score(name, other) == pytest.approx(score(name, rows), rel=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_units_and_zeros_do_not_matter_where_it_is_said(score, name):
    rows = sample(name)
    scales = np.array([1e-3, 1.0, 1e4]) if name in IN_ANY_UNITS else 1e3
    shifts = np.array([5.0, -3.0, 100.0])
    scaled = Rows(*(scales * values for values in rows))
    assert score(name, scaled) == pytest.approx(score(name, rows), rel=1e-10)
    shifted = Rows(*(values + shifts for values in rows))
    is_same = score(name, shifted) == pytest.approx(score(name, rows), rel=1e-10)
    assert is_same == (name != "norm_rrmse")


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_twice_the_size_count_twice(score, name):
    rows = sample(name)
    further = rows._replace(predictions=2 * rows.predictions - rows.truth)
    assert score(name, further) == pytest.approx(2 * score(name, rows), rel=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_the_training_mean_is_the_measure_of_relative_errors(score, name):
    for rows in (sample(name), with_gaps(sample(name))):
        mean = np.nanmean(rows.train, axis=0) if name in OF_TRAINING_MEAN else np.zeros(3)
        rows = rows._replace(predictions=np.tile(mean, (len(rows.truth), 1)))
        assert score(name, rows) == pytest.approx(OF_TRAINING_MEAN.get(name, 1.0), rel=1e-12)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_missing_outputs_count_nowhere(score, name):
    rows = with_gaps(sample(name))
    expected = score(name, rows)
    assert expected == pytest.approx(FORMULAS[name](rows), rel=1e-12)
    wild = np.where(np.isnan(rows.truth), 1e9, rows.predictions)
    assert score(name, rows._replace(predictions=wild)) == expected
    without = Rows(*(np.delete(values, 3, axis=0) for values in rows[:2]), rows.train)
    assert score(name, without) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_constant_outputs_have_no_relative_error(score, name):
    rows = sample(name)
    constant = Rows(*(np.column_stack([values, np.full(len(values), 0.1)]) for values in rows))
    if name in OF_TRAINING_MEAN:
        # Not even that of a wrong prediction, where every output counts on its own.
        constant.predictions[:, 3] += 1e3 * (name in IN_ANY_UNITS)
        assert score(name, constant) == pytest.approx(score(name, rows), rel=1e-12)
    nothing = Rows(*(np.zeros_like(values) for values in rows))
    assert np.isnan(score(name, nothing))


def test_a_correlation_is_that_of_deviations_in_any_units(score):
    rows = sample("correlation")
    for name, factor in (("twice", 2.0), ("turned", -0.5)):
        changed = rows._replace(predictions=factor * rows.predictions + 7.0)
        expected = np.sign(factor) * score("correlation", rows)
        assert score("correlation", changed) == pytest.approx(expected, rel=1e-12), name


def test_constant_predictions_have_no_correlation_and_constant_outputs_do_not_count(score):
    rows = sample("correlation")
    constant = rows._replace(predictions=np.full_like(rows.predictions, 0.1))
    assert score("correlation", constant) == 0.0
    wider = Rows(*(np.column_stack([values, np.full(len(values), 0.1)]) for values in rows))
    assert score("correlation", wider) == pytest.approx(score("correlation", rows), rel=1e-12)
    nothing = Rows(*(np.full_like(values, 0.1) for values in rows))
    assert np.isnan(score("correlation", nothing))


@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_selection_are_those_of_the_scores(score, name):
    rows = sample(name)
    errors, reference = (
        squared_error_sums(rows.truth, rows.predictions),
        training_mean_errors(rows.truth, rows.train),
    )
    assert relative_error(errors, reference, name) == pytest.approx(score(name, rows), rel=1e-12)


def test_only_names_of_metrics_are_taken():
    with pytest.raises(KeyError):
        relative_error(np.ones(3), np.ones(3), "mse")


def test_relation_to_the_coefficient_of_determination(score):
    rows = sample("arrmse")
    rows = rows._replace(train=rows.truth)
    r2 = r2_score(rows.truth, rows.predictions, multioutput="raw_values")
    assert score("arrmse", rows) == pytest.approx(np.sqrt(1 - r2).mean(), rel=1e-12)
    r2 = r2_score(rows.truth, rows.predictions, multioutput="variance_weighted")
    assert score("rrmse", rows) == pytest.approx(np.sqrt(1 - r2), rel=1e-12)
