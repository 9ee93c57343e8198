"""Streamed ridge regression on features equals kernel ridge regression, fold by fold."""

import tracemalloc
import warnings

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.solvers import feature_ridge, landmarks
from workflow_lib.solvers.feature_ridge import FeatureRidge, SeparateFeatureRidges
from workflow_lib.solvers.heldout import SharedGram
from workflow_lib.solvers.landmarks import LandmarkFeatures, LinearFeatures
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

ALPHAS = [1e-4, 1e-3, 1e-2, 0.3, 10.0, 1e4, np.inf]
N_ROWS = 43


def folds_of(sizes):
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))


FOLDS = {
    "balanced": folds_of([11, 11, 11, 10]),
    "uneven": folds_of([1, 4, 31, 7]),
    "one empty": folds_of([20, 0, 23]),
    "two": folds_of([21, 22]),
    "in order": np.sort(folds_of([11, 11, 11, 10])),
}


def inputs(n_rows=N_ROWS, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 4))


def targets_of(folds, different_sizes=False):
    """Targets that differ from fold to fold, with large garbage in the held-out rows."""
    generator = np.random.default_rng(1)
    result = []
    for fold in range(folds.max() + 1):
        target = generator.normal(size=(len(folds), 2 + fold % 3 if different_sizes else 3)) + 5.0
        target[folds == fold] = np.nan
        result.append(target)
    return result


def streamed(X, folds, center=True, block_rows=8, features=None):
    features = features or LinearFeatures(X.shape[1])
    return FeatureRidge(features, X, folds, center, block_rows)


def predict(ridge, targets, alphas=ALPHAS):
    """Return, for each fold, the predictions (n_penalties, n_fold, d) of its held-out rows."""
    solutions = ridge.solve(targets, alphas)
    result = [
        np.empty((len(alphas), len(rows), intercepts.shape[1]))
        for rows, intercepts in zip(ridge.heldout, solutions.intercepts, strict=True)
    ]
    for fold, rows, predicted in ridge.predictions(solutions):
        result[fold][:, np.searchsorted(ridge.heldout[fold], rows)] = predicted
    return result


def assert_equal(ours, theirs, **tolerance):
    for prediction, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(prediction, expected, **tolerance)


@each_case("name", FOLDS)
@each_case("center", [True, False])
@each_case("n_landmarks", [6, 25])
def test_features_equal_the_gram_matrix_of_features(name, center, n_landmarks):
    folds, X = FOLDS[name], inputs()
    features = LandmarkFeatures(X[:n_landmarks], "rbf", 0.3)
    targets = targets_of(folds, different_sizes=True)
    Z = features.transform(X)
    ours = predict(streamed(X, folds, center, features=features), targets)
    known = [np.nan_to_num(target) for target in targets]
    expected = explicit_refits(Z @ Z.T, folds, known, center)
    assert_equal(ours, expected, atol=1e-9)
    if name != "one empty":
        assert_equal(ours, SharedGram(Z @ Z.T, folds, center).predict(known, ALPHAS), atol=1e-9)


def explicit_refits(K, folds, targets, center, alphas=ALPHAS):
    result = []
    for fold, target in enumerate(targets):
        kept, rows = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        predictions = []
        for alpha in alphas:
            ridge = labelled_ridge(len(kept), alpha)
            dual, intercept = fit_dual_coefficients(
                K[np.ix_(kept, kept)], target[kept], ridge, center
            )
            predictions.append(K[np.ix_(rows, kept)] @ dual + intercept)
        result.append(np.stack(predictions))
    return result


@pytest.mark.parametrize("center", [True, False])
def test_linear_features_give_the_exact_linear_solution(center):
    folds, X = FOLDS["uneven"], inputs()
    targets = targets_of(folds)
    ours = predict(streamed(X, folds, center), targets)
    assert_equal(ours, explicit_refits(X @ X.T, folds, targets, center), atol=1e-10)


@each_case("block_rows", [1, 5, N_ROWS - 1, N_ROWS, 1000, None])
@each_case("numbers", [1, 2**21])
def test_the_size_of_blocks_changes_nothing(block_rows, numbers, monkeypatch):
    folds, X = FOLDS["balanced"], inputs()
    targets = targets_of(folds)
    expected = predict(streamed(X, folds, block_rows=8), targets)
    monkeypatch.setattr(feature_ridge, "BLOCK_NUMBERS", numbers)
    ours = predict(streamed(X, folds, block_rows=block_rows), targets)
    assert_equal(ours, expected, atol=1e-11)


@each_case("name", FOLDS)
@each_case("center", [True, False])
@each_case("n_landmarks", [6, 25])
def test_errors_of_shared_targets_are_those_of_the_predictions(name, center, n_landmarks):
    folds, X = FOLDS[name], inputs()
    target = 3.0 * np.random.default_rng(2).normal(size=(N_ROWS, 3)) + 5.0
    features = LandmarkFeatures(X[:n_landmarks], "rbf", 0.3)
    ridge = streamed(X, folds, center, features=features)
    of_each = [target.copy() for _ in range(folds.max() + 1)]
    predictions = predict(ridge, of_each)
    assert_equal(predict(ridge, target), predictions, atol=1e-10)
    expected = [
        ((of_fold - target[rows]) ** 2).sum(axis=1)
        for of_fold, rows in zip(predictions, ridge.heldout, strict=True)
    ]
    assert_equal(ridge.solve(target, ALPHAS).squared_errors, expected, rtol=1e-9, atol=1e-9)
    assert ridge.solve(of_each, ALPHAS).squared_errors is None


