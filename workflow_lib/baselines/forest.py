"""Multi-output random forests (m-RF), the tree baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from workflow_lib.metrics import relative_error, squared_error_sums


def new_forest(n_trees: int, max_features: float, seed: int):
    """Return scikit-learn's forest: one thread, since the workflow runs jobs side by side."""
    return RandomForestRegressor(
        n_estimators=n_trees, max_features=max_features, random_state=seed, n_jobs=1
    )


def fitted_forest(X: np.ndarray, Y: np.ndarray, n_trees: int, max_features: float, seed: int):
    """Return a forest fitted to inputs `X` (n, q) and outputs `Y` (n, d)."""
    return new_forest(n_trees, max_features, seed).fit(X, Y if Y.shape[1] > 1 else Y[:, 0])


def forest_predictions(forest, X: np.ndarray) -> np.ndarray:
    """Return the predictions of a fitted forest as a matrix (n, d)."""
    return forest.predict(X).reshape(len(X), -1)


def out_of_bag_predictions(forest, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return predictions (n, d) of the training rows, each by the trees that never drew it.

    Each is the mean over about a third of the trees (Breiman, Machine Learning 2001, section 3.1).
    A row that every tree drew takes the mean output of all other rows.

    Parameters
    ----------
    forest : RandomForestRegressor
        Fitted to `X` and `Y`.
    X : array (n, q)
    Y : array (n, d)
        Without missing values.
    """
    totals, counts = np.zeros(Y.shape), np.zeros((len(Y), 1))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_):
        outside = np.ones(len(Y), dtype=bool)
        outside[drawn] = False
        if outside.any():
            totals[outside] += tree.predict(X[outside]).reshape(-1, Y.shape[1])
            counts[outside] += 1
    others = (Y.sum(axis=0) - Y) / (len(Y) - 1)
    return np.where(counts > 0, totals / np.maximum(counts, 1), others)


def select_max_features(
    folds_of_inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    folds: np.ndarray,
    outputs: np.ndarray,
    targets: Sequence[np.ndarray],
    reference: np.ndarray,
    choices: Sequence[float],
    n_trees: int,
    seed: int,
    metric: str = "arrmse",
) -> tuple[float, float]:
    """Return the share of features a split may look at with the lowest error, and that error.

    Parameters
    ----------
    folds_of_inputs : sequence of (array (l, q), array (h, q))
        Training and held-out inputs of each fold.
    folds : int array (n,)
        Fold number of every training row.
    outputs : array (n, d)
        Training outputs; errors leave out what is missing (NaN).
    targets : sequence of array (n, d)
        For each fold the outputs it trains on, those of its training rows without missing values.
    reference : array (d,)
        Squared errors of the training mean on the held-out rows.
    choices : sequence of float
        Grid of max_features, as fractions.
    n_trees, seed : int
    metric : {"arrmse", "rrmse"}, default="arrmse"
    """
    scores = []
    for max_features in choices:
        errors = np.zeros(outputs.shape[1])
        for fold, (X_train, X_heldout) in enumerate(folds_of_inputs):
            heldout = folds == fold
            forest = fitted_forest(X_train, targets[fold][~heldout], n_trees, max_features, seed)
            predictions = forest_predictions(forest, X_heldout)
            errors += squared_error_sums(outputs[heldout], predictions)
        scores.append(float(relative_error(errors, reference, metric)))
    best = int(np.argmin(np.where(np.isfinite(scores), scores, np.inf)))
    return float(choices[best]), scores[best]
