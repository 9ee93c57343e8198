"""Weights of a stack are the exact optimum over the simplex, whatever the members."""

import itertools

import numpy as np
import pytest
from each_case import each_case
from scipy.optimize import minimize

from workflow_lib.solvers.stacking import N_DRAWS, combined, output_weights, stack_weights

UNITS = np.array([1.0, 100.0, 0.01])


def small_data(n_members, seed=0, n_rows=40, missing=0.0):
    """Return predictions (n, 3) of members with errors of their own, and the outputs."""
    generator = np.random.default_rng(seed)
    Y = generator.normal(size=(n_rows, 3)) * UNITS + 5.0
    shared = generator.normal(size=Y.shape)
    heldout = [
        Y + UNITS * (0.5 * shared + generator.uniform(0.2, 2.0) * generator.normal(size=Y.shape))
        for _ in range(n_members)
    ]
    Y[generator.random(Y.shape) < missing] = np.nan
    return heldout, Y


def squared_error(weights, heldout, Y):
    """Return the objective of the weights, by its definition."""
    total = 0.0
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        predicted = sum(w * member[known, j] for w, member in zip(weights, heldout))
        total += ((Y[known, j] - predicted) ** 2).sum() / Y[known, j].var()
    return total


def assert_on_the_simplex(weights):
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


@each_case("missing", [0.0, 0.3])
@each_case("seed", range(4))
def test_no_point_of_a_fine_grid_is_better(seed, missing):
    heldout, Y = small_data(3, seed, missing=missing)
    weights = stack_weights(heldout, Y)
    assert_on_the_simplex(weights)
    steps = 60
    grid = [
        np.array([a, b, steps - a - b]) / steps
        for a, b in itertools.product(range(steps + 1), repeat=2)
        if a + b <= steps
    ]
    errors = [squared_error(point, heldout, Y) for point in grid]
    assert squared_error(weights, heldout, Y) <= min(errors) * (1 + 1e-12)
    nearest = grid[int(np.argmin(errors))]
    np.testing.assert_allclose(weights, nearest, atol=2.0 / steps)


@each_case("n_members", [1, 2, 3, 5, 6])
@each_case("seed", range(5))
def test_conditions_of_optimality_hold(seed, n_members):
    # Half the gradient is G w: equal to the error on members with weight, not less on others.
    heldout, Y = small_data(n_members, seed)
    weights = stack_weights(heldout, Y)
    assert_on_the_simplex(weights)
    R = np.stack([((member - Y) / Y.std(axis=0)).ravel() for member in heldout], axis=1)
    gradient, error = R.T @ (R @ weights), ((R @ weights) ** 2).sum()
    np.testing.assert_allclose(gradient[weights > 0], error, rtol=1e-9)
    assert (gradient >= error * (1 - 1e-9)).all()


def test_two_members_by_hand():
    # Residuals 1 and -3 everywhere: three quarters of the first and a quarter of the second.
    Y = np.arange(10.0)[:, None]
    np.testing.assert_allclose(stack_weights([Y + 1, Y - 3], Y), [0.75, 0.25], rtol=1e-12)
    # Of residuals 1 and 3 the lesser takes all.
    np.testing.assert_array_equal(stack_weights([Y + 1, Y + 3], Y), [1, 0])
    np.testing.assert_array_equal(stack_weights([Y + 3, Y + 1], Y), [0, 1])


def test_the_earlier_of_equal_members_is_preferred():
    (first, second), Y = small_data(2)
    alone = stack_weights([first, second], Y)
    assert (alone > 0).all()
    np.testing.assert_allclose(stack_weights([first, first, second], Y), [alone[0], 0, alone[1]])
    np.testing.assert_allclose(stack_weights([first, second, first], Y), [*alone, 0])
    np.testing.assert_array_equal(stack_weights([first, first, first], Y), [1, 0, 0])


def test_collinear_members_do_not_fail():
    (first, second), Y = small_data(2)
    alone = stack_weights([first, second], Y)
    middle = 0.5 * (first + second)
    weights = stack_weights([first, middle, second], Y)
    assert_on_the_simplex(weights)
    ours = combined(weights, [first, middle, second])
    np.testing.assert_allclose(ours, combined(alone, [first, second]), rtol=1e-9)
    assert (weights > 0).sum() == 2


def test_more_members_than_observed_outputs():
    heldout, Y = small_data(5, n_rows=3)
    Y[1:, 1:] = np.nan
    weights = stack_weights(heldout, Y)
    assert_on_the_simplex(weights)
    corners = [squared_error(corner, heldout, Y[:, :1]) for corner in np.eye(5)]
    assert squared_error(weights, heldout, Y[:, :1]) <= min(corners)