@pytest.mark.parametrize("same", [True, False])
def test_targets_may_be_computed_by_block(same):
    folds, X = FOLDS["balanced"], inputs()
    targets = np.random.default_rng(3).normal(size=(N_ROWS, 2)) if same else targets_of(folds)
    functions = targets.__getitem__ if same else [target.__getitem__ for target in targets]
    ours = predict(streamed(X, folds), functions, ALPHAS)
    assert_equal(ours, predict(streamed(X, folds), targets), atol=0)


def test_targets_and_features_are_left_unchanged():
    folds, X = FOLDS["balanced"], inputs()
    targets = targets_of(folds)
    before = [X.copy(), *(target.copy() for target in targets)]
    ridge = streamed(X, folds)
    predict(ridge, targets)
    ridge.refit(np.ones((N_ROWS, 1)), 0.1)
    for array, copy in zip([X, *targets], before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("name", ["balanced", "uneven"])
def test_streamed_predictions_visit_every_row_once(name, monkeypatch):
    monkeypatch.setattr(feature_ridge, "BLOCK_NUMBERS", 2 * 3 * len(ALPHAS))
    folds, X = FOLDS[name], inputs()
    targets = targets_of(folds)
    ridge = streamed(X, folds)
    visited, collected = [], np.empty((len(ALPHAS), N_ROWS, 3))
    for fold, rows, predictions in ridge.predictions(ridge.solve(targets, ALPHAS)):
        assert (folds[rows] == fold).all()
        assert len(rows) <= 2
        visited.extend(rows)
        collected[:, rows] = predictions
    assert sorted(visited) == list(range(N_ROWS))
    expected = predict(streamed(X, folds), targets)
    assert_equal([collected[:, rows] for rows in ridge.heldout], expected, atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_each_column_may_have_its_penalty(center):
    folds, X = FOLDS["balanced"], inputs()
    targets = targets_of(folds)
    grid = [1e-3, 0.3, np.inf]
    by_alpha = predict(streamed(X, folds, center), targets, grid)
    by_column = predict(streamed(X, folds, center), targets, [np.array(grid)])
    for expected, ours in zip(by_alpha, by_column, strict=True):
        np.testing.assert_allclose(ours[0], np.einsum("jnj->nj", expected), atol=1e-12)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, np.inf])
def test_refit_equals_kernel_ridge_regression_on_all_rows(center, alpha):
    X, other = inputs(), inputs(seed=5)
    features = LandmarkFeatures(X[:9], "rbf", 0.3)
    Z, Z_other = features.transform(X), features.transform(other)
    T = np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 5.0
    ridge = streamed(X, FOLDS["uneven"], center, features=features)
    weights, intercept = ridge.refit(T, alpha)
    dual, expected = fit_dual_coefficients(Z @ Z.T, T, labelled_ridge(N_ROWS, alpha), center)
    np.testing.assert_allclose(
        features.values(other) @ weights + intercept, Z_other @ Z.T @ dual + expected, atol=1e-9
    )


def test_refit_takes_a_penalty_for_each_column():
    X = inputs()
    T = np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 5.0
    ridge = streamed(X, FOLDS["balanced"])
    alphas = [1e-2, 3.0, np.inf]
    weights, intercept = ridge.refit(T, np.array(alphas))
    assert (weights.shape, intercept.shape) == ((4, 3), (3,))
    for column, alpha in enumerate(alphas):
        own = streamed(X, FOLDS["balanced"]).refit(T[:, [column]], alpha)
        np.testing.assert_allclose(weights[:, [column]], own[0], atol=1e-12)
        np.testing.assert_allclose(intercept[[column]], own[1], atol=1e-12)


def test_an_offset_of_the_features_costs_no_digits():
    folds, X = FOLDS["balanced"], inputs()
    targets = targets_of(folds)
    far = X + 2.0**20
    X = far - 2.0**20
    ours = predict(streamed(far, folds), targets)
    assert_equal(ours, predict(streamed(X, folds), targets), atol=1e-8)


class CountedRows:
    """Inputs that count how often they are read."""

    n_passes = 0

    def __len__(self):
        return N_ROWS

    def __getitem__(self, rows):
        self.n_passes += rows.start == 0
        return inputs()[rows]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_rows_are_read_once_for_the_sums_and_once_for_predictions(center, shared):
    X, T = CountedRows(), np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 5.0
    features = LandmarkFeatures(inputs()[:9], "rbf", 0.3)
    ridge = streamed(X, FOLDS["balanced"], center, features=features)
    solutions = ridge.solve(T if shared else targets_of(FOLDS["balanced"]), ALPHAS)
    assert X.n_passes == 1
    list(ridge.predictions(solutions))
    assert X.n_passes == 2
    # A refit after the solution reads rows only for targets that are not known.
    expected = streamed(inputs(), np.full(N_ROWS, -1), center, features=features).refit(T, 0.1)
    for passes in (2 if shared else 3, 2 if shared else 3):
        assert_equal(ridge.refit(T, 0.1), expected, atol=1e-10)
        assert X.n_passes == passes


