"""Methods of boxes: features, machines and their duality gap, joint support, and detections."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_samples import table_cells, write_table
from scipy.optimize import minimize
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.svm import LinearSVC

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.measures.base import Predictions
from workflow_lib.papers.blaschko.box_fitting import FittedBoxes
from workflow_lib.papers.blaschko.box_search import detections
from workflow_lib.papers.blaschko.figures import box_detections, box_queues, queues_by_presence
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints, pack, unpack, word_shares
from workflow_lib.papers.blaschko.linear_structured_svm import LinearStructuredSVM
from workflow_lib.papers.blaschko.measures import box_overlaps
from workflow_lib.papers.blaschko.methods import box_kernel_support
from workflow_lib.papers.blaschko.methods.box_kernel_support import (
    BoxScan,
    chi_squared_distances,
    distances_of_all_boxes,
    scanned_detections,
)
from workflow_lib.papers.blaschko.methods.box_support import support_coefficients
from workflow_lib.papers.blaschko.queue_tables import read_queue_costs
from workflow_lib.papers.blaschko.stages import queue_costs
from workflow_lib.papers.blaschko.word_grids import WordGrid
from workflow_lib.protocol import output_predictions, regression
from workflow_lib.protocol.splitting import split_rows
from workflow_lib.report.figure_data import figure_data

PAPER_TABLES = Path(__file__).parents[3] / "config" / "papers" / "blaschko" / "paper_tables"
N_IMAGES, SIDE, N_WORDS = 20, 12, 30
SIZE = np.array([120, 60])
RANKS = {"cells": SIDE, "candidates": 100, "near_share": 0.8, "preferences": "complete"}
RANKS |= {"n_preferred": 1, "rescaling": "slack", "seed": 0, "grid": {"cost": [100.0, 0.1]}}
WORDS = {"cells": SIDE, "levels": 1}
SETTINGS = {
    "box_machine": WORDS | {"center": False, "grid": {"cost": [10.0]}},
    "box_support": WORDS | {"center": True, "grid": {"nu": [0.3, 1.0], "word_power": [0.5]}},
    "box_ranking": WORDS | RANKS | {"center": False},
    "box_kernel_support": WORDS | {"grid": {"nu": [0.3, 1.0], "width": [0.5, 2.0]}},
}


def image(random: np.random.Generator, box: np.ndarray) -> ImagePoints:
    """Return an image with a point in each cell, whose words in a box of cells are others."""
    columns, rows = (positions.ravel() for positions in np.meshgrid(range(SIDE), range(SIDE)))
    inside = (columns >= box[0]) & (rows >= box[1]) & (columns < box[2]) & (rows < box[3])
    words = random.integers(0, 20, len(inside))
    is_other = inside & (random.random(len(inside)) < 0.9)
    words[is_other] = random.integers(15, N_WORDS, is_other.sum())
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
        **pack(images),
    }


def run(name: str, folder, dataset: dict, settings: dict | None = None) -> dict:
    """Return the item of the larger size of the predictions of a method."""
    folder.mkdir()
    write_artifact(folder / "d.h5", dataset, "dataset")
    write_artifact(folder / "s.h5", split_rows(N_IMAGES, [4, 8], [], 12, 2, 0), "split")
    paths = {"dataset": folder / "d.h5", "split": folder / "s.h5"}
    settings = settings or SETTINGS[name]
    regression.run(name, paths, settings, folder / "r.h5", folder / "r.json")
    output_predictions.run(folder / "r.h5", folder / "p.h5", folder / "p.json")
    return read_artifact(folder / "p.h5", "predictions")["n-8_w-0_C-selected"]


@pytest.mark.parametrize("name", SETTINGS)
def test_boxes_of_other_words_are_found(tmp_path, name):
    dataset = dataset_of()
    item = run(name, tmp_path / "first", dataset)
    test = split_rows(N_IMAGES, [4, 8], [], 12, 2, 0)["test"]
    assert overlaps(item["outputs"], dataset["outputs"][test]).mean() > 0.7
    assert item["score"] < 0.4
    found = item[DETECTIONS]
    assert found.shape == (12, 10, 5)
    np.testing.assert_array_equal(found[:, 0, :4], item["outputs"])
    assert (np.diff(found[..., 4], axis=1) <= 0).all()
    assert (overlaps(found[:, 0, :4], found[:, 1, :4]) < 0.5).all()
    if name in ("box_machine", "box_ranking"):
        assert 0 <= item["gap"] <= 0.01


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


def test_all_boxes_are_compared_by_the_chi_squared_distance_of_their_words():
    points = image(np.random.default_rng(0), [1, 1, 5, 5])
    points = points._replace(words=points.words[20:], positions=points.positions[20:])
    scan, grid = BoxScan(points, SIDE), WordGrid(points, SIDE, False)
    assert (
        len(scan.boxes) == len({tuple(box) for box in scan.boxes}) == (SIDE * (SIDE + 1) // 2) ** 2
    )
    chosen = np.random.default_rng(1).choice(len(scan.boxes), 200)
    features = np.array([grid.features(box) for box in scan.boxes[chosen]])
    totals = features.sum(axis=1, keepdims=True)
    assert (totals == 0).any()
    shares = features / np.where(totals > 0, totals, 1)
    found = np.array([scan.shares(word)[chosen] for word in range(N_WORDS)]).T
    np.testing.assert_allclose(found, shares, atol=1e-6)
    others = shares[(totals > 0).ravel()][:3]
    expected = -additive_chi2_kernel(others, shares)
    expected[:, (totals == 0).ravel()] = 2.0
    np.testing.assert_allclose(chi_squared_distances(others, shares), expected, atol=1e-12)
    distances = distances_of_all_boxes(others, scan)[:, chosen]
    np.testing.assert_allclose(distances, expected, atol=1e-5)


def test_a_scan_finds_the_detections_of_branch_and_bound():
    points = image(np.random.default_rng(0), [1, 1, 5, 5])
    scan = BoxScan(points, SIDE)
    score = WordGrid(points, SIDE, True).score(np.random.default_rng(1).normal(size=N_WORDS))
    found = list(scanned_detections(scan.boxes, score.of_boxes(scan.boxes), 5, 0.4))
    expected = [one.box for one in detections(score, 5, 0.4)]
    np.testing.assert_array_equal(scan.boxes[found], expected)
    assert len(list(scanned_detections(scan.boxes, np.zeros(len(scan.boxes)), 10**4, 1e-9))) < 200


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
        weights, gap = machine.fit(cost)
        other = LinearSVC(
            C=cost / 30, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**6
        ).fit(X, labels)
        least = objective(other.coef_.ravel(), cost)
        excess = objective(weights, cost) - least
        assert -1e-6 * cost <= excess <= cost * gap + 1e-6 * cost
        assert gap <= 1e-4
        np.testing.assert_allclose(weights, other.coef_.ravel(), atol=0.1)


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
        def items(self):
            return [image(np.random.default_rng(1), [2, 2, 7, 6])]

    fitted = FittedBoxes(random.normal(size=N_WORDS), SIDE, True, 0.003)
    write_artifact(tmp_path / "fitted.h5", fitted.to_arrays(), "regression")
    back = FittedBoxes.from_arrays(read_artifact(tmp_path / "fitted.h5", "regression"))
    np.testing.assert_array_equal(back.predict(Rows()), fitted.predict(Rows()))
    assert back.entries()["gap"] == 0.003
    shares = random.dirichlet(np.ones(N_WORDS), 3)
    support = box_kernel_support.Support(np.array([0.2, 0.0, 0.8]), 0.7)
    fitted = box_kernel_support.Fitted(shares, support, SIDE)
    write_artifact(tmp_path / "kernel.h5", fitted.to_arrays(), "regression")
    back = box_kernel_support.Fitted.from_arrays(
        read_artifact(tmp_path / "kernel.h5", "regression")
    )
    for name, values in fitted.predictions(Rows()).items():
        np.testing.assert_array_equal(back.predictions(Rows())[name], values)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """Return the costs of two images of three splits, and a function of a search's sets taken."""
    data, folder = dataset_of(), tmp_path_factory.mktemp("searched") / "run"
    run("box_machine", folder, data)
    path = folder / "queue-costs.csv"
    for split in range(3):
        rows = split_rows(N_IMAGES, [4, 8], [], 12, 2, split)
        write_artifact(folder / f"s-{split}.h5", rows, "split")
    splits = [folder / f"s-{split}.h5" for split in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue_costs, "MAX_IMAGES", 2)
        patch.setattr(queue_costs, "FINER", 2)
        queue_costs.run(folder / "d.h5", splits, [folder / "r.h5"] * 3, path, "boxes-ssvm")
    item = read_artifact(folder / "r.h5", "regression")["n-8_w-0_C-selected"]

    def taken(split, n_cells, overlap, n_resets):
        """Return what each detection of each image takes, by searching again."""
        images = unpack(data, read_artifact(splits[split], "split")["test"][:2])
        scores = [WordGrid(each, n_cells, False).score(item["word_weights"]) for each in images]
        found = [detections(score, 10, overlap, n_resets) for score in scores]
        return [[one.n_dequeued for one in each] for each in found]

    return path, taken


