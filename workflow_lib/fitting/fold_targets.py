"""The targets that are regressed for each fold, their predictions, and the errors of the outputs.

All component counts go through the solver together: their targets are only more columns.

Given the predicted `pi` block, the pre-image is affine in the predicted `mu` block: y = offset +
gain h. So the squared errors of all pairs of penalties are a few products of matrices instead of
one pre-image a pair.

Where the components share one variance, even the `mu` block is affine: with memberships q and
means M it is h = (y - q M) / sigma^2, in the training targets as in the predictions. So only the
outputs and the memberships are regressed, whatever the number of components, and the prediction

    y(alpha_leading, alpha_rest) = Y(alpha_rest) + (p(alpha_leading) - q(alpha_rest)) M

is kernel ridge regression of the outputs, corrected by the memberships p that the first penalty
gives (projected on the simplex) over those q that the second gives. With one penalty, and without
the projection, the correction is zero: the method is kernel ridge regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workflow_lib.measures.metrics import squared_error_sums, sum_of_observed
from workflow_lib.models.closed_form import apply_gain, decoder
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.simplex import project_on_simplex


@dataclass(frozen=True)
class FoldTargets:
    """The targets of one fold for one component count."""

    embedding: ForwardEmbedding | None
    """The embedding under the fold's model; None for methods without one."""

    pi_block: np.ndarray | None
    """Array (n, C) or None: targets of the leading block (`pi`; `initial` and `state` of series)
    for all training rows; rows held out by the fold are zero and never used. None where the
    embedding has no such block."""

    mean_block: np.ndarray | None
    """Array (n, d) or None: targets of the remaining block (`ForwardEmbedding.remaining_block`);
    the outputs where there is no embedding. None where the leading block is all there is: methods
    without an embedding whose weak rows have outputs of their own keep the outputs there."""

    weak_pi_block: np.ndarray | None = None
    """Array (w, C) or None: targets of the weak rows in the leading block."""

    scaling: OutputScaling | None = None
    """Units of the fold's model; None where there is none."""

    outputs_block: np.ndarray | None = None
    """Array (n, d) or None: the outputs in those units, where the remaining block is affine in them
    (`ForwardEmbedding.shares_variance`). Component counts that hold the same array share its
    regression."""


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
        In the units of the fold's model; held-out rows are never used. Component counts that are
        given the same array share its regression.
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
    """Return the rows at their positions, and zeros for the rows that a fold holds out."""
    full = np.zeros((len(rows), known.shape[1]))
    full[rows] = known
    return full


class Predicted(NamedTuple):
    """Predictions of the held-out rows of one fold: arrays (grid values, rows, columns)."""

    pi: np.ndarray | None
    """The leading block, for all penalties and weak weights."""

    mean: np.ndarray | None
    """The remaining block, or the outputs block, for all penalties."""

    labelled_pi: np.ndarray | None
    """The leading block predicted from labelled rows alone, where there is an outputs block."""


