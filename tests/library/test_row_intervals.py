"""Intervals follow the noise of the row where there is evidence, and otherwise have one width."""

import numpy as np
import pytest
from scipy.optimize import minimize

from workflow_lib.uncertainty.conformal import coverage_by_thirds, half_widths, row_weights
from workflow_lib.uncertainty.output_ranges import OutputRanges
from workflow_lib.uncertainty.row_intervals import (
    MIN_ROWS,
    N_FEATURES,
    HeldOutRows,
    RowIntervals,
    _coefficients,
)

ANYTHING = OutputRanges.of([{}])


def made(generator, n_rows, deviation, times=1):
    """Return test rows with normal residuals whose deviation is that of their prediction."""
    rows = np.tile(np.arange(n_rows), times)
    predicted = np.tile(generator.normal(size=n_rows), times)
    novelty = np.tile(generator.gamma(4.0, 0.25, n_rows), times)
    residuals = np.tile(generator.normal(size=n_rows), times) * deviation(predicted, novelty)
    return HeldOutRows(predicted[:, None], (predicted + residuals)[:, None], novelty, rows)


def growing(predicted, novelty):
    return np.exp(0.7 * predicted)


def with_novelty(predicted, novelty):
    return 0.3 + novelty


def even(predicted, novelty):
    return np.ones_like(predicted)


def fitted(tested, level=0.9, ranges=ANYTHING):
    return RowIntervals.fit(tested, level, ranges, 0)[0]


def test_residuals_of_one_size_have_one_width():
    tested = made(np.random.default_rng(0), 200, even)
    signs = np.where(np.arange(200) % 2, 0.25, -0.25)[:, None]
    tested = HeldOutRows(tested.predicted, tested.predicted + signs, tested.novelty, tested.rows)
    intervals = fitted(tested)
    assert not intervals.follow_rows.any()
    expected = np.full((200, 1), half_widths(signs, 0.9)[0])
    np.testing.assert_allclose(intervals.half_widths(tested.predicted, tested.novelty), expected)


def test_few_rows_have_the_quantile_of_all_and_too_few_have_none():
    for n_rows in (9, MIN_ROWS - 1):
        tested = made(np.random.default_rng(1), n_rows, growing)
        residuals = tested.truth - tested.predicted
        intervals = fitted(tested)
        assert not intervals.follow_rows.any()
        np.testing.assert_array_equal(intervals.factors, half_widths(residuals, 0.9))
    tested = made(np.random.default_rng(1), 8, growing)
    lower, upper = fitted(tested).ends(tested.predicted, tested.novelty)
    assert (lower == -np.inf).all() and (upper == np.inf).all()
    assert np.isnan(fitted(tested).held(tested)).all()
    nothing = tested.part(np.arange(0))
    assert np.isinf(fitted(nothing).half_widths(tested.predicted, tested.novelty)).all()


@pytest.mark.parametrize("deviation", [growing, with_novelty, even])
def test_every_third_of_new_rows_has_the_requested_coverage(deviation):
    """Averages over 20 tables of 150 rows; one width covers 73 % of the rows with most noise."""
    thirds, alike, follows, widths = [], [], [], []
    for seed in range(20):
        generator = np.random.default_rng([seed, 5])
        tested, new = made(generator, 150, deviation), made(generator, 600, deviation)
        intervals = fitted(tested)
        follows.append(intervals.follow_rows[0])
        constant = half_widths(tested.truth - tested.predicted, 0.9)
        flat = RowIntervals.constant(constant, 0.9)
        noise = deviation(new.predicted[:, 0], new.novelty)
        for found, kept in ((intervals, thirds), (flat, alike)):
            kept.append(coverage_by_thirds(found.held(new), noise, new.rows)[0])
        widths.append(intervals.half_widths(new.predicted, new.novelty).mean() / constant[0])
    thirds, alike = np.mean(thirds, axis=0), np.mean(alike, axis=0)
    assert ((0.86 < thirds) & (thirds < 0.94)).all(), thirds
    assert 0.88 < thirds.mean() < 0.93
    if deviation is even:
        assert np.mean(follows) < 0.5 and np.mean(widths) == pytest.approx(1.0, abs=0.02)
    else:
        assert np.mean(follows) == 1.0
        assert alike[2] < 0.84 < 0.95 < alike[0]
        assert np.mean(widths) < 1.0


