"""Intervals have the coverage of their level, and are no wider than necessary."""

import math

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor
from workflow_lib.uncertainty.conformal import (
    coverage_by_thirds,
    half_widths,
    held_by_other_rows,
    levels_that_hold,
    row_weights,
    rows_needed,
)

NOISES = {
    "normal": lambda generator, shape, size: generator.normal(size=shape),
    "uniform": lambda generator, shape, size: generator.uniform(-2, 2, size=shape),
    "skewed": lambda generator, shape, size: generator.exponential(size=shape) - 1.0,
    "heavy tails": lambda generator, shape, size: generator.standard_t(2.0, size=shape),
    "growing with the input": lambda generator, shape, size: size * generator.normal(size=shape),
}


def coverage_by_split(residuals, rows, level, seeds):
    """Return the coverage (n_splits, d) by intervals of one half-width from other rows."""
    values, numbers = np.concatenate(residuals), np.concatenate(rows)

    def held(calibrating, tried):
        weights = row_weights(numbers[calibrating])
        widths = half_widths(values[calibrating], level, weights)
        is_tried = ~np.isnan(values[tried]) & np.isfinite(widths)
        return np.where(is_tried, np.abs(values[tried]) <= widths, np.nan)

    found = held_by_other_rows(rows, held, seeds)
    known = [(~np.isnan(each)).sum(axis=0) for each in found]
    return np.array(
        [
            np.where(n > 0, np.nansum(each, axis=0) / np.maximum(n, 1), np.nan)
            for each, n in zip(found, known)
        ]
    )


def crossed_coverage(residuals, level, seed):
    """Return the coverage (d,) of one test set, by halves of it."""
    return coverage_by_split([residuals], [np.arange(len(residuals))], level, [seed])[0]


def pooled(residuals, rows, level):
    """Return the half-widths (d,) from the residuals of several splits."""
    return half_widths(np.concatenate(residuals), level, row_weights(np.concatenate(rows)))


def column(*values):
    return np.array(values, dtype=float)[:, None]


@each_case("level", [0.5, 0.8, 0.9, 0.95])
@each_case("n_rows", [1, 4, 9, 19, 20, 57])
def test_the_half_width_is_the_order_statistic(n_rows, level):
    residuals = np.random.default_rng(n_rows).normal(size=(n_rows, 3))
    rank = math.ceil(round((n_rows + 1) * level, 9))
    found = half_widths(residuals, level)
    if rank > n_rows:
        assert np.isinf(found).all()
    else:
        np.testing.assert_array_equal(found, np.sort(np.abs(residuals), axis=0)[rank - 1])


def test_the_level_is_kept_exactly_on_average_over_the_rank_of_the_new_row():
    # Of n + 1 exchangeable sizes each is the new one equally often: no sampling error is left.
    sizes = np.random.default_rng(0).exponential(size=30)
    for level in (0.5, 0.8, 0.9, 0.95):
        held = [
            sizes[new] <= half_widths(np.delete(sizes, new)[:, None], level)[0]
            for new in range(len(sizes))
        ]
        assert np.mean(held) == pytest.approx(math.ceil(round(30 * level, 9)) / 30)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.68, 0.8, 0.9, 0.95, 0.99])
def test_fewer_rows_than_needed_have_an_infinite_half_width(level):
    needed = rows_needed(level)
    residuals = np.arange(1.0, needed + 1)[:, None]
    assert np.isfinite(half_widths(residuals, level)[0])
    assert half_widths(residuals[:-1], level)[0] == np.inf


def test_missing_outputs_count_for_nothing():
    residuals = np.random.default_rng(0).normal(size=(40, 2))
    missing = residuals.copy()
    missing[5:35, 1] = np.nan
    found = half_widths(missing, 0.9)
    assert found[0] == half_widths(residuals, 0.9)[0]
    assert found[1] == half_widths(np.delete(residuals, np.s_[5:35], axis=0), 0.9)[1]
    assert half_widths(np.full((40, 1), np.nan), 0.9)[0] == np.inf


def test_a_row_with_several_residuals_counts_once():
    generator = np.random.default_rng(0)
    residuals = generator.normal(size=(25, 2))
    rows = generator.permutation(25)
    once = half_widths(residuals, 0.8)
    np.testing.assert_array_equal(pooled([residuals], [rows], 0.8), once)
    # The same residuals three times, some rows even six times, add no information.
    thrice = [residuals, residuals, np.vstack([residuals, *3 * [residuals[:7]]])]
    of_rows = [rows, rows, np.concatenate([rows, *3 * [rows[:7]]])]
    np.testing.assert_array_equal(pooled(thrice, of_rows, 0.8), once)
    # Eight rows are too few for 90 %, however often each was tested.
    eight = [residuals[:8]] * 5, [rows[:8]] * 5
    assert np.isinf(pooled(*eight, 0.9)).all()


