"""OFER with every training output as a component: its weights, its mean and its mean shift."""

import numpy as np
import pytest
from each_case import each_case
from scipy.optimize import minimize
from scipy.special import logsumexp
from small_data import regression_data

from workflow_lib import FisherEmbedding, GaussianMixtureModel, IOKRegressor, KernelRidgeRegressor
from workflow_lib.models import density
from workflow_lib.models.density import mean_shift
from workflow_lib.models.simplex import project_on_simplex
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import (
    median_squared_distance,
    minimise_rbf_distance,
    nearest_candidates,
    output_unit,
)

WIDTHS = [0.01, 0.3, 1.0, 3.0, 30.0]


def predicted_weights(alpha=1e-4, n_train=60):
    """Return the dual weights (n, l) of kernel ridge regression and the training outputs."""
    X, Y = regression_data(100)
    regressor = IOKRegressor(alpha=alpha).fit(X[:n_train], Y[:n_train])
    return regressor.predict_weights(X[n_train:]), Y[:n_train]


def small_problem(width, alpha=1e-4):
    """Return projected weights, training outputs, gamma and the weighted means."""
    weights, Y = predicted_weights(alpha)
    weights = project_on_simplex(weights)
    return weights, Y, 1.0 / (width**2 * median_squared_distance(Y)), weights @ Y


def log_density(weights, outputs, gamma, points):
    """Return log sum_i w_i exp(-gamma ||y - y_i||^2) of every row."""
    distances = ((points[:, None] - outputs) ** 2).sum(axis=2)
    return logsumexp(-gamma * distances, b=weights, axis=1)


def stepped(weights, outputs, gamma, point, n_steps):
    """Return a point after some steps of mean shift, by its formula."""
    for _ in range(n_steps):
        kernel = np.exp(-gamma * ((outputs - point) ** 2).sum(axis=1))
        point = sum(w * k * y for w, k, y in zip(weights, kernel, outputs)) / (weights @ kernel)
    return point


@pytest.mark.parametrize("width", [0.3, 1.0, 30.0])
@pytest.mark.parametrize("n_steps", [1, 5])
def test_steps_follow_the_formula(width, n_steps):
    weights, Y, gamma, start = small_problem(width)
    expected = [stepped(w, Y, gamma, point, n_steps) for w, point in zip(weights, start)]
    ends = mean_shift(weights, Y, gamma, start, n_steps, tolerance=0.0)
    np.testing.assert_allclose(ends, expected, rtol=0, atol=1e-6 * output_unit(Y))


@pytest.mark.parametrize("alpha", [1e-6, 1e-2])
@pytest.mark.parametrize("width", [1.0, 3.0, 30.0])
def test_optimum_of_a_wide_kernel_is_that_of_another_solver(alpha, width):
    weights, Y, gamma, start = small_problem(width, alpha)
    ends = mean_shift(weights, Y, gamma, start, max_iter=500)
    for w, point, end in zip(weights, start, ends):
        theirs = minimize(lambda y, w=w: -log_density(w[None], Y, gamma, y[None])[0] / gamma, point)
        np.testing.assert_allclose(end, theirs.x, rtol=0, atol=1e-4 * output_unit(Y))


@each_case("width", WIDTHS)
@each_case("weighting", ["regression", "random"])
def test_density_never_falls(width, weighting):
    weights, Y, gamma, start = small_problem(width)
    if weighting == "random":
        weights = np.random.default_rng(0).dirichlet(np.full(len(Y), 0.2), size=len(weights))
        start = 3 * np.random.default_rng(1).normal(size=start.shape)
    densities = [
        log_density(weights, Y, gamma, mean_shift(weights, Y, gamma, start, n_steps))
        for n_steps in range(16)
    ]
    rounding = 1e-12 * (1 + np.abs(densities[0]))
    assert (np.abs(densities[0] - log_density(weights, Y, gamma, start)) <= rounding).all()
    rises = np.diff(densities, axis=0)
    assert (rises >= -rounding).all()
    assert (rises[0] > 0).any()


def test_narrow_kernel_ends_at_the_nearest_training_output():
    weights, Y, gamma, start = small_problem(1e-4)
    # So narrow that every kernel value is zero at the start.
    assert np.exp(-gamma * ((start[:, None] - Y) ** 2).sum(axis=2)).max(axis=1).min() == 0.0
    ends = mean_shift(weights, Y, gamma, start)
    distances = ((start[:, None] - Y) ** 2).sum(axis=2)
    nearest = np.where(weights > 0, distances, np.inf).argmin(axis=1)
    np.testing.assert_allclose(ends, Y[nearest], atol=1e-12)