def test_costs_of_queues_give_those_of_every_search(searched):
    path, taken = searched
    costs = read_queue_costs(path)
    assert set(costs["training_size"]) == {8} and set(costs["n_cells"]) == {SIDE, 2 * SIDE}
    for n_resets in (0, 1, 9):
        is_last = costs["reset_before"] == np.minimum(costs["detection"], n_resets + 1)
        key = (costs["n_cells"] == SIDE) & (costs["max_overlap"] == 0.25) & (costs["split"] == 1)
        found = costs[is_last & key].groupby("row", sort=False)["n_dequeued"].apply(list)
        assert list(found) == taken(1, SIDE, 0.25, n_resets)


def test_tables_of_queues_are_statistics_over_the_splits(searched):
    path, taken = searched
    costs = read_queue_costs(path)
    kinds = ("queue_resets", "queue_ratios")
    cells = pd.concat([table_cells(kind, path, methods={}) for kind in kinds])
    cells = list(cells.itertuples())
    assert len(cells) == 2 * 3 * 3 * 3
    assert {(cell.n_splits, cell.n_images) for cell in cells} == {(3, "2")}
    cell_of = {(c.quantity, c.n_cells, c.max_overlap, c.statistic): c for c in cells}
    for n_cells, overlap in ((SIDE, 0.25), (2 * SIDE, 0.5)):
        never, always, least, resets = [], [], [], []
        for split in range(3):
            never.append(np.concatenate(taken(split, n_cells, overlap, 0)).sum())
            always.append(np.concatenate(taken(split, n_cells, overlap, 9)).sum())
            cheapest, n = cheapest_by_enumeration(costs, split, n_cells, overlap)
            least.append(cheapest)
            resets.append(n)
        for statistic, function in (("min", min), ("median", np.median), ("max", max)):
            key = n_cells, overlap, statistic
            ratios = np.divide(always, least), np.divide(never, least)
            assert cell_of["all reset", *key].value == pytest.approx(function(ratios[0]))
            assert cell_of["no reset", *key].value == pytest.approx(function(ratios[1]))
            assert cell_of["resets", *key].value == function(resets)


