"""Dependence between inputs and classes, and the trees of classes that make it large.

With the Gram matrix K of n rows, the indicators P (n, c) of their classes, H = I - 1/n and
similarities B between the classes, the Hilbert-Schmidt independence criterion is

    HSIC = tr(H K H P B P') = sum_kl (P' H K H P)_kl B_kl

(Gretton, Bousquet, Smola and Schölkopf 2005; Blaschko 2014, eqs. 5.31 and 5.32). All that is
learned here needs the products P' H K H P (c, c) alone.
"""

import numpy as np

from workflow_lib.items.class_trees import ClassTree, linkage_tree


def class_products(K: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return P' H K H P (c, c): inner products of the sums over the centred rows of each class.

    The Gram matrix `K` (n, n) may be centred or not; a class without a row has zeros.
    """
    indicators = np.eye(n_classes)[labels]
    indicators -= indicators.mean(axis=0)
    return indicators.T @ (K @ indicators)


def dependent_lengths(tree: ClassTree, products: np.ndarray) -> ClassTree:
    """Return a tree with the lengths of norm 1 for which the criterion is largest.

    They are in proportion to diag(V' P' H K H P V) (Blaschko 2014, eq. 5.34): the criterion is
    linear in the lengths. Another root of the tree changes none of them, for the centred sums of a
    group and of all other rows are opposite. Rows below a node add up, so that the branches above
    groups of many rows are long. `products` are `class_products`.
    """
    members = tree.members.astype(float)
    lengths = np.maximum(np.einsum("kv,kv->v", members, products @ members), 0.0)
    # All rows are below the root: what is not zero there is rounding.
    lengths[-1] = 0.0
    norm = np.linalg.norm(lengths)
    return tree._replace(lengths=lengths / norm if norm > 0.0 else lengths)


def learned_tree(products: np.ndarray, counts: np.ndarray) -> ClassTree:
    """Return the tree of average linkage of the class means, without one of the classes unknown.

    Blaschko and Gretton (2009) find the covariance that maximises the criterion, which has the
    products as entries, and a tree near to it, as `workflow_lib.papers.blaschko.fitted_trees` does.
    Here groups are joined by the mean squared distance between the means of their classes in the
    feature space of the kernel. `products` are `class_products`, `counts` (c,) the rows of each
    class, all of them above 0.
    """
    means = products / np.outer(counts, counts)
    return linkage_tree(squared_distances(means))


def squared_distances(products: np.ndarray) -> np.ndarray:
    """Return the squared distances (c, c) of points with these inner products (c, c)."""
    squares = np.diagonal(products)
    distances = np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)
    distances = (distances + distances.T) / 2.0
    np.fill_diagonal(distances, 0.0)
    return distances


def comparable(similarity: np.ndarray) -> np.ndarray:
    """Return similarities (c, c) with the mean squared distance between classes of the identity.

    That is trace(H B H) = c - 1, so that one grid of costs serves all. Zeros stay zeros.
    """
    size = np.trace(similarity) - similarity.sum() / len(similarity)
    return similarity * ((len(similarity) - 1) / size) if size > 0.0 else similarity
