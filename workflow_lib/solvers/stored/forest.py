"""Forests as plain arrays: kept without pickle, and used without scikit-learn."""

from collections.abc import Mapping

import numpy as np

# Rows times trees of one block: its arrays stay in the cache of a processor.
BLOCK_SIZE = 2**17


def forest_tree(forest) -> dict[str, np.ndarray]:
    """Return a fitted forest of scikit-learn as a tree of arrays.

    Returns a dict: the nodes of all trees, one tree after the other: ``n_nodes`` (t,) of each tree;
    ``left`` and ``right`` (k,), the children of each node as numbers within its tree, -1 in leaves;
    ``feature`` and ``threshold`` (k,): a row goes left where its feature is not above the
    threshold; ``value`` (k, d), the mean outputs of the training rows of the node, or the shares of
    the classes among them.

    Parameters
    ----------
    forest : RandomForestRegressor or RandomForestClassifier
        Fitted to outputs, or to classes: these have K = d columns, in the order of `classes_`.
    """
    trees = [estimator.tree_ for estimator in forest.estimators_]
    # Outputs are on the second axis, classes on the third; the other axis has length 1.
    values = [tree.value.reshape(tree.node_count, -1) for tree in trees]
    return {
        "n_nodes": np.array([tree.node_count for tree in trees], dtype=np.int64),
        "left": np.concatenate([tree.children_left for tree in trees]).astype(np.int64),
        "right": np.concatenate([tree.children_right for tree in trees]).astype(np.int64),
        "feature": np.concatenate([tree.feature for tree in trees]).astype(np.int64),
        "threshold": np.concatenate([tree.threshold for tree in trees]),
        "value": np.concatenate(values),
    }


class StoredForest:
    """A forest made of the arrays of `forest_tree`.

    Raises ValueError if the arrays do not form trees.

    Parameters
    ----------
    tree : mapping
        As from `forest_tree`.
    """

    def __init__(self, tree: Mapping[str, np.ndarray]) -> None:
        self._left, self._right = tree["left"], tree["right"]
        self._feature, self._threshold = tree["feature"], tree["threshold"]
        self._value = tree["value"]
        n_nodes = tree["n_nodes"]
        if (n_nodes < 1).any() or n_nodes.sum() != len(self._left):
            raise ValueError("the nodes of a stored forest are not those of its trees.")
        self._starts = np.cumsum(n_nodes) - n_nodes
        self._check(n_nodes)
        children = np.column_stack([self._left, self._right])
        self._children = (children + np.repeat(self._starts, n_nodes)[:, None]).ravel()

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the predictions (m, d) for prepared inputs `X` (m, q), none of them missing.

        Predictions of a classifier are the probabilities of the classes. The prediction is the mean
        over the trees of the value of the row's leaf. As in scikit-learn inputs are rounded to
        single precision first, and thresholds are not.
        """
        rows = np.asarray(X, dtype=np.float32)
        total = np.zeros((len(rows), self._value.shape[1]))
        step = max(1, BLOCK_SIZE // len(self._starts))
        for begin in range(0, len(rows), step):
            block = slice(begin, begin + step)
            for leaves in self._leaves(rows[block]):
                total[block] += self._value[leaves]
        return total / len(self._starts)

    def _leaves(self, rows: np.ndarray) -> np.ndarray:
        """Return the numbers (t, m) of the leaves of rows (m, q), among the nodes of all trees."""
        first = np.arange(len(rows)) * rows.shape[1]
        # As in scikit-learn, the rounded inputs are compared in double precision.
        values, n_rows = rows.astype(np.float64).ravel(), len(rows)
        nodes = np.repeat(self._starts, n_rows)
        moving = np.flatnonzero(self._left[nodes] >= 0)
        while len(moving):
            current = nodes[moving]
            compared = values.take(first.take(moving % n_rows) + self._feature.take(current))
            is_right = ~(compared <= self._threshold.take(current))
            reached = self._children.take(2 * current + is_right)
            nodes[moving] = reached
            moving = moving[self._left.take(reached) >= 0]
        return nodes.reshape(-1, n_rows)

    def _check(self, n_nodes: np.ndarray) -> None:
        """Raise ValueError for children before their parent, or outside of their tree."""
        number = np.arange(len(self._left)) - np.repeat(self._starts, n_nodes)
        size = np.repeat(n_nodes, n_nodes)
        inner = self._left >= 0
        for children in (self._left, self._right):
            fits = (children > number) & (children < size)
            if not (fits[inner].all() and (self._feature[inner] >= 0).all()):
                raise ValueError("the nodes of a stored forest do not form trees.")