def test_pooled_half_widths_are_those_of_a_brute_force_count():
    generator = np.random.default_rng(1)
    rows = [generator.choice(30, size=12, replace=False) for _ in range(6)]
    residuals = [generator.normal(size=(12, 1)) for _ in rows]
    times = np.bincount(np.concatenate(rows), minlength=30)
    found = pooled(residuals, rows, 0.7)[0]
    n_rows = np.count_nonzero(times)
    values, owners = np.concatenate(residuals)[:, 0], np.concatenate(rows)
    weight_up_to = [
        sum(1 / times[owner] for value, owner in zip(values, owners) if abs(value) <= width)
        for width in np.sort(np.abs(values))
    ]
    enough = np.array(weight_up_to) >= math.ceil((n_rows + 1) * 0.7) - 1e-9
    assert found == np.sort(np.abs(values))[np.argmax(enough)]


def test_crossed_coverage_never_tries_a_row_on_itself():
    # The largest residual is outside of any interval that is computed without it.
    residuals = column(*np.arange(1.0, 41), 1000.0, 1001.0)
    seen = [crossed_coverage(residuals, 0.9, seed)[0] for seed in range(20)]
    assert max(seen) < 1.0
    assert crossed_coverage(np.ones((40, 1)), 0.9, 0)[0] == 1.0


def test_halves_with_too_few_rows_have_no_coverage():
    residuals = np.random.default_rng(0).normal(size=(40, 2))
    residuals[8:, 1] = np.nan
    found = crossed_coverage(residuals, 0.9, 0)
    assert 0.0 <= found[0] <= 1.0
    assert np.isnan(found[1])
    assert np.isnan(crossed_coverage(residuals[:17], 0.9, 0)).tolist() == [False, True]
    assert np.isnan(crossed_coverage(residuals[:8], 0.9, 0)).all()


def test_small_test_sets_are_tried_by_the_rows_of_other_splits():
    generator = np.random.default_rng(3)
    rows = [generator.choice(40, 12, replace=False) for _ in range(5)]
    residuals = [generator.normal(size=(12, 2)) for _ in rows]
    found = coverage_by_split(residuals, rows, 0.9, range(5))
    for number, tested in enumerate(rows):
        pooled = [
            (row, value)
            for other, values in zip(rows, residuals)
            for row, value in zip(other, values)
            if row not in tested
        ]
        owners = np.array([row for row, _ in pooled])
        weights = np.array([1 / (owners == row).sum() for row in owners])
        widths = half_widths(np.array([value for _, value in pooled]), 0.9, weights)
        np.testing.assert_array_equal(
            found[number], (np.abs(residuals[number]) <= widths).mean(axis=0)
        )


def test_splits_that_test_the_same_rows_are_halved():
    generator = np.random.default_rng(4)
    residuals = [generator.normal(size=(40, 1)) for _ in range(3)]
    rows = [np.arange(40)] * 3
    found = coverage_by_split(residuals, rows, 0.9, [7, 8, 9])
    for number, values in enumerate(residuals):
        assert found[number] == crossed_coverage(values, 0.9, 7 + number)


def test_splits_that_test_the_same_few_rows_have_no_coverage():
    residuals = [np.ones((12, 1))] * 3
    assert np.isnan(coverage_by_split(residuals, [np.arange(12)] * 3, 0.9, range(3))).all()
    assert np.isnan(coverage_by_split(residuals[:1], [np.arange(12)], 0.9, [0])).all()