def test_a_member_without_error_takes_all():
    heldout, Y = small_data(3)
    np.testing.assert_array_equal(stack_weights([heldout[0], Y.copy(), heldout[1]], Y), [0, 1, 0])
    np.testing.assert_array_equal(stack_weights([Y.copy(), Y.copy()], Y), [1, 0])


def test_units_of_the_outputs_do_not_matter():
    heldout, Y = small_data(4, missing=0.1)
    weights = stack_weights(heldout, Y)
    scale, offset = np.array([1e-3, 1.0, 1e4]), np.array([0.0, -3.0, 100.0])
    changed = stack_weights([scale * member + offset for member in heldout], scale * Y + offset)
    np.testing.assert_allclose(weights, changed, atol=1e-9)


def test_every_output_counts():
    # The first member is right in the output of the large unit, the second in the two others.
    (noisy,), Y = small_data(1)
    first, second = noisy.copy(), noisy.copy()
    first[:, 1], second[:, [0, 2]] = Y[:, 1], Y[:, [0, 2]]
    weights = stack_weights([first, second], Y)
    assert weights[1] > weights[0] > 0.1


def test_missing_outputs_are_those_of_no_row():
    heldout, Y = small_data(3)
    Y[:10] = np.nan
    heldout[1][:10] = 1e6
    expected = stack_weights([member[10:] for member in heldout], Y[10:])
    np.testing.assert_allclose(stack_weights(heldout, Y), expected, atol=1e-12)


def test_constant_outputs_count_for_nothing():
    heldout, Y = small_data(3)
    expected = stack_weights(heldout, Y)
    constant = np.full((len(Y), 1), 0.1)
    wrong = [constant + shift for shift in (0.0, 1e-17, 5.0)]
    wider = [np.hstack([member, part]) for member, part in zip(heldout, wrong)]
    np.testing.assert_array_equal(stack_weights(wider, np.hstack([Y, constant])), expected)
    np.testing.assert_array_equal(
        stack_weights(wider, np.hstack([Y, np.full_like(constant, np.nan)])), expected
    )
    np.testing.assert_array_equal(stack_weights(wrong[::-1], constant), [1, 0, 0])
    np.testing.assert_array_equal(stack_weights(wrong, np.full_like(constant, np.nan)), [1, 0, 0])


def test_combination_by_hand():
    first, second = np.ones((2, 3)), np.full((2, 3), 5.0)
    np.testing.assert_allclose(combined(np.array([0.75, 0.25]), [first, second]), 2.0)
    (other,), _ = small_data(1)
    np.testing.assert_array_equal(combined(np.array([1.0]), [other]), other)


def test_weights_of_outputs_are_means_over_bootstrap_samples():
    heldout, Y = small_data(4, n_rows=12, missing=0.1)
    Y[:, 2] = 7.0
    weights = output_weights(heldout, Y, seed=3)
    # From the samples themselves: rows drawn as often as the generator says.
    expected = np.zeros((4, 3))
    draws = np.random.default_rng(3).multinomial(12, np.full(12, 1 / 12), size=N_DRAWS)
    scale = np.nanstd(Y, axis=0)
    for counts in draws:
        rows = np.repeat(np.arange(12), counts)
        known = Y[rows][:, :2] / scale[:2]
        members = [member[rows][:, :2] / scale[:2] for member in heldout]
        shared = searched_weights(members, known)
        expected += shared[:, None] / N_DRAWS
        for j in range(2):
            own = searched_weights([member[:, [j]] for member in members], known[:, [j]])
            expected[:, j] += (own - shared) / (2 * N_DRAWS)
    np.testing.assert_allclose(weights, expected, atol=2e-4)
    np.testing.assert_array_equal(weights, output_weights(heldout, Y, seed=3))
    assert (weights != output_weights(heldout, Y, seed=4)).any()


def searched_weights(heldout, Y):
    """Return the weights by a general search, without a division of the outputs by their scale."""
    known = ~np.isnan(Y)
    residuals = np.column_stack([(member - Y)[known] for member in heldout])
    found = minimize(
        lambda w: ((residuals @ w) ** 2).sum(),
        np.full(len(heldout), 1 / len(heldout)),
        jac=lambda w: 2 * residuals.T @ (residuals @ w),
        bounds=[(0, 1)] * len(heldout),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x