def test_a_row_that_is_tested_often_counts_once():
    once = made(np.random.default_rng(2), 90, growing)
    thrice = made(np.random.default_rng(2), 90, growing, times=3)
    first, second = fitted(once), fitted(thrice)
    assert first.follow_rows.all()
    np.testing.assert_allclose(second.coefficients, first.coefficients, atol=0.01)
    np.testing.assert_allclose(second.factors, first.factors, rtol=0.03)


def test_the_score_of_a_row_does_not_depend_on_its_residual():
    """The widths are those of the quantile of scores by spreads of other folds."""
    tested = made(np.random.default_rng(3), 60, growing)
    largest = np.abs(tested.truth - tested.predicted)[:, 0].argmax()
    inlying = fitted(tested)
    truth = tested.truth.copy()
    truth[largest] += 1e3
    outlying = fitted(HeldOutRows(tested.predicted, truth, tested.novelty, tested.rows))
    # One wild residual of sixty is beyond the quantile, whatever spread it has for itself.
    widths = [each.half_widths(tested.predicted, tested.novelty) for each in (inlying, outlying)]
    assert np.median(widths[1] / widths[0]) < 5.0
    assert outlying.held(HeldOutRows(tested.predicted, truth, tested.novelty, tested.rows))[
        largest
    ] == [0.0]


def test_missing_outputs_and_outputs_without_error():
    generator = np.random.default_rng(4)
    tested = made(generator, 120, growing)
    known = generator.random(120) < 0.6
    half = HeldOutRows(
        np.hstack([tested.predicted] * 3),
        np.hstack([tested.truth, np.where(known[:, None], tested.truth, np.nan), tested.predicted]),
        tested.novelty,
        tested.rows,
    )
    intervals = RowIntervals.fit(half, 0.9, OutputRanges.of([{}] * 3), 0)[0]
    np.testing.assert_allclose(intervals.factors[0], fitted(tested).factors[0])
    assert np.isfinite(intervals.factors).all() and intervals.factors[2] == 0.0
    held = intervals.held(half)
    np.testing.assert_array_equal(np.isnan(held[:, 1]), ~known)
    assert (held[:, 2] == 1.0).all()


def test_coefficients_are_the_minimum_of_the_penalised_likelihood():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(2, 40, N_FEATURES))
    X[:, :, 0] = 1.0
    sizes, W = generator.exponential(size=(2, 40)), generator.random((2, 40))
    used = np.arange(0, 40, 2)
    found = _coefficients(X, sizes, W, used, 3.0, np.zeros((2, N_FEATURES)))
    for output in range(2):
        features, size, weight = X[output, used], sizes[output, used], W[output, used]

        def loss(b, features=features, size=size, weight=weight):
            logarithms = features @ b
            value = (weight * (logarithms + size * np.exp(-logarithms))).sum()
            return value + 1.5 * (b[1:] ** 2).sum()

        expected = minimize(loss, np.zeros(N_FEATURES), tol=1e-10).x
        np.testing.assert_allclose(found[output], expected, atol=1e-4)


def test_intervals_are_stored_as_plain_arrays():
    tested = made(np.random.default_rng(6), 100, growing)
    ranges = OutputRanges.of([{"least": 0.0, "whole": True}])
    intervals = fitted(tested, ranges=ranges)
    stored = RowIntervals.from_tree(intervals.tree())
    for interval, other in zip(
        intervals.ends(tested.predicted, tested.novelty),
        stored.ends(tested.predicted, tested.novelty),
    ):
        np.testing.assert_array_equal(interval, other)
    assert stored.level == 0.9


