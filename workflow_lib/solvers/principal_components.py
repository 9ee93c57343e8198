"""Kernel ridge regression of the principal components of the outputs, with a penalty for each.

Training outputs Y (l, d) of mean m have the principal directions V (d, r), the right singular
vectors of Y - m. Their scores T = (Y - m) V are the targets of kernel ridge regression, every
column with a penalty of its own, and predicted scores t give the output m + V t: kernel dependency
estimation (Weston et al., NIPS 2002) with a linear output kernel.

As V'V = I, the squared error of a held-out output y separates over the components,

    |y - m - V t|^2 = sum_j (v_j'(y - m) - t_j)^2 + |(I - V V')(y - m)|^2,

and the last term, the variance outside the span of the fold's components, is a constant of the
penalties. So the penalty of each component with the least squared error of its own held-out scores
is part of the combination with the least squared error of the outputs: r searches through p
penalties take the place of one through p^r.

With one penalty for all components and an intercept this is kernel ridge regression of the
outputs, because that is linear in its targets and follows their mean. (Where the outputs are so
many that all rows have more components than any fold, the further ones stay at the mean instead:
see `fit_component_ridge`.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge


@dataclass(frozen=True)
class OutputComponents:
    """Principal components of outputs, by decreasing variance."""

    mean: np.ndarray
    """Array (d,): in units of the outputs."""

    directions: np.ndarray
    """Array (d, r): orthonormal columns."""

    def scores(self, Y: np.ndarray) -> np.ndarray:
        """Return the scores (n, r) of outputs `Y` (n, d), in units of the outputs."""
        return (Y - self.mean) @ self.directions

    def outputs(self, scores: np.ndarray) -> np.ndarray:
        """Return the outputs (n, d) that have these scores (n, r) and lie in the span."""
        return self.mean + scores @ self.directions.T


def fit_output_components(Y: np.ndarray, most: int | None = None) -> OutputComponents:
    """Return the principal components of outputs `Y` (l, d), as many as their rank, or `most`.

    The rank r <= min(d, l - 1) leaves out directions that only the rounding of the mean fills.
    """
    mean = Y.mean(axis=0)
    _, singular_values, rows = np.linalg.svd(Y - mean, full_matrices=False)
    rounding = np.finfo(float).eps * max(Y.shape) * np.linalg.norm(Y)
    rank = min(int((singular_values > rounding).sum()), len(Y) - 1)
    return OutputComponents(mean, rows[:rank].T[:, :most])


def select_component_penalties(
    outputs_by_fold: Sequence[np.ndarray],
    solver: SharedGram | SeparateGrams,
    alphas: Sequence[float],
    smallest_gain: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best penalty (r,) of each component, and the held-out predictions (n, d).

    Parameters
    ----------
    outputs_by_fold : sequence of array (n, d)
        For each fold all training outputs, none missing. Where some are, each fold fills them
        from its own training rows. The filled outputs of held-out rows count in the choice like
        others, as errors of observed outputs alone do not separate over components.
    solver : SharedGram or SeparateGrams
        Held-out predictions under one kernel.
    alphas : sequence of float
        Grid of lambda_0 of eq. (13) of the OFER paper. Infinity keeps a component at the mean.
    smallest_gain : float
        Share of the squared error by which a later penalty must be better than the best so far.

    Returns
    -------
    alphas : array (r,)
        Each has the least squared error of its component's held-out scores, summed over folds.
        Every fold has components of its own, matched by their rank; where a fold has fewer, its
        rows do not count for the others. r is the largest number of any fold.
    predictions : array (n, d)
        Of the outputs of each row, with these penalties and without the row's fold.
    """
    components, scores, by_alpha = heldout_scores(outputs_by_fold, solver, alphas)
    score_errors = np.zeros((len(alphas), max(part.shape[1] for part in scores)))
    for rows, fold_scores, predicted in zip(solver.heldout, scores, by_alpha, strict=True):
        fold_errors = ((fold_scores[rows] - predicted) ** 2).sum(axis=1)
        score_errors[:, : fold_scores.shape[1]] += fold_errors
    chosen = first_least(score_errors, smallest_gain)
    predictions = np.empty(outputs_by_fold[0].shape)
    for rows, fold_components, predicted in zip(solver.heldout, components, by_alpha, strict=True):
        columns = np.arange(predicted.shape[2])
        selected = predicted[chosen[columns], :, columns].T
        predictions[rows] = fold_components.outputs(selected)
    return np.asarray(alphas, dtype=np.float64)[chosen], predictions


def heldout_scores(
    outputs_by_fold: Sequence[np.ndarray],
    solver: SharedGram | SeparateGrams,
    alphas: Sequence[float],
    rank: int | None = None,
) -> tuple[list[OutputComponents], list[np.ndarray], list[np.ndarray]]:
    """Return the first `rank` components of each fold (None: all), with the scores (n, r) of all
    rows and those predicted of its held-out rows (n_penalties, h, r); arguments as above."""
    components = [
        fit_output_components(np.delete(outputs, rows, axis=0), rank)
        for rows, outputs in zip(solver.heldout, outputs_by_fold, strict=True)
    ]
    scores = [
        fold_components.scores(outputs)
        for fold_components, outputs in zip(components, outputs_by_fold, strict=True)
    ]
    return components, scores, solver.predict(scores, alphas)


def first_least(values: np.ndarray, smallest_gain: float) -> np.ndarray:
    """Return the row number (m,) of the least of `values` (p, m) >= 0 in each column.

    A later row must be less than the best so far by the share `smallest_gain`: values equal by
    algebra differ by rounding.
    """
    best = values[0].copy()
    chosen = np.zeros(values.shape[1], dtype=int)
    for row in range(1, len(values)):
        better = values[row] < best * (1.0 - smallest_gain)
        best[better], chosen[better] = values[row][better], row
    return chosen


def fit_component_ridge(
    K: np.ndarray, Y: np.ndarray, selected: Sequence[float], center: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return dual coefficients (n, d) and intercepts (d,) of the outputs, and the penalties (r,).

    Parameters
    ----------
    K : array (n, n)
        Symmetric positive semi-definite Gram matrix.
    Y : array (n, d)
        Outputs; their r principal components are the targets.
    selected : sequence of float
        Penalties of the first components. All rows may have more components than those of any
        fold; nothing is known of the further ones, so they get an infinite penalty and stay at
        the mean.
    center : bool, default=True
        Fit an unpenalised intercept of the scores. The mean of the outputs is added without it
        too.
    """
    components = fit_output_components(Y)
    scores = components.scores(Y)
    alphas = np.full(scores.shape[1], np.inf)
    count = min(len(alphas), len(selected))
    alphas[:count] = selected[:count]
    dual, intercept = np.zeros_like(scores), np.zeros(len(alphas))
    for alpha in np.unique(alphas):
        columns = alphas == alpha
        ridge = labelled_ridge(len(K), alpha)
        dual[:, columns], intercept[columns] = fit_dual_coefficients(
            K, scores[:, columns], ridge, center
        )
    return dual @ components.directions.T, components.outputs(intercept), alphas
