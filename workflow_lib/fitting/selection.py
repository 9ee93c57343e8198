"""Nested selection: the grid point with the lowest cross-validated error in the output space.

Every kernel method is selected here. A method without a generative model is the case of an
embedding with one block and the identity as pre-image, so that all methods get the same grid, the
same folds and the same score: the error of held-out rows, after the pre-image, summed over folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.fitting.bootstrap_choices import BootstrapChoices
from workflow_lib.fitting.fold_targets import FoldTargets, TargetColumns, decoded_at, squared_errors
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.validation_curves import ValidationCurves
from workflow_lib.measures.metrics import MIN_GAIN, reference_errors, relative_error

if TYPE_CHECKING:
    from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
    from workflow_lib.solvers.weak import WeakGrams


@dataclass(frozen=True)
class Choice:
    """A grid point and its cross-validated error.

    Attributes
    ----------
    kernel : InputKernel
    n_components : int or None
        Component count asked for; None for methods without a generative model.
    alpha_leading, alpha_rest : float
        lambda_0 of the leading blocks (`pi`; `initial` and `state` of series) and of the others;
        the first is NaN where there are none.
    weak_weight : float
        Weight of a weak row relative to a labelled one; NaN without weak rows.
    projected : bool
        Whether the predicted memberships are projected on the simplex.
    score : float
        Relative error of the held-out rows, their squared errors summed over folds.
    heldout_outputs : array (n, d)
        The outputs predicted for each training row without its fold.
    """

    kernel: InputKernel
    n_components: int | None
    alpha_leading: float
    alpha_rest: float
    weak_weight: float
    projected: bool
    score: float
    heldout_outputs: np.ndarray


def best_of(choices: Iterable[Choice]) -> Choice:
    """Return the choice with the lowest score, the first of those that are equal.

    Methods equal by algebra differ by rounding; the earlier, smaller model is kept.
    """
    best = None
    for choice in choices:
        if best is None or is_better(choice, best):
            best = choice
    return best


def is_better(choice: Choice, than: Choice) -> bool:
    """Return whether a choice has a lower score than another, by more than rounding."""
    return choice.score < than.score * (1.0 - MIN_GAIN)


def select_each(
    outputs: np.ndarray,
    folds: np.ndarray,
    grams_of: Callable[[InputKernel], SharedGram | SeparateGrams],
    weak_grams_of: Callable[[InputKernel], WeakGrams] | None,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    alphas_by_kernel: Mapping[InputKernel, Sequence[float]],
    weak_weights: Sequence[float],
    penalty: str,
    projections: Sequence[bool],
    metric: str = "arrmse",
    curves: ValidationCurves | None = None,
    samples: BootstrapChoices | None = None,
    row_weights: np.ndarray | None = None,
) -> dict[int | None, Choice]:
    """Return the best grid point of every component count.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs, NaN where missing.
    folds : int array (n,)
    grams_of : function of a kernel
        Returns its SharedGram or SeparateGrams; only those of one kernel are in memory.
    weak_grams_of : function of a kernel, or None without weak rows
        Returns its WeakGrams.
    targets : mapping from component count to the targets of each fold
    alphas_by_kernel : mapping from InputKernel to a sequence of float
        Grid of lambda_0 for each kernel.
    weak_weights : sequence of float
        Grid of the weight of a weak row relative to a labelled one; ignored without weak rows.
    penalty : {"shared", "per_block"}
        Whether the `pi` block and the others share one penalty.
    projections : sequence of bool
        Whether the closed-form pre-image of the score projects on the simplex; both compete where
        both are given. A method that predicts by the gradient pre-image is scored by the closed
        form of its first two blocks: a local search for each grid point would take days.
    metric : {"arrmse", "rrmse"}, default="arrmse"
        The error that is minimised; see `workflow_lib.measures.metrics`.
    curves : ValidationCurves or None, default=None
        Is given the errors of all grid points.
    samples : BootstrapChoices or None, default=None
        Is given the held-out predictions of all grid points, where neither components nor weak rows
        compete.
    row_weights : array (n,) or None, default=None
        Positive weights of the labelled rows in the error, of mean 1, for targets without an
        embedding; None for 1.
    """
    reference = reference_errors(outputs, folds, row_weights)
    weights = [np.nan] if weak_grams_of is None else list(weak_weights)
    columns = TargetColumns(targets, weak_grams_of is not None)
    # Without an embedding nothing differs from fold to fold, of which there may be as many as rows.
    is_alike = all(by_fold[0].embedding is None for by_fold in targets.values())
    best: dict[int | None, Choice] = {}
    for kernel, alphas in alphas_by_kernel.items():
        grams = grams_of(kernel)
        weak_grams = None if weak_grams_of is None else weak_grams_of(kernel)
        rows, predicted = _predictions(grams, weak_grams, columns, alphas, weights, is_alike)
        scorer = _Scorer(outputs, rows, grams.center, penalty, row_weights)
        # The Gram matrix and its decomposition are large, and no longer needed.
        del grams, weak_grams
        for n_components, by_fold in targets.items():
            points = grid_points(alphas, weights, penalty, by_fold[0].pi_block is not None)
            for projected in projections:
                errors = scorer.errors(by_fold, predicted[n_components], projected)
                scores = relative_error(errors, reference, metric)
                choice, index = best_point(kernel, n_components, projected, points, scores)
                if curves is not None:
                    curves.add(kernel, n_components, alphas, weights, scores)
                if samples is not None:
                    heldout = (
                        scorer.heldout_outputs(by_fold, predicted[n_components], point, projected)
                        for point in range(len(points))
                    )
                    samples.add(kernel, alphas, list(heldout))
                if n_components not in best or is_better(choice, best[n_components]):
                    best[n_components] = replace(
                        choice,
                        heldout_outputs=scorer.heldout_outputs(
                            by_fold, predicted[n_components], index, projected
                        ),
                    )
        # Before the next Gram matrix takes their place in memory.
        del predicted, scorer
    return best


class _Scorer:
    """The errors of all component counts for one kernel."""

    def __init__(self, outputs, heldout, center, penalty, weights) -> None:
        # One fold stands for all that are alike; then so do the targets of the first.
        self._outputs, self._heldout = outputs, heldout
        self._center, self._penalty, self._weights = center, penalty, weights
        # What component counts share, by fold.
        self._shared: list[dict] = [{} for _ in heldout]

    def errors(self, by_fold, predicted, projected) -> np.ndarray:
        """Return the squared errors (grid points, d) of all held-out rows."""
        return sum(
            squared_errors(
                self._outputs[rows],
                targets,
                blocks,
                projected,
                self._penalty,
                self._center,
                shared,
                None if self._weights is None else self._weights[rows],
            )
            for rows, targets, blocks, shared in zip(
                self._heldout, by_fold, predicted, self._shared
            )
        )

    def heldout_outputs(self, by_fold, predicted, index, projected) -> np.ndarray:
        """Return the outputs (n, d) predicted for each training row by one grid point."""
        outputs = np.empty(self._outputs.shape)
        for rows, targets, blocks in zip(self._heldout, by_fold, predicted):
            outputs[rows] = decoded_at(targets, blocks, index, projected, self._penalty)
        return outputs


def best_point(kernel, n_components, projected, points, scores) -> tuple[Choice, int]:
    """Return the grid point with the lowest score, without what it predicts, and its number.

    A score that is not a number never wins.
    """
    scores = np.where(np.isfinite(scores), scores, np.inf)
    index = int(scores.argmin())
    return (
        Choice(kernel, n_components, *points[index], projected, float(scores[index]), None),
        index,
    )


def grid_points(alphas, weights, penalty, has_pi) -> list[tuple[float, float, float]]:
    """Return (alpha_leading, alpha_rest, weak_weight) in the order of the rows of the errors."""
    if not has_pi:
        return [(np.nan, float(alpha_rest), np.nan) for alpha_rest in alphas]
    if penalty == "shared":
        return [(float(p), float(p), float(weight)) for p in alphas for weight in weights]
    return [
        (float(alpha_leading), float(alpha_rest), float(weight))
        for alpha_leading in alphas
        for weight in weights
        for alpha_rest in alphas
    ]


def _predictions(grams, weak_grams, columns, alphas, weak_weights, together):
    """Return the rows of each fold, and what is predicted of them for each component count.
    `together` makes one fold of all."""
    labelled = weak = [None] * len(grams.heldout)
    if columns.has_labelled:
        labelled = grams.predict(columns.labelled(), alphas)
    if weak_grams is not None:
        pairs = list(itertools.product(alphas, weak_weights))
        weak = weak_grams.predict(*columns.with_weak_rows(), pairs)
    rows = grams.heldout
    if together:
        rows = [np.concatenate(rows)]
        labelled, weak = (
            [None if by_fold[0] is None else np.concatenate(by_fold, axis=1)]
            for by_fold in (labelled, weak)
        )
    return rows, {
        count: [
            columns.split(count, fold, *predictions)
            for fold, predictions in enumerate(zip(labelled, weak, strict=True))
        ]
        for count in columns.counts
    }
