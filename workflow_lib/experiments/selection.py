"""Nested selection: the grid point with the lowest cross-validated error in the output space.

Every kernel method is selected here. A method without a generative model is the case of an
embedding with one block and the identity as pre-image, so that all rivals get the same grid, the
same folds and the same score: the error of held-out rows, after the pre-image, summed over folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workflow_lib.embeddings.closed_form import apply_gain, decoder
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.experiments.grid_errors import (
    affine_errors,
    corrected_errors,
    entering_memberships,
    residuals,
)
from workflow_lib.generative.output_scaling import OutputScaling
from workflow_lib.metrics import SMALLEST_GAIN, reference_errors, relative_error


@dataclass(frozen=True)
class FoldTargets:
    """The targets of one fold for one component count.

    Attributes
    ----------
    embedding : ForwardEmbedding or None
        The embedding under the fold's model; None for methods without one.
    pi_block : array (n, C) or None
        Targets of the leading block (`pi`; `initial` and `state` of series) for all training
        rows; rows held out by the fold are zero and never used. None where the embedding has no
        such block.
    mean_block : array (n, d) or None
        Targets of the remaining block (`ForwardEmbedding.remaining_block`); the outputs where
        there is no embedding. None where the leading block is all there is: methods without an
        embedding whose weak rows have outputs of their own keep the outputs there.
    weak_pi_block : array (w, C) or None
        Targets of the weak rows in the leading block.
    scaling : OutputScaling or None
        Units of the fold's model; None where there is none.
    outputs_block : array (n, d) or None
        The outputs in those units, where the remaining block is affine in them
        (`ForwardEmbedding.shares_variance`). Component counts that hold the same array share its
        regression.
    """

    embedding: ForwardEmbedding | None
    pi_block: np.ndarray | None
    mean_block: np.ndarray | None
    weak_pi_block: np.ndarray | None = None
    scaling: OutputScaling | None = None
    outputs_block: np.ndarray | None = None


def embedded_targets(
    embedding: ForwardEmbedding,
    embedded: np.ndarray,
    outputs: np.ndarray,
    known: np.ndarray,
    weak_pi_block: np.ndarray | None = None,
    scaling: OutputScaling | None = None,
) -> FoldTargets:
    """Return the targets of one fold and component count.

    Parameters
    ----------
    embedding : ForwardEmbedding
    embedded : array (l, m)
        The embeddings of the rows that the fold learns from.
    outputs : array (n, d)
        In the units of the fold's model, zero where the fold holds them out. Component counts
        that are handed the same array share its regression.
    known : bool array (n,)
        Which rows the fold learns from.
    weak_pi_block, scaling
        As in `FoldTargets`.
    """
    pi_block = mean_block = None
    if embedding.leading_columns is not None:
        pi_block = scattered(embedded[:, embedding.leading_columns], known)
    if not embedding.shares_variance:
        mean_block = scattered(embedding.remaining_block(embedded), known)
        outputs = None
    return FoldTargets(embedding, pi_block, mean_block, weak_pi_block, scaling, outputs)


def scattered(known: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows put back in their places, zero where a fold holds them out."""
    full = np.zeros((len(rows), known.shape[1]))
    full[rows] = known
    return full


