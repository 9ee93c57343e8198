"""Nested selection: the grid point with the lowest cross-validated error in the output space.

Every kernel method is selected here. A method without a generative model is the case of an
embedding with one block and the identity as pre-image, so that all rivals get the same grid, the
same folds and the same score: the error of held-out rows, after the pre-image, summed over folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.embeddings.closed_form import apply_gain, decoder
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.generative.output_scaling import OutputScaling
from workflow_lib.metrics import (
    SMALLEST_GAIN,
    reference_errors,
    relative_error,
    sum_of_observed,
)


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
    """

    embedding: ForwardEmbedding | None
    pi_block: np.ndarray | None
    mean_block: np.ndarray | None
    weak_pi_block: np.ndarray | None = None
    scaling: OutputScaling | None = None


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
        if best is None or choice.score < best.score * (1.0 - SMALLEST_GAIN):
            best = choice
    return best


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

    Notes
    -----
    Given the predicted `pi` block, the pre-image is affine in the predicted `mu` block:
    y = offset + gain h. So the squared errors of all pairs of penalties are three products
    of matrices instead of one pre-image a pair.
    """
    reference = reference_errors(outputs, folds)
    weights = [np.nan] if weak_grams_by_width is None else list(weak_weights)
    candidates: dict[int | None, list[Choice]] = {count: [] for count in targets}
    for width, grams in grams_by_width.items():
        weak_grams = None if weak_grams_by_width is None else weak_grams_by_width[width]
        predicted = _predict_blocks(grams, weak_grams, targets, penalties, weights)
        for n_components, by_fold in targets.items():
            has_pi = by_fold[0].pi_block is not None
            points = _grid_points(penalties, weights, penalty, has_pi)
            for projected in projections:
                errors = sum(
                    _fold_errors(outputs[rows], fold_targets, pi, mean, projected, penalty)
                    for rows, fold_targets, (pi, mean) in zip(
                        grams.heldout, by_fold, predicted[n_components], strict=True
                    )
                )
                scores = relative_error(errors, reference, metric)
                scores = np.where(np.isfinite(scores), scores, np.inf)
                index = int(scores.argmin())
                heldout = _heldout_outputs(
                    outputs.shape,
                    grams.heldout,
                    by_fold,
                    predicted[n_components],
                    index,
                    penalty,
                    projected,
                )
                score = float(scores[index])
                candidates[n_components].append(
                    Choice(width, n_components, *points[index], projected, score, heldout)
                )
    return {count: best_of(choices) for count, choices in candidates.items()}


def _heldout_outputs(shape, heldout, by_fold, predicted, index, penalty, projected) -> np.ndarray:
    """Return the outputs (n, d) predicted for each training row by one grid point, by its index."""
    outputs = np.empty(shape)
    for rows, targets, (pi, mean) in zip(heldout, by_fold, predicted, strict=True):
        pi_index = mean_index = index
        if pi is not None and mean is not None:
            if penalty == "shared":
                mean_index = index // (len(pi) // len(mean))
            else:
                pi_index, mean_index = divmod(index, len(mean))
        if targets.embedding is None:
            outputs[rows] = mean[mean_index] if pi is None else pi[pi_index]
            continue
        leading = np.ones((len(rows), 1)) if pi is None else pi[pi_index]
        offset, gain = decoder(targets.embedding, leading, projected)
        decoded = offset + apply_gain(gain, mean[mean_index])
        outputs[rows] = decoded if targets.scaling is None else targets.scaling.undo(decoded)
    return outputs


def _grid_points(penalties, weights, penalty, has_pi) -> list[tuple[float, float, float]]:
    """Return (penalty_pi, penalty_mu, weak_weight) in the order of the rows of `_errors`."""
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


def _predict_blocks(grams, weak_grams, targets, penalties, weak_weights):
    """Return, for each component count, the held-out (pi, mean) predictions of every fold.

    All component counts go through the solver together: their targets are only more columns.
    """
    n_folds = len(grams.heldout)
    columns = [[] for _ in range(n_folds)]
    pi_columns = [[] for _ in range(n_folds)]
    weak_columns = [[] for _ in range(n_folds)]
    for by_fold in targets.values():
        for fold, fold_targets in enumerate(by_fold):
            if fold_targets.mean_block is not None:
                columns[fold].append(fold_targets.mean_block)
            if fold_targets.pi_block is None:
                continue
            if weak_grams is None:
                columns[fold].append(fold_targets.pi_block)
            else:
                pi_columns[fold].append(fold_targets.pi_block)
                weak_columns[fold].append(fold_targets.weak_pi_block)
    predictions = None
    if columns[0]:
        predictions = grams.predict([np.hstack(parts) for parts in columns], penalties)
    weak_predictions = None
    if weak_grams is not None:
        weak_predictions = weak_grams.predict(
            [np.hstack(parts) for parts in pi_columns],
            [np.hstack(parts) for parts in weak_columns],
            list(itertools.product(penalties, weak_weights)),
        )
    result = {}
    positions, weak_positions = [0] * n_folds, [0] * n_folds
    for n_components, by_fold in targets.items():
        result[n_components] = []
        for fold, fold_targets in enumerate(by_fold):
            begin = middle = positions[fold]
            pi = mean = None
            if fold_targets.mean_block is not None:
                middle = begin + fold_targets.mean_block.shape[1]
                mean = predictions[fold][:, :, begin:middle]
            if fold_targets.pi_block is not None:
                size = fold_targets.pi_block.shape[1]
                if weak_grams is None:
                    pi = predictions[fold][:, :, middle : middle + size]
                    middle += size
                else:
                    start = weak_positions[fold]
                    pi = weak_predictions[fold][:, :, start : start + size]
                    weak_positions[fold] = start + size
            positions[fold] = middle
            result[n_components].append((pi, mean))
    return result


def _fold_errors(outputs, fold_targets, pi, mean, projected, penalty) -> np.ndarray:
    """Return the squared errors (grid points, d) of held-out rows, in units of the outputs."""
    embedding, scaling = fold_targets.embedding, fold_targets.scaling
    if scaling is None:
        return _errors(outputs, embedding, pi, mean, projected, penalty)
    scaled = _errors(scaling.apply(outputs), embedding, pi, mean, projected, penalty)
    return scaled * scaling.scale**2


def _errors(outputs, embedding, pi, mean, projected, penalty) -> np.ndarray:
    """Return the squared errors (grid points, d) on the held-out rows of one fold.

    `pi` has the shape (penalties x weak weights, rows, C) or is None; `mean` the shape
    (penalties, rows, d) or is None. Missing outputs count nothing.
    """
    if embedding is None:
        return sum_of_observed((outputs - (mean if pi is None else pi)) ** 2)
    if pi is None:
        offset, gain = decoder(embedding, np.ones((*mean.shape[:-1], 1)), projected)
        return sum_of_observed((outputs - offset - apply_gain(gain, mean)) ** 2)
    offset, gain = decoder(embedding, pi, projected)
    residual = outputs - offset
    if penalty == "shared":
        repeated = np.repeat(mean, len(pi) // len(mean), axis=0)
        return sum_of_observed((residual - apply_gain(gain, repeated)) ** 2)
    return _pair_errors(residual, gain, mean).reshape(-1, outputs.shape[1])


def _pair_errors(residual, gain, mean) -> np.ndarray:
    """Return the squared errors (n_pi, n_mu, d) of residual (n_pi, rows, d) - gain mean."""
    if gain.ndim == residual.ndim + 1:
        return np.stack(
            [sum_of_observed((residual - apply_gain(gain, step)) ** 2) for step in mean[:, None]],
            axis=1,
        )
    # Coordinates first, so that one batched product sums over rows: sum (r - g h)^2
    # = sum r^2 - 2 (r g) h + g^2 h^2.
    squared_gain = np.broadcast_to(gain**2, residual.shape)
    missing = np.isnan(residual)
    if missing.any():
        residual = np.where(missing, 0.0, residual)
        squared_gain = np.where(missing, 0.0, squared_gain)
    cross = (residual * gain).transpose(2, 0, 1)
    steps = mean.transpose(2, 1, 0)
    errors = (
        (residual**2).sum(axis=1).T[:, :, None]
        - 2.0 * np.matmul(cross, steps)
        + np.matmul(squared_gain.transpose(2, 0, 1), steps**2)
    )
    return np.maximum(errors, 0.0).transpose(1, 2, 0)
