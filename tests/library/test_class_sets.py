"""Sets of classes contain the class with their level, and probabilities are calibrated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from workflow_lib.experiments.class_sets import ClassSets


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
    assert np.mean(held) == pytest.approx(level, abs=0.02)
    easy, hard = np.mean(sizes, axis=0)
    assert easy < 1.1 and hard > 1.8


def test_the_temperature_is_found_and_units_of_scores_do_not_matter():
    scores, classes = made(np.random.default_rng(0), 4000, sharpness=2.0)
    sets = ClassSets.fit(scores, classes, np.arange(4000), 0.9)
    assert sets.inverse_temperature == pytest.approx(2.0, rel=0.1)
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


def test_uninformative_scores_have_sets_of_nearly_all_classes():
    generator = np.random.default_rng(1)
    scores, classes = generator.normal(size=(400, 4)), generator.integers(0, 4, 400)
    sets = ClassSets.fit(scores, classes, np.arange(400), 0.9)
    assert sets.probabilities(scores).max() < 0.4
    assert sets.members(scores).sum(axis=1).mean() > 3.3


def test_no_set_is_empty_and_too_few_rows_have_none():
    scores = np.array([[4.0, 0.0], [0.0, 0.1], [0.0, 0.0]])
    assert ClassSets(0.9, 1.0, 0.0).members(scores).sum(axis=1).tolist() == [1, 1, 1]
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
