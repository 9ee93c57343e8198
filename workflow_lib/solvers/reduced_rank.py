"""Kernel ridge regression of the first principal components of the outputs, with one penalty.

Training outputs Y (l, d) of mean m have the principal directions V (d, k), by decreasing variance.
The scores of the first r, T = (Y - m) V_r, are the targets of kernel ridge regression, and
predicted scores t give the output m + V_r t. The remaining directions stay at the mean, as if
their penalty were infinite: of `workflow_lib.solvers.principal_components` it is the case of
one penalty up to component r.

The rank is that of the targets. Reduced-rank ridge regression (Mukherjee & Zhu 2011) bounds the
rank of the fitted outputs instead; there the components depend on the inputs and the penalty
(`workflow_lib.papers.blaschko.coupled_outputs`).

A rank of at least k leaves nothing out: with an intercept this is kernel ridge regression of the
outputs, because that is linear in its targets and follows their mean.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from workflow_lib.measures.metrics import sum_of_observed
from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
from workflow_lib.solvers.principal_components import (
    OutputComponents,
    fit_output_components,
    heldout_scores,
)
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge


def heldout_rank_errors(
    outputs: np.ndarray,
    outputs_by_fold: Sequence[np.ndarray],
    solver: SharedGram | SeparateGrams,
    alphas: Sequence[float],
    ranks: Sequence[int],
) -> np.ndarray:
    """Return the held-out squared errors (n_ranks, n_penalties, d), summed over folds.

    Parameters
    ----------
    outputs : array (n, d)
        True outputs; missing ones (NaN) do not count.
    outputs_by_fold : sequence of array (n, d)
        Outputs that each fold learns from, none missing; its held-out rows are ignored.
    solver : SharedGram or SeparateGrams
        Held-out predictions under one kernel. All ranks share its solution.
    alphas : sequence of float
        Grid of lambda_0 of eq. (13) of the OFER paper. Infinity keeps all at the mean.
    ranks : sequence of int
        Increasing, from 1. Above the number of components of a fold they mean all of them.
    """
    components, _, predictions = heldout_scores(outputs_by_fold, solver, alphas, max(ranks))
    errors = np.zeros((len(ranks), len(alphas), outputs.shape[1]))
    for rows, fold_components, scores in zip(solver.heldout, components, predictions, strict=True):
        for index, predicted in enumerate(_cumulative_outputs(fold_components, scores, ranks)):
            errors[index] += sum_of_observed((outputs[rows] - predicted) ** 2)
    return errors


def heldout_outputs(
    outputs_by_fold: Sequence[np.ndarray],
    solver: SharedGram | SeparateGrams,
    alpha: float,
    rank: int,
) -> np.ndarray:
    """Return the prediction (n, d) of each row without its fold; arguments as above."""
    components, _, predictions = heldout_scores(outputs_by_fold, solver, [alpha], rank)
    result = np.empty_like(outputs_by_fold[0])
    for rows, fold_components, scores in zip(solver.heldout, components, predictions, strict=True):
        (predicted,) = _cumulative_outputs(fold_components, scores, [rank])
        result[rows] = predicted[0]
    return result


def fit_reduced_rank_ridge(
    K: np.ndarray, Y: np.ndarray, rank: int, alpha: float, center: bool = True
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return dual coefficients (n, d) and intercepts (d,) of the outputs, and the rank used.

    Parameters
    ----------
    K : array (n, n)
        Symmetric positive semi-definite Gram matrix.
    Y : array (n, d)
        Outputs, without missing values.
    rank : int
        Number of components, at least 1; all of them where it is above their number. The rank used
        is the smaller of the two.
    alpha : float
        lambda_0 of all components.
    center : bool, default=True
        Fit an unpenalised intercept of the scores. The mean of the outputs is added without it
        too.
    """
    components = fit_output_components(Y, rank)
    ridge = labelled_ridge(len(K), alpha)
    dual, intercept = fit_dual_coefficients(K, components.scores(Y), ridge, center)
    used = components.directions.shape[1]
    return dual @ components.directions.T, components.outputs(intercept), used


def _cumulative_outputs(
    components: OutputComponents, scores: np.ndarray, ranks: Sequence[int]
) -> Iterator[np.ndarray]:
    """Yield the outputs (n_penalties, h, d) of each of the increasing ranks. Every rank adds its
    further components to the outputs of the rank before, so that all together cost as much as the
    largest alone."""
    outputs, begin = components.mean, 0
    for rank in ranks:
        further = slice(begin, rank)
        outputs = outputs + scores[:, :, further] @ components.directions[:, further].T
        begin = rank
        yield outputs