def cheapest_by_enumeration(costs, split, n_cells, overlap) -> tuple[int, int]:
    """Return the least cost of all 2^9 strategies, and the fewest resets that have it."""
    is_shown = (costs["split"] == split) & (costs["n_cells"] == n_cells)
    shown = costs[is_shown & (costs["max_overlap"] == overlap)]
    total = shown.groupby(["reset_before", "detection"])["n_dequeued"].sum()
    found = []
    for chosen in itertools.product([False, True], repeat=9):
        last, spent = 1, total[1, 1]
        for detection, is_reset in enumerate(chosen, 2):
            last = detection if is_reset else last
            spent += total[last, detection]
        found.append((spent, sum(chosen)))
    return min(found)


def test_published_numbers_of_queues_are_beside_ours(searched, tmp_path):
    path, _ = searched
    for kind, name in (("queue_resets", "blaschko-5-1"), ("queue_ratios", "blaschko-5-2")):
        published = tmp_path / f"{name}.csv"
        text = (PAPER_TABLES / published.name).read_text(encoding="utf-8")
        published.write_text(text.replace(",no reset,1.14,", ",no reset,9.14,"), encoding="utf-8")
        options = {"methods": {"boxes-ssvm": {"label": "Machine"}}, "metric": "overlap"}
        options |= {"stand_in_for": "other", "published": [published]}
        lines = write_table(path, kind, tmp_path, **options)[1].splitlines()
        assert sum("This run" in line for line in lines) == 1
        number = name[-3:].replace("-", ".")
        assert any(f"{{Published: table {number} of Blaschko (2014)}}" in line for line in lines)
        cells = pd.read_csv(tmp_path / "t.csv")
        if kind == "queue_resets":
            shown = cells[(cells["n_cells"] == SIDE) & (cells["statistic"] == "median")]
            ours = [f"{value:g}" for value in shown["value"]]
            assert " & ".join(["median", *ours, "4", "3", "2"]) + r" \\" in lines
        else:
            shown = cells[(cells["n_cells"] == SIDE) & (cells["statistic"] == "min")]
            ours = [f"{value:.2f}" for value in shown["value"][shown["max_overlap"] == 0.75]]
            row = [r"$\gamma$ = 0.75, min", *ours, "1.59", "9.14"]
            assert " & ".join(row) + r" \\" in lines