def test_thirds_are_in_order_and_every_row_counts_once():
    held = np.repeat([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 4, axis=0)
    by = np.arange(12.0)
    rows = np.arange(12)
    expected = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    np.testing.assert_array_equal(coverage_by_thirds(held, by, rows), expected)
    shuffled = np.random.default_rng(0).permutation(12)
    found = coverage_by_thirds(held[shuffled], by[shuffled], rows[shuffled])
    np.testing.assert_array_equal(found, expected)
    # The first row thrice is still a quarter of its third.
    again = [0, 0, *range(12)]
    held[0] = 0.0
    found = coverage_by_thirds(held[again], by[again], rows[again])
    np.testing.assert_allclose(found, [[0.75, 1.0, 0.0], [0.0, 1.0, 1.0]])
    # Each output may have its own order, and rows that were not tried are in no third.
    held[:4] = np.nan
    found = coverage_by_thirds(held, np.column_stack([by, -by]), rows)
    np.testing.assert_allclose(found[:, 0], [1.0, 1.0])
    assert np.isnan(coverage_by_thirds(np.full((3, 1), np.nan), by[:3], rows[:3])).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_level_that_is_no_share_is_refused(level):
    for function in (rows_needed, lambda level: half_widths(np.ones((3, 1)), level)):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            function(level)


def made_rows(generator, n_rows, noise):
    """Return inputs (n, 3) and two outputs, the second with more noise."""
    X = generator.normal(size=(n_rows, 3))
    signal = np.column_stack([X @ [1.0, -1.0, 0.5], np.sin(2 * X[:, 0]) + X[:, 1] ** 2])
    size = np.abs(X[:, :1]) + 0.2
    return X, signal + [0.5, 1.0] * NOISES[noise](generator, signal.shape, size)


def simulated_coverage(noise, seed, n_rows=120, training_size=90, n_splits=5):
    """Return the coverage (2,) of new rows and that measured by halves, of one synthetic table.

    As in an experiment: residuals come from the test rows of several splits, and the model for
    use is fitted to all rows.
    """
    generator = np.random.default_rng([seed, sorted(NOISES).index(noise)])
    X, Y = made_rows(generator, n_rows, noise)
    model = KernelRidgeRegressor(gamma=0.1, alpha=1e-3)
    residuals, tests = [], []
    for _ in range(n_splits):
        permuted = generator.permutation(n_rows)
        train, test = permuted[:training_size], permuted[training_size:]
        residuals.append(Y[test] - model.fit(X[train], Y[train]).predict(X[test]))
        tests.append(test)
    measured = [crossed_coverage(values, 0.9, seed) for values in residuals]
    widths = pooled(residuals, tests, 0.9)
    new_X, new_Y = made_rows(generator, 400, noise)
    is_held = np.abs(new_Y - model.fit(X, Y).predict(new_X)) <= widths
    return is_held.mean(axis=0), np.mean(measured, axis=0)


def test_coverage_measured_on_small_test_sets_is_that_of_new_rows():
    measured = []
    for seed in range(20):
        generator = np.random.default_rng([seed, 77])
        X, Y = made_rows(generator, 80, next(iter(NOISES)))
        model = KernelRidgeRegressor(gamma=0.1, alpha=1e-3)
        residuals, tests = [], []
        for _ in range(10):
            permuted = generator.permutation(80)
            train, test = permuted[:65], permuted[65:]
            residuals.append(Y[test] - model.fit(X[train], Y[train]).predict(X[test]))
            tests.append(test)
        measured.append(coverage_by_split(residuals, tests, 0.9, range(10)).mean(axis=0))
    assert np.abs(np.mean(measured, axis=0) - 0.9).max() < 0.03


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_of_ninety_percent_contain_ninety_percent_of_new_outputs(noise):
    simulations = np.array([simulated_coverage(noise, seed) for seed in range(20)])
    of_new_rows, measured = simulations.mean(axis=0)
    assert ((0.87 <= of_new_rows) & (of_new_rows <= 0.93)).all(), of_new_rows
    # Halves of 15 rows give 15/16 of coverage where 0.9 is requested.
    assert np.abs(measured - 15 / 16).max() < 0.03, measured


def test_levels_that_hold_are_those_of_the_half_widths():
    random = np.random.default_rng(0)
    residuals, tested = random.normal(size=(30, 2)), random.normal(size=(20, 2))
    residuals[:3, 0], tested[0, 1] = np.nan, np.nan
    # Some rows were tested by several splits.
    weights = row_weights(np.arange(30) % 21)
    found = levels_that_hold(residuals, weights, tested)
    for level in (0.1, 0.45, 0.8, 0.95):
        is_held = np.abs(tested) <= half_widths(residuals, level, weights)
        np.testing.assert_array_equal(
            (found < level)[~np.isnan(tested)], is_held[~np.isnan(tested)]
        )
    np.testing.assert_array_equal(np.isnan(found), np.isnan(tested))
    assert np.isnan(levels_that_hold(residuals[:0], weights[:0], tested)).all()