class TargetColumns:
    """The positions of the blocks of every component count among the columns of the targets.

    Parameters
    ----------
    targets : mapping from component count to the targets of each fold
    has_weak_rows : bool
        Whether weak rows join the leading blocks, which a second solver then regresses.

    Attributes
    ----------
    counts : list
        The component counts, in order.
    has_labelled : bool
        Whether there are targets of labelled rows alone; the same in all folds.
    """

    def __init__(
        self, targets: Mapping[int | None, Sequence[FoldTargets]], has_weak_rows: bool
    ) -> None:
        n_folds = len(next(iter(targets.values())))
        self._labelled = [_Columns() for _ in range(n_folds)]
        self._pi = [_Columns() for _ in range(n_folds)]
        self._weak = [_Columns() for _ in range(n_folds)]
        self.counts = list(targets)
        self._places: dict[int | None, list[tuple]] = {count: [] for count in targets}
        for count, by_fold in targets.items():
            for fold, block in enumerate(by_fold):
                is_outputs = block.outputs_block is not None
                mean = self._labelled[fold].add(
                    block.outputs_block if is_outputs else block.mean_block
                )
                labelled = both = None
                if is_outputs or not has_weak_rows:
                    labelled = self._labelled[fold].add(block.pi_block)
                if has_weak_rows:
                    # Component counts with the same labelled targets may have other weak ones.
                    both = self._pi[fold].add(block.pi_block, block.weak_pi_block)
                    self._weak[fold].add(block.weak_pi_block, block.pi_block)
                self._places[count].append((mean, labelled, both, is_outputs))
        self.has_labelled = bool(self._labelled[0].blocks)

    def labelled(self) -> list[np.ndarray]:
        """Return, for each fold, the targets of labelled rows alone: arrays (n, m)."""
        return [columns.array() for columns in self._labelled]

    def labelled_blocks(self) -> list[list[np.ndarray]]:
        """Return the same as `labelled`, as lists of the blocks."""
        return [columns.blocks for columns in self._labelled]

    def with_weak_rows(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return, for each fold, the targets that weak rows join (n, m), and theirs (w, m)."""
        return [fold.array() for fold in self._pi], [fold.array() for fold in self._weak]

    def split(
        self,
        count: int | None,
        fold: int,
        predictions: np.ndarray | None,
        weak_predictions: np.ndarray | None = None,
    ) -> Predicted:
        """Return the predictions of one component count and fold, from all columns.

        Parameters
        ----------
        count, fold
        predictions : array (penalties, rows, m) or None
            Of `labelled`.
        weak_predictions : array (penalties x weak weights, rows, m) or None
            Of `with_weak_rows`.
        """
        mean, labelled, both, is_outputs = self._places[count][fold]
        labelled_pi = None if labelled is None else predictions[:, :, labelled]
        return Predicted(
            labelled_pi if both is None else weak_predictions[:, :, both],
            None if mean is None else predictions[:, :, mean],
            labelled_pi if is_outputs else None,
        )


class _Columns:
    """Blocks of targets of one fold side by side, each array once for each one beside it."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], slice] = {}
        self.blocks: list[np.ndarray] = []

    def add(self, block: np.ndarray | None, beside: np.ndarray | None = None) -> slice | None:
        """Return the columns of a block, a new or a known one."""
        if block is None:
            return None
        key = id(block), id(beside)
        if key not in self._places:
            begin = sum(known.shape[1] for known in self.blocks)
            self._places[key] = slice(begin, begin + block.shape[1])
            self.blocks.append(block)
        return self._places[key]

    def array(self) -> np.ndarray:
        """Return all blocks as one array; a single one as it is."""
        return self.blocks[0] if len(self.blocks) == 1 else np.hstack(self.blocks)


def squared_errors(
    outputs: np.ndarray,
    targets: FoldTargets,
    predicted: Predicted,
    projected: bool,
    penalty: str,
    center: bool,
    shared: dict | None = None,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the squared errors (grid points, d) of held-out rows of one fold, summed over rows.

    Parameters
    ----------
    outputs : array (rows, d)
        In their own units; missing ones (NaN) count nothing.
    targets : FoldTargets
    predicted : Predicted
        Of these rows.
    projected : bool
        Whether predicted memberships are projected on the simplex.
    penalty : {"shared", "per_block"}
        Whether the leading block and the others share one penalty, or every pair counts.
    center : bool
        Whether there is an intercept.
    shared : dict or None, default=None
        Keeps what component counts share; one for all of them and these rows.
    weights : array (rows,) or None, default=None
        Of the rows in the sums, for targets without an embedding; None for 1.
    """
    scaling, embedding = targets.scaling, targets.embedding
    if scaling is not None:
        outputs = scaling.apply(outputs)
    # Without an intercept, memberships that are not projected need not sum to one.
    corrects = targets.outputs_block is not None and (projected or center)
    if corrects and not np.isnan(outputs).any():
        known = {} if shared is None else shared
        key = id(targets.outputs_block)
        if key not in known:
            residual = outputs[:, None, :] - predicted.mean.transpose(1, 0, 2)
            known[key] = Residuals(residual, np.einsum("npd,npd->pd", residual, residual))
        errors = corrected_errors(
            known[key],
            _memberships(embedding, predicted.pi, projected),
            _memberships(embedding, predicted.labelled_pi, projected=False),
            embedding.model.means_,
            penalty,
        )
    else:
        mean = _remaining_block(targets, predicted.mean, predicted.labelled_pi)
        errors = affine_errors(outputs, embedding, predicted.pi, mean, projected, penalty, weights)
    return errors if scaling is None else errors * scaling.scale**2


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
    return decoded if targets.scaling is None else targets.scaling.inverse_transform(decoded)


class Residuals(NamedTuple):
    """The residuals of kernel ridge regression of the outputs in one fold, for every penalty."""

    residual: np.ndarray
    """y - Y(penalty), an array (rows, penalties, d)."""

    squares: np.ndarray
    """Its squares summed over rows, (penalties, d)."""


def corrected_errors(
    residuals: Residuals,
    memberships: np.ndarray,
    labelled_memberships: np.ndarray,
    means: np.ndarray,
    penalty: str,
) -> np.ndarray:
    """Return the squared errors (grid points, d) of components that share one variance.

    Parameters
    ----------
    residuals : Residuals
        Of the outputs, for every alpha_rest.
    memberships : array (penalties x weak weights, rows, C)
        p, as they enter the pre-image.
    labelled_memberships : array (penalties, rows, C)
        q, as the `mu` block's regression predicts them.
    means : array (C, d)
        M, in the units of the outputs.
    penalty : {"shared", "per_block"}

    Notes
    -----
    With D = p - q, the errors are sum r^2 - 2 M'(D'r) + M'(D'D) M for each coordinate. D is never
    formed for pairs: D'r and D'D are differences of products over rows, each one product of
    matrices for all penalties.
    """
    residual, squares = residuals
    n_rows, n_penalties, dimension = residual.shape
    n_components = len(means)
    p = memberships.transpose(1, 0, 2)
    q = labelled_memberships.transpose(1, 0, 2)
    products = (means[:, None, :] * means[None, :, :]).reshape(-1, dimension)
    if penalty == "shared":
        difference = p.reshape(n_rows, n_penalties, -1, n_components) - q[:, :, None, :]
        difference = difference.reshape(n_rows, n_penalties, -1).transpose(1, 2, 0)
        cross = np.matmul(difference, residual.transpose(1, 0, 2))
        cross = cross.reshape(n_penalties, -1, n_components, dimension)
        difference = difference.reshape(n_penalties, -1, n_components, n_rows)
        moments = np.matmul(difference, difference.transpose(0, 1, 3, 2))
        squares = squares[:, None]
    else:
        n_pi = p.shape[1]
        p, q = np.ascontiguousarray(p), np.ascontiguousarray(q)
        by_pi = p.reshape(n_rows, -1).T @ residual.reshape(n_rows, -1)
        by_mu = np.matmul(q.transpose(1, 2, 0), residual.transpose(1, 0, 2))
        cross = by_pi.reshape(n_pi, n_components, n_penalties, dimension).transpose(0, 2, 1, 3)
        cross = cross - by_mu
        mixed = p.reshape(n_rows, -1).T @ q.reshape(n_rows, -1)
        mixed = mixed.reshape(n_pi, n_components, n_penalties, n_components).transpose(0, 2, 1, 3)
        moments = (
            np.matmul(p.transpose(1, 2, 0), p.transpose(1, 0, 2))[:, None]
            + np.matmul(q.transpose(1, 2, 0), q.transpose(1, 0, 2))
            - mixed
            - mixed.transpose(0, 1, 3, 2)
        )
    errors = (
        squares
        - 2.0 * np.einsum("abjd,jd->abd", cross, means)
        + (moments.reshape(-1, n_components**2) @ products).reshape(*moments.shape[:2], dimension)
    )
    return np.maximum(errors, 0.0).reshape(-1, dimension)


def affine_errors(
    outputs: np.ndarray,
    embedding: ForwardEmbedding | None,
    pi: np.ndarray | None,
    mean: np.ndarray | None,
    projected: bool,
    penalty: str,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the squared errors (grid points, d) of any embedding on the held-out rows of a fold.

    Parameters
    ----------
    outputs : array (rows, d)
        In the units of the fold's model; missing ones (NaN) count nothing.
    embedding : ForwardEmbedding or None
        None for methods that predict the outputs themselves, in `pi` or in `mean`.
    pi : array (penalties x weak weights, rows, C) or None
    mean : array (penalties, rows, d) or None
    projected, penalty, weights
        As of `squared_errors`.
    """
    if embedding is None:
        return squared_error_sums(outputs, mean if pi is None else pi, weights)
    if pi is None:
        offset, gain = decoder(embedding, np.ones((*mean.shape[:-1], 1)), projected)
        return sum_of_observed((outputs - offset - apply_gain(gain, mean)) ** 2)
    offset, gain = decoder(embedding, pi, projected)
    residual = outputs - offset
    if penalty == "shared":
        repeated = np.repeat(mean, len(pi) // len(mean), axis=0)
        return sum_of_observed((residual - apply_gain(gain, repeated)) ** 2)
    return _pair_errors(residual, gain, mean).reshape(-1, outputs.shape[1])


def _remaining_block(targets, mean, labelled_pi) -> np.ndarray | None:
    """Return the predicted remaining block, from the outputs block where that stands for it."""
    if targets.outputs_block is None:
        return mean
    memberships = _memberships(targets.embedding, labelled_pi, projected=False)
    return targets.embedding.mean_block_of_outputs(mean, memberships)


def _memberships(embedding, pi, projected) -> np.ndarray:
    """Return the memberships (..., C) that a predicted leading block gives to the pre-image."""
    memberships = pi * embedding.model.weights_
    return project_on_simplex(memberships) if projected else memberships


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
