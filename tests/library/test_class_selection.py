"""The criterion of class scores, and the out-of-fold scores that it is applied to."""

import numpy as np
import pytest

from workflow_lib import KernelRidgeRegressor
from workflow_lib.fitting.class_selection import (
    heldout_class_scores,
    one_hot,
    scaled_squared_error,
    select_class_scores,
    squared_error,
)
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid
from workflow_lib.fitting.prepared_inputs import prepared_inputs, rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.items.group_names import fold_group, size_group

N_CLASSES = 4
LABELS = np.arange(24) % N_CLASSES


def noisy_scores(noise=0.5, seed=0):
    generator = np.random.default_rng(seed)
    return one_hot(LABELS, N_CLASSES) + noise * generator.normal(size=(len(LABELS), N_CLASSES))


def test_the_error_is_that_of_the_best_common_factor():
    scores = noisy_scores()
    S = scores - scores.mean(axis=1, keepdims=True)
    Z = one_hot(LABELS, N_CLASSES) - 1.0 / N_CLASSES
    factor = np.linalg.lstsq(S.reshape(-1, 1), Z.ravel(), rcond=None)[0][0]
    assert factor > 0
    expected = ((Z - factor * S) ** 2).sum() / (Z**2).sum()
    assert scaled_squared_error(scores, LABELS) == pytest.approx(expected, rel=1e-12)
    assert 0.0 < expected < 1.0


def test_it_does_not_change_with_a_number_for_each_row_nor_with_one_positive_factor():
    scores = noisy_scores()
    shifts = np.random.default_rng(1).normal(size=(len(LABELS), 1))
    error = scaled_squared_error(scores, LABELS)
    for factor in (1e-8, 3.0, 1e8):
        changed = factor * (scores + shifts)
        assert scaled_squared_error(changed, LABELS) == pytest.approx(error, rel=1e-9)


def test_uninformative_and_reversed_scores_have_the_error_one():
    assert scaled_squared_error(np.zeros((24, N_CLASSES)), LABELS) == 1.0
    # Their means are inexact: only rounding is left of such rows.
    assert scaled_squared_error(np.full((24, N_CLASSES), 0.1) * np.pi, LABELS) == 1.0
    assert scaled_squared_error(-noisy_scores(), LABELS) == 1.0


def test_scores_that_are_not_finite_have_no_error():
    scores = noisy_scores()
    scores[3, 1] = np.nan
    assert np.isnan(scaled_squared_error(scores, LABELS))


def small_features(X, folds, scale):
    """Return the tree of a "features" artifact of training rows alone."""
    stored = {}
    for fold in [None, *range(folds.max() + 1)]:
        rows = X if fold is None else X[folds != fold]
        preparation = fit_preparation(rows, scale)
        stored[fold_group(fold)] = {
            "fill": preparation.fill,
            "offset": preparation.offset,
            "scale": preparation.scale,
            "is_cut": preparation.is_cut,
        }
    inputs = {"train": X, "weak": X[:0], "test": X[:0]}
    group = {"learns": scale != "none"} | stored
    return {"scale": scale, "kernel": "rbf", "inputs": inputs, size_group(len(X)): group}


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_held_out_scores_equal_those_of_separate_fits(scale, center):
    generator = np.random.default_rng(2)
    X = generator.normal(size=(N_CLASSES, 3))[LABELS] + generator.normal(size=(len(LABELS), 3))
    folds = np.arange(len(LABELS)) // N_CLASSES % 3
    # The last class has no example outside of one fold.
    folds[LABELS == N_CLASSES - 1] = 1
    inputs = prepared_inputs(small_features(X, folds, scale), folds, len(X))
    widths, alphas = [0.3, 3.0], [1e-3, 0.1, np.inf]
    grid = {
        width: heldout_class_scores(
            inputs, LABELS, N_CLASSES, InputKernel("rbf", width), alphas, center
        )
        for width in widths
    }
    for width in widths:
        for index, alpha in enumerate(alphas):
            expected = np.empty((len(X), N_CLASSES))
            for fold in range(3):
                known, heldout = folds != fold, folds == fold
                preparation = fit_preparation(X[known], scale)
                model = KernelRidgeRegressor(gamma=rbf_gamma(width, 3), alpha=alpha, center=center)
                model.fit(preparation.apply(X[known]), one_hot(LABELS[known], N_CLASSES))
                expected[heldout] = model.predict(preparation.apply(X[heldout]))
            np.testing.assert_allclose(grid[width][index], expected, atol=1e-9)
            if center:
                np.testing.assert_allclose(grid[width][index].sum(axis=1), 1.0, atol=1e-9)
    unseen = grid[0.3][0][folds == 1][:, N_CLASSES - 1]
    np.testing.assert_allclose(unseen, 0.0, atol=1e-12)


def test_the_squared_error_is_the_brier_score_and_depends_on_shrinkage():
    labels = np.array([0, 2, 1])
    scores = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.0, 1.0, 0.0]])
    assert squared_error(scores, labels) == pytest.approx((0.14 + 0.54 + 0.0) / 3)
    shrunken = 1 / 3 + 0.1 * (scores - 1 / 3)
    assert squared_error(shrunken, labels) > squared_error(scores, labels)
    assert scaled_squared_error(shrunken, labels) == pytest.approx(
        scaled_squared_error(scores, labels)
    )


def test_medians_of_rows_errors_by_hand():
    labels = np.array([0, 2, 1, 1])
    scores = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.0, 1.0, 0.0], [9.0, 0.0, 0.0]])
    assert squared_error(scores, labels, "median") == pytest.approx((0.14 + 0.54) / 2)
    S, Z = scores[:3] - scores[:3].mean(axis=1)[:, None], one_hot(labels[:3], 3) - 1 / 3
    factor = (S * Z).sum() / (S**2).sum()
    by_row = ((Z - factor * S) ** 2).sum(axis=1) / (Z**2).sum(axis=1)
    found = scaled_squared_error(scores[:3], labels[:3], "median")
    assert found == pytest.approx(np.median(by_row))
    assert scaled_squared_error(scores[:3], labels[:3]) == pytest.approx(by_row.mean())


def test_the_kernel_and_the_penalty_with_the_least_median_are_chosen():
    generator = np.random.default_rng(4)
    X = generator.normal(size=(N_CLASSES, 3))[LABELS] + generator.normal(size=(len(LABELS), 3))
    wrong = np.where(np.arange(len(LABELS)) % 3, LABELS, (LABELS + 1) % N_CLASSES)
    folds = np.arange(len(LABELS)) // N_CLASSES % 3
    inputs = prepared_inputs(small_features(X, folds, "none"), folds, len(X))
    grid = KernelGrid(["rbf"], [0.1, 1.0, 10.0], [1e-6, 1e-3, 1e-1, 1.0])
    tried = {
        (width, alpha): squared_error(scores, wrong, "median")
        for width in grid.widths
        for alpha, scores in zip(
            grid.alphas,
            heldout_class_scores(
                inputs, wrong, N_CLASSES, InputKernel("rbf", width), grid.alphas, True
            ),
            strict=True,
        )
    }
    by_median, by_mean = (
        select_class_scores(inputs, wrong, N_CLASSES, grid, True, rows)
        for rows in ("median", "mean")
    )
    best = min(tried, key=tried.get)
    assert (by_median.kernel.width, by_median.alpha_rest) == best
    assert by_median.score == pytest.approx(tried[best])
    assert (by_mean.kernel.width, by_mean.alpha_rest) != best
