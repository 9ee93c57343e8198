"""The search for many pre-images at once never lowers its score, and ends at the exact optimum."""

import numpy as np
from each_case import each_case
from small_data import regression_data

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.iokr import IOKRegressor
from workflow_lib.solvers.output_kernels import (
    ascend_rbf_scores,
    median_squared_distance,
    minimise_rbf_distance,
    nearest_candidates,
    output_unit,
)


def small_problem(alpha=1e-4, width=2.0, n_train=60):
    """Return weights of both signs, training outputs, gamma and the nearest candidates."""
    X, Y = regression_data(100)
    weights = IOKRegressor(alpha=alpha).fit(X[:n_train], Y[:n_train]).predict_weights(X[n_train:])
    Y = Y[:n_train]
    gamma = 1.0 / (width**2 * median_squared_distance(Y))
    cross = gram_matrix(Y, Y, "rbf", gamma)
    return weights, Y, gamma, Y[nearest_candidates(weights, cross, np.ones(n_train))]


def scores_of(weights, outputs, gamma, points):
    """Return sum_i a_i exp(-gamma ||y - y_i||^2) of every row."""
    return (weights * gram_matrix(points, outputs, "rbf", gamma)).sum(axis=1)


@each_case("alpha", [1e-6, 1e-4, 1e-2, np.inf])
@each_case("width", [1.0, 3.0, 30.0])
def test_both_searches_reach_the_same_optimum_of_a_wide_kernel(alpha, width):
    weights, Y, gamma, start = small_problem(alpha, width)
    exact = minimise_rbf_distance(weights, Y, gamma, start)
    np.testing.assert_allclose(
        ascend_rbf_scores(weights, Y, gamma, start, max_iter=60, tolerance=1e-7),
        exact,
        rtol=0,
        atol=1e-4 * output_unit(Y),
    )
    few_steps = ascend_rbf_scores(weights, Y, gamma, start)
    np.testing.assert_allclose(few_steps, exact, rtol=0, atol=0.02 * output_unit(Y))
    assert np.abs(exact - start).max() > 0.1 * output_unit(Y)


@each_case("width", [0.1, 0.5, 2.0, 10.0])
@each_case("weighting", ["regression", "random"])
def test_score_never_falls(width, weighting):
    weights, Y, gamma, start = small_problem(1e-6, width)
    if weighting == "random":
        weights = np.random.default_rng(0).normal(size=weights.shape)
    scores = [
        scores_of(weights, Y, gamma, ascend_rbf_scores(weights, Y, gamma, start, max_iter))
        for max_iter in range(16)
    ]
    np.testing.assert_array_equal(scores[0], scores_of(weights, Y, gamma, start))
    rises = np.diff(scores, axis=0)
    assert rises.min() > -1e-12
    assert (rises[0] > 0).any()
    assert (scores[-1] > scores[0]).mean() > 0.5


def test_first_step_of_a_very_wide_kernel_is_the_weighted_mean():
    weights, Y, _, start = small_problem()
    ends = ascend_rbf_scores(weights, Y, 1e-8, start, max_iter=1)
    np.testing.assert_allclose(ends, weights @ Y, atol=1e-5)


def test_rows_do_not_influence_each_other():
    weights, Y, gamma, start = small_problem()
    together = ascend_rbf_scores(weights, Y, gamma, start)
    for row in range(len(weights)):
        alone_row = slice(row, row + 1)
        alone = ascend_rbf_scores(weights[alone_row], Y, gamma, start[alone_row])
        np.testing.assert_allclose(alone, together[alone_row], rtol=0, atol=1e-9)


def test_arguments_are_not_changed():
    weights, Y, gamma, start = small_problem()
    copies = [array.copy() for array in (weights, Y, start)]
    ascend_rbf_scores(weights, Y, gamma, start)
    for array, copy in zip((weights, Y, start), copies):
        np.testing.assert_array_equal(array, copy)


def test_rows_without_weights_and_constant_outputs_stay_where_they_are():
    weights, Y, gamma, start = small_problem()
    weights[:3] = 0.0
    ends = ascend_rbf_scores(weights, Y, gamma, start)
    np.testing.assert_allclose(ends[:3], start[:3], rtol=1e-12)
    assert (ends[3:] != start[3:]).any()
    constant = np.full_like(Y, 0.1)
    ends = ascend_rbf_scores(weights, constant, 1.0, constant[: len(weights)])
    np.testing.assert_allclose(ends, 0.1, rtol=1e-12)


def test_unit_of_output_widths_is_the_median_distance():
    assert output_unit(np.array([[0.0], [1.0], [4.0]])) == 3.0
    assert output_unit(np.ones((5, 2))) == 1.0
