"""Pyramids of the parts of boxes: features, bounds, search and the chi-squared kernel."""

import numpy as np
import pytest
from test_boxes import SIDE, image

from workflow_lib.papers.blaschko.box_bounds import BoxScore
from workflow_lib.papers.blaschko.box_cues import all_boxes
from workflow_lib.papers.blaschko.box_pyramids import PyramidScore, n_parts, parts
from workflow_lib.papers.blaschko.box_search import detections
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints
from workflow_lib.papers.blaschko.methods.box_kernel_support import (
    BoxScan,
    chi_squared_distances,
    distances_of_all_boxes,
)
from workflow_lib.papers.blaschko.word_grids import WordGrid

SMALL = 6


def small_image(seed=0):
    random = np.random.default_rng(seed)
    words, positions = random.integers(0, 4, 80), random.random((80, 2))
    return ImagePoints(words, positions, np.array([60, 60]), 4)


def test_the_parts_of_a_level_fill_the_box():
    boxes = all_boxes(SMALL)
    found, first = list(parts(boxes, 4)), 0
    assert len(found) == n_parts(4) == 30
    np.testing.assert_array_equal(found[0], boxes)
    for level in range(1, 5):
        cells = np.zeros((len(boxes), SMALL, SMALL), dtype=int)
        for part in found[first : first + level**2]:
            for covered, (left, top, right, bottom) in zip(cells, part):
                covered[top:bottom, left:right] += 1
        for covered, (left, top, right, bottom) in zip(cells, boxes):
            assert covered.sum() == covered[top:bottom, left:right].size
            assert (covered[top:bottom, left:right] == 1).all()
        first += level**2


@pytest.mark.parametrize("center", [False, True])
def test_the_features_are_those_of_the_parts_and_the_score_their_product(center):
    grid, one = (WordGrid(small_image(), SMALL, center, levels) for levels in (3, 1))
    boxes = all_boxes(SMALL)
    features = grid.features_of_boxes(boxes)
    expected = np.concatenate([one.features_of_boxes(part) for part in parts(boxes, 3)], axis=1)
    np.testing.assert_allclose(features, expected, atol=1e-12)
    for box, row in list(zip(boxes, features))[::40]:
        np.testing.assert_allclose(grid.features(box), row, atol=1e-12)
    weights = np.random.default_rng(1).normal(size=features.shape[1])
    np.testing.assert_allclose(grid.score(weights).of_boxes(boxes), features @ weights, atol=1e-7)
    loss_box = np.array([1, 1, 4, 5])
    with_loss = grid.score(weights, loss_box).of_boxes(boxes)
    loss = one.score(np.zeros(4), loss_box).of_boxes(boxes)
    np.testing.assert_allclose(with_loss, features @ weights + loss, atol=1e-7)


def test_no_box_of_a_set_scores_above_the_bound_of_the_set():
    random, boxes = np.random.default_rng(2), all_boxes(SMALL)
    scores = [BoxScore(random.normal(size=(SMALL, SMALL))) for _ in range(n_parts(3))]
    score = PyramidScore(scores, 3)
    of_boxes = score.of_boxes(boxes)
    single = np.concatenate([boxes, boxes], axis=1)
    np.testing.assert_array_equal(score.bounds(single), of_boxes)
    for _ in range(200):
        ends = np.sort(random.choice(boxes, 2), axis=0)
        inside = ((boxes >= ends[0]) & (boxes <= ends[1])).all(axis=1)
        assert score.bounds(ends.reshape(1, 8))[0] >= of_boxes[inside].max(initial=-np.inf)


def test_branch_and_bound_finds_what_exhaustive_search_finds():
    boxes = all_boxes(SMALL)
    for seed in range(5):
        random = np.random.default_rng(seed)
        score = WordGrid(small_image(seed), SMALL, False, 4).score(random.normal(size=120))
        found = list(detections(score, 3, 0.5))
        assert found[0].score == score.of_boxes(boxes).max()
        assert score.of_boxes(found[0].box[None])[0] == found[0].score
        kept = [one.score for one in found]
        assert kept == [one.score for one in detections(score, 3, 0.5, n_resets=2)]


def test_the_chi_squared_distance_is_the_mean_of_the_levels():
    points = image(np.random.default_rng(0), [1, 1, 5, 5])
    scan, box = BoxScan(points, SIDE, 3), np.array([[2, 1, 9, 8]])
    grids = [WordGrid(points, SIDE, False, levels) for levels in (1, 2, 3)]

    def of_level(level, boxes):
        """Return the shares of words in the parts of one level."""
        counts = grids[level].features_of_boxes(boxes)
        counts = counts[:, 30 * n_parts(level) :]
        return counts / counts.sum(axis=1, keepdims=True)

    shown = scan.boxes[::97]
    expected = np.mean(
        [chi_squared_distances(of_level(level, box), of_level(level, shown)) for level in range(3)],
        axis=0,
    )
    features = grids[2].features_of_boxes(box)
    found = distances_of_all_boxes(features / features.sum(), scan)
    np.testing.assert_allclose(found[:, ::97], expected, atol=1e-5)