def test_no_row_is_wider_than_the_calibration_knows():
    tested = made(np.random.default_rng(7), 100, growing)
    intervals = fitted(tested)
    far = intervals.half_widths(np.array([[1e9], [-1e9]]), np.array([1e9, 0.0]))
    near = intervals.half_widths(tested.predicted, tested.novelty)
    assert far.max() < 3.0 * near.max() and far.min() > near.min() / 3.0


def test_many_residuals_are_sampled_for_the_fit_and_all_count_for_the_quantile():
    tested = made(np.random.default_rng(8), 5000, growing)
    intervals = fitted(tested)
    assert intervals.held(tested).mean() == pytest.approx(0.9, abs=0.005)
    assert row_weights(tested.rows).sum() == 5000


def test_ends_are_clipped_to_the_range():
    ranges = OutputRanges.of([{"least": 0}, {"least": 0, "largest": 1.0}, {}])
    predicted = np.array([[1.0, 0.5, 1.0], [-2.0, 3.0, -2.0]])
    lower, upper = ranges.ends(predicted, np.array([1.5, 0.75, 1.5]))
    # Around the predictions in the range, 0 and 1 for the first two of the second row.
    np.testing.assert_array_equal(lower, [[0.0, 0.0, -0.5], [0.0, 0.25, -3.5]])
    np.testing.assert_array_equal(upper, [[2.5, 1.0, 2.5], [1.5, 1.0, -0.5]])
    lower, upper = ranges.ends(predicted, np.array([np.inf, 0.1, 0.1]))
    assert (lower[:, 0] == -np.inf).all() and (upper[:, 0] == np.inf).all()
    assert (
        OutputRanges.of_dataset({"outputs": predicted, "names": {}}).whole.tolist() == [False] * 3
    )


@pytest.mark.parametrize(
    "range_",
    [{}, {"least": 0}, {"largest": 2}, {"least": 0, "largest": 1}, {"least": 1, "whole": 1}],
)
def test_every_prediction_lies_in_its_interval(range_):
    generator = np.random.default_rng(0)
    ranges = OutputRanges.of([range_] * 3)
    predicted = 2 * generator.normal(size=(500, 3))
    predicted[:50] = np.rint(predicted[:50]) + generator.choice([0.5, 1e-12, 0.0], (50, 3))
    for widths in (generator.gamma(0.5, size=(500, 3)), np.array([0.0, 0.2, np.inf])):
        lower, upper = ranges.ends(predicted, widths)
        points = ranges.within(predicted)
        assert (lower <= points).all() and (points <= upper).all()
        assert (points >= range_.get("least", -np.inf)).all()
        assert (points <= range_.get("largest", np.inf)).all()
        np.testing.assert_array_equal(ranges.ends(points, widths), (lower, upper))


def test_ends_of_whole_numbers_hold_the_same_whole_numbers():
    ranges = OutputRanges.of([{"whole": True}])
    generator = np.random.default_rng(9)
    predicted, widths = generator.normal(size=(200, 1)) * 3, generator.gamma(2.0, size=(200, 1))
    lower, upper = ranges.ends(predicted, widths)
    assert ((lower == np.rint(lower)) | (lower == predicted)).all()
    assert ((upper == np.rint(upper)) | (upper == predicted)).all()
    numbers = np.arange(-20, 21)
    inside = (predicted - widths <= numbers) & (numbers <= predicted + widths)
    found = (lower <= numbers) & (numbers <= upper)
    np.testing.assert_array_equal(found[inside.any(axis=1)], inside[inside.any(axis=1)])
    # Where there is none in it, the nearest one joins.
    empty = ~inside.any(axis=1)
    assert empty.any()
    np.testing.assert_array_equal(found[empty], numbers == np.rint(predicted[empty]))
    # Values next to a whole number by rounding count as this number.
    lower, upper = ranges.ends(np.array([[0.1 * 3 * 10]]), np.array([2.0]))
    assert (lower[0, 0], upper[0, 0]) == (1.0, 5.0)
