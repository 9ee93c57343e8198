"""The tree whose paths are near given distances between classes, with a proved bound.

Blaschko (2014, section 5.2.5) maximises the dependence over all covariances of one norm, and
projects the best one onto those of trees by an algorithm of numerical taxonomy "with tight
approximation bounds", as Blaschko and Gretton (2009) do. This one is of Agarwala, Bafna, Farach,
Paterson and Thorup (SIAM Journal on Computing 28, 1999), which is cited there: the largest
difference between paths and distances is at most three times the least that any tree has.

One class a is made the root and keeps its distances d_ai. With m = max_i d_ai and the numbers
b_i = m - d_ai, the others have paths u_ij - b_i - b_j, where u is the ultrametric nearest to
d_ij + b_i + b_j among those from 2 max(b_i, b_j) to 2 m: the largest one below these values, which
is that of single linkage, raised by a constant and cut at 2 m. Of all classes a that one is taken
with which the largest difference is smallest.
"""

import numpy as np

from workflow_lib.items.class_trees import ROOT, ClassTree, members_of
from workflow_lib.papers.blaschko.class_dependence import squared_distances


def path_lengths(tree: ClassTree) -> np.ndarray:
    """Return the lengths (K, K) of the paths between the leaves of a tree."""
    B = tree.covariance()
    own = np.diagonal(B)
    return own[:, None] + own - 2.0 * B


def nearest_tree(distances: np.ndarray) -> ClassTree:
    """Return a tree with paths near distances (K, K), symmetric and 0 on the diagonal.

    They need not satisfy the triangle inequality.
    """
    trees = [_with_root(distances, root) for root in range(len(distances))]
    errors = [np.abs(path_lengths(tree) - distances).max() for tree in trees]
    return trees[int(np.argmin(errors))]


def dependent_tree(products: np.ndarray) -> ClassTree:
    """Return the tree near the covariance that maximises the dependence.

    Of norm 1 that is the matrix of the products itself, up to its scale (eq. 5.32: the criterion is
    its inner product with the covariance). `products` are those of
    `workflow_lib.papers.blaschko.class_dependence.class_products`, of classes with rows.
    """
    return nearest_tree(squared_distances(products))


def _with_root(distances: np.ndarray, root: int) -> ClassTree:
    """Return the best tree in which the class `root` has the paths of its distances."""
    from scipy.cluster.hierarchy import cophenet, linkage
    from scipy.spatial.distance import squareform

    n_classes = len(distances)
    others = np.delete(np.arange(n_classes), root)
    farthest = distances[root].max()
    below = farthest - distances[root]
    top = n_classes + max(len(others) - 1, 0)
    parents, heights = np.full(top + 1, ROOT), np.append(below, np.zeros(top + 1 - n_classes))
    heights[top] = farthest
    parents[root] = top
    if len(others) == 1:
        parents[others] = top
    elif len(others) > 1:
        b = below[others]
        raised = squareform(
            distances[np.ix_(others, others)] + b[:, None] + b - np.diag(2.0 * b), checks=False
        )
        joined = linkage(raised, "single")
        nearest = cophenet(joined)
        least = squareform(2.0 * np.maximum.outer(b, b) - np.diag(2.0 * b), checks=False)
        error = max(
            0.5 * (raised - nearest).max(),
            (least - nearest).max(),
            (raised - 2.0 * farthest).max(),
            0.0,
        )
        for number, pair in enumerate(joined[:, :2].astype(int)):
            nodes = np.where(
                pair < len(others), others[np.minimum(pair, len(others) - 1)], pair + 1
            )
            parents[nodes] = n_classes + number
            heights[n_classes + number] = min(0.5 * (joined[number, 2] + error), farthest)
        parents[top - 1] = top
    lengths = np.zeros(top + 1)
    lengths[:-1] = np.maximum(heights[parents[:-1]] - heights[:-1], 0.0)
    return ClassTree(members_of(parents, n_classes), parents, lengths)
