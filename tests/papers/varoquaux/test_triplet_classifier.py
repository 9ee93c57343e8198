"""The metric from triplets: its loss, its triplets, and rows that only it tells apart."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from workflow_lib.papers.varoquaux.triplet_classifier import (
    TripletClassifier,
    drawn_triplets,
    triplet_loss,
)


def test_the_gradient_is_that_of_finite_differences_and_the_loss_that_of_each_triplet():
    random = np.random.default_rng(0)
    X, labels = random.normal(size=(12, 4)), random.integers(3, size=12)
    triplets = drawn_triplets(labels, 3, 0)
    near, far = (X[triplets[:, 0]] - X[triplets[:, place]] for place in (1, 2))
    point = random.normal(size=(2, 4))

    def at(flat):
        return triplet_loss(flat.reshape(2, 4), near, far, 0.1)

    assert check_grad(lambda v: at(v)[0], lambda v: at(v)[1].ravel(), point.ravel()) < 1e-5
    losses = []
    for a, b, c in X[triplets] @ point.T:
        losses.append(np.log1p(np.exp(np.square(a - b).sum() - np.square(a - c).sum())))
    expected = np.mean(losses) + 0.05 * np.square(point).sum()
    assert at(point.ravel())[0] == pytest.approx(expected)


def test_triplets_have_a_row_of_the_class_and_one_of_another():
    labels = np.array([0, 0, 1, 1, 1, 2])
    a, b, c = drawn_triplets(labels, 50, 0).T
    assert set(a) == {0, 1, 2, 3, 4}
    assert (labels[a] == labels[b]).all() and (a != b).all() and (labels[a] != labels[c]).all()
    assert drawn_triplets(np.zeros(4, dtype=int), 5, 0).shape == (0, 3)


def test_it_finds_the_direction_of_the_classes_among_louder_ones():
    random = np.random.default_rng(0)
    labels = np.repeat([3, 7], 60)
    X = np.column_stack(
        [(labels == 7) + 0.2 * random.normal(size=120), *random.normal(size=(3, 120))]
    )
    X[:, 1:] *= 3.0
    model = TripletClassifier().fit(X[::2], labels[::2])
    assert model.score(X[1::2], labels[1::2]) >= 0.95
    assert TripletClassifier("given").fit(X[::2], labels[::2]).score(X[1::2], labels[1::2]) < 0.85


@pytest.mark.parametrize("metric", ["triplets", "neighbourhood", "given"])
def test_every_metric_tells_wines_apart(metric):
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = TripletClassifier(metric, n_components=3, max_iter=50).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert model.transform(X).shape == (178, 13 if metric == "given" else 3)


def test_another_metric_is_refused():
    with pytest.raises(ValueError, match="metric='none'"):
        TripletClassifier("none").fit(np.eye(2), [0, 1])
