"""Measures of rankings: against their definitions, pair by pair, and against scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from workflow_lib.measures import ranking
from workflow_lib.measures import recalls as of_candidates
from workflow_lib.measures.base import Predictions
from workflow_lib.measures.ranking.roc import (
    MEASURES,
    decision_values,
    partial_area,
    ranking_measures,
    roc_curve,
)
from workflow_lib.measures.recalls import recalls

SAMPLES = [(0, 40, 3), (1, 41, 5), (2, 300, 20), (3, 9, 2), (4, 150, 1000)]
"""Seeds, rows and distinct values: samples with many and with few ties."""


def sample(seed: int, n_rows: int, n_values: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values with ties (m,) that say a little about what is positive, and that."""
    random = np.random.default_rng(seed)
    positive = random.random(n_rows) < 0.4
    return random.integers(0, n_values, n_rows) + 0.2 * n_values * positive // 1, positive


def measures(values, positive) -> dict[str, float]:
    curve = roc_curve(np.asarray(values, dtype=float), np.asarray(positive, dtype=bool))
    return {name: measure(curve) for name, measure in MEASURES.items()}


def brute_rfp(values, positive) -> float:
    negatives = values[~positive]
    return np.median([np.mean(negatives >= value) for value in values[positive]])


def brute_partial_area(values, positive, n_false: int) -> float:
    """Sum the area in thin strips; between thresholds positives and negatives come evenly."""
    n_false = min(n_false, (~positive).sum())
    strips = (np.arange(1000 * n_false) + 0.5) / 1000
    height = np.empty_like(strips)
    before, found = 0, 0
    for value in sorted(set(values), reverse=True):
        n, p = (values[~positive] == value).sum(), (values[positive] == value).sum()
        inside = (strips > before) & (strips < before + n)
        height[inside] = found + p * (strips[inside] - before) / max(n, 1)
        before, found = before + n, found + p
    return height.mean() / positive.sum()


def brute_equal_error_rate(values, positive) -> float:
    """Search the point on the curve, ordered by threshold, where the two rates are equal."""
    thresholds = [np.inf, *sorted(set(values), reverse=True)]
    rates = [(np.mean(values[~positive] >= t), np.mean(values[positive] < t)) for t in thresholds]
    for (accepted, rejected), (next_accepted, next_rejected) in zip(rates, rates[1:], strict=False):
        gap, next_gap = accepted - rejected, next_accepted - next_rejected
        if gap <= 0 <= next_gap:
            return accepted + (next_accepted - accepted) * -gap / (next_gap - gap)
    raise AssertionError("the rates must cross")


def test_every_measure_has_a_description():
    assert list(MEASURES) == [measure.name for measure in ranking.MEASURES]


@pytest.mark.parametrize("given", SAMPLES)
def test_measures_are_their_definitions(given):
    values, positive = sample(*given)
    found = measures(values, positive)
    pairs = values[positive][:, None] - values[~positive]
    by_pairs = np.mean((pairs > 0) + 0.5 * (pairs == 0))
    assert found["auc"] == pytest.approx(by_pairs, rel=1e-12)
    assert found["auc"] == pytest.approx(roc_auc_score(positive, values), rel=1e-12)
    assert found["median_rfp"] == pytest.approx(brute_rfp(values, positive), rel=1e-12)
    assert found["roc50"] == pytest.approx(brute_partial_area(values, positive, 50), rel=1e-9)
    by_search = brute_equal_error_rate(values, positive)
    assert found["equal_error_rate"] == pytest.approx(by_search, rel=1e-12)


@pytest.mark.parametrize("n_false", [1, 7, 30])
def test_a_partial_area_ends_within_ties(n_false):
    values, positive = sample(2, 300, 20)
    found = partial_area(roc_curve(values, positive), n_false)
    assert found == pytest.approx(brute_partial_area(values, positive, n_false), rel=1e-9)
    # The share of positives before each of the first negatives, where no two values are equal.
    values = values + 0.5 * np.random.default_rng(0).permutation(300) / 300
    negatives = np.sort(values[~positive])[::-1][:n_false]
    by_hand = np.mean([np.mean(values[positive] > negative) for negative in negatives])
    found = partial_area(roc_curve(values, positive), n_false)
    assert found == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("n_negatives", [3, 200])
def test_perfect_reversed_and_constant_rankings(n_negatives):
    positive = np.arange(n_negatives + 5) < 5
    best = {"auc": 1.0, "median_rfp": 0.0, "roc50": 1.0, "equal_error_rate": 0.0}
    assert measures(positive, positive) == best
    assert measures(~positive, positive) == {name: 1.0 - best[name] for name in best}
    shares = measures(np.zeros(n_negatives + 5), positive)
    assert (shares["auc"], shares["median_rfp"], shares["equal_error_rate"]) == (0.5, 1.0, 0.5)


