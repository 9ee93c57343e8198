"""The metric by neighbourhood components: rows that only it tells apart."""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from workflow_lib.papers.varoquaux.neighbourhood_classifier import NeighbourhoodClassifier


def test_it_finds_the_direction_of_the_classes_among_louder_ones():
    random = np.random.default_rng(0)
    labels = np.repeat([3, 7], 60)
    X = np.column_stack(
        [(labels == 7) + 0.2 * random.normal(size=120), *random.normal(size=(3, 120))]
    )
    X[:, 1:] *= 3.0
    model = NeighbourhoodClassifier().fit(X[::2], labels[::2])
    assert model.score(X[1::2], labels[1::2]) > 0.9
    given = KNeighborsClassifier(3).fit(X[::2], labels[::2])
    assert given.score(X[1::2], labels[1::2]) < 0.85


def test_it_tells_wines_apart_by_few_components():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    model = NeighbourhoodClassifier(n_components=3).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_more_inputs_than_rows_are_learned_from():
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1], 15)
    X = random.normal(size=(30, 100)) + labels[:, None]
    model = NeighbourhoodClassifier(n_components=200).fit(X[::2], labels[::2])
    assert model.score(X[1::2], labels[1::2]) > 0.9
