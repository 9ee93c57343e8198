"""Multi-output forests of regression trees (m-RF, extra trees), the tree baselines."""

import copy
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from workflow_lib.measures.metrics import relative_error, squared_error_sums
from workflow_lib.models.output_scaling import fit_output_scaling

FORESTS = {"random_forest": RandomForestRegressor, "extra_trees": ExtraTreesRegressor}
"""Random forests (Breiman, Machine Learning 2001), and extremely randomised trees, which learn from
all rows and draw the thresholds (Geurts, Ernst and Wehenkel, Machine Learning 2006)."""

FOLD_SHARE = 0.1
"""Share of the trees that the forests of the folds have. Held-out rows choose between settings and
weigh the forest in a stack, for which the noise of fewer trees is small; the fit has all trees."""


def new_forest(kind: str, n_trees: int, max_features: float, seed: int):
    """Return scikit-learn's forest: one thread, since the workflow runs jobs in parallel.

    `kind` is a key of `FORESTS`.
    """
    return FORESTS[kind](
        n_estimators=n_trees, max_features=max_features, random_state=seed, n_jobs=1
    )


def fitted_forest(
    kind: str,
    X: np.ndarray,
    Y: np.ndarray,
    n_trees: int,
    max_features: float,
    seed: int,
    output_scale: str = "none",
):
    """Return a forest fitted to inputs `X` (n, q) and outputs `Y` (n, d).

    A cut minimises the sum of the squared errors of all outputs: without `output_scale`, as of
    `workflow_lib.models.output_scaling.fit_output_scaling`, the output with the largest numbers
    decides it. Predictions have the units of `Y`.
    """
    forest = new_forest(kind, n_trees, max_features, seed)
    if Y.shape[1] == 1:
        return grown(forest, X, Y[:, 0])
    scaling = fit_output_scaling(Y, output_scale)
    grown(forest, X, scaling.apply(Y))
    for estimator in forest.estimators_:
        # Predictions are means of the values of leaves.
        values = estimator.tree_.value
        values[:, :, 0] = scaling.inverse_transform(values[:, :, 0])
    return forest


def grown(forest, X: np.ndarray, Y: np.ndarray):
    """Return a new forest of `new_forest` after what ``forest.fit(X, Y)`` does, to the last bit.

    On few rows scikit-learn spends more time on each tree's parameters, and on what is the same for
    all trees, than on growing it. Therefore it fits the first tree alone, and the others are copies
    that are fitted with their own seeds and rows.

    Parameters
    ----------
    X : array (n, q)
        Inputs, without missing values.
    Y : array (n,) or (n, d)
        Outputs.
    """
    n_trees, n = forest.n_estimators, len(X)
    forest.n_estimators = 1
    first = forest.fit(X, Y).estimators_[0]
    forest.n_estimators = n_trees
    generator = np.random.RandomState(forest.random_state)
    seeds = generator.randint(np.iinfo(np.int32).max, size=n_trees).tolist()
    X = np.asarray(X, dtype=np.float32)
    with config_context(skip_parameter_validation=True):
        for seed in seeds[1:]:
            tree, counts = copy.copy(first), None
            if forest.bootstrap:
                generator.seed(seed)
                counts = np.bincount(generator.randint(0, n, n), minlength=n)
            # A new generator for each tree would take as long as growing it.
            generator.seed(seed)
            tree.random_state = generator
            tree.fit(X, Y, sample_weight=counts, check_input=False)
            tree.random_state = seed
            forest.estimators_.append(tree)
    return forest


def forest_predictions(forest, X: np.ndarray) -> np.ndarray:
    """Return what a fitted forest predicts for inputs without missing values, as a matrix (n, d).

    The same as ``forest.predict``, which begins a task of joblib for each tree.
    """
    X = np.asarray(X, dtype=np.float32)
    total = np.zeros((len(X), forest.n_outputs_))
    for estimator in forest.estimators_:
        total += estimator.tree_.predict(X).reshape(total.shape)
    return total / len(forest.estimators_)


class ForestChoice(NamedTuple):
    """The selected share of the features that are candidates at each split of a node."""

    max_features: float
    score: float
    """Relative error of the held-out rows."""

    heldout_outputs: np.ndarray
    """Predictions (n, d) of the training rows, each by a forest fitted without its fold."""

    scores: Sequence[float]
    """The errors of all shares."""


def select_max_features(
    kind: str,
    folds_of_inputs: Sequence[tuple[np.ndarray, np.ndarray]],
    folds: np.ndarray,
    outputs: np.ndarray,
    targets: Sequence[np.ndarray],
    reference: np.ndarray,
    choices: Sequence[float],
    n_trees: int,
    seed: int,
    metric: str = "arrmse",
    output_scale: str = "none",
) -> ForestChoice:
    """Return the share of candidate features per split of a node with the lowest error.

    Parameters
    ----------
    kind : str
        Key of `FORESTS`.
    folds_of_inputs : sequence of (array (l, q), array (h, q))
        Training and held-out inputs of each fold.
    folds : int array (n,)
        Fold number of every training row.
    outputs : array (n, d)
        Training outputs; errors leave out missing values (NaN).
    targets : sequence of array (n, d)
        For each fold the outputs to fit, without missing values in its training rows.
    reference : array (d,)
        Squared errors of the training mean on the held-out rows.
    choices : sequence of float
        Grid of max_features, as fractions.
    n_trees, seed : int
        Trees of the fit; the forests of the folds have `FOLD_SHARE` of them.
    metric : {"arrmse", "rrmse"}, default="arrmse"
    output_scale : {"none", "center", "standard"}, default="none"
        As of `fitted_forest`, on the training rows of each fold.
    """
    best, scores, fold_trees = None, [], math.ceil(FOLD_SHARE * n_trees)
    for max_features in choices:
        predictions = np.empty(outputs.shape)
        for fold, (X_train, X_heldout) in enumerate(folds_of_inputs):
            heldout = folds == fold
            known = targets[fold][~heldout]
            settings = fold_trees, max_features, seed, output_scale
            forest = fitted_forest(kind, X_train, known, *settings)
            predictions[heldout] = forest_predictions(forest, X_heldout)
        errors = squared_error_sums(outputs, predictions)
        score = float(relative_error(errors, reference, metric))
        score = score if np.isfinite(score) else np.inf
        scores.append(score)
        if best is None or score < best.score:
            best = ForestChoice(float(max_features), score, predictions, scores)
    return best
