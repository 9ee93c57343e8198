"""The classifiers: what they minimise, and classes without training rows."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics.pairwise import rbf_kernel

from workflow_lib.solvers.classifiers import (
    class_probabilities,
    fit_forest_classifier,
    fit_perceptron,
    fit_support_vector_machines,
    out_of_bag_probabilities,
)

N_CLASSES = 5
KNOWN = [0, 2, 3]
ABSENT = [1, 4]


def classes_with_gaps(n_rows=42, seed=0):
    """Return inputs and labels of three classes of five, which overlap."""
    generator = np.random.default_rng(seed)
    labels = np.array(KNOWN)[np.arange(n_rows) % 3]
    centres = 1.5 * np.random.default_rng(1).normal(size=(N_CLASSES, 3))
    return centres[labels] + generator.normal(size=(n_rows, 3)), labels


X, LABELS = classes_with_gaps()
X_OTHERS, LABELS_OTHERS = classes_with_gaps(30, seed=2)


@pytest.mark.parametrize("cost", [0.3, 10.0])
def test_machines_satisfy_the_conditions_of_the_optimum_of_each_class(cost):
    K = rbf_kernel(X, gamma=0.2)
    machines = fit_support_vector_machines(K, LABELS, N_CLASSES, cost)
    decisions = machines.scores(K)
    for label in KNOWN:
        sign = np.where(LABELS == label, 1.0, -1.0)
        multipliers, margins = sign * machines.dual[:, label], sign * decisions[:, label]
        assert machines.dual[:, label].sum() == pytest.approx(0.0, abs=1e-9)
        assert (multipliers >= 0.0).all() and (multipliers <= cost * (1 + 1e-12)).all()
        assert 0 < (multipliers > 0).sum()
        tolerance = 2e-3
        assert (margins[multipliers == 0.0] >= 1.0 - tolerance).all()
        assert (margins[multipliers >= cost] <= 1.0 + tolerance).all()
        free = (multipliers > 0.0) & (multipliers < cost)
        np.testing.assert_allclose(margins[free], 1.0, atol=tolerance)


@pytest.mark.parametrize("seed", range(3))
def test_a_class_without_a_row_has_the_lowest_machine_score(seed):
    K = rbf_kernel(X, gamma=0.2)
    others = rbf_kernel(np.random.default_rng(seed).normal(size=(9, 3)), X, gamma=0.2)
    scores = fit_support_vector_machines(K, LABELS, N_CLASSES, 1.0).scores(others)
    for label in ABSENT:
        assert (scores[:, [label]] <= scores[:, KNOWN]).all()
        assert (scores[:, label] <= -1.0).all()


def test_the_scores_of_two_classes_are_opposite():
    K, labels = rbf_kernel(X, gamma=0.2), np.where(LABELS == 0, 3, 1)
    scores = fit_support_vector_machines(K, labels, N_CLASSES, 1.0).scores(K)
    np.testing.assert_array_equal(scores[:, 3], -scores[:, 1])
    assert (scores[:, 3] > 0)[labels == 3].mean() > 0.5
    assert (scores[:, [0, 2, 4]] <= -1.0).all()


def test_a_single_class_wins_every_row_of_a_machine():
    scores = fit_support_vector_machines(np.eye(3), np.full(3, 2), 4, 1.0).scores(np.ones((5, 3)))
    np.testing.assert_array_equal(scores.argmax(axis=1), 2)
    assert (np.delete(scores, 2, axis=1) < scores[:, [2]]).all()


def test_the_perceptron_minimises_cross_entropy_and_squared_weights():
    alpha = 5.0
    perceptron = fit_perceptron(X, LABELS, alpha, seed=3)
    (W_in, W_out), (b_in, b_out) = perceptron.coefs_, perceptron.intercepts_
    hidden = np.maximum(X @ W_in + b_in, 0.0)
    probabilities = softmax(hidden @ W_out + b_out, axis=1)
    expected = np.zeros((len(X), N_CLASSES))
    expected[:, KNOWN] = probabilities
    np.testing.assert_allclose(class_probabilities(perceptron, X, N_CLASSES), expected, atol=1e-12)
    entropy = -np.log(expected[np.arange(len(X)), LABELS]).mean()
    squares = (W_in**2).sum() + (W_out**2).sum()
    assert perceptron.loss_ == pytest.approx(entropy + alpha / (2 * len(X)) * squares, rel=1e-6)


def test_the_perceptron_separates_classes_that_no_plane_separates():
    corners = np.array([[0, 0], [1, 1], [0, 1], [1, 0]], dtype=float)
    rows = np.tile(corners, (10, 1)) + 0.05 * np.random.default_rng(0).normal(size=(40, 2))
    labels = np.tile([0, 0, 1, 1], 10)
    perceptron = fit_perceptron(rows, labels, 1e-3, seed=0)
    predicted = class_probabilities(perceptron, rows, 2).argmax(axis=1)
    np.testing.assert_array_equal(predicted, labels)


def test_the_perceptron_is_drawn_from_its_seed_and_stops_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Noise without a penalty takes more steps than are made.
        rows = np.random.default_rng(0).normal(size=(300, 40))
        labels = np.random.default_rng(1).integers(0, 20, size=300)
        first, same, other = (fit_perceptron(rows, labels, 1.0, seed) for seed in (1, 1, 2))
    assert first.n_iter_ == first.max_iter
    np.testing.assert_array_equal(first.coefs_[0], same.coefs_[0])
    assert not np.allclose(first.coefs_[0], other.coefs_[0])


def fitted(kind, labels):
    if kind == "perceptron":
        return fit_perceptron(X[: len(labels)], labels, 0.1, seed=0)
    return fit_forest_classifier(X[: len(labels)], labels, 20, 0.5, seed=0)


@pytest.mark.parametrize("kind", ["perceptron", "forest"])
def test_probabilities_sum_to_one_and_absent_classes_have_none(kind):
    probabilities = class_probabilities(fitted(kind, LABELS), X_OTHERS, N_CLASSES)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (probabilities[:, ABSENT] == 0.0).all()
    assert (probabilities[:, KNOWN] >= 0.0).all()
    # Two standard errors more than the third that guesses would find.
    chance = 1.0 / len(KNOWN)
    least = chance + 2.0 * np.sqrt(chance * (1.0 - chance) / len(X_OTHERS))
    assert (probabilities.argmax(axis=1) == LABELS_OTHERS).mean() > least


@pytest.mark.parametrize("kind", ["perceptron", "forest"])
def test_a_single_class_is_certain(kind):
    probabilities = class_probabilities(fitted(kind, np.full(6, 2)), X_OTHERS, 4)
    np.testing.assert_array_equal(probabilities, np.tile([0.0, 0.0, 1.0, 0.0], (30, 1)))


def test_training_rows_of_a_forest_are_predicted_by_the_trees_that_never_drew_them():
    forest = fit_forest_classifier(X, LABELS, 30, 0.5, seed=4)
    totals, counts = np.zeros((len(X), N_CLASSES)), np.zeros(len(X))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_):
        for row in np.setdiff1d(np.arange(len(X)), drawn):
            totals[row, KNOWN] += tree.predict_proba(X[[row]])[0]
            counts[row] += 1
    assert (counts > 0).all()
    expected = totals / counts[:, None]
    found = out_of_bag_probabilities(forest, LABELS, N_CLASSES)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_rows_that_every_tree_drew_take_the_class_frequencies_of_the_others():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forest = fit_forest_classifier(X, LABELS, 1, 0.5, seed=4)
    drawn = np.unique(forest.estimators_samples_[0])
    assert 0 < len(drawn) < len(X)
    found = out_of_bag_probabilities(forest, LABELS, N_CLASSES)
    for row in drawn:
        frequencies = np.bincount(np.delete(LABELS, row), minlength=N_CLASSES) / (len(X) - 1)
        np.testing.assert_allclose(found[row], frequencies, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", ["perceptron", "forest"])
def test_one_example_per_class_gives_no_warning(kind):
    # scikit-learn warns of more classes than half the rows from 20 rows on.
    rows = np.random.default_rng(0).normal(size=(25, 3))
    labels = np.arange(25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if kind == "perceptron":
            classifier = fit_perceptron(rows, labels, 0.1, seed=0)
        else:
            classifier = fit_forest_classifier(rows, labels, 10, 0.5, seed=0)
            out_of_bag_probabilities(classifier, labels, 25)
        probabilities = class_probabilities(classifier, rows, 25)
    assert (probabilities.argmax(axis=1) == labels).mean() > 0.5
