"""Sets of detections: the energy, the greedy search within its guarantee, and boxes."""

import numpy as np
import pytest
from test_box_pyramids import SMALL

from workflow_lib.core.errors import UserError
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.papers.blaschko.box_bounds import BoxScore
from workflow_lib.papers.blaschko.box_cues import all_boxes
from workflow_lib.papers.blaschko.box_search import detections
from workflow_lib.papers.blaschko.detection_energy import (
    DetectionEnergy,
    energy_of_boxes,
    greedy_ratio,
    overlap_power,
    ruled_out_from,
)


def drawn(random, m=8, side=8):
    """Return m boxes of whole cells and their scores."""
    low = random.integers(0, side - 3, (m, 2))
    return np.concatenate([low, low + random.integers(1, 5, (m, 2))], axis=1), random.random(
        m
    ) + 0.2


def of_definition(boxes, scores, penalty, crowding, chosen):
    """Return the energy of a set, written out."""
    value = sum(scores[i] for i in chosen)
    value -= sum(
        float(penalty(overlaps(boxes[i], boxes[j])))
        for n, i in enumerate(chosen)
        for j in chosen[:n]
    )
    cover = np.zeros((20, 20))
    for left, top, right, bottom in boxes[chosen]:
        cover[top:bottom, left:right] += 1
    return value - crowding * np.maximum(cover - 1, 0).sum()


@pytest.mark.parametrize("crowding", [0.0, 0.03])
def test_the_energy_is_submodular_and_its_gains_are_differences(crowding):
    random = np.random.default_rng(0)
    for _ in range(10):
        boxes, scores = drawn(random)
        energy = energy_of_boxes(boxes, scores, overlap_power(0.7, 2.0), crowding)
        larger = random.permutation(8)[:4].tolist()
        for chosen in (larger[:2], larger):
            value = energy.value(chosen)
            expected = of_definition(boxes, scores, overlap_power(0.7, 2.0), crowding, chosen)
            assert value == pytest.approx(expected)
            others = sorted(set(range(8)) - set(chosen))
            gains = [energy.value([*chosen, other]) - value for other in others]
            np.testing.assert_allclose(energy.gains(chosen)[others], gains, atol=1e-12)
        assert (energy.gains(larger)[others] <= energy.gains(larger[:2])[others] + 1e-12).all()


@pytest.mark.parametrize("n_most", [2, 4])
def test_the_greedy_set_is_within_the_guarantee(n_most):
    random, kinds = np.random.default_rng(n_most), set()
    for weight in np.repeat([0.02, 0.1, 0.4], 12):
        boxes, scores = drawn(random)
        for energy in (
            energy_of_boxes(boxes, scores, overlap_power(weight)),
            energy_of_boxes(boxes, scores, overlap_power(weight), weight / 20),
            energy_of_boxes(boxes, scores, ruled_out_from(weight)),
        ):
            least = energy.guarantee(n_most)
            kinds.add(np.sign(energy.curvature(n_most) - 1.0) if least > 0 else 0.0)
            assert least - 1e-12 <= greedy_ratio(energy, n_most) <= 1.0 + 1e-12
            if energy.curvature(n_most) <= 1.0:
                assert least >= 1.0 - (1.0 - 1.0 / n_most) ** n_most - 1e-12 > 1.0 - 1.0 / np.e
    assert kinds == {-1.0, 0.0, 1.0}


def test_it_is_exact_for_one_box_without_penalties_and_for_groups_that_rule_each_other_out():
    random = np.random.default_rng(5)
    for _ in range(10):
        boxes, scores = drawn(random)
        energy = energy_of_boxes(boxes, scores, overlap_power(2.0), 0.1)
        assert energy.guarantee(1) == greedy_ratio(energy, 1) == 1.0
        free = DetectionEnergy(scores, np.zeros((8, 8)))
        assert free.guarantee(4) == 1.0
        assert greedy_ratio(free, 4) == pytest.approx(1.0)
        groups = random.integers(0, 4, 8)
        energy = DetectionEnergy(scores, np.where(groups[:, None] == groups, np.inf, 0.0))
        assert energy.guarantee(3) == 1.0
        assert greedy_ratio(energy, 3) == pytest.approx(1.0)


def test_boxes_that_are_ruled_out_can_leave_less_than_the_share_of_the_thesis():
    boxes = np.array([[0, 0, 4, 4], [0, 0, 2, 2], [2, 0, 4, 2], [0, 2, 2, 4], [2, 2, 4, 4]])
    energy = energy_of_boxes(boxes, [1.01, 1.0, 1.0, 1.0, 1.0], ruled_out_from(0.25))
    assert energy.guarantee(4) == 0.25
    assert (
        greedy_ratio(energy, 4) == pytest.approx(1.01 / 4)
        and greedy_ratio(energy, 4) < 1.0 - 1.0 / np.e
    )


@pytest.mark.parametrize(
    ("scores", "penalties", "crowding"),
    [
        ([1.0, np.nan], np.zeros((2, 2)), None),
        ([1.0, 1.0], -np.ones((2, 2)), None),
        ([1.0, 1.0], np.zeros((2, 2)), [0.0, 0.5, 1.0]),
    ],
)
def test_what_is_not_submodular_is_refused(scores, penalties, crowding):
    with pytest.raises(UserError, match="submodular"):
        DetectionEnergy(scores, penalties, np.ones((1, 2)), crowding)


@pytest.mark.parametrize(
    ("penalty", "crowding"),
    [(overlap_power(6.0), 0.0), (None, 0.4), (overlap_power(3.0, 2.0), 0.2)],
)
def test_branch_and_bound_is_the_greedy_search_over_all_boxes(penalty, crowding):
    boxes = all_boxes(SMALL)
    for seed in range(3):
        weights = np.random.default_rng(seed).normal(0.2, 1.0, size=(SMALL, SMALL))
        score = BoxScore(weights)
        g = penalty or overlap_power(0.0)
        energy = energy_of_boxes(boxes, score.of_boxes(boxes), g, crowding)
        chosen: list[int] = []
        gains = []
        for _ in range(4):
            # Boxes that the search finds have no limit but themselves.
            each = energy.gains(chosen)
            chosen.append(int(each.argmax()))
            gains.append(each.max())
        for n_resets in (0, 1, 3):
            found = [one.score for one in detections(score, 4, 1.0, n_resets, penalty, crowding)]
            np.testing.assert_allclose(found, gains, atol=1e-9)
