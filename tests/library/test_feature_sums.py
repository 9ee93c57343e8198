"""Sums over rows give ridge regression and its errors; they add, and are stored as arrays."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.solvers.feature_sums import FeatureSums

ALPHAS = [1e-6, 1e-2, 1.0, np.inf]


def rows(n_rows, seed):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n_rows, 5)) + 3.0
    targets = values[:, :2] ** 2 + generator.normal(size=(n_rows, 2)) - 7.0
    return values, targets


def sums_of(values, targets, is_centred=True):
    origin, target_origin = (np.full(k, 2.5 if is_centred else 0.0) for k in (5, 2))
    sums = FeatureSums.of_no_rows(origin, target_origin)
    sums.add(values, targets)
    return sums


@each_case("center", [True, False])
def test_ridge_and_errors_are_those_of_loops_over_rows(center):
    values, targets = rows(40, 0)
    others, other_targets = rows(30, 1)
    weights, intercepts = sums_of(values, targets, center).ridge(ALPHAS, center)
    errors = sums_of(others, other_targets, center).squared_errors(weights, intercepts)
    assert (weights.shape, intercepts.shape, errors.shape) == ((5, 8), (4, 2), (4, 2))
    for index, alpha in enumerate(ALPHAS[:-1]):
        V, T = (array - array.mean(axis=0) * center for array in (values, targets))
        system = sum(np.outer(v, v) for v in V) + 2 * len(V) * alpha * np.eye(5)
        W = np.linalg.solve(system, sum(np.outer(v, t) for v, t in zip(V, T, strict=True)))
        constant = (targets.mean(axis=0) - values.mean(axis=0) @ W) * center
        np.testing.assert_allclose(weights.reshape(5, 4, 2)[:, index], W, rtol=1e-9)
        np.testing.assert_allclose(intercepts[index], constant, rtol=1e-8)
        residuals = [t - v @ W - constant for v, t in zip(others, other_targets, strict=True)]
        np.testing.assert_allclose(errors[index], sum(r**2 for r in residuals), rtol=1e-9)
    mean = targets.mean(axis=0) * center
    np.testing.assert_allclose(errors[-1], ((other_targets - mean) ** 2).sum(axis=0), rtol=1e-12)


def test_sums_of_parts_add_up_and_are_stored_as_arrays():
    values, targets = rows(40, 0)
    whole, parts = sums_of(values, targets), sums_of(values[:13], targets[:13])
    stored = vars(sums_of(values[13:], targets[13:]))
    parts = parts + FeatureSums(**stored)
    for name, expected in vars(whole).items():
        np.testing.assert_allclose(getattr(parts, name), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="only with equal origins"):
        parts + sums_of(values, targets, is_centred=False)


def test_sums_of_features_follow_from_those_of_values():
    values, targets = rows(40, 0)
    factor = np.linalg.cholesky(np.cov(values.T))
    sums = sums_of(values, targets)
    features = FeatureSums.of_no_rows(np.linalg.solve(factor, sums.origin), sums.target_origin)
    features.add(np.linalg.solve(factor, values.T).T, targets)
    for name, found in vars(sums.of_features(factor)).items():
        lower = np.tril if name == "squares" else np.asarray
        np.testing.assert_allclose(lower(found), lower(getattr(features, name)), rtol=1e-8)


def test_some_targets_have_the_sums_of_these_alone():
    values, targets = rows(40, 0)
    first = sums_of(values, targets).of_targets(slice(0, 1))
    weights, intercepts = first.ridge(ALPHAS)
    both, both_intercepts = sums_of(values, targets).ridge(ALPHAS)
    np.testing.assert_allclose(weights, both.reshape(5, 4, 2)[..., 0], rtol=1e-10)
    np.testing.assert_allclose(intercepts, both_intercepts[:, :1], rtol=1e-10)


def test_errors_of_a_good_fit_keep_their_digits_far_from_zero():
    values, targets = rows(40, 0)
    targets = 1e6 + values[:, :2] + 1e-3 * targets
    sums = FeatureSums.of_no_rows(values.mean(axis=0), targets.mean(axis=0))
    sums.add(values, targets)
    weights, intercepts = sums.ridge([1e-9])
    expected = ((targets - values @ weights - intercepts) ** 2).sum(axis=0)
    np.testing.assert_allclose(sums.squared_errors(weights, intercepts)[0], expected, rtol=1e-6)
