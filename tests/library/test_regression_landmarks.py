"""Inner products of landmark features approximate the kernel; landmarks are drawn as documented."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from workflow_lib.solvers import landmarks
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.landmarks import (
    METHODS,
    LandmarkFeatures,
    LinearFeatures,
    choose_landmarks,
    leverage_scores,
    pivoted_rows,
)

KERNELS = [("rbf", 0.3), ("linear", None), ("tanimoto", None)]


def inputs(n_rows=120, n_columns=4, seed=0):
    return np.random.default_rng(seed).uniform(size=(n_rows, n_columns))


def chosen(X, n_landmarks, method, seed=0, kernel="rbf", gamma=1.0):
    return choose_landmarks(X, n_landmarks, kernel, gamma, method, np.random.default_rng(seed))


def is_row_of(rows, X):
    return (cdist(rows, X) == 0).any(axis=1)


@pytest.mark.parametrize(("kernel", "gamma"), KERNELS)
def test_all_rows_as_landmarks_give_the_gram_matrix(kernel, gamma):
    X = inputs()
    Z = LandmarkFeatures(X, kernel, gamma).transform(X)
    np.testing.assert_allclose(Z @ Z.T, gram_matrix(X, None, kernel, gamma), atol=1e-8)


@pytest.mark.parametrize(("kernel", "gamma"), KERNELS)
def test_inner_products_are_the_nystrom_approximation(kernel, gamma):
    X = inputs()
    L = X[:3]
    Z = LandmarkFeatures(L, kernel, gamma).transform(X)
    across = gram_matrix(X, L, kernel, gamma)
    expected = across @ np.linalg.solve(gram_matrix(L, None, kernel, gamma), across.T)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-10)


def test_repeated_landmarks_add_no_features():
    X = inputs()
    once, twice = (LandmarkFeatures(L, "rbf", 1.0) for L in (X[:10], np.tile(X[:10], (2, 1))))
    assert (once.n_features, twice.n_features) == (10, 10)
    Z, Z_twice = once.transform(X), twice.transform(X)
    np.testing.assert_allclose(Z @ Z.T, Z_twice @ Z_twice.T, atol=1e-9)


def test_linear_features_are_the_inputs():
    X = inputs().astype(np.float32)
    features = LinearFeatures(4)
    Z = features.transform(X)
    assert features.n_features == 4 and Z.dtype == np.float64
    np.testing.assert_array_equal(Z, X)


@pytest.mark.parametrize("gamma", [0.01, 30.0])
def test_values_and_dual_weights_give_the_products_of_the_features(gamma):
    X = inputs()
    features = LandmarkFeatures(X[:20], "rbf", gamma)
    assert (features.factor is None) == (gamma == 0.01)
    weights = np.random.default_rng(1).normal(size=(features.n_features, 3))
    np.testing.assert_allclose(
        features.values(X) @ features.dual(weights), features.transform(X) @ weights, atol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_seeds_reproduce_landmarks(method):
    X = inputs()
    first, again, other = (chosen(X, 15, method, seed) for seed in (0, 0, 1))
    assert first.shape == (15, 4)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("method", METHODS)
def test_few_rows_are_all_landmarks(method):
    X = inputs(10)
    np.testing.assert_array_equal(chosen(X, 10, method), X)
    np.testing.assert_array_equal(chosen(X, 11, method), X)


@pytest.mark.parametrize("method", ["uniform", "leverage", "pivoted"])
def test_drawn_landmarks_are_distinct_rows(method):
    X = inputs()
    rows = chosen(X, 60, method)
    assert is_row_of(rows, X).all()
    assert len(np.unique(rows, axis=0)) == 60


def test_inputs_are_left_unchanged():
    X = inputs()
    before = X.copy()
    for method in METHODS:
        chosen(X, 15, method)[:] = np.nan
    chosen(X, 200, "uniform")[:] = np.nan
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("block", [1, 7 * 15, 2**22])
def test_k_means_centres_are_the_means_of_their_nearest_rows(block, monkeypatch):
    monkeypatch.setattr(landmarks, "BLOCK_NUMBERS", block)
    monkeypatch.setattr(landmarks, "LLOYD_ITERATIONS", 1000)
    X = inputs() + 100.0
    centres = chosen(X, 15, "k_means")
    labels = cdist(X, centres).argmin(axis=1)
    expected = np.stack([X[labels == label].mean(axis=0) for label in range(15)])
    np.testing.assert_allclose(centres, expected, atol=1e-12)


def test_k_means_keeps_the_centres_of_empty_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    centres = chosen(X, 6, "k_means")
    assert np.isfinite(centres).all()
    assert LandmarkFeatures(centres, "rbf", 1.0).n_features <= 3


def test_all_methods_but_the_uniform_use_some_rows_only(monkeypatch):
    monkeypatch.setattr(landmarks, "CANDIDATES_PER_LANDMARK", 2)
    X = inputs()

    class Watched:
        read = 0

        def __len__(self):
            return len(X)

        def __getitem__(self, rows):
            self.read += len(X[rows])
            return X[rows]

    for method in ("k_means", "leverage", "pivoted"):
        watched = Watched()
        assert chosen(watched, 15, method).shape == (15, 4)
        assert watched.read == 30


def test_leverage_scores_with_all_rows_as_the_sketch_are_exact():
    X = inputs(40)
    K = gram_matrix(X, None, "rbf", 0.5)
    ridge = np.linalg.eigvalsh(K)[:20].mean()
    expected = np.diag(K @ np.linalg.inv(K + ridge * np.eye(40)))
    scores = leverage_scores(X, X, "rbf", 0.5)
    np.testing.assert_allclose(scores / ridge, expected, rtol=1e-6)


@pytest.mark.parametrize(("kernel", "gamma"), KERNELS)
def test_leverage_scores_do_not_depend_on_blocks(kernel, gamma, monkeypatch):
    X = inputs()
    whole = leverage_scores(X, X[:20], kernel, gamma)
    monkeypatch.setattr(landmarks, "BLOCK_NUMBERS", 7 * 20)
    assert whole.min() > 0
    np.testing.assert_allclose(leverage_scores(X, X[:20], kernel, gamma), whole, atol=1e-12)


def test_leverage_prefers_rows_far_from_the_others():
    generator = np.random.default_rng(0)
    crowd = 0.01 * generator.normal(size=(950, 3))
    X = np.vstack([crowd, 4.0 * generator.normal(size=(50, 3))])
    n_far = {
        method: (np.abs(chosen(X, 30, method)).max(axis=1) > 0.1).sum()
        for method in ("uniform", "leverage")
    }
    assert n_far["leverage"] > 15 > n_far["uniform"]


@pytest.mark.parametrize("proposals", [0.5, 3.0])
def test_pivoted_rows_have_the_probabilities_of_single_draws(proposals, monkeypatch):
    monkeypatch.setattr(landmarks, "PROPOSALS_PER_LANDMARK", proposals)
    X = np.array([[0.0], [0.2], [0.9], [2.0]])
    K = gram_matrix(X, None, "rbf", 1.0)
    expected = np.zeros((4, 4))
    for first in range(4):
        left = np.diag(K) - K[first] ** 2 / K[first, first]
        expected[first] = K[first, first] / 4.0 * left / left.sum()
    found, generator = np.zeros((4, 4)), np.random.default_rng(0)
    for _ in range(4000):
        found[tuple(pivoted_rows(X, 2, "rbf", 1.0, generator))] += 1.0 / 4000
    # Five standard deviations of a frequency.
    assert np.abs(found - expected).max() < 5.0 * np.sqrt(0.1 * 0.9 / 4000)


def test_pivoted_rows_leave_less_of_a_spiked_kernel_than_uniform_ones():
    generator = np.random.default_rng(0)
    X = np.vstack([0.01 * generator.normal(size=(470, 3)), 4.0 * generator.normal(size=(30, 3))])
    K = gram_matrix(X, None, "rbf", 1.0)
    left = {}
    for method in ("uniform", "pivoted"):
        Z = LandmarkFeatures(chosen(X, 30, method), "rbf", 1.0).transform(X)
        left[method] = np.trace(K - Z @ Z.T)
    # The bound of Chen et al. for twice the error of the best rank, which needs more rows yet.
    assert left["pivoted"] < 2.0 * np.linalg.eigvalsh(K)[:-15].sum()
    assert left["pivoted"] < 0.2 * left["uniform"]


def test_pivoted_rows_end_where_nothing_is_left():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    assert len(np.unique(chosen(X, 6, "pivoted"), axis=0)) == 3
    assert chosen(X, 6, "pivoted").shape == (3, 2)


@pytest.mark.parametrize("method", METHODS)
def test_more_landmarks_come_closer_to_a_smooth_kernel(method):
    X = inputs(400)
    K = gram_matrix(X, None, "rbf", 1.0)
    errors = []
    for n_landmarks in (5, 20, 80):
        Z = LandmarkFeatures(chosen(X, n_landmarks, method), "rbf", 1.0).transform(X)
        errors.append(np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K))
    assert errors[0] > 5 * errors[1] > 25 * errors[2]


def test_what_cannot_be_done_is_refused():
    X = inputs()
    with pytest.raises(ValueError, match="method must be one of"):
        chosen(X, 5, "nearest")
    with pytest.raises(ValueError, match="n_landmarks must be at least 1; found 0"):
        chosen(X, 0, "uniform")
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        chosen(X, 5, "uniform", kernel="precomputed")
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        LandmarkFeatures(X, "precomputed")
    with pytest.raises(ValueError, match="kernel must be one of"):
        LandmarkFeatures(X, "cubic")
    with pytest.raises(ValueError, match="zero on all landmarks"):
        LandmarkFeatures(np.zeros((3, 2)), "linear")
