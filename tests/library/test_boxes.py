"""Methods of boxes: features, machines and their duality gap, joint support, and detections."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.baselines.linear_structured_svm import LinearStructuredSVM
from workflow_lib.box_overlap import overlaps
from workflow_lib.embeddings.box_search import detections
from workflow_lib.embeddings.queue_strategies import cheapest_resets, queue_costs
from workflow_lib.embeddings.word_grids import WordGrid
from workflow_lib.errors import UserError
from workflow_lib.experiments import output_predictions, regression
from workflow_lib.experiments.splitting import split_rows
from workflow_lib.features.word_points import ImagePoints, points_of, points_tree, word_shares
from workflow_lib.fitting.box_fitting import FittedBoxes
from workflow_lib.fitting.items import DETECTIONS
from workflow_lib.methods.box_support import support_coefficients
from workflow_lib.metrics import box_measures, ranked_detections
from workflow_lib.report.figure_data import figure_data
from workflow_lib.report.figures import box_detections, box_queues

N_IMAGES, SIDE, N_WORDS = 20, 12, 6
SIZE = np.array([120, 60])
SETTINGS = {
    "box_machine": {"cells": SIDE, "center": False, "grid": {"cost": [10.0]}},
    "box_support": {"cells": SIDE, "center": True, "grid": {"nu": [0.3, 1.0], "word_power": [0.5]}},
}


def image(random: np.random.Generator, box: np.ndarray) -> ImagePoints:
    """Return an image with a point in each cell, whose words in a box of cells are others."""
    columns, rows = (places.ravel() for places in np.meshgrid(range(SIDE), range(SIDE)))
    inside = (columns >= box[0]) & (rows >= box[1]) & (columns < box[2]) & (rows < box[3])
    words = random.integers(0, 4, len(inside))
    is_other = inside & (random.random(len(inside)) < 0.9)
    words[is_other] = random.integers(3, N_WORDS, is_other.sum())
    positions = np.stack([columns + 0.5, rows + 0.5], axis=1) / SIDE
    return ImagePoints(words, positions, SIZE, N_WORDS)


def dataset_of(seed: int = 0) -> dict:
    """Return images with boxes of 4 to 7 by 3 to 5 cells."""
    random = np.random.default_rng(seed)
    sides = random.integers([4, 3], [8, 6], (N_IMAGES, 2))
    corners = random.integers(0, SIDE - sides + 1)
    cells = np.concatenate([corners, corners + sides], axis=1)
    images = [image(random, box) for box in cells]
    return {
        "inputs": word_shares(images),
        "outputs": cells * np.tile(SIZE, 2) / SIDE,
        "points": points_tree(images),
        "boxes": {"sizes": np.tile(SIZE, (N_IMAGES, 1))},
    }


def run(name: str, folder, dataset: dict) -> dict:
    """Return the item of the larger size of the predictions of a method."""
    folder.mkdir()
    write_artifact(folder / "d.h5", dataset, "dataset")
    write_artifact(folder / "s.h5", split_rows(N_IMAGES, [4, 8], [], 12, 2, 0), "split")
    paths = {"dataset": folder / "d.h5", "split": folder / "s.h5"}
    regression.run(name, paths, SETTINGS[name], folder / "r.h5", folder / "r.json")
    output_predictions.run(folder / "r.h5", folder / "p.h5", folder / "p.json")
    return read_artifact(folder / "p.h5", "predictions")["n-8_w-0_C-selected"]


@pytest.mark.parametrize("name", SETTINGS)
def test_boxes_of_other_words_are_found(tmp_path, name):
    dataset = dataset_of()
    item = run(name, tmp_path / "first", dataset)
    test = split_rows(N_IMAGES, [4, 8], [], 12, 2, 0)["test"]
    assert overlaps(item["outputs"], dataset["outputs"][test]).mean() > 0.7
    found = item[DETECTIONS]
    assert found.shape == (12, 10, 5)
    np.testing.assert_array_equal(found[:, 0, :4], item["outputs"])
    assert (np.diff(found[..., 4], axis=1) <= 0).all()
    assert (overlaps(found[:, 0, :4], found[:, 1, :4]) < 0.5).all()
    if name == "box_machine":
        assert 0 <= item["gap"] <= 0.01


@pytest.mark.parametrize("name", SETTINGS)
def test_training_boxes_of_other_images_teach_nothing(tmp_path, name):
    dataset = dataset_of()
    right = run(name, tmp_path / "right", dataset)["score"]
    train = split_rows(N_IMAGES, [4, 8], [], 12, 2, 0)["train"]
    dataset["outputs"][train] = np.roll(dataset["outputs"][train], 1, axis=0)
    assert run(name, tmp_path / "wrong", dataset)["score"] > right + 0.2


def test_a_score_is_the_product_of_weights_and_features():
    random = np.random.default_rng(0)
    weights, boxes = random.normal(size=N_WORDS), np.array([[0, 0, 12, 12], [2, 3, 7, 9]])
    for center in (False, True):
        grid = WordGrid(image(random, [1, 1, 5, 5]), SIDE, center)
        features = np.array([grid.features(box) for box in boxes])
        scores = grid.score(weights).of_boxes(boxes)
        np.testing.assert_allclose(scores, features @ weights, atol=1e-8)
    np.testing.assert_allclose(features[0], 0.0, atol=1e-12)


def test_boxes_of_whole_cells_lie_in_the_image():
    grid = WordGrid(image(np.random.default_rng(0), [1, 1, 5, 5]), SIDE, False)
    for box, cells in (
        ([0, 0, 120, 60], [0, 0, 12, 12]),
        ([14, 9, 46, 31], [1, 2, 5, 6]),
        ([119, 59, 120, 60], [11, 11, 12, 12]),
        ([33, 21, 34, 22], [3, 4, 4, 5]),
    ):
        assert grid.in_cells(box).tolist() == cells
    np.testing.assert_allclose(grid.in_pixels(np.array([1, 2, 5, 6])), [10, 10, 50, 30])


def class_machine(X, labels, n_classes):
    """Return a structured machine of classes with the 0-1 loss."""

    def features(row, label):
        return np.kron(np.eye(n_classes)[label], X[row])

    def oracle(row, weights):
        scores = weights.reshape(n_classes, -1) @ X[row] + (np.arange(n_classes) != labels[row])
        return features(row, scores.argmax()), float(scores.argmax() != labels[row])

    truth = np.array([features(row, label) for row, label in enumerate(labels)])
    return LinearStructuredSVM(truth, oracle, 1e-4)


def test_of_classes_it_is_the_machine_of_crammer_and_singer_and_the_gap_bounds_the_error():
    random = np.random.default_rng(1)
    X, labels = random.normal(size=(30, 4)), random.integers(0, 3, 30)
    X += np.eye(3, 4)[labels]
    machine = class_machine(X, labels, 3)

    def objective(weights, cost):
        scores = X @ weights.reshape(3, -1).T
        own = scores[np.arange(30), labels]
        losses = (scores + (np.arange(3) != labels[:, None])).max(axis=1) - own
        return 0.5 * weights @ weights + cost * losses.mean()

    for cost in (1.0, 30.0):
        found = machine.fit(cost)
        other = LinearSVC(
            C=cost / 30, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**6
        ).fit(X, labels)
        least = objective(other.coef_.ravel(), cost)
        excess = objective(found.weights, cost) - least
        assert -1e-6 * cost <= excess <= cost * found.gap + 1e-6 * cost
        assert found.gap <= 1e-4
        np.testing.assert_allclose(found.weights, other.coef_.ravel(), atol=0.1)


@pytest.mark.parametrize("nu", [0.1, 0.5, 0.9])
def test_coefficients_of_the_joint_support_solve_its_quadratic_programme(nu):
    random = np.random.default_rng(2)
    features = random.random((12, 5))
    gram = features @ features.T
    found = support_coefficients(features, nu)
    assert found.sum() == pytest.approx(1.0) and found.min() >= 0
    assert found.max() <= 1 / (nu * 12) + 1e-9
    best = minimize(
        lambda a: 0.5 * a @ gram @ a,
        np.full(12, 1 / 12),
        jac=lambda a: gram @ a,
        bounds=[(0, 1 / (nu * 12))] * 12,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    assert 0.5 * found @ gram @ found == pytest.approx(best.fun, rel=1e-4)


def test_all_pairs_weigh_the_same_with_nu_of_one_and_a_single_pair_has_weight_one():
    features = np.random.default_rng(0).random((5, 3))
    np.testing.assert_array_equal(support_coefficients(features, 1.0), 0.2)
    np.testing.assert_array_equal(support_coefficients(features[:1], 0.3), 1.0)


def test_a_saved_method_finds_the_same_boxes(tmp_path):
    random = np.random.default_rng(0)

    class Rows:
        def points(self):
            return [image(np.random.default_rng(1), [2, 2, 7, 6])]

    fitted = FittedBoxes(random.normal(size=N_WORDS), SIDE, True, 0.003)
    write_artifact(tmp_path / "fitted.h5", fitted.to_arrays(), "regression")
    back = FittedBoxes.from_arrays(read_artifact(tmp_path / "fitted.h5", "regression"))
    np.testing.assert_array_equal(back.predict(Rows()), fitted.predict(Rows()))
    assert back.entries()["gap"] == 0.003


def test_a_figure_of_queues_counts_what_the_search_of_the_method_takes(tmp_path):
    dataset, rows = dataset_of(), np.arange(3)
    run("box_machine", tmp_path / "run", dataset)
    item = read_artifact(tmp_path / "run" / "r.h5", "regression")["n-8_w-0_C-selected"]
    images = points_of(dataset, rows)
    found = box_queues.image_costs(item, images, 0.5)
    for row, image_points in enumerate(images):
        score = WordGrid(image_points, SIDE, False).score(item["word_weights"])
        totals = {}
        for name, (n_resets, _, _) in box_queues.STRATEGIES.items():
            taken = [one.n_dequeued for one in detections(score, 10, 0.5, n_resets)]
            assert found.taken[name][row].tolist() == taken
            totals[name] = sum(taken)
        resets, least = cheapest_resets(queue_costs(score, 10, 0.5))
        assert found.resets[row] == len(resets)
        for name, total in totals.items():
            assert found.ratios[name][row] == pytest.approx(total / least)
            assert found.ratios[name][row] >= 1.0


def test_a_figure_of_queues_takes_the_first_method_with_weights_and_the_first_images(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(box_queues, "MOST_IMAGES", 2)
    run("box_machine", tmp_path / "run", dataset_of())
    files = tmp_path / "run" / "d.h5", [tmp_path / "run" / "s.h5"]
    write_artifact(tmp_path / "mean.h5", {"item": {"training_size": 8}}, "regression")
    regressions = {"mean": [tmp_path / "mean.h5"], "machine": [tmp_path / "run" / "r.h5"]}
    shown = {"mean": {"label": "Mean"}, "machine": {"label": "Machine"}}
    figure = box_queues.draw(*files, regressions, title="Toy", shown_methods=shown)
    assert "Machine, 8 training images; the first 2 test images of 1 split" in figure.get_suptitle()
    data = figure_data(figure)
    never = data[(data["panel"] == "\u03b3 = 0.5") & (data["series"] == box_queues.NEVER)]
    item = read_artifact(regressions["machine"][0], "regression")["n-8_w-0_C-selected"]
    test = read_artifact(files[1][0], "split")["test"][:2]
    found = box_queues.image_costs(item, points_of(dataset_of(), test), 0.5)
    np.testing.assert_allclose(never["y"], found.taken[box_queues.NEVER].mean(axis=0))
    finer = box_queues.image_costs(item, points_of(dataset_of(), test), 0.5, box_queues.FINER)
    assert finer.taken[box_queues.NEVER][:, 0].min() > found.taken[box_queues.NEVER][:, 0].max()
    medians = data[data["series"].str.startswith("cheapest")].groupby("series")["y"].apply(list)
    assert medians["cheapest, 4 times as fine"][1] == np.median(finer.resets)
    assert medians["cheapest, grid of the method"][1] == np.median(found.resets)
    assert medians["cheapest, published"] == [4, 3, 2]
    with pytest.raises(UserError, match="no weights of words of mean"):
        box_queues.draw(*files, regressions, title="Toy", shown_methods={"mean": shown["mean"]})


def test_recall_and_precision_are_those_of_the_first_detections():
    boxes = np.array([[0, 0, 10, 10.0]] * 2)
    half = [0, 0, 10, 5.0]
    recall = box_detections.recall_over_overlap(boxes, np.array([half, [0, 0, 10, 10.0]]))
    assert recall[[0, 50, 51, 100]].tolist() == [1.0, 1.0, 0.5, 0.5]
    found = np.array([[[*half, 3.0], [*half, 1.0]], [[90, 90, 99, 99, 2.0], [*half, 0.0]]])
    points = box_detections.recall_and_precision(boxes, {"detections": found})
    np.testing.assert_allclose(points, [[0.5, 0.5, 0.5, 1], [1, 1 / 2, 1 / 3, 2 / 4]])
    single = box_detections.recall_and_precision(boxes, {"outputs": found[:, 0, :4]})
    assert single.tolist() == [[0.5], [0.5]]


def test_the_first_right_detection_of_an_image_counts():
    boxes = np.array([[0, 0, 10, 10], [5, 5, 9, 9.0]])
    wrong = [20, 20, 30, 30]
    detections = np.array(
        [
            [[*wrong, 3.0], [0, 0, 10, 9, 2.0], [0, 0, 9, 10, 1.0]],
            [[5, 5, 9, 9, 2.5], [*wrong, 0.5], [*wrong, 0.4]],
        ]
    )
    is_right, scores = ranked_detections(boxes, detections)
    assert scores.tolist() == [3.0, 2.5, 2.0, 1.0, 0.5, 0.4]
    assert is_right.tolist() == [False, True, True, False, False, False]
    measures = box_measures(boxes, detections[:, 0, :4], detections)
    # Of the two detections with the highest scores one is right: precision = recall = 1/2.
    assert measures == {"overlap": 0.5, "recall_at_half": 0.5, "detection_error_rate": 0.5}
    assert box_measures(boxes, boxes)["detection_error_rate"] == 0.0
