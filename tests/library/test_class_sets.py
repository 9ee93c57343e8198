"""Sets of classes contain the class with their level, and probabilities are calibrated."""

import numpy as np
import pytest
from scipy.special import softmax

from workflow_lib.solvers.class_calibration import Calibration
from workflow_lib.uncertainty.class_sets import ClassSets
from workflow_lib.uncertainty.conformal import half_widths


def made(generator, n_rows, n_classes=4, sharpness=2.0):
    """Return scores and classes drawn with the probabilities of `sharpness` times the scores."""
    scores = generator.normal(size=(n_rows, n_classes))
    reached = np.cumsum(softmax(sharpness * scores, axis=1), axis=1)
    classes = (generator.random((n_rows, 1)) > reached).sum(axis=1)
    return scores, np.minimum(classes, n_classes - 1)


@pytest.mark.parametrize("level", [0.8, 0.9])
def test_sets_have_their_level_and_are_smaller_where_the_class_is_clear(level):
    held, sizes = [], []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        scores, classes = made(generator, 150)
        sets = ClassSets.fit(scores, classes, np.arange(150), level)
        new_scores, new_classes = made(generator, 500)
        held.append(sets.held(new_scores, new_classes).mean())
        count = sets.members(new_scores).sum(axis=1)
        sure = sets.probabilities(new_scores).max(axis=1)
        sizes.append((count[sure > 0.9].mean(), count[sure < 0.5].mean()))
    # Groups whose most probable class is right more often than the level are above it.
    assert level - 0.01 < np.mean(held) < level + 0.05
    easy, hard = np.mean(sizes, axis=0)
    assert easy < 1.1 and hard > 1.8


def test_the_temperature_is_found_and_units_of_scores_do_not_matter():
    scores, classes = made(np.random.default_rng(0), 4000, sharpness=2.0)
    sets = ClassSets.fit(scores, classes, np.arange(4000), 0.9)
    assert sets.calibration.inverse_temperature == pytest.approx(2.0, rel=0.1)
    other = ClassSets.fit(1e6 * scores + 5.0, classes, np.arange(4000), 0.9)
    np.testing.assert_allclose(
        other.probabilities(1e6 * scores + 5.0), sets.probabilities(scores), atol=1e-4
    )
    probabilities = sets.probabilities(scores)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    # Of the rows with a highest probability near p a share near p is right.
    highest = probabilities.max(axis=1)
    for low in (0.5, 0.7, 0.9):
        near = (highest >= low) & (highest < low + 0.1)
        right = (probabilities.argmax(axis=1) == classes)[near].mean()
        assert right == pytest.approx(highest[near].mean(), abs=0.06)


def test_the_level_holds_where_the_class_is_least_certain():
    thirds, with_one_limit = [], []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        scores, classes = made(generator, 1200, n_classes=10)
        # The certainty varies from row to row.
        scores = scores * np.exp(generator.normal(size=(1200, 1)))
        reached = np.cumsum(softmax(3.0 * scores, axis=1), axis=1)
        classes = np.minimum((generator.random((1200, 1)) > reached).sum(axis=1), 9)
        sets = ClassSets.fit(scores[:200], classes[:200], np.arange(200), 0.9)
        assert len(sets.limits) == 3 and sets.limits[0] > sets.limits[2]
        certain = sets.probabilities(scores[200:]).max(axis=1)
        least = certain <= np.quantile(certain, 1 / 3)
        thirds.append(sets.held(scores[200:], classes[200:])[least].mean())
        distances = 1 - sets.probabilities(scores)[np.arange(1200), classes]
        limit = half_widths(distances[:200, None], 0.9)[0]
        with_one_limit.append((distances[200:][least] <= limit).mean())
    assert np.mean(thirds) == pytest.approx(0.9, abs=0.02)
    assert np.mean(with_one_limit) < 0.86


def test_groups_are_as_many_as_the_rows_allow():
    scores, classes = made(np.random.default_rng(3), 200)
    for n_rows, n_groups in ((19, 1), (39, 1), (40, 2), (59, 2), (60, 3), (200, 3)):
        rows = np.arange(n_rows)
        assert len(ClassSets.fit(scores[rows], classes[rows], rows, 0.9).limits) == n_groups
    # Twenty rows remain twenty, however often each was tested.
    rows = np.arange(200) % 20
    assert len(ClassSets.fit(scores, classes, rows, 0.9).limits) == 1


def test_sets_of_older_files_have_one_limit():
    scores, classes = made(np.random.default_rng(4), 50)
    older = {"level": 0.9, "inverse_temperature": 2.0, "limit": 0.6}
    expected = softmax(2.0 * scores, axis=1) >= 0.4
    expected[np.arange(50), scores.argmax(axis=1)] = True
    np.testing.assert_array_equal(ClassSets.from_tree(older).members(scores), expected)


def test_uninformative_scores_have_sets_of_nearly_all_classes():
    generator = np.random.default_rng(1)
    scores, classes = generator.normal(size=(400, 4)), generator.integers(0, 4, 400)
    sets = ClassSets.fit(scores, classes, np.arange(400), 0.9)
    assert sets.probabilities(scores).max() < 0.4
    assert sets.members(scores).sum(axis=1).mean() > 3.3


def test_no_set_is_empty_and_too_few_rows_have_none():
    scores = np.array([[4.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
    assert ClassSets(0.9, Calibration(), (0.0,), ()).members(scores).sum(axis=1).tolist() == [
        1,
        1,
        1,
    ]
    few, classes = made(np.random.default_rng(2), 8)
    sets = ClassSets.fit(few, classes, np.arange(8), 0.9)
    assert not sets.has_sets and np.isnan(sets.held(few, classes)).all()
    assert not ClassSets.fit(few[:0], classes[:0], np.arange(0), 0.9).has_sets
    # Eight rows remain eight, however often each was tested.
    often = ClassSets.fit(np.tile(few, (5, 1)), np.tile(classes, 5), np.tile(np.arange(8), 5), 0.9)
    assert not often.has_sets


def test_equal_scores_are_equal_probabilities():
    sets = ClassSets.fit(np.zeros((20, 3)), np.arange(20) % 3, np.arange(20), 0.9)
    np.testing.assert_allclose(sets.probabilities(np.zeros((2, 3))), 1 / 3)
    assert ClassSets.from_tree(sets.tree()) == sets


def test_equally_certain_rows_leave_no_group_without_sets():
    # Most rows are as certain as numbers can be, as those of well separated classes.
    generator = np.random.default_rng(0)
    scores, classes = made(generator, 200)
    clear = generator.random(200) < 0.8
    scores[clear] = 1e4 * np.eye(4)[classes[clear]]
    sets = ClassSets.fit(scores, classes, np.arange(200), 0.9)
    assert sets.has_sets
    assert np.nanmean(sets.held(scores, classes)) >= 0.9
