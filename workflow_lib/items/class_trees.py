"""Trees of which the leaves are classes, and their tree-structured covariances.

A tree with the leaves 1 to K has a matrix V (K, m), 1 where a node is a leaf or above it, and a
length of the branch above each node. Its covariance is B = V D V', with the lengths D on the
diagonal: B_ij is the length of the path from the root to the nearest common node above the leaves
i and j, and B_ii + B_jj - 2 B_ij the length of the path between them (Blaschko 2014, definition
5.2.2, lemma 1 and theorem 5.2.4).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError

ROOT = -1
"""The parent of the root."""


class ClassTree(NamedTuple):
    """A tree, of which the first K of the m nodes are the classes and the last is the root."""

    members: np.ndarray
    """V (K, m), bool: which classes are a node, or below it."""

    parents: np.ndarray
    """Number of the node (m,) above each; `ROOT` for the root."""

    lengths: np.ndarray
    """Length (m,) of the branch above each node, not negative; 0 for the root."""

    def covariance(self) -> np.ndarray:
        """Return B = V D V' (K, K)."""
        members = self.members.astype(float)
        return (members * self.lengths) @ members.T


def nodes_of_edges(edges: Sequence[Sequence[str]], classes: Sequence[str]) -> list[str]:
    """Return the nodes of a tree by name: the classes, other nodes from below, and the root."""
    parents = {child: parent for parent, child in edges}
    depths = {node: 0 for node in [*classes, *parents, *parents.values()]}
    for node in depths:
        above = node
        while above in parents:
            above = parents[above]
            depths[node] += 1
    inner = [node for node in depths if node not in set(classes)]
    return [*classes, *sorted(inner, key=lambda node: (-depths[node], node))]


def tree_of_edges(edges: Sequence[Sequence[str]], classes: Sequence[str]) -> ClassTree:
    """Return the tree of pairs of a parent and a child, with all lengths 1.

    Its leaves must be the classes, as `workflow_lib.data.class_losses.read_tree` checks it.
    """
    indices = {node: index for index, node in enumerate(nodes_of_edges(edges, classes))}
    parents = np.full(len(indices), ROOT)
    for parent, child in edges:
        parents[indices[child]] = indices[parent]
    lengths = np.ones(len(indices))
    lengths[-1] = 0.0
    return ClassTree(members_of(parents, len(classes)), parents, lengths)


def linkage_tree(squared_distances: np.ndarray) -> ClassTree:
    """Return the tree of average linkage of classes, from symmetric `squared_distances` (K, K).

    The path between two classes is the mean squared distance between the two groups that the
    nearest common node joins, so that all classes are equally far from the root.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n_classes = len(squared_distances)
    if n_classes == 1:
        return ClassTree(np.ones((1, 1), dtype=bool), np.array([ROOT]), np.zeros(1))
    joined = linkage(squareform(squared_distances, checks=False), "average")
    parents = np.full(2 * n_classes - 1, ROOT)
    heights = np.append(np.zeros(n_classes), joined[:, 2] / 2.0)
    for number, pair in enumerate(joined[:, :2].astype(int)):
        parents[pair] = n_classes + number
    lengths = np.zeros(len(parents))
    # Groups that are joined later are not nearer, but for rounding.
    lengths[:-1] = np.maximum(heights[parents[:-1]] - heights[:-1], 0.0)
    return ClassTree(members_of(parents, n_classes), parents, lengths)


def linkage_edges(vectors: np.ndarray, classes: Sequence[str], location: str) -> list[list[str]]:
    """Return the pairs of a parent and a child of the average linkage of class vectors (K, d).

    Nodes that are no class have the names ``group 1``, ``group 2``, ..., from below.

    Raises UserError if all vectors are equally far from each other, or there are fewer than three:
    these have no tree.
    """
    from scipy.spatial.distance import pdist, squareform

    distances = pdist(vectors, "sqeuclidean")
    if len(distances) < 2 or np.ptp(distances) <= 1e-9 * distances.max():
        raise UserError(
            location,
            f"{len(vectors)} classes whose vectors are equally far from each other",
            "class vectors by which some classes are nearer than others",
            "give class vectors, or a file of a tree in class_tree",
        )
    tree = linkage_tree(squareform(distances))
    names = [*classes, *(f"group {n + 1}" for n in range(len(tree.parents) - len(classes)))]
    return [[names[parent], names[node]] for node, parent in enumerate(tree.parents[:-1])]


def members_of(parents: np.ndarray, n_classes: int) -> np.ndarray:
    """Return which nodes (K, v) are on the way from each class to the root, from their parents."""
    members = np.zeros((n_classes, len(parents)), dtype=bool)
    for leaf in range(n_classes):
        node = leaf
        while node != ROOT:
            members[leaf, node] = True
            node = parents[node]
    return members
