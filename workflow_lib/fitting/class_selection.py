"""The criterion by which parameters of classifiers are chosen, and the scores it is applied to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workflow_lib.fitting.input_kernels import Grid, InputKernel, KernelGrid
from workflow_lib.fitting.prepared_inputs import PreparedInputs
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import MIN_GAIN
from workflow_lib.solvers.principal_components import first_least

# Scores of a row that differ by less, relative to their size, differ by rounding only.
ROUNDING = 1e-14


def one_hot(labels: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the indicators (n, K) of the classes of `labels` (n,), numbers from 0 to K - 1."""
    return np.eye(n_classes)[labels]


def squared_error(
    scores: np.ndarray,
    labels: np.ndarray,
    row_errors: str = "mean",
    weights: np.ndarray | None = None,
) -> float:
    """Return the mean over rows of the squared error of class scores, ||z - s||^2 (Brier 1950).

    For scores that estimate the indicators z of the classes. It distinguishes a kernel so narrow
    that scores are shrunken to nothing from a wider one, which `scaled_squared_error` does not.

    Parameters
    ----------
    scores : array (n, K)
    labels : int array (n,)
    row_errors : {"mean", "median"}, default="mean"
        ``median``: over rows, instead of the mean.
    weights : array (n,) or None, default=None
        Of the rows in the mean; None for 1.
    """
    errors = (scores - one_hot(labels, scores.shape[1])) ** 2
    if row_errors == "median":
        return float(np.median(errors.sum(axis=1)))
    if weights is not None:
        return float(np.average(errors.sum(axis=1), weights=weights))
    return float(errors.sum() / len(labels))