@dataclass(frozen=True)
class Choice:
    """A grid point and its cross-validated error.

    Attributes
    ----------
    width : float or None
        Kernel width in units of `rbf_gamma`; None for kernels without one.
    n_components : int or None
        Component count asked for; None for methods without a generative model.
    penalty_pi, penalty_mu : float
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

    width: float | None
    n_components: int | None
    penalty_pi: float
    penalty_mu: float
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
        if best is None or _is_better(choice, best):
            best = choice
    return best


def _is_better(choice: Choice, than: Choice) -> bool:
    return choice.score < than.score * (1.0 - SMALLEST_GAIN)


def select_each(
    outputs: np.ndarray,
    folds: np.ndarray,
    grams_by_width: Mapping[float | None, object],
    weak_grams_by_width: Mapping[float | None, object] | None,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    penalties: Sequence[float],
    weak_weights: Sequence[float],
    penalty: str,
    projections: Sequence[bool],
    metric: str = "arrmse",
) -> dict[int | None, Choice]:
    """Return the best grid point of every component count.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs, NaN where missing.
    folds : int array (n,)
    grams_by_width : mapping from width to SharedGram or SeparateGrams
    weak_grams_by_width : mapping from width to WeakGrams, or None without weak rows
    targets : mapping from component count to the targets of each fold
    penalties : sequence of float
        Grid of lambda_0.
    weak_weights : sequence of float
        Grid of the weight of a weak row relative to a labelled one; ignored without weak rows.
    penalty : {"shared", "per_block"}
        Whether the `pi` block and the others share one penalty.
    projections : sequence of bool
        Whether the closed-form pre-image of the score projects on the simplex; both compete where
        both are given. A method that predicts by the gradient pre-image is scored by the closed
        form of its first two blocks: a local search a grid point would cost days.
    metric : {"arrmse", "rrmse"}, default="arrmse"
        The error that is minimised; see `workflow_lib.metrics`.
    """
    reference = reference_errors(outputs, folds)
    weights = [np.nan] if weak_grams_by_width is None else list(weak_weights)
    best: dict[int | None, Choice] = {}
    for width, grams in grams_by_width.items():
        weak_grams = None if weak_grams_by_width is None else weak_grams_by_width[width]
        predicted = _predict_blocks(grams, weak_grams, targets, penalties, weights)
        scorer = _Scorer(outputs, grams.heldout, grams.center, penalty)
        # The Gram matrix and its decomposition are large, and done with.
        del grams, weak_grams
        for n_components, by_fold in targets.items():
            points = _grid_points(penalties, weights, penalty, by_fold[0].pi_block is not None)
            for projected in projections:
                errors = scorer.errors(by_fold, predicted[n_components], projected)
                scores = relative_error(errors, reference, metric)
                scores = np.where(np.isfinite(scores), scores, np.inf)
                index = int(scores.argmin())
                score = float(scores[index])
                choice = Choice(width, n_components, *points[index], projected, score, None)
                if n_components not in best or _is_better(choice, best[n_components]):
                    best[n_components] = replace(
                        choice,
                        heldout_outputs=scorer.heldout_outputs(
                            by_fold, predicted[n_components], index, projected
                        ),
                    )
        # Before the next Gram matrix takes their place in memory.
        del predicted, scorer
    return best


class Predicted(NamedTuple):
    """What is predicted for the held-out rows of one fold: arrays (grid values, rows, columns)."""

    pi: np.ndarray | None
    """The leading block, for all penalties and weak weights."""

    mean: np.ndarray | None
    """The remaining block, or the outputs block, for all penalties."""

    labelled_pi: np.ndarray | None
    """The leading block as labelled rows alone predict it, where there is an outputs block."""


class _Scorer:
    """The errors of all component counts for one kernel width."""

    def __init__(self, outputs, heldout, center, penalty) -> None:
        self._outputs, self._heldout = outputs, heldout
        self._center, self._penalty = center, penalty
        self._complete = not np.isnan(outputs).any()
        self._residuals: dict = {}

    def errors(self, by_fold, predicted, projected) -> np.ndarray:
        """Return the squared errors (grid points, d) of all held-out rows."""
        if by_fold[0].embedding is None:
            # Nothing differs from fold to fold, of which there may be as many as rows.
            rows = np.concatenate(self._heldout)
            pi, mean = (
                None if blocks[0] is None else np.concatenate(blocks, axis=1)
                for blocks in ([fold.pi for fold in predicted], [fold.mean for fold in predicted])
            )
            return affine_errors(self._outputs[rows], None, pi, mean, projected, self._penalty)
        return sum(
            self._fold_errors(fold, by_fold[fold], predicted[fold], projected)
            for fold in range(len(self._heldout))
        )

    def heldout_outputs(self, by_fold, predicted, index, projected) -> np.ndarray:
        """Return the outputs (n, d) predicted for each training row by one grid point."""
        outputs = np.empty(self._outputs.shape)
        for rows, targets, blocks in zip(self._heldout, by_fold, predicted, strict=True):
            outputs[rows] = decoded_at(targets, blocks, index, projected, self._penalty)
        return outputs

    def _fold_errors(self, fold, targets, predicted, projected) -> np.ndarray:
        scaling, embedding = targets.scaling, targets.embedding
        outputs = self._outputs[self._heldout[fold]]
        if scaling is not None:
            outputs = scaling.apply(outputs)
        # Without an intercept, memberships that are not projected need not sum to one.
        if targets.outputs_block is not None and self._complete and (projected or self._center):
            errors = corrected_errors(
                self._residuals_of(fold, targets, outputs, predicted.mean),
                entering_memberships(embedding, predicted.pi, projected),
                entering_memberships(embedding, predicted.labelled_pi, projected=False),
                embedding.model.means_,
                self._penalty,
            )
        else:
            mean = _remaining_block(targets, predicted.mean, predicted.labelled_pi)
            errors = affine_errors(outputs, embedding, predicted.pi, mean, projected, self._penalty)
        return errors if scaling is None else errors * scaling.scale**2

    def _residuals_of(self, fold, targets, outputs, predictions):
        """Return the residuals of the outputs block, computed once for all component counts."""
        key = fold, id(targets.outputs_block)
        if key not in self._residuals:
            self._residuals[key] = residuals(outputs, predictions)
        return self._residuals[key]


def _remaining_block(targets, mean, labelled_pi) -> np.ndarray | None:
    """Return the predicted remaining block, from the outputs block where that stands for it."""
    if targets.outputs_block is None:
        return mean
    memberships = entering_memberships(targets.embedding, labelled_pi, projected=False)
    return targets.embedding.mean_block_of_outputs(mean, memberships)


def decoded_at(
    targets: FoldTargets, predicted: Predicted, index: int, projected: bool, penalty: str
) -> np.ndarray:
    """Return the outputs (rows, d) that one grid point predicts for the rows of one fold."""
    pi, mean, labelled_pi = predicted
    pi_index = mean_index = index
    if pi is not None and mean is not None:
        if penalty == "shared":
            mean_index = index // (len(pi) // len(mean))
        else:
            pi_index, mean_index = divmod(index, len(mean))
    if targets.embedding is None:
        return mean[mean_index] if pi is None else pi[pi_index]
    leading = np.ones((mean.shape[1], 1)) if pi is None else pi[pi_index]
    offset, gain = decoder(targets.embedding, leading, projected)
    labelled = None if labelled_pi is None else labelled_pi[mean_index]
    remaining = _remaining_block(targets, mean[mean_index], labelled)
    decoded = offset + apply_gain(gain, remaining)
    return decoded if targets.scaling is None else targets.scaling.undo(decoded)


def _grid_points(penalties, weights, penalty, has_pi) -> list[tuple[float, float, float]]:
    """Return (penalty_pi, penalty_mu, weak_weight) in the order of the rows of the errors."""
    if not has_pi:
        return [(np.nan, float(penalty_mu), np.nan) for penalty_mu in penalties]
    if penalty == "shared":
        return [(float(p), float(p), float(weight)) for p in penalties for weight in weights]
    return [
        (float(penalty_pi), float(penalty_mu), float(weight))
        for penalty_pi in penalties
        for weight in weights
        for penalty_mu in penalties
    ]


class _Columns:
    """Blocks of targets of one fold side by side, each array once."""

    def __init__(self) -> None:
        self._places: dict[int, slice] = {}
        self._blocks: list[np.ndarray] = []

    def add(self, block: np.ndarray | None) -> slice | None:
        """Return the columns of a block, a new or a known one."""
        if block is None:
            return None
        if id(block) not in self._places:
            begin = sum(known.shape[1] for known in self._blocks)
            self._places[id(block)] = slice(begin, begin + block.shape[1])
            self._blocks.append(block)
        return self._places[id(block)]

    def array(self) -> np.ndarray:
        """Return all blocks as one array; a single one as it is."""
        return self._blocks[0] if len(self._blocks) == 1 else np.hstack(self._blocks)


def _predict_blocks(grams, weak_grams, targets, penalties, weak_weights):
    """Return, for each component count, what is predicted of every fold.

    All component counts go through the solver together: their targets are only more columns.
    """
    n_folds = len(grams.heldout)
    columns = [_Columns() for _ in range(n_folds)]
    pi_columns = [_Columns() for _ in range(n_folds)]
    weak_columns = [_Columns() for _ in range(n_folds)]
    places: dict = {count: [] for count in targets}
    for count, by_fold in targets.items():
        for fold, block in enumerate(by_fold):
            is_outputs = block.outputs_block is not None
            mean = columns[fold].add(block.outputs_block if is_outputs else block.mean_block)
            labelled = weak = None
            if is_outputs or weak_grams is None:
                labelled = columns[fold].add(block.pi_block)
            if weak_grams is not None:
                weak = pi_columns[fold].add(block.pi_block)
                weak_columns[fold].add(block.weak_pi_block)
            places[count].append((mean, labelled, weak, is_outputs))
    # Methods without an embedding whose weak rows have outputs have no other columns.
    predictions = [None] * n_folds
    if any(
        mean is not None or labelled is not None for (mean, labelled, *_), *_ in places.values()
    ):
        predictions = grams.predict([fold.array() for fold in columns], penalties)
    weak_predictions = predictions
    if weak_grams is not None:
        weak_predictions = weak_grams.predict(
            [fold.array() for fold in pi_columns],
            [fold.array() for fold in weak_columns],
            list(itertools.product(penalties, weak_weights)),
        )

    def taken(block, place):
        return None if place is None else block[:, :, place]

    return {
        count: [
            Predicted(
                taken(weak_block, labelled if weak is None else weak),
                taken(block, mean),
                taken(block, labelled) if is_outputs else None,
            )
            for block, weak_block, (mean, labelled, weak, is_outputs) in zip(
                predictions, weak_predictions, by_fold, strict=True
            )
        ]
        for count, by_fold in places.items()
    }