def test_a_figure_of_queues_shows_means_over_the_splits(searched):
    path, taken = searched
    figure = box_queues.draw(path, title="Toy", methods={"boxes-ssvm": {"label": "Machine"}})
    assert (
        "Machine, 8 training images; the first 2 test images of 3 splits" in figure.get_suptitle()
    )
    data = figure_data(figure)
    for n_cells, name, n_resets in (
        (SIDE, "never reset", 0),
        (2 * SIDE, "before the 2nd and the 3rd", 2),
        (SIDE, "reset before each detection", 9),
    ):
        panel = f"\u03b3 = 0.75, {n_cells} \u00d7 {n_cells}"
        line = data[(data["panel"] == panel) & (data["series"] == name)]
        means = [np.mean(taken(split, n_cells, 0.75, n_resets), axis=0) for split in range(3)]
        np.testing.assert_allclose(line["y"], np.mean(means, axis=0))


def test_queues_of_images_without_their_objects(searched):
    path, _ = searched
    folder, data = path.parent, dataset_of()
    files = path, folder / "d.h5", {"boxes-ssvm": [folder / "r.h5"] * 3}
    methods = {"boxes-ssvm": {"label": "Machine"}}
    found = figure_data(queues_by_presence.draw(*files, title="Toy", methods=methods))
    item = read_artifact(folder / "r.h5", "regression")["n-8_w-0_C-selected"]
    means: dict[str, list] = {"+": [], "\u2212": []}
    for split in range(3):
        taken: dict[str, list] = {sign: [] for sign in means}
        rows = read_artifact(folder / f"s-{split}.h5", "split")["test"][:2]
        for row, each in zip(rows, unpack(data, rows), strict=True):
            left, top, right, bottom = data["outputs"][row]
            x, y = (each.positions * each.size).T
            outside = (x < left) | (x > right) | (y < top) | (y > bottom)
            assert 0 < outside.sum() < len(outside)
            scene = each._replace(words=each.words[outside], positions=each.positions[outside])
            for sign, shown in (("+", each), ("\u2212", scene)):
                score = WordGrid(shown, SIDE, False).score(item["word_weights"])
                taken[sign].append([one.n_dequeued for one in detections(score, 10, 0.5, 2)])
        for sign, of_images in taken.items():
            means[sign].append(np.mean(of_images, axis=0))
    for sign, of_splits in means.items():
        is_line = found["panel"] == f"{sign}, \u03b3 = 0.5"
        line = found[is_line & (found["series"] == "before the 2nd and the 3rd")]
        np.testing.assert_allclose(line["y"], np.mean(of_splits, axis=0))


