"""The arrays of a stored estimator that compiled code follows without looking at their ends.

A node of a tree names its children and its feature by numbers, and so do the tables of other
estimators: numbers beyond the end of an array would read, or write, other memory.
"""

from typing import Any

import numpy as np


def check_structure(estimator: Any) -> None:
    """Refuse an estimator whose arrays lead out of each other, and let it use one thread.

    Checked are all trees, forests, boosted trees and support vector machines of scikit-learn that
    it holds; trees by which neighbours are searched are built again.

    Raises ValueError if the arrays of one of them do not fit each other.
    """
    seen: set[int] = set()
    open_parts = [estimator]
    while open_parts:
        part = open_parts.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if type(part).__name__ in ("KDTree", "BallTree"):
            raise ValueError("a search tree stands where none is built again.")
        if isinstance(part, dict):
            open_parts.extend(part.values())
        elif isinstance(part, (list, tuple, set)):
            open_parts.extend(part)
        elif isinstance(part, np.ndarray):
            open_parts.extend(part.ravel() if part.dtype == object else ())
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            seen.add(id(_check(part)))
            open_parts.extend(vars(part).values())


def _check(part: Any) -> Any:
    """Check an object; return the search tree that was built for it, or None."""
    from scipy import sparse
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.neighbors._base import NeighborsBase
    from sklearn.svm._base import BaseLibSVM
    from sklearn.tree import BaseDecisionTree

    if sparse.issparse(part):
        part.check_format(full_check=True)
    if "n_jobs" in vars(part):
        part.n_jobs = 1
    if isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
        _check_tree(part)
    if isinstance(part, (BaseForest, BaseGradientBoosting)) and hasattr(part, "estimators_"):
        members = np.ravel(np.asarray(part.estimators_, dtype=object))
        _require(all(isinstance(member, BaseDecisionTree) for member in members), "a forest")
        _require(all(m.n_features_in_ == part.n_features_in_ for m in members), "a forest")
    if isinstance(part, BaseGradientBoosting) and hasattr(part, "estimators_"):
        n_parallel = part.estimators_.shape[1]
        _require(part.n_trees_per_iteration_ == n_parallel, "boosted trees")
        _require(all(member.tree_.n_outputs == 1 for member in members), "boosted trees")
    if isinstance(part, BaseHistGradientBoosting) and hasattr(part, "_predictors"):
        _check_boosting(part)
    if isinstance(part, BaseLibSVM) and hasattr(part, "support_vectors_"):
        _check_machine(part)
    if not isinstance(part, NeighborsBase):
        return None
    if getattr(part, "classes_", None) is not None:
        _check_labels(part)
    return None if getattr(part, "_tree", None) is None else _build_again(part)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"the arrays of {what} do not fit each other.")


def _check_nodes(left: np.ndarray, right: np.ndarray, is_inner: np.ndarray) -> None:
    """Require children after their parent: they are numbered so, and no path has a cycle."""
    number = np.arange(len(left))
    for children in (left, right):
        _require(
            bool(((children > number) & (children < len(left)))[is_inner].all()) and len(left) > 0,
            "a tree",
        )


def _check_features(features: np.ndarray, n_features: int) -> None:
    _require(bool(((features >= 0) & (features < n_features)).all()), "a tree")


def _check_tree(estimator: Any) -> None:
    tree = estimator.tree_
    _require(type(tree).__name__ == "Tree" and tree.node_count == tree.capacity, "a tree")
    _require(tree.n_features == estimator.n_features_in_, "a tree")
    is_inner = tree.children_left != -1
    _check_nodes(tree.children_left, tree.children_right, is_inner)
    _check_features(tree.feature[is_inner], tree.n_features)


def _check_boosting(estimator: Any) -> None:
    predictors = [predictor for level in estimator._predictors for predictor in level]
    # Numbers of categories would lead into tables of their own.
    _require(getattr(estimator, "is_categorical_", None) is None, "boosted trees with categories")
    for predictor in predictors:
        nodes = predictor.nodes
        is_inner = nodes["is_leaf"] == 0
        _require(not nodes["is_categorical"].any(), "boosted trees with categories")
        _check_nodes(nodes["left"].astype(np.int64), nodes["right"].astype(np.int64), is_inner)
        _check_features(nodes["feature_idx"][is_inner], estimator.n_features_in_)


def _build_again(estimator: Any) -> Any:
    from sklearn.neighbors import BallTree, KDTree

    kind = {"kd_tree": KDTree, "ball_tree": BallTree}[estimator._fit_method]
    metric, options = estimator.effective_metric_, estimator.effective_metric_params_
    _require(isinstance(metric, str) and "func" not in options, "neighbours")
    rows = np.asarray(estimator._fit_X, dtype=float)
    estimator._tree = kind(rows, estimator.leaf_size, metric=metric, **options)
    return estimator._tree


def _check_labels(estimator: Any) -> None:
    """Require labels of neighbours that are indices of the classes of their output."""
    classes = estimator.classes_ if isinstance(estimator.classes_, list) else [estimator.classes_]
    labels = np.reshape(estimator._y, (len(estimator._fit_X), len(classes))).T
    for each, known in zip(labels, classes):
        _require(bool(((each >= 0) & (each < len(known))).all()), "neighbours")


def _check_machine(estimator: Any) -> None:
    n_rows, n_support = len(estimator.support_vectors_), estimator._n_support
    coefficients = estimator._dual_coef_
    n_classes = len(n_support) if hasattr(estimator, "classes_") else 2
    total = n_support.sum() if hasattr(estimator, "classes_") else n_support[0]
    pairs = n_classes * (n_classes - 1) // 2
    what = "a support vector machine"
    _require(len(estimator.support_) == n_rows == total and (n_support >= 0).all(), what)
    _require(coefficients.shape == (max(n_classes - 1, 1), n_rows), what)
    _require(np.size(estimator._intercept_) >= pairs, what)
    for name in ("_probA", "_probB"):
        _require(np.size(getattr(estimator, name)) in (0, 1, pairs), what)
    _require(estimator.support_vectors_.shape[1] in (0, estimator.n_features_in_), what)
