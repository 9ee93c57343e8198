"""The factored logistic model: gradients, its limit without a factor, dropout."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from workflow_lib.papers.varoquaux.factored_classifier import (
    FactoredClassifier,
    loss_and_gradients,
)


def test_gradients_are_those_of_finite_differences():
    random = np.random.default_rng(0)
    X, targets = random.normal(size=(9, 5)), np.eye(4)[random.integers(4, size=9)]
    masks = 2.0 * (random.random((9, 5)) < 0.5), 4.0 * (random.random((9, 3)) < 0.25)
    shapes = (5, 3), (3, 4), (4,)
    ends = np.cumsum([np.prod(shape) for shape in shapes])

    def unpacked(vector):
        return [part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1]), shapes)]

    def at(vector):
        return loss_and_gradients(unpacked(vector), X, targets, 0.1, masks)

    def gradient(vector):
        return np.concatenate([each.ravel() for each in at(vector)[1]])

    for _ in range(3):
        point = random.normal(size=ends[-1])
        assert check_grad(lambda v: at(v)[0], gradient, point) < 1e-6


def test_without_dropout_it_is_as_likely_as_logistic_regression_with_as_many_features():
    # Squares of both factors, alpha / 2 each, are alpha times the nuclear norm of their product.
    X, y = load_wine(return_X_y=True)
    X, targets = scale(X), np.eye(3)[y]
    settings = {"input_dropout": 0.0, "dropout": 0.0, "learning_rate": 1e-2, "max_iter": 3000}
    own = FactoredClassifier(10, alpha=0.02, batch_size=200, **settings).fit(X, y)
    reached, gradients = loss_and_gradients(
        [own.first_, own.second_, own.intercept_], X, targets, 0.02
    )
    assert max(abs(each).max() for each in gradients) < 0.02
    # From any logistic regression: factors of the same product with the least squares.
    for strength in (0.1, 1.0, 10.0):
        peer = LogisticRegression(C=strength).fit(X, y)
        left, values, right = np.linalg.svd(peer.coef_.T, full_matrices=False)
        factors = [left * np.sqrt(values), np.sqrt(values)[:, None] * right, peer.intercept_]
        assert reached <= loss_and_gradients(factors, X, targets, 0.02)[0] + 1e-3


def test_masks_have_the_mean_one_and_predictions_use_none():
    X, y = load_wine(return_X_y=True)
    model = FactoredClassifier(5, max_iter=20).fit(scale(X), y)
    again = FactoredClassifier(5, max_iter=20).fit(scale(X), y)
    np.testing.assert_array_equal(model.predict_proba(scale(X)), again.predict_proba(scale(X)))
    np.testing.assert_allclose(model.predict_proba(scale(X)).sum(axis=1), 1.0)
    assert model.score(scale(X), y) > 0.95
    other = FactoredClassifier(5, dropout=0.0, max_iter=20).fit(scale(X), y)
    assert not np.allclose(other.first_, model.first_)


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(ValueError, match="at least two classes"):
        FactoredClassifier().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="dropout=1"):
        FactoredClassifier(dropout=1).fit(np.eye(3), [0, 1, 1])
