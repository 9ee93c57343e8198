"""The criterion that learns trees of classes, and the lengths of their edges."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from test_class_trees import CLASSES, EDGES, path_metric

from workflow_lib.items.class_trees import tree_of_edges
from workflow_lib.papers.blaschko.class_dependence import (
    class_products,
    comparable,
    dependent_lengths,
    learned_tree,
)

ROOTED_IN_FISH = [["fish", "life"], ["life", "insects"], *EDGES[2:]]


def rows(seed=0, n=40):
    """Return the Gram matrix of rows of five classes, of which two pairs are near, and classes."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(5, 3))
    centres[1], centres[3] = centres[0] + 0.3, centres[2] + 0.3
    labels = np.arange(n) % 5
    X = centres[labels] + 0.5 * generator.normal(size=(n, 3))
    return np.exp(-0.5 * squareform(pdist(X, "sqeuclidean"))), labels


def hsic(products, similarity):
    return (products * similarity).sum()


def centred(matrix):
    H = np.eye(len(matrix)) - 1.0 / len(matrix)
    return H @ matrix @ H


def test_learned_distances_meet_the_four_point_condition_and_are_those_of_linkage():
    K, labels = rows()
    tree = learned_tree(class_products(K, labels, 5), np.bincount(labels))
    means = np.eye(5)[labels] / 8.0
    mean_products = means.T @ K @ means
    distances = path_metric(mean_products)
    metric = path_metric(tree.covariance())
    assert metric[0, 1] == pytest.approx(distances[0, 1])
    # The length through the root is the mean over the pairs that it separates.
    top = tree.members[:, [node for node in range(9) if tree.parents[node] == 8]]
    assert metric[top[:, 0]][:, top[:, 1]] == pytest.approx(
        np.full((top[:, 0].sum(), top[:, 1].sum()), distances[top[:, 0]][:, top[:, 1]].mean())
    )
    for a, b, c, d in np.random.default_rng(0).integers(5, size=(200, 4)):
        sums = metric[a, b] + metric[c, d], metric[a, c] + metric[b, d]
        largest = sorted([*sums, metric[a, d] + metric[b, c]])
        assert largest[2] - largest[1] < 1e-12


def test_the_criterion_equals_its_trace_formula():
    K, labels = rows()
    indicators = np.eye(5)[labels]
    root = np.random.default_rng(1).normal(size=(5, 5))
    H = np.eye(len(K)) - 1.0 / len(K)
    expected = np.trace(H @ K @ H @ indicators @ root @ root.T @ indicators.T)
    for gram in (K, centred(K)):
        products = class_products(gram, labels, 5)
        assert hsic(products, root @ root.T) == pytest.approx(expected, rel=1e-12)
        assert hsic(products, centred(root @ root.T)) == pytest.approx(expected, rel=1e-12)


def test_no_lengths_of_the_same_norm_have_a_larger_criterion():
    K, labels = rows()
    products = class_products(K, labels, 5)
    tree = dependent_lengths(tree_of_edges(EDGES, CLASSES), products)
    assert np.linalg.norm(tree.lengths) == pytest.approx(1.0) and (tree.lengths >= 0.0).all()
    best = hsic(products, tree.covariance())
    generator = np.random.default_rng(2)
    others = np.abs(generator.normal(size=(300, len(tree.lengths))))
    nearby = tree.lengths + 0.01 * generator.normal(size=others.shape)
    for lengths in [*others, *np.maximum(nearby, 0.0)]:
        other = tree._replace(lengths=lengths / np.linalg.norm(lengths))
        assert hsic(products, other.covariance()) < best


def test_another_root_changes_nothing_in_the_centred_covariance():
    K, labels = rows()
    products = class_products(K, labels, 5)
    first, second = tree_of_edges(EDGES, CLASSES), tree_of_edges(ROOTED_IN_FISH, CLASSES)
    assert not np.allclose(first.covariance(), second.covariance())
    np.testing.assert_allclose(
        centred(first.covariance()), centred(second.covariance()), atol=1e-12
    )
    value = hsic(products, first.covariance())
    assert hsic(products, second.covariance()) == pytest.approx(value, rel=1e-12)
    learned = [dependent_lengths(tree, products) for tree in (first, second)]
    metrics = [path_metric(tree.covariance()) for tree in learned]
    np.testing.assert_allclose(metrics[0], metrics[1], atol=1e-12)


def test_similarities_are_comparable_with_the_identity():
    np.testing.assert_allclose(comparable(np.eye(5)), np.eye(5))
    scaled = comparable(tree_of_edges(EDGES, CLASSES).covariance())
    assert path_metric(scaled).sum() == pytest.approx(path_metric(np.eye(5)).sum())