@pytest.mark.parametrize("width", [30.0, 300.0])
def test_output_kernel_regression_of_projected_weights_is_the_same_for_a_wide_kernel(width):
    weights, Y, gamma, means = small_problem(width)
    cross = gram_matrix(Y, Y, "rbf", gamma)
    nearest = Y[nearest_candidates(weights, cross, np.ones(len(Y)))]
    theirs = minimise_rbf_distance(weights, Y, gamma, nearest)
    ours = mean_shift(weights, Y, gamma, means)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * output_unit(Y))
    assert np.abs(nearest - ours).max() > 0.1 * output_unit(Y)


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, np.inf])
def test_without_the_projection_the_weighted_mean_is_kernel_ridge_regression(alpha):
    X, Y = regression_data(100)
    ridge = KernelRidgeRegressor(alpha=alpha).fit(X[:60], Y[:60])
    weights, outputs = predicted_weights(alpha)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(weights @ outputs, ridge.predict(X[60:]), rtol=0, atol=1e-8)
    changes = np.abs(project_on_simplex(weights) @ outputs - ridge.predict(X[60:])).max()
    if alpha == np.inf:
        assert changes < 1e-9
    else:
        assert changes > 0.01 * output_unit(outputs)


def test_mixture_of_one_narrow_component_for_each_output_gives_the_weighted_mean():
    X, Y = regression_data(60)
    train, others = Y[:40], X[40:]
    model = GaussianMixtureModel(n_components=2, covariance_type="tied_spherical").fit(train)
    model.weights_, model.means_ = np.full(40, 1 / 40), train
    model.covariances_, model.n_components_ = 1e-6, 40
    embedding = FisherEmbedding(model)
    H = embedding.transform(train)
    np.testing.assert_allclose(H[:, :40], 40 * np.eye(40), atol=1e-9)
    np.testing.assert_allclose(H[:, 40:], 0.0, atol=1e-9)
    ridge = KernelRidgeRegressor(alpha=1e-4).fit(X[:40], H)
    predicted = embedding.inverse_transform(ridge.predict(others), "projected")
    weights = IOKRegressor(alpha=1e-4).fit(X[:40], train).predict_weights(others)
    expected = project_on_simplex(weights) @ train
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_rows_do_not_influence_each_other_or_depend_on_blocks(monkeypatch, tolerance):
    weights, Y, gamma, start = small_problem(0.5)
    together = mean_shift(weights, Y, gamma, start, tolerance=tolerance)
    monkeypatch.setattr(density, "BLOCK_SIZE", 7 * len(Y) + 1)
    assert len(weights) % 7 != 0
    in_blocks = mean_shift(weights, Y, gamma, start, tolerance=tolerance)
    np.testing.assert_allclose(in_blocks, together, rtol=0, atol=1e-6)
    monkeypatch.setattr(density, "BLOCK_SIZE", 1)
    one_by_one = mean_shift(weights, Y, gamma, start, tolerance=tolerance)
    np.testing.assert_allclose(one_by_one, together, rtol=0, atol=1e-6)


def test_rows_that_move_less_than_the_tolerance_are_not_updated():
    weights, Y, gamma, start = small_problem(1.0)
    exact = mean_shift(weights, Y, gamma, start, max_iter=500, tolerance=0.0)
    coarse = mean_shift(weights, Y, gamma, start, max_iter=500, tolerance=1e-2)
    assert 0 < np.abs(coarse - exact).max() < 0.05 * output_unit(Y)
    resting = mean_shift(weights, Y, gamma, start, tolerance=np.inf)
    np.testing.assert_allclose(resting, start, rtol=0, atol=1e-12)


def test_outputs_far_from_the_origin_lose_no_digits():
    weights, Y, gamma, start = small_problem(0.5)
    near = mean_shift(weights, Y, gamma, start)
    far = mean_shift(weights, Y + 1e6, gamma, start + 1e6)
    np.testing.assert_allclose(far - 1e6, near, rtol=0, atol=1e-6)


def test_arguments_are_not_changed():
    weights, Y, gamma, start = small_problem(0.5)
    copies = [array.copy() for array in (weights, Y, start)]
    mean_shift(weights, Y, gamma, start)
    for array, copy in zip((weights, Y, start), copies):
        np.testing.assert_array_equal(array, copy)


def test_constant_outputs_stay_where_they_are():
    weights, Y, _, _ = small_problem(1.0)
    constant = np.full_like(Y, 0.1)
    ends = mean_shift(weights, constant, 1.0, weights @ constant)
    np.testing.assert_allclose(ends, 0.1, rtol=1e-12)


@pytest.mark.parametrize("row", [[0.5, -0.1, 0.6], [0.0, 0.0, 0.0], [np.nan, 0.5, 0.5]])
def test_weights_that_are_no_density_are_refused(row):
    weights = np.array([[0.2, 0.3, 0.5], row])
    outputs = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match="non-negative, with a positive one in each row"):
        mean_shift(weights, outputs, 1.0, weights @ outputs)
