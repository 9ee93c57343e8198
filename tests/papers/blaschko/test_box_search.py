"""Branch and bound finds what exhaustive search finds, whatever is done with its queue."""

import heapq
from itertools import combinations

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.papers.blaschko.box_bounds import BoxScore
from workflow_lib.papers.blaschko.box_search import BoxSearch, _halves, detections
from workflow_lib.papers.blaschko.queue_strategies import (
    cheapest_resets,
    costs_of_resets,
    queue_costs,
)

N_DETECTIONS = 5
TRUE_BOX = np.array([1.3, 0.5, 6.0, 4.8])


def grid(seed: int, has_ties: bool = False) -> np.ndarray:
    random = np.random.default_rng(seed)
    weights = random.integers(-1, 2, size=(7, 9)) if has_ties else random.normal(size=(7, 9))
    weights[2:5, 3:7] += 1
    return weights


def exhaustive(weights, max_overlap, loss_box=None):
    """Return the detections among all boxes, one after the other: a tuple, and its score."""
    height, width = weights.shape
    scores = {
        (left, top, right, bottom): weights[top:bottom, left:right].sum()
        + (0.0 if loss_box is None else 1 - overlap_by_cells((left, top, right, bottom), loss_box))
        for left, right in combinations(range(width + 1), 2)
        for top, bottom in combinations(range(height + 1), 2)
    }
    found = []
    while len(found) < N_DETECTIONS and scores:
        # Rounding tells equal sums apart.
        most = max(scores.values())
        box = min(box for box, score in scores.items() if score > most - 1e-9)
        found.append((box, scores[box]))
        scores = {
            other: score
            for other, score in scores.items()
            if overlap_by_cells(other, box) < max_overlap
        }
    return found


def overlap_by_cells(box, other):
    left, top = max(box[0], other[0]), max(box[1], other[1])
    right, bottom = min(box[2], other[2]), min(box[3], other[3])
    shared = max(right - left, 0) * max(bottom - top, 0)
    area, others = ((b[2] - b[0]) * (b[3] - b[1]) for b in (box, other))
    return shared / (area + others - shared)


def found_by(score, max_overlap, n_resets):
    found = detections(score, N_DETECTIONS, max_overlap, n_resets)
    return [(tuple(one.box), one.score) for one in found]


@each_case("n_resets", range(N_DETECTIONS))
@each_case(("max_overlap", "has_ties"), [(0.25, False), (0.5, True), (0.75, False)])
def test_every_queue_strategy_finds_what_exhaustive_search_finds(max_overlap, has_ties, n_resets):
    for seed in range(4):
        weights = grid(seed, has_ties)
        expected = exhaustive(weights, max_overlap)
        found = found_by(BoxScore(weights), max_overlap, n_resets)
        assert [box for box, _ in found] == [box for box, _ in expected]
        np.testing.assert_allclose(*([score for _, score in each] for each in (found, expected)))


@pytest.mark.parametrize("n_resets", [0, 2, N_DETECTIONS - 1])
def test_the_loss_is_one_minus_the_overlap(n_resets):
    for seed in range(4):
        weights = grid(seed) / 10
        expected = exhaustive(weights, 0.5, TRUE_BOX)
        found = found_by(BoxScore(weights, TRUE_BOX), 0.5, n_resets)
        assert [box for box, _ in found] == [box for box, _ in expected]
        np.testing.assert_allclose(*([score for _, score in each] for each in (found, expected)))


def test_counts_and_queue_are_those_of_one_set_at_a_time():
    weights = np.random.default_rng(3).normal(size=(24, 24))
    weights[5:12, 6:15] += 0.8
    for n_resets in (0, 3):
        score, found, counts = BoxScore(weights), [], []
        queue, search = [], BoxSearch(score)
        for number in range(6):
            if number <= n_resets:
                queue = [_entry(score, score.all_boxes(), number)]
                search.reset()
            box, count = _one_at_a_time(score, queue, found)
            best = search.best(found)
            assert best.box.tolist() == box.tolist()
            found.append(box)
            counts.append((best.n_dequeued, count))
        assert [ours for ours, _ in counts] == [theirs for _, theirs in counts]
        assert max(theirs for _, theirs in counts) > 256


