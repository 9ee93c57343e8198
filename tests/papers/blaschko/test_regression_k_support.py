"""Regression with k-support norms: the norms, their proximal maps, and the known special cases."""

import warnings

import numpy as np
import pytest
from each_case import each_case
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, MultiTaskLasso

from workflow_lib import KernelRidgeRegressor
from workflow_lib.papers.blaschko import k_support
from workflow_lib.papers.blaschko.k_support import (
    NORMS,
    KSupportRegression,
    proximal_map,
)


def small_problem(n_rows=40, n_inputs=12, n_outputs=3, seed=0):
    """Return inputs, of which five count, and outputs of different scale."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_inputs)) + 2.0
    X[:, 1] += X[:, 0]
    W = generator.normal(size=(n_inputs, n_outputs)) * (np.arange(n_inputs) < 5)[:, None]
    Y = X @ W + generator.normal(size=(n_rows, n_outputs))
    return X, Y * np.logspace(0, 2, n_outputs) + 5.0


def sorted_norm(w, k):
    """Return ||w||_k^2 by the definition of Argyriou et al. with the sorted entries."""
    u = np.sort(np.abs(w))[::-1]
    for r in range(k):
        mean = u[k - r - 1 :].sum() / (r + 1)
        above = np.inf if r == k - 1 else u[k - r - 2]
        if above > mean >= u[k - r - 1]:
            return (u[: k - r - 1] ** 2).sum() + (r + 1) * mean**2
    raise AssertionError("no r satisfies the inequalities")


def largest_length(w, k):
    """Return the dual norm: the length of the k largest entries."""
    return np.linalg.norm(np.sort(np.abs(w))[-k:])


def least_by_theta(w, k, offset=0.0):
    """Return min sum w_i^2 / (theta_i + offset), by a search over theta."""
    found = minimize(
        lambda theta: (w**2 / (theta + offset)).sum(),
        np.full(len(w), k / len(w)),
        jac=lambda theta: -((w / (theta + offset)) ** 2),
        bounds=[(1e-9, 1.0)] * len(w),
        constraints={
            "type": "ineq",
            "fun": lambda t: k - t.sum(),
            "jac": lambda t: -np.ones(len(t)),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.fun


@each_case("weight", [1e-6, 0.3, 1e4])
@each_case("k", [1, 3, 7, 8])
def test_proximal_map_is_optimal(k, weight):
    V = np.random.default_rng(k).normal(size=(8, 5)) * np.logspace(-6, 6, 5)
    V[2:6, 1] = V[2, 1]
    V[:5, 2] = 0.0
    W, norms, _ = proximal_map(V, k, weight, "outputs")
    if k in (1, 8):
        expected = np.abs(W).sum(axis=0) ** 2 if k == 1 else (W**2).sum(axis=0)
        np.testing.assert_allclose(norms, expected, rtol=1e-9)
    assert norms[0] == pytest.approx(sorted_norm(W[:, 0], k), rel=1e-9)
    for v, w, norm in zip(V.T, W.T, norms, strict=True):
        # (v - w) / weight is a subgradient of 1/2 ||w||_k^2.
        subgradient = (v - w) / weight
        assert subgradient @ w == pytest.approx(norm, rel=1e-6)
        assert largest_length(subgradient, k) == pytest.approx(np.sqrt(norm), rel=1e-6)
    v, w = V[:, 0] * 1e6, proximal_map(V[:, :1] * 1e6, k, weight, "outputs")[0][:, 0]
    value = 0.5 * ((v - w) ** 2).sum() + 0.5 * weight * sorted_norm(w, k)
    if weight == 0.3:
        assert value == pytest.approx(0.5 * weight * least_by_theta(v, k, weight), rel=1e-6)


def test_magnitudes_that_are_equal_or_zero_but_for_rounding():
    generator = np.random.default_rng(0)
    for k in np.tile(range(1, 7), 50):
        # The singular values of indicators of eight classes of equal size.
        u = np.append(1.0 + generator.choice([0.0, 2e-16, 1e-15], size=7), [1e-17])[:, None]
        weight = 10.0 ** generator.uniform(-4.0, 1.0)
        theta = np.clip(k_support._level(u, k, weight) * u - weight, 0.0, 1.0)
        assert theta.sum() == pytest.approx(k, rel=1e-9)


@pytest.mark.parametrize("k", [1, 3, 8])
def test_any_guess_of_the_level_leads_to_the_same(k):
    u = np.abs(np.random.default_rng(0).normal(size=(8, 6)))
    u[1:, 1], u[:, 2], u[3:, 3], u[:, 4] = 0.0, 0.0, 0.0, 1.0
    for weight in (0.0, 0.5):
        expected = np.clip(k_support._level(u, k, weight) * u - weight, 0.0, 1.0)
        sums = np.minimum((u > 0).sum(axis=0), k)
        np.testing.assert_allclose(expected.sum(axis=0), sums, atol=1e-12)
        for guess in (1e-9, 0.3, 1.0, 50.0, 1e12):
            level = k_support._level(u, k, weight, np.full(6, guess))
            theta = np.clip(level * u - weight, 0.0, 1.0)
            np.testing.assert_allclose(theta, expected, atol=1e-12)


def test_magnitudes_of_rows_and_singular_values():
    generator = np.random.default_rng(1)
    v, weight, k = np.sort(generator.normal(size=5) ** 2)[::-1], 0.4, 2
    single, norm, _ = proximal_map(v[:, None], k, weight, "outputs")
    found, found_norm, _ = proximal_map(np.diag(v), k, weight, "spectral")
    np.testing.assert_allclose(found, np.diag(single[:, 0]), atol=1e-12)
    np.testing.assert_allclose(found_norm, norm)
    left, right = (np.linalg.qr(generator.normal(size=(size, 5)))[0] for size in (9, 6))
    found, *_ = proximal_map((left * v) @ right.T, k, weight, "spectral")
    np.testing.assert_allclose(found, (left * single[:, 0]) @ right.T, atol=1e-12)
    directions = right[:5] / np.linalg.norm(right[:5], axis=1, keepdims=True)
    found, found_norm, _ = proximal_map(v[:, None] * directions, k, weight, "rows")
    np.testing.assert_allclose(found, single * directions, atol=1e-12)
    np.testing.assert_allclose(found_norm, norm)


@pytest.mark.parametrize("shape", [(40, 12), (15, 30)])
@pytest.mark.parametrize("norm", NORMS)
def test_largest_k_is_kernel_ridge_regression(norm, shape):
    X, Y = small_problem(*shape)
    regression = KSupportRegression(X, Y, norm)
    alphas = [1e-3, 0.1, 10.0]
    coefficients, intercepts = regression.path(regression.largest_k + 5, alphas)
    for alpha, W, b in zip(alphas, coefficients, intercepts, strict=True):
        expected = KernelRidgeRegressor(kernel="linear", alpha=alpha).fit(X, Y).predict(X)
        np.testing.assert_allclose(X @ W + b, expected, rtol=1e-8, atol=1e-8 * np.abs(Y).max())


def test_k_of_one_is_the_lasso_and_the_group_lasso():
    X, Y = small_problem(n_inputs=60)
    alpha = 0.02
    (W,), _ = KSupportRegression(X, Y, "outputs").path(1, [alpha], 1e-8)
    assert 0 < (W != 0).sum() < W.size / 2
    for w, y in zip(W.T, Y.T, strict=True):
        # The gradient of alpha ||w||_1^2 is that of 2 alpha ||w||_1, held fixed, times ||w||_1.
        lasso = Lasso(alpha=2.0 * alpha * np.abs(w).sum(), tol=1e-10, max_iter=10**5).fit(X, y)
        np.testing.assert_allclose(lasso.coef_, w, atol=1e-4 * np.abs(w).max())
    Y = Y / Y.std(axis=0)
    (W,), _ = KSupportRegression(X, Y, "rows").path(1, [alpha], 1e-8)
    penalty = 2.0 * alpha * np.linalg.norm(W, axis=1).sum()
    lasso = MultiTaskLasso(alpha=penalty, tol=1e-10, max_iter=10**5).fit(X, Y)
    np.testing.assert_allclose(lasso.coef_.T, W, atol=1e-4 * np.abs(W).max())


def test_singular_values_of_a_diagonal_problem():
    generator = np.random.default_rng(3)
    columns = generator.normal(size=(30, 8))
    columns -= columns.mean(axis=0)
    orthogonal = np.linalg.qr(columns)[0] * np.sqrt(30)
    X, noise, v = orthogonal[:, :4], orthogonal[:, 4:], np.array([0.9, 0.7, 0.5, 0.2])
    Y = X * v + noise * np.sqrt(1.0 - v**2)
    (W,), _ = KSupportRegression(X, Y, "spectral").path(2, [0.15], 1e-8)
    expected, *_ = proximal_map(v[:, None], 2, 0.3, "outputs")
    np.testing.assert_allclose(W, np.diag(expected[:, 0]), atol=1e-6)


def test_rows_and_singular_values_of_one_output():
    X, Y = small_problem(15, 40, 1)
    alphas = [0.01, 0.3]
    outputs, b = KSupportRegression(X, Y, "outputs").path(3, alphas, 1e-7)
    rows, _ = KSupportRegression(X, Y, "rows").path(3, alphas, 1e-7)
    np.testing.assert_allclose(rows, outputs, rtol=1e-9, atol=1e-9)
    # A single singular value is the length of the coefficients.
    spectral, _ = KSupportRegression(X, Y, "spectral").path(1, alphas)
    ridge, _ = KSupportRegression(X, Y, "outputs").path(40, alphas)
    np.testing.assert_allclose(spectral, ridge, atol=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_the_objective_never_rises_and_the_gap_bounds_it(norm):
    X, Y = small_problem(n_inputs=25)
    problem, k, weight = KSupportRegression(X, Y, norm)._problem, 2, 1.0
    n_groups = len(problem.squares)
    start = problem.at(np.zeros((25, 3)), np.zeros(n_groups))
    points = [problem.minimum(k, weight, start, 0.0, most)[0] for most in range(0, 120, 3)]
    values = np.array([point.loss + 0.5 * weight * point.squared for point in points])
    assert (np.diff(values, axis=0) <= 1e-12 * values[0]).all()
    gaps = np.array([problem.gap(point, k, weight) for point in points])
    least = values[-1] - 0.5 * gaps[-1] * problem.squares
    assert gaps[-1].max() < 1e-3
    assert (values - least <= 0.5 * gaps * problem.squares + values[-1] - least + 1e-9).all()
    expected = 0.5 * ((problem.Y - problem.X @ points[5].W) ** 2).sum()
    assert points[5].loss.sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("norm", NORMS)
def test_a_path_is_what_its_penalties_give_alone(norm, monkeypatch):
    # The smallest parts, so that inputs join in several rounds.
    monkeypatch.setattr(k_support, "MIN_PART", 4)
    X, Y = small_problem(30, 60)
    alphas, tolerance = [0.001, np.inf, 1.0, 0.05], 1e-7
    coefficients, intercepts = KSupportRegression(X, Y, norm).path(2, alphas, tolerance)
    monkeypatch.setattr(k_support, "MIN_PART", 1000)
    for alpha, W, b in zip(alphas, coefficients, intercepts, strict=True):
        (alone,), (b_alone,) = KSupportRegression(X, Y, norm).path(2, [alpha], tolerance)
        np.testing.assert_allclose(
            (X @ W + b) / Y.std(0), (X @ alone + b_alone) / Y.std(0), atol=1e-3
        )
    assert not coefficients[1].any()
    np.testing.assert_allclose(intercepts[1], Y.mean(axis=0))
    # Outputs in other units change nothing.
    scaled, _ = KSupportRegression(X, Y * [5.0, 1.0, 0.1], norm).path(2, alphas, tolerance)
    difference = scaled / [5.0, 1.0, 0.1] - coefficients
    np.testing.assert_allclose(difference / Y.std(axis=0), 0.0, atol=1e-4)


@pytest.mark.parametrize("norm", NORMS)
def test_constant_inputs_and_outputs_and_one_input(norm):
    X, Y = small_problem()
    X[:, 3], Y[:, 1] = 0.1, 0.3
    (W,), (b,) = KSupportRegression(X, Y, norm).path(2, [0.01])
    np.testing.assert_allclose(W[3], 0.0, atol=1e-10)
    np.testing.assert_allclose(W[:, 1], 0.0, atol=1e-12)
    assert b[1] == pytest.approx(0.3)
    (W,), (b,) = KSupportRegression(np.full_like(X, 0.1), Y, norm).path(1, [0.01])
    np.testing.assert_allclose(W, 0.0, atol=1e-9)
    np.testing.assert_allclose(b, Y.mean(axis=0))
    regression = KSupportRegression(X[:, :1], Y, norm)
    assert regression.largest_k == 1
    assert np.isfinite(regression.path(1, [0.01])[0]).all()


def test_what_is_refused_and_what_did_not_converge(monkeypatch):
    X, Y = small_problem()
    with pytest.raises(ValueError, match="norm must be one of"):
        KSupportRegression(X, Y, "columns")
    regression = KSupportRegression(X, Y, "rows")
    with pytest.raises(ValueError, match="must be positive"):
        regression.path(0, [1.0])
    with pytest.raises(ValueError, match="must be positive"):
        regression.path(1, [0.0])
    monkeypatch.setattr(k_support, "MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="k = 2 and alpha = 0.0001: the duality gap"):
        regression.path(2, [1e-4])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regression.path(12, [1e-4])
