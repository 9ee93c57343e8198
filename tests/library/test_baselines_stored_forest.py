"""Stored forests predict what scikit-learn's do."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.solvers.classifiers import fit_forest_classifier
from workflow_lib.solvers.forest import fitted_forest, forest_predictions
from workflow_lib.solvers.stored.forest import StoredForest, forest_tree


def data(n_outputs, n_rows=80, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 5))
    X[:, 4] = np.round(X[:, 4])
    Y = np.column_stack([X @ generator.normal(size=5) + X[:, 0] ** 2 for _ in range(n_outputs)])
    return X, Y


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("max_features", [0.4, 1.0])
def test_predictions_are_those_of_scikit_learn(tmp_path, n_outputs, max_features):
    X, Y = data(n_outputs)
    forest = fitted_forest("random_forest", X, Y, 12, max_features, seed=1)
    write_artifact(tmp_path / "forest.h5", {"forest": forest_tree(forest)}, "forest")
    stored = StoredForest(read_artifact(tmp_path / "forest.h5", "forest")["forest"])
    new, _ = data(n_outputs, n_rows=300, seed=9)
    for rows in (X, new, new[:1]):
        np.testing.assert_allclose(
            stored.predict(rows), forest_predictions(forest, rows), rtol=1e-14, atol=1e-14
        )


@pytest.mark.parametrize("classes", [[2], [0, 3], [0, 1, 4]])
def test_probabilities_are_those_of_scikit_learn_to_the_last_bit(tmp_path, classes):
    # Equal probabilities must stay equal, or another class would be predicted.
    X, Y = data(1)
    # Rows of the same inputs and of several classes leave shares other than 0 and 1.
    X = np.round(X)
    labels = np.array(classes)[np.digitize(Y[:, 0], [0.0, 3.0][: len(classes) - 1])]
    forest = fit_forest_classifier(X[:, 3:], labels, 12, 0.5, seed=1)
    write_artifact(tmp_path / "forest.h5", {"forest": forest_tree(forest)}, "forest")
    stored = StoredForest(read_artifact(tmp_path / "forest.h5", "forest")["forest"])
    new, _ = data(1, n_rows=300, seed=9)
    for rows in (X, new, new[:1]):
        found = stored.predict(rows[:, 3:])
        np.testing.assert_array_equal(found, forest.predict_proba(rows[:, 3:]))
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_inputs_at_a_threshold_go_the_same_way():
    X = np.repeat(np.arange(4.0), 5)[:, None] / 10.0
    forest = fitted_forest("random_forest", X, np.sin(50 * X), 5, 1.0, seed=0)
    tree = forest_tree(forest)
    inner = tree["left"] >= 0
    at = np.concatenate([tree["threshold"][inner], np.nextafter(tree["threshold"][inner], 9)])
    np.testing.assert_array_equal(
        StoredForest(tree).predict(at[:, None]), forest_predictions(forest, at[:, None])
    )


def test_a_forest_of_constant_outputs_is_its_roots():
    X, _ = data(1)
    forest = fitted_forest("random_forest", X, np.full((len(X), 2), 3.5), 3, 1.0, seed=0)
    np.testing.assert_array_equal(StoredForest(forest_tree(forest)).predict(X), 3.5)


@pytest.mark.parametrize("children", ["left", "right"])
@pytest.mark.parametrize("wrong", [0, 10**6])
def test_children_outside_of_their_tree_are_refused(children, wrong):
    X, Y = data(2)
    tree = forest_tree(fitted_forest("random_forest", X, Y, 2, 1.0, seed=0))
    tree[children] = tree[children].copy()
    tree[children][0] = wrong
    with pytest.raises(ValueError, match="do not form trees"):
        StoredForest(tree)