def scaled_squared_error(
    scores: np.ndarray,
    labels: np.ndarray,
    row_errors: str = "mean",
    losses: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> float:
    """Return the squared error of class scores that is left after the best common factor.

    With S the scores and Z the indicators of the true classes, both less their means over the
    classes of each row, it is

        min_{a >= 0} ||Z - a S||^2 / ||Z||^2 = 1 - (sum S Z)^2 / (sum S^2 sum Z^2),

    and 1, that of no scores at all, where S is zero or sum S Z is negative. It does not change
    with a number added to all scores of a row, nor with one positive factor for all scores, so
    that decoders in different units can be compared. For scores that need no factor it is their
    Brier score relative to that of equal scores for all classes. The number of correct classes
    would be the wrong criterion: it jumps, and ties within the few rows there are.

    Returns a float: between 0 and 1, a median also above 1; NaN if a score is not finite.

    Parameters
    ----------
    scores, labels
        As of `squared_error`; higher scores are better, of two classes at least.
    row_errors : {"mean", "median"}, default="mean"
        ``median``: of the errors ||z - a s||^2 / ||z||^2 of the rows, with the same factor a.
    losses : array (K, K) or None, default=None
        Losses between classes, whose negatives take the place of the indicators; None: the 0-1
        loss, with which nothing changes.
    weights : array (n,) or None, default=None
        Of the rows in the sums, for the mean; None for 1.
    """
    S = scores - scores.mean(axis=1, keepdims=True)
    Z = one_hot(labels, scores.shape[1]) if losses is None else -losses[labels]
    Z = Z - Z.mean(axis=1, keepdims=True)
    if weights is not None:
        roots = np.sqrt(weights)[:, None]
        scores, S, Z = scores * roots, S * roots, Z * roots
    squares, product = (S**2).sum(), (S * Z).sum()
    if squares <= ROUNDING**2 * (scores**2).sum() or product <= 0.0:
        return 1.0
    if row_errors == "median":
        errors = ((Z - product / squares * S) ** 2).sum(axis=1) / (Z**2).sum(axis=1)
        return float(np.median(errors))
    return float(max(1.0 - (product / squares) * (product / (Z**2).sum()), 0.0))


def error_rate(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the share of rows (n,) whose highest class score (n, K) is not that of their class.

    It is not what parameters are chosen by (see `scaled_squared_error`), but unlike the errors of
    scores it can be compared between methods. With `weights` (n,), the share of their sum.
    """
    return float(np.average(scores.argmax(axis=1) != labels, weights=weights))


@dataclass(frozen=True)
class ScoreChoice:
    """A grid point of kernel ridge regression on class indicators, and its out-of-fold scores."""

    kernel: InputKernel

    alpha_rest: float
    """lambda_0 of eq. (13)."""

    score: float
    """`squared_error` of the scores."""

    heldout_scores: np.ndarray
    """Array (n, K): of each training row from a fit without its fold."""

    edges: str = ""
    """Which chosen values lie on an edge of the grid, in words; empty for none."""

    curves: Mapping[str, Any] = field(default_factory=dict)
    """The validation curves, as the entry of an item."""

    alpha_leading: float = np.nan
    """NaN: there is no leading block."""


def select_class_scores(
    inputs: PreparedInputs,
    labels: np.ndarray,
    n_classes: int,
    grid: KernelGrid,
    center: bool,
    row_errors: str = "mean",
) -> ScoreChoice:
    """Return the kernel and the penalty with the least `squared_error` of the out-of-fold scores.

    Of grid points that are equal the first. A grid with relative penalties is extended where a
    chosen value lies on its edge.

    Parameters
    ----------
    inputs, labels, n_classes, center
        As of `heldout_class_scores`; the error is weighted by the weights of the inputs.
    grid : KernelGrid
    row_errors : {"mean", "median"}, default="mean"
        As of `squared_error`.
    """
    curves = KernelErrors(grid.unit)

    def best_scores(part: Grid) -> ScoreChoice:
        best = None
        for kernel, alphas in part.items():
            by_alpha = heldout_class_scores(inputs, labels, n_classes, kernel, alphas, center)
            weights = inputs.weights
            errors = [squared_error(scores, labels, row_errors, weights) for scores in by_alpha]
            rates = [error_rate(scores, labels, weights) for scores in by_alpha]
            curves.add_penalties(kernel, {}, alphas, errors, error_rates=rates)
            for alpha, scores, error in zip(alphas, by_alpha, errors, strict=True):
                # Grid points equal by algebra differ by rounding; the earlier one is kept.
                if best is None or error < best.score * (1.0 - MIN_GAIN):
                    best = ScoreChoice(kernel, alpha, error, scores)
        return best

    choice, edges = grid.search_one(best_scores, extends=grid.is_relative)
    return replace(
        choice, edges=edges, curves=curves.entry_of(choice.kernel, choice.alpha_rest, {})
    )


def heldout_class_scores(
    inputs: PreparedInputs,
    labels: np.ndarray,
    n_classes: int,
    kernel: InputKernel,
    alphas: Sequence[float],
    center: bool,
) -> np.ndarray:
    """Return the out-of-fold class scores (n_penalties, n, K) of kernel ridge regression.

    The scores of each row are those of a fit of the class indicators without its fold. The
    predictions of kernel ridge regression are linear in its targets. Where the targets are a code
    of the class, the rows of C (K, m), they are the scores times C; so these scores serve every
    method that predicts a code of the class with one kernel and one penalty.

    Parameters
    ----------
    inputs : PreparedInputs
        Inputs of the n training rows, and their folds.
    labels : int array (n,)
        Their classes.
    n_classes : int
        K; classes without any row score like the training mean of their indicator, zero.
    kernel : InputKernel
    alphas : sequence of float
        lambda_0 of eq. (13).
    center : bool
        Fit an unpenalised intercept; the scores of a row then sum to 1.
    """
    folds = inputs.folds
    targets = [one_hot(labels, n_classes)] * (int(folds.max()) + 1)
    scores = np.empty((len(alphas), len(labels), n_classes))
    solver = inputs.heldout_solver(*kernel, center)
    for fold, predictions in enumerate(solver.predict(targets, alphas)):
        scores[:, folds == fold] = predictions
    return scores


def least_error(errors: Sequence[float]) -> int:
    """Return the number of the least error, the first of those that are equal but for rounding."""
    return int(first_least(np.asarray(errors)[:, None], MIN_GAIN)[0])