def test_costs_of_queues_need_weights_of_words(tmp_path):
    run("box_machine", tmp_path / "run", dataset_of())
    write_artifact(tmp_path / "mean.h5", {"item": {"training_size": 8}}, "regression")
    files = tmp_path / "run" / "d.h5", [tmp_path / "run" / "s.h5"], [tmp_path / "mean.h5"]
    with pytest.raises(UserError, match="queues of mean, .*mean.h5: no weights of words"):
        queue_costs.run(*files, tmp_path / "costs.csv", "mean")


def test_recall_and_precision_are_those_of_the_first_detections():
    boxes = np.array([[0, 0, 10, 10.0]] * 2)
    half = [0, 0, 10, 5.0]
    predictions = {"outputs": np.array([half, [0, 0, 10, 10.0]])}
    best = box_detections.best_overlaps(boxes, predictions)
    recall = box_detections.recall_over_overlap(best[:, 0])
    assert recall[[0, 50, 51, 100]].tolist() == [1.0, 1.0, 0.5, 0.5]
    found = np.array([[[*half, 3.0], [*half, 1.0]], [[90, 90, 99, 99, 2.0], [*half, 0.0]]])
    points = box_detections.recall_and_precision(boxes, {"detections": found})
    np.testing.assert_allclose(points, [[0.5, 0.5, 0.5, 1], [1, 1 / 2, 1 / 3, 2 / 4]])
    single = box_detections.recall_and_precision(boxes, {"outputs": found[:, 0, :4]})
    assert single.tolist() == [[0.5], [0.5]]
    best = box_detections.best_overlaps(boxes, {"detections": found})
    assert best.tolist() == [[0.5, 0.5], [0.0, 0.5]]


def test_the_area_is_that_below_the_recall():
    best = np.random.default_rng(0).random((30, 2))
    levels = np.linspace(0.5, 1.0, 20_001)
    for column, area in zip(best.T, box_detections.area_from_half(best), strict=True):
        recall = (column[:, None] >= levels).mean(axis=0)
        assert area == pytest.approx(recall.mean(), abs=1e-3)
    assert box_detections.area_from_half(np.array([[0.5, 1.0]])).tolist() == [0.0, 1.0]


def test_the_first_right_detection_of_an_image_counts():
    boxes = np.array([[0, 0, 10, 10], [5, 5, 9, 9.0]])
    wrong = [20, 20, 30, 30]
    detections = np.array(
        [
            [[*wrong, 3.0], [0, 0, 10, 9, 2.0], [0, 0, 9, 10, 1.0]],
            [[5, 5, 9, 9, 2.5], [*wrong, 0.5], [*wrong, 0.4]],
        ]
    )
    is_right, scores = box_overlaps.ranked_detections(boxes, detections)
    assert scores.tolist() == [3.0, 2.5, 2.0, 1.0, 0.5, 0.4]
    assert is_right.tolist() == [False, True, True, False, False, False]
    known = {DETECTIONS: detections}
    measures = box_overlaps.values(Predictions(boxes, detections[:, 0, :4], entries=known))
    # Of the two detections with the highest scores one is right: precision = recall = 1/2.
    assert measures == {"overlap": 0.5, "recall_at_half": 0.5, "detection_error_rate": 0.5}
    assert box_overlaps.values(Predictions(boxes, boxes))["detection_error_rate"] == 0.0
