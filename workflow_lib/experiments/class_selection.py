"""The criterion by which parameters of classifiers are chosen, and the scores it is applied to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workflow_lib.experiments.prepared_inputs import PreparedInputs
from workflow_lib.metrics import SMALLEST_GAIN
from workflow_lib.regression.principal_components import first_least

# Scores of a row that differ by less, relative to their size, differ by rounding only.
ROUNDING = 1e-14


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the indicators (n, K) of the classes of `labels` (n,), numbers from 0 to K - 1."""
    return np.eye(n_classes)[labels]


def squared_error(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean over rows of the squared error of class scores, ||z - s||^2 (Brier 1950).

    For scores that mean to be the indicators z of the classes. It tells a kernel so narrow that
    scores are shrunken to nothing from one that is not, which `scaled_squared_error` does not.

    Parameters
    ----------
    scores : array (n, K)
    labels : int array (n,)
    """
    return float(((scores - one_hot(labels, scores.shape[1])) ** 2).sum() / len(labels))


def scaled_squared_error(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the squared error of class scores that is left after the best common factor.

    With S the scores and Z the indicators of the true classes, both less their means over the
    classes of each row, it is

        min_{a >= 0} ||Z - a S||^2 / ||Z||^2 = 1 - (sum S Z)^2 / (sum S^2 sum Z^2),

    and 1, that of no scores at all, where S is zero or sum S Z is negative. It does not change
    with a number added to all scores of a row, nor with one positive factor for all scores, so
    that decoders in different units can be compared. For scores that need no factor it is their
    Brier score relative to that of equal scores for all classes. The number of correct classes
    would be the wrong criterion: it jumps, and ties within the few rows there are.

    Parameters
    ----------
    scores : array (n, K)
        Class scores, higher is better; at least two classes.
    labels : int array (n,)
        True classes.

    Returns
    -------
    float
        Between 0 and 1; NaN if a score is not finite.
    """
    S = scores - scores.mean(axis=1, keepdims=True)
    Z = one_hot(labels, scores.shape[1])
    Z -= Z.mean(axis=1, keepdims=True)
    squares, product = (S**2).sum(), (S * Z).sum()
    if squares <= ROUNDING**2 * (scores**2).sum() or product <= 0.0:
        return 1.0
    return float(max(1.0 - (product / squares) * (product / (Z**2).sum()), 0.0))


def class_score_grid(
    inputs: PreparedInputs,
    folds: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    kernel: str,
    widths: Sequence[float | None],
    penalties: Sequence[float],
    center: bool,
) -> dict[float | None, np.ndarray]:
    """Return the out-of-fold class scores of kernel ridge regression on indicators.

    The predictions of kernel ridge regression are linear in its targets. Where the targets are a
    code of the class, the rows of C (K, m), they are the scores times C; so these scores serve
    every method that predicts a code of the class with one kernel and one penalty.

    Parameters
    ----------
    inputs : PreparedInputs
        Inputs of the n training rows.
    folds : int array (n,)
        Fold number of every training row.
    labels : int array (n,)
        Their classes.
    n_classes : int
        K; classes without any row score like the training mean of their indicator, zero.
    kernel : str
    widths : sequence of float or None
        Kernel widths in units of `rbf_gamma`; None for kernels without one.
    penalties : sequence of float
        lambda_0 of eq. (13).
    center : bool
        Fit an unpenalised intercept; the scores of a row then sum to 1.

    Returns
    -------
    dict
        For each width an array (n_penalties, n, K): the scores of each row from a fit without its
        fold.
    """
    targets = [one_hot(labels, n_classes)] * (int(folds.max()) + 1)
    grid = {}
    for width in widths:
        solver = inputs.heldout_solver(kernel, width, center)
        grid[width] = np.empty((len(penalties), len(labels), n_classes))
        for fold, predictions in enumerate(solver.predict(targets, penalties)):
            grid[width][:, folds == fold] = predictions
    return grid


def least_error(errors: Sequence[float]) -> int:
    """Return the number of the least error, the first of those that are equal but for rounding."""
    return int(first_least(np.asarray(errors)[:, None], SMALLEST_GAIN)[0])
