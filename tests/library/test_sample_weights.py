"""Weights of rows in kernel ridge regression: equal to repeated rows, and to scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from each_case import each_case
from sklearn import config_context
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import PredefinedSplit, cross_validate
from small_data import regression_data

from workflow_lib import (
    KernelRidgeClassifierCV,
    KernelRidgeRegressorCV,
    OutputFisherRegressorCV,
    StackClassifier,
    StackRegressor,
)
from workflow_lib.core.errors import ArgumentError
from workflow_lib.estimators import array_run

X, Y = regression_data(40)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y[:, 0], np.quantile(Y[:, 0], [0.3, 0.6]))]
COUNTS = np.random.default_rng(0).integers(0, 4, 40)
FOLDS = np.arange(40) % 4
GRID = {"widths": [0.1, 1.0], "alphas": [1e-4, 1e-2]}
ONE_POINT = {"widths": [0.3], "alphas": [1e-2]}
REGRESSOR, CLASSIFIER = KernelRidgeRegressorCV(**GRID), KernelRidgeClassifierCV(**GRID)


def weighted_and_repeated(estimator, X, y, counts=COUNTS):
    """Return an estimator fitted to weighted rows, and to as many copies of each, fold by fold."""
    weighted, repeated = clone(estimator), clone(estimator)
    weighted.set_params(cv=list(PredefinedSplit(FOLDS).split()))
    repeated.set_params(cv=PredefinedSplit(FOLDS.repeat(counts)))
    # Only the ratios of weights count.
    weighted.fit(X, y, sample_weight=0.7 * counts)
    return weighted, repeated.fit(X.repeat(counts, axis=0), y.repeat(counts, axis=0))


def assert_equal_choices(found, expected, counts=COUNTS):
    assert found.best_params_ == pytest.approx(expected.best_params_)
    assert found.cv_error_ == pytest.approx(expected.cv_error_, rel=1e-8)
    np.testing.assert_allclose(
        found.heldout_predictions_.repeat(counts, axis=0), expected.heldout_predictions_, atol=1e-8
    )


@each_case("kernel", ["linear", "rbf"])
@each_case("center", [True, False])
@each_case("metric", ["arrmse", "rrmse"])
def test_whole_weights_are_repeated_rows(kernel, center, metric):
    estimator = clone(REGRESSOR).set_params(kernels=[kernel], center=center, metric=metric)
    found, expected = weighted_and_repeated(estimator.set_params(scale="none"), X, Y)
    assert_equal_choices(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-8)


def test_weights_count_in_scales_and_means_of_what_is_known():
    inputs, outputs = X.copy(), Y.copy()
    inputs[::5, 1] = outputs[1::6, 0] = np.nan
    # Standardised values of a column that mostly has one value are cut: by weight, not by number.
    counts = np.where(np.arange(40) % 3 == 0, 5, 1)
    inputs[counts == 5, 2] = 0.0
    inputs[1, 2] = 1e3
    found, expected = weighted_and_repeated(REGRESSOR, inputs, outputs, counts)
    assert_equal_choices(found, expected, counts)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-8)


def test_whole_weights_are_repeated_rows_of_classes():
    found, expected = weighted_and_repeated(CLASSIFIER, X, LABELS)
    assert_equal_choices(found, expected)
    np.testing.assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


@each_case("center", [True, False])
def test_only_the_mean_is_left_of_an_infinite_penalty(center):
    estimator = KernelRidgeRegressorCV(["linear"], alphas=[np.inf], center=center)
    found, expected = weighted_and_repeated(estimator, X, Y)
    mean = np.average(Y, axis=0, weights=COUNTS) if center else np.zeros(3)
    np.testing.assert_allclose(found.predict(X[:2]), [mean, mean], atol=1e-12)
    assert_equal_choices(found, expected)


@each_case(("estimator", "y"), [(REGRESSOR, Y), (CLASSIFIER, LABELS)])
def test_equal_weights_change_nothing(estimator, y):
    without, equal = clone(estimator).fit(X, y), clone(estimator)
    for weights in (np.full(40, 0.1), 3):
        equal.fit(X, y, sample_weight=weights)
        assert equal.cv_error_ == without.cv_error_
        np.testing.assert_array_equal(equal.heldout_predictions_, without.heldout_predictions_)
        np.testing.assert_array_equal(equal.predict(X), without.predict(X))


@each_case("kernel", ["linear", "rbf"])
@each_case("combine", ["best", "bootstrap"])
def test_the_fit_is_that_of_scikit_learn(kernel, combine):
    """Of one grid point, which every bootstrap sample chooses."""
    weights = np.random.default_rng(1).exponential(size=40)
    found = KernelRidgeRegressorCV([kernel], **ONE_POINT, combine=combine, center=False)
    found.set_params(scale="none").fit(X, Y, sample_weight=weights)
    alpha = 2.0 * weights.sum() * found.alpha_
    expected = KernelRidge(kernel=kernel, gamma=found.gamma_, alpha=alpha)
    expected.fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-8)


def test_bootstrap_samples_weigh_their_errors():
    """Rows of nearly no weight, whose outputs are noise, have no part in what is chosen."""
    noisy = np.arange(40) % 2 == 1
    outputs = np.where(noisy[:, None], 10.0 * np.random.default_rng(2).normal(size=Y.shape), Y)
    estimator = KernelRidgeRegressorCV(["linear", "rbf"], **GRID, combine="bootstrap")
    found = clone(estimator).fit(X, outputs, sample_weight=np.where(noisy, 1e-12, 1.0))
    assert found.cv_error_ < 0.8 < clone(estimator).fit(X, outputs).cv_error_


@each_case(("estimator", "y"), [(REGRESSOR, Y), (CLASSIFIER, LABELS)])
def test_rows_without_weight_are_left_out(estimator, y):
    kept = COUNTS > 0
    weights = np.where(kept, 2.0, np.where(FOLDS == 1, 1e-310, 0.0))
    found = clone(estimator).fit(X, y, sample_weight=weights, groups=FOLDS)
    without = clone(estimator).fit(X[kept], y[kept], groups=FOLDS[kept])
    predicted = without.decision_function if y is LABELS else without.predict
    heldout = found.heldout_predictions_
    np.testing.assert_array_equal(heldout[kept], without.heldout_predictions_)
    np.testing.assert_array_equal(heldout[~kept], predicted(X[~kept]))
    np.testing.assert_array_equal(found.predict(X), without.predict(X))


def test_a_class_without_weight_is_none():
    model = clone(CLASSIFIER).fit(X, LABELS, sample_weight=LABELS != "high")
    assert model.classes_.tolist() == ["low", "middle"]
    assert model.heldout_predictions_.shape == (40, 2)


def test_weights_are_routed():
    weights = 1.0 + COUNTS
    model = clone(REGRESSOR)
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        params = {"sample_weight": weights}
        folds = PredefinedSplit(FOLDS)
        scores = cross_validate(model, X, Y, cv=folds, params=params, error_score="raise")
    for score, (train, test) in zip(scores["test_score"], folds.split(), strict=True):
        expected = clone(REGRESSOR).fit(X[train], Y[train], sample_weight=weights[train])
        assert score == expected.score(X[test], Y[test], weights[test])


@each_case(
    ("weights", "message"),
    [
        (np.where(np.arange(40) == 3, -1.0, 1.0), "Negative values"),
        (np.where(np.arange(40) == 3, np.nan, 1.0), "NaN"),
        (np.ones(39), r"\(39,\)"),
        (np.ones((40, 1)), "1D array"),
        (np.zeros(40), "zero"),
    ],
)
def test_faults_of_weights_are_named(weights, message):
    for estimator, y in ((REGRESSOR, Y), (CLASSIFIER, LABELS)):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, y, sample_weight=weights)


def test_one_row_with_a_weight_is_not_enough():
    with pytest.raises(ArgumentError, match="1 sample with a weight that is not zero"):
        clone(REGRESSOR).fit(X, Y, sample_weight=np.arange(40) == 3)


def test_weights_need_a_gram_matrix(monkeypatch):
    monkeypatch.setattr(array_run, "default_max_gram_rows", lambda: 30)
    with pytest.raises(ArgumentError, match="argument sample_weight: weights of 40 rows"):
        clone(REGRESSOR).fit(X, Y, sample_weight=1.0 + COUNTS)


@each_case("estimator", [OutputFisherRegressorCV(), StackRegressor(), StackClassifier()])
def test_others_take_no_weights(estimator):
    with pytest.raises(TypeError, match="sample_weight"):
        estimator.fit(X, LABELS, sample_weight=COUNTS)