@pytest.mark.parametrize("width", [1.0, 5.0])
def test_sums_of_kernel_values_serve_as_well_as_those_of_features(width, monkeypatch):
    """Where k(L, L) is well conditioned; elsewhere they are not used, since they would not."""
    generator = np.random.default_rng(0)
    X, folds = generator.normal(size=(400, 6)), np.arange(400) % 4
    T = np.sin(X[:, :2]) + 0.1 * generator.normal(size=(400, 2))
    gamma = 1.0 / (12.0 * width**2)
    features = LandmarkFeatures(X[:60], "rbf", gamma)
    assert (features.factor is not None) == (width == 1.0)
    ours = predict(streamed(X, folds, features=features), T, [1e-9, 1e-3])
    with monkeypatch.context() as patch:
        patch.setattr(landmarks, "MAX_CONDITION", 0.0)
        plain = LandmarkFeatures(X[:60], "rbf", gamma)
    assert plain.factor is None
    assert_equal(ours, predict(streamed(X, folds, features=plain), T, [1e-9, 1e-3]), atol=1e-8)
    with monkeypatch.context() as patch:
        patch.setattr(landmarks, "MAX_CONDITION", np.inf)
        forced = LandmarkFeatures(X[:60], "rbf", gamma)
    found = predict(streamed(X, folds, features=forced), T, [1e-9, 1e-3])
    difference = max(np.abs(a - b).max() for a, b in zip(found, ours, strict=True))
    assert (difference > 1e-6) == (width == 5.0)


def test_memory_does_not_grow_with_the_rows():
    def peak(n_rows):
        X = np.random.default_rng(0).normal(size=(n_rows, 3))
        folds = np.arange(n_rows) % 5
        features = LandmarkFeatures(X[:30], "rbf", 0.3)
        ridge = streamed(X, folds, block_rows=100, features=features)

        def targets(rows):
            return X[rows] ** 2

        tracemalloc.start()
        solutions = ridge.solve(targets, [0.1, 1.0])
        errors = 0.0
        for _, rows, predictions in ridge.predictions(solutions):
            errors += ((predictions - X[rows] ** 2) ** 2).sum()
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    assert peak(20_000) < 1.2 * peak(1_000)


def test_tiny_ridges_are_warned_about():
    folds = FOLDS["balanced"]
    with pytest.warns(RuntimeWarning, match="its scores are not reliable"):
        predict(streamed(inputs(), folds), targets_of(folds), [1e-16])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict(streamed(inputs(), folds), targets_of(folds), [1e-4])


@pytest.mark.parametrize("center", [True, False])
def test_rows_that_no_fold_holds_out_always_train(center):
    X, folds = inputs(), FOLDS["balanced"]
    target = np.random.default_rng(1).normal(size=(N_ROWS, 3))
    ridges = [streamed(X, np.where(folds == fold, 0, -1), center) for fold in range(4)]
    separate = SeparateFeatureRidges(ridges)
    solutions = separate.solve(target, ALPHAS)
    together = streamed(X, folds, center)
    expected = predict(together, target)
    errors = together.solve(target, ALPHAS).squared_errors
    assert_equal(solutions.squared_errors, errors, rtol=1e-9)
    assert_equal(separate.solve([target] * 4, ALPHAS).weights, solutions.weights, rtol=1e-9)
    seen = np.zeros(N_ROWS, dtype=int)
    for fold, rows, predictions in separate.predictions(solutions):
        indices = np.searchsorted(together.heldout[fold], rows)
        np.testing.assert_allclose(predictions, expected[fold][:, indices], rtol=1e-9)
        seen[rows] += 1
    assert (seen == 1).all()
    never = streamed(X, np.full(N_ROWS, -1), center)
    for found, other in zip(
        never.refit(target, 0.1), streamed(X, folds, center).refit(target, 0.1), strict=True
    ):
        np.testing.assert_allclose(found, other, rtol=1e-9)


def test_what_cannot_be_done_is_refused():
    X, folds = inputs(), FOLDS["balanced"]
    with pytest.raises(ValueError, match="must not be below -1"):
        streamed(X, folds - 2)
    with pytest.raises(ValueError, match="X has 42 rows; fold numbers are given for 43"):
        streamed(X[:-1], folds)
    with pytest.raises(ValueError, match="targets must be given for 4 folds; found 3"):
        streamed(X, folds).solve([X] * 3, ALPHAS)
    with pytest.raises(ValueError, match="A fold holds out all rows"):
        streamed(X, np.zeros(N_ROWS, dtype=int)).solve(X, ALPHAS)