def _entry(score, boxes, n_known):
    return (-score.bounds(boxes[None])[0], *map(int, boxes), n_known)


def _one_at_a_time(score, queue, found):
    """Return the best box by Section 5.1.4 of Blaschko (2014), and how many sets were dequeued."""
    count = 0
    while True:
        _, *sides, n_known = heapq.heappop(queue)
        count += 1
        boxes = np.array(sides)
        is_single = (boxes[:4] == boxes[4:]).all()
        if is_single and n_known == len(found):
            return boxes[:4], count
        for part in [boxes] if is_single else _halves(boxes[None]):
            outer, inner = part[[0, 1, 6, 7]], part[[4, 5, 2, 3]]
            if (part[:4] > part[4:]).any():
                continue
            if any(_least_overlap(outer, inner, box) >= 0.5 for box in found):
                continue
            heapq.heappush(queue, _entry(score, part, len(found)))


def _least_overlap(outer, inner, box):
    sides = np.minimum(inner[2:], box[2:]) - np.maximum(inner[:2], box[:2])
    shared = np.maximum(sides, 0).prod()
    return shared / ((outer[2:] - outer[:2]).prod() + (box[2:] - box[:2]).prod() - shared)


def test_bounds_of_random_sets_are_no_less_than_the_scores_of_their_boxes_and_parts():
    score, random = BoxScore(grid(0), TRUE_BOX), np.random.default_rng(1)
    sets = score.all_boxes()[None]
    for _ in range(200):
        halves, bounds = _halves(sets), np.tile(score.bounds(sets), 2)
        is_set = (halves[:, :4] <= halves[:, 4:]).all(axis=1)
        is_set &= np.tile((sets[:, :4] < sets[:, 4:]).any(axis=1), 2)
        if not is_set.any():
            break
        assert (score.bounds(halves[is_set]) <= bounds[is_set]).all()
        sets = random.permutation(halves[is_set])[:40]
        boxes = random.integers(sets[:, :4], sets[:, 4:] + 1)
        is_box = (boxes[:, :2] < boxes[:, 2:]).all(axis=1)
        assert (score.bounds(sets)[is_box] >= score.of_boxes(boxes)[is_box]).all()


def test_the_cheapest_strategy_is_that_of_all_strategies():
    costs = queue_costs(BoxScore(np.random.default_rng(0).normal(size=(16, 16))), 6)
    totals = {}
    for n_resets in range(6):
        for resets in combinations(range(1, 6), n_resets):
            last = np.array([max([0, *(r for r in resets if r <= j)]) for j in range(6)])
            totals[resets] = costs[last, np.arange(6)].sum()
    resets, total = cheapest_resets(costs)
    assert total == min(totals.values()) == totals[tuple(resets)]
    counted = [one.n_dequeued for one in detections(BoxScore(grid(0)), 4, 0.5, 2)]
    assert costs_of_resets(queue_costs(BoxScore(grid(0)), 4), 2).tolist() == counted


def test_fewer_boxes_where_all_others_overlap_too_much():
    assert len(list(detections(BoxScore(np.ones((1, 2))), 9, 1.0))) == 3
    assert len(list(detections(BoxScore(np.ones((1, 2))), 9, 0.1))) == 1
    assert queue_costs(BoxScore(np.ones((1, 2))), 9, 1.0).shape == (3, 3)


@pytest.mark.parametrize("weights", [np.ones(3), np.ones((0, 4)), np.full((2, 2), np.nan)])
def test_weights_that_are_no_grid_are_refused(weights):
    with pytest.raises(UserError, match="weights of a BoxScore"):
        BoxScore(weights)


def test_an_overlap_of_zero_is_refused():
    with pytest.raises(UserError, match="above 0"):
        BoxSearch(BoxScore(np.ones((2, 2))), 0.0)


def test_overlaps():
    box = [0, 0, 2, 2]
    others = [[0, 0, 2, 2], [1, 0, 3, 2], [2, 0, 4, 2], [2, 2, 0, 0], [0.5, 0.5, 1, 1]]
    np.testing.assert_allclose(overlaps(box, others), [1, 1 / 3, 0, 0, 1 / 16])
