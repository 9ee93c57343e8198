"""Trees fitted to distances: exact ones are found, and others within three times the optimum."""

import numpy as np
import pytest
from scipy.optimize import linprog

from workflow_lib.items.class_trees import ROOT, linkage_tree, tree_of_edges
from workflow_lib.papers.blaschko.class_dependence import class_products, comparable
from workflow_lib.papers.blaschko.fitted_trees import dependent_tree, nearest_tree, path_lengths

EDGES = [["r", "p"], ["r", "q"], ["p", "a"], ["p", "b"], ["q", "s"], ["q", "e"]]
EDGES += [["s", "c"], ["s", "d"]]


def drawn_tree(seed):
    """Return a tree of five classes with random lengths of its branches."""
    tree = tree_of_edges(EDGES, list("abcde"))
    lengths = np.random.default_rng(seed).uniform(0.1, 2.0, len(tree.parents))
    lengths[-1] = 0.0
    return tree._replace(lengths=lengths)


@pytest.mark.parametrize("seed", range(4))
def test_the_paths_of_a_tree_are_found_exactly(seed):
    distances = path_lengths(drawn_tree(seed))
    found = nearest_tree(distances)
    np.testing.assert_allclose(path_lengths(found), distances, atol=1e-12)
    assert (found.lengths >= 0).all() and (found.parents == ROOT).sum() == 1
    assert found.parents[-1] == ROOT and found.members[:, -1].all()


def least_error(distances):
    """Return the least largest difference of any tree of four leaves, by linear programs."""
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    errors = []
    for first in ((0, 1), (0, 2), (0, 3)):
        # Branches to the four leaves, the one between the two pairs, and the difference.
        paths = np.zeros((len(pairs), 6))
        for row, (i, j) in enumerate(pairs):
            paths[row, [i, j]] = 1.0
            paths[row, 4] = (i in first) != (j in first)
        d = np.array([distances[pair] for pair in pairs])
        slack = np.eye(6)[5]
        upper = np.vstack([paths - slack, -paths - slack])
        solved = linprog(slack, A_ub=upper, b_ub=np.concatenate([d, -d]), bounds=[(0, None)] * 6)
        errors.append(solved.fun)
    return min(errors)


@pytest.mark.parametrize("seed", range(12))
def test_the_largest_difference_is_within_three_times_the_least(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(4, 3))
    distances = ((points[:, None] - points) ** 2).sum(axis=2) ** (0.5 + 0.5 * (seed % 2))
    paths = path_lengths(nearest_tree(distances))
    error = np.abs(paths - distances).max()
    assert error <= 3.0 * least_error(distances) + 1e-9
    sums = sorted([paths[0, 1] + paths[2, 3], paths[0, 2] + paths[1, 3], paths[0, 3] + paths[1, 2]])
    # The four-point condition.
    assert sums[1] == pytest.approx(sums[2])


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_few_classes(n_classes):
    points = np.random.default_rng(1).normal(size=(n_classes, 2))
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    np.testing.assert_allclose(path_lengths(nearest_tree(distances)), distances, atol=1e-12)


def test_the_tree_of_the_dependence_is_near_the_best_covariance():
    random, labels = np.random.default_rng(2), np.arange(60) % 6
    groups = 3.0 * random.normal(size=(2, 4))
    centres = groups[np.arange(6) // 3] + 0.8 * random.normal(size=(6, 4))
    X = centres[labels] + 0.5 * random.normal(size=(60, 4))
    products = class_products(X @ X.T, labels, 6)
    tree = dependent_tree(products)
    squares = np.diagonal(products)
    distances = squares[:, None] + squares - 2.0 * products
    assert np.abs(path_lengths(tree) - distances).max() < 0.3 * distances.max()
    found = (products * comparable(tree.covariance())).sum()
    assert found > np.trace(products)
    shuffled = random.permutation(6)
    other = linkage_tree(distances[np.ix_(shuffled, shuffled)])
    assert found > (products * comparable(other.covariance())).sum()
