"""Rankings of boxes: the candidates of an image, and the machine of all pairs of them."""

import numpy as np
import pytest
from all_pairs import programme_of_all_pairs

from workflow_lib.items.box_overlap import overlaps
from workflow_lib.methods.contract.method_file import parameters_of
from workflow_lib.papers.blaschko.box_cues import all_boxes
from workflow_lib.papers.blaschko.box_fitting import BoxRows
from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints
from workflow_lib.papers.blaschko.methods import box_ranking
from workflow_lib.papers.blaschko.methods.box_ranking import box_candidates, drawn_boxes
from workflow_lib.run.named_settings import validated

N_WORDS, N_IMAGES, TINY = 4, 3, 3
FILE = {"label": "x", "summary": "x", "color": "#112233", "marker": "o"}
FILE |= {"regressor": "box_ranking", "grid": {"cost": [1.0]}}


def rows_of(n_cells: int, center: bool = False) -> BoxRows:
    """Return images with drawn points and boxes."""
    random = np.random.default_rng(3)
    images = [
        ImagePoints(random.integers(0, N_WORDS, 40), random.random((40, 2)), [60, 60], N_WORDS)
        for _ in range(N_IMAGES)
    ]
    boxes = np.array([[0, 0, 40, 20], [20, 0, 60, 60], [20, 20, 40, 60]])
    return BoxRows(images, boxes, n_cells, center)


def ranked(rows, candidates, cost, **settings):
    """Return the weights of the words and the ranking of one cost."""
    given = {"preferences": "complete", "n_preferred": 1, "rescaling": "slack"} | settings
    method = box_ranking.Method(TINY, False, 1, 36, 0.8, **given, seed=0, grid={"cost": [cost]})
    ((weights, ranking),) = method._ranked(rows, candidates, [cost], 1e-8)
    return weights, ranking


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_of_all_boxes_of_a_grid_it_is_the_machine_of_all_pairs(rescaling):
    rows = rows_of(TINY)
    # 36 boxes of 3 x 3 cells, however many are asked for.
    candidates = box_candidates(rows, TINY, 50, 0.8, range(N_IMAGES))
    assert candidates.losses.shape == (N_IMAGES, 36)
    every = all_boxes(TINY)
    assert len({tuple(box) for box in every}) == 36
    features = np.array([grid.features(box) for grid in rows.grids for box in every])
    losses = np.concatenate([1.0 - overlaps(every, box) for box in rows.boxes])
    groups, cost = np.repeat(np.arange(N_IMAGES), 36), 20.0
    expected, optimum = programme_of_all_pairs(
        features / rows.unit, losses, groups, cost, rescaling
    )
    weights, ranking = ranked(rows, candidates, cost, rescaling=rescaling)
    assert ranking.objective == pytest.approx(optimum, rel=1e-5)
    np.testing.assert_allclose(weights * rows.unit, expected, atol=1e-2)
    # In the limit of small costs the weights are proportional to the cost.
    small, smaller = (ranked(rows, candidates, each)[0] / each for each in (1e-6, 1e-9))
    np.testing.assert_allclose(small, smaller, rtol=1e-9)


def test_a_star_is_the_bipartite_graph_of_the_true_box():
    rows = rows_of(TINY)
    candidates = box_candidates(rows, TINY, 20, 0.5, range(N_IMAGES))
    # All other boxes have equal losses then, and a complete graph has no other preferences.
    star = candidates._replace(losses=np.where(candidates.losses > 0, 1.0, 0.0))
    complete = ranked(rows, star, 5.0)
    for settings in ({"preferences": "bipartite"}, {"rescaling": "margin"}):
        found = ranked(rows, star, 5.0, **settings)
        assert found[1].objective == pytest.approx(complete[1].objective, rel=1e-6)
    several = ranked(rows, candidates, 5.0, preferences="bipartite", n_preferred=4)
    assert abs(several[1].objective / complete[1].objective - 1.0) > 1e-2


@pytest.mark.parametrize("center", [False, True])
def test_features_of_many_boxes_are_those_of_each(center):
    rows = rows_of(12, center)
    candidates = box_candidates(rows, 12, 30, 0.5, range(N_IMAGES))
    for row, grid in enumerate(rows.grids):
        boxes = drawn_boxes(rows.boxes[row], 12, 30, 0.5, np.random.default_rng(row))
        features = np.array([grid.features(box) for box in boxes])
        np.testing.assert_array_equal(candidates.features[row], features)
        np.testing.assert_array_equal(
            candidates.losses[row], 1.0 - overlaps(boxes, rows.boxes[row])
        )


@pytest.mark.parametrize("box", [[4, 6, 20, 15], [0, 0, 1, 1], [0, 0, 32, 32]])
def test_candidates_are_the_true_box_and_different_ones_near_and_far(box):
    box = np.array(box)
    boxes = drawn_boxes(box, 32, 300, 0.8, np.random.default_rng(0))
    assert boxes[0].tolist() == box.tolist()
    assert len(np.unique(boxes, axis=0)) == len(boxes) == 300
    assert boxes.min() >= 0 and boxes.max() <= 32 and (boxes[:, :2] < boxes[:, 2:]).all()
    if box[0]:
        counts = np.histogram(overlaps(boxes, box), bins=10, range=(0, 1))[0]
        assert counts.min() >= 5 and counts[0] >= 50
        far = drawn_boxes(box, 32, 300, 0.0, np.random.default_rng(0))
        assert overlaps(far, box).mean() < 0.5 * overlaps(boxes, box).mean()


@pytest.mark.parametrize(
    ("changes", "key", "found"),
    [
        ({"candidates": 1}, "candidates", "1"),
        ({"near_share": 1.5}, "near_share", "1.5"),
        ({"preferences": "star"}, "preferences", "'star'"),
        ({"n_preferred": 0}, "n_preferred", "0"),
        ({"rescaling": "none"}, "rescaling", "'none'"),
        ({"grid": {"cost": [1.0, 0.0]}}, "grid.cost[1]", "0.0"),
        ({"items": "bags"}, "items", "'bags'"),
    ],
)
def test_an_impossible_value_gives_one_message(changes, key, found):
    _, errors = validated(parameters_of("box_ranking"), FILE | changes, "x.yaml")
    (message,) = map(str, errors)
    assert message.startswith(f"x.yaml, key {key}: found {found}. Expected ")
