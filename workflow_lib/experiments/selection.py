"""Nested selection: the grid point with the lowest cross-validated error in the output space.

Every kernel method is selected here. A method without a generative model is the case of an
embedding with one block and the identity as pre-image, so that all rivals get the same grid, the
same folds and the same score: the error of held-out rows, after the pre-image, summed over folds.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workflow_lib.embeddings.closed_form import apply_gain, decoder
from workflow_lib.embeddings.forward import ForwardEmbedding
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
    mean_block : array (n, d)
        Targets of the remaining block (`ForwardEmbedding.remaining_block`); the outputs where
        there is no embedding.
    weak_pi_block : array (w, C) or None
        Targets of the weak rows in the `pi` block.
    scaling : OutputScaling or None
        Units of the fold's model; None where there is none.
    """

    embedding: ForwardEmbedding | None
    pi_block: np.ndarray | None
    mean_block: np.ndarray
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
    score : float
        Relative error of the held-out rows, their squared errors summed over folds.
    """

    width: float | None
    n_components: int | None
    penalty_pi: float
    penalty_mu: float
    weak_weight: float
    score: float


def select(
    outputs: np.ndarray,
    folds: np.ndarray,
    grams_by_width: Mapping[float | None, object],
    weak_grams_by_width: Mapping[float | None, object] | None,
    targets: Mapping[int | None, Sequence[FoldTargets]],
    penalties: Sequence[float],
    weak_weights: Sequence[float],
    penalty: str,
    projected: bool,
    metric: str = "arrmse",
) -> Choice:
    """Return the best grid point.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs.
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
    projected : bool
        Whether the closed-form pre-image of the score projects on the simplex. A method that
        predicts by the gradient pre-image is scored by the closed form of its first two blocks:
        a local search a grid point would cost days.
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
    best = None
    for width, grams in grams_by_width.items():
        weak_grams = None if weak_grams_by_width is None else weak_grams_by_width[width]
        predicted = _predict_blocks(grams, weak_grams, targets, penalties, weights)
        for n_components, by_fold in targets.items():
            has_pi = by_fold[0].pi_block is not None
            points = _grid_points(penalties, weights, penalty, has_pi)
            errors = sum(
                _fold_errors(outputs[rows], fold_targets, pi, mean, projected, penalty)
                for rows, fold_targets, (pi, mean) in zip(
                    grams.heldout, by_fold, predicted[n_components], strict=True
                )
            )
            scores = relative_error(errors, reference, metric)
            scores = np.where(np.isfinite(scores), scores, np.inf)
            index = int(scores.argmin())
            # Methods equal by algebra differ by rounding; the earlier, smaller model is kept.
            if best is None or scores[index] < best.score * (1.0 - SMALLEST_GAIN):
                best = Choice(width, n_components, *points[index], float(scores[index]))
    return best


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
            columns[fold].append(fold_targets.mean_block)
            if fold_targets.pi_block is None:
                continue
            if weak_grams is None:
                columns[fold].append(fold_targets.pi_block)
            else:
                pi_columns[fold].append(fold_targets.pi_block)
                weak_columns[fold].append(fold_targets.weak_pi_block)
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
            begin = positions[fold]
            middle = begin + fold_targets.mean_block.shape[1]
            mean = predictions[fold][:, :, begin:middle]
            pi = None
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
    (penalties, rows, d).
    """
    if embedding is None:
        return ((outputs - mean) ** 2).sum(axis=1)
    if pi is None:
        offset, gain = decoder(embedding, np.ones((*mean.shape[:-1], 1)), projected)
        return ((outputs - offset - apply_gain(gain, mean)) ** 2).sum(axis=1)
    offset, gain = decoder(embedding, pi, projected)
    residual = outputs - offset
    if penalty == "shared":
        repeated = np.repeat(mean, len(pi) // len(mean), axis=0)
        return ((residual - apply_gain(gain, repeated)) ** 2).sum(axis=1)
    return _pair_errors(residual, gain, mean).reshape(-1, outputs.shape[1])


def _pair_errors(residual, gain, mean) -> np.ndarray:
    """Return the squared errors (n_pi, n_mu, d) of residual (n_pi, rows, d) - gain mean."""
    if gain.ndim == residual.ndim + 1:
        return np.stack(
            [((residual - apply_gain(gain, step)) ** 2).sum(axis=1) for step in mean[:, None]],
            axis=1,
        )
    # Coordinates first, so that one batched product sums over rows: sum (r - g h)^2
    # = sum r^2 - 2 (r g) h + g^2 h^2.
    squared_gain = np.broadcast_to(gain**2, residual.shape)
    cross = (residual * gain).transpose(2, 0, 1)
    steps = mean.transpose(2, 1, 0)
    errors = (
        (residual**2).sum(axis=1).T[:, :, None]
        - 2.0 * np.matmul(cross, steps)
        + np.matmul(squared_gain.transpose(2, 0, 1), steps**2)
    )
    return np.maximum(errors, 0.0).transpose(1, 2, 0)
