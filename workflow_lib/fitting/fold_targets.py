"""The targets that are regressed for each fold, and their predictions.

All component counts go through the solver together: their targets are only more columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import OutputScaling


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
                    both = self._pi[fold].add(block.pi_block)
                    self._weak[fold].add(block.weak_pi_block)
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
    """Blocks of targets of one fold side by side, each array once."""

    def __init__(self) -> None:
        self._places: dict[int, slice] = {}
        self.blocks: list[np.ndarray] = []

    def add(self, block: np.ndarray | None) -> slice | None:
        """Return the columns of a block, a new or a known one."""
        if block is None:
            return None
        if id(block) not in self._places:
            begin = sum(known.shape[1] for known in self.blocks)
            self._places[id(block)] = slice(begin, begin + block.shape[1])
            self.blocks.append(block)
        return self._places[id(block)]

    def array(self) -> np.ndarray:
        """Return all blocks as one array; a single one as it is."""
        return self.blocks[0] if len(self.blocks) == 1 else np.hstack(self.blocks)
