"""Multi-output random forests (m-RF), the tree baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from workflow_lib.metrics import relative_error


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


def select_max_features(
    folds_of_inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    folds: np.ndarray,
    outputs: np.ndarray,
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
            forest = fitted_forest(X_train, outputs[~heldout], n_trees, max_features, seed)
            errors += ((outputs[heldout] - forest_predictions(forest, X_heldout)) ** 2).sum(axis=0)
        scores.append(float(relative_error(errors, reference, metric)))
    best = int(np.argmin(np.where(np.isfinite(scores), scores, np.inf)))
    return float(choices[best]), scores[best]