@pytest.mark.parametrize("given", SAMPLES)
def test_only_the_order_counts(given):
    values, positive = sample(*given)
    found = measures(values, positive)
    for changed in (np.exp(0.01 * values), 1e6 * values - 3.0, np.cbrt(values - 2.0)):
        assert measures(changed, positive) == found
    order = np.random.default_rng(0).permutation(len(values))
    assert measures(values[order], positive[order]) == found


def test_without_positives_or_negatives_there_is_no_measure():
    for positive in ([], [True], [False], [True, True]):
        values = np.arange(len(positive))
        assert all(map(np.isnan, measures(values, positive).values()))
    for labels, n_classes in (([1], 2), ([2, 2, 2], 3), ([0], 1)):
        scores = np.ones((len(labels), n_classes))
        found = ranking_measures(np.array(labels), scores)
        assert set(found) == set(MEASURES)
        assert all(map(np.isnan, found.values()))


def test_the_second_of_two_classes_is_positive():
    values, positive = sample(2, 300, 20)
    scores = np.column_stack([np.zeros(300), values])
    assert ranking_measures(positive.astype(int), scores) == measures(values, positive)
    # AUC and equal error rate are the same for the first class, the others are not.
    other = ranking_measures(1 - positive.astype(int), scores[:, ::-1])
    same = {
        name
        for name, value in other.items()
        if value == pytest.approx(measures(values, positive)[name])
    }
    assert same == {"auc", "equal_error_rate"}


def test_a_class_that_is_named_is_positive():
    values, positive = sample(2, 300, 20)
    scores = np.column_stack([values, np.zeros(300)])
    assert ranking_measures(1 - positive.astype(int), scores, 0) == measures(values, positive)
    labels, scores = np.arange(90) % 3, np.random.default_rng(0).normal(size=(90, 3))
    found = [ranking_measures(labels, scores, label)["auc"] for label in range(3)]
    assert ranking_measures(labels, scores)["auc"] == pytest.approx(np.mean(found))
    assert np.isnan(ranking_measures(labels[labels < 2], scores[labels < 2], 2)["auc"])


def test_more_classes_are_measured_against_the_rest():
    random = np.random.default_rng(0)
    labels = random.integers(0, 4, 80)
    scores = np.eye(5)[labels] + random.normal(size=(80, 5))
    margins = [scores[:, k] - np.delete(scores, k, axis=1).max(axis=1) for k in range(5)]
    np.testing.assert_allclose(decision_values(scores), np.transpose(margins), atol=1e-15)
    # The fifth class has no rows.
    by_class = [roc_auc_score(labels == k, margins[k]) for k in range(4)]
    found = ranking_measures(labels, scores)
    assert found["auc"] == pytest.approx(np.mean(by_class), rel=1e-12)


def test_a_number_added_to_all_scores_of_a_row_cancels():
    random = np.random.default_rng(0)
    labels, scores = random.integers(0, 3, 60), random.integers(0, 4, (60, 3)).astype(float)
    shifted = scores + random.integers(-100, 100, (60, 1))
    assert ranking_measures(labels, shifted) == ranking_measures(labels, scores)
    top = scores == scores.max(axis=1, keepdims=True)
    values = decision_values(scores)
    assert (values[top] >= 0).all()
    assert (values[~top] < 0).all()


def test_recalls_are_those_of_ties_in_random_order():
    random = np.random.default_rng(0)
    labels, scores = random.integers(0, 6, 40), random.integers(0, 3, (40, 6)).astype(float)
    found = np.zeros(6)
    n_draws = 4000
    for _ in range(n_draws):
        order = np.lexsort((random.random((40, 6)), -scores), axis=1)
        positions = (order == labels[:, None]).argmax(axis=1)
        found += (positions[:, None] < np.arange(1, 7)).mean(axis=0) / n_draws
    np.testing.assert_allclose(recalls(labels, scores), found, atol=0.01)
    np.testing.assert_allclose(recalls(labels, np.zeros((40, 6))), np.arange(1, 7) / 6)
    distinct = random.permuted(np.tile(np.arange(6.0), (40, 1)), axis=1)
    accuracy = (distinct.argmax(axis=1) == labels).mean()
    assert recalls(labels, distinct)[0] == pytest.approx(accuracy)


def test_recalls_among_as_many_as_there_are_classes_are_left_out():
    labels, scores = np.arange(6) % 4, np.random.default_rng(0).random((6, 6))
    for n_classes, names in ((6, {"top_3", "top_5"}), (4, {"top_3"}), (3, set())):
        known = {"class_scores": scores[:, :n_classes]}
        rows = Predictions(labels % n_classes, labels, entries=known)
        assert set(of_candidates.values(rows)) == names
