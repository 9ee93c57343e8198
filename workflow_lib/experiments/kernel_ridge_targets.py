"""What kernel ridge regression of one item regresses: outputs, or their embeddings."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.embeddings.identity import IdentityEmbedding
from workflow_lib.experiments.fold_targets import FoldTargets, embedded_targets
from workflow_lib.experiments.input_kernels import InputKernel
from workflow_lib.experiments.kernel_ridge_items import Item
from workflow_lib.experiments.kernel_ridge_rows import KernelRidgeRows
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.prepared_inputs import PreparedInputs
from workflow_lib.experiments.weak_outputs import weak_outputs_of
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree

# A mixture of more components than this share of the training rows is left out of an average.
LARGEST_COMPONENT_SHARE = 0.6

# Blocks that hold the structure share one penalty; the others share the second.
LEADING_BLOCKS = ("pi", "initial", "state")


class KernelRidgeTargets:
    """The targets of one item.

    Parameters
    ----------
    rows : KernelRidgeRows
    item : Item
    inputs : PreparedInputs
        Of the item's training size; they say who is whose neighbour.
    neighbour_kernel : InputKernel
        Kernel in which neighbours are found; the order of the distances is the same for all widths.

    Attributes
    ----------
    outputs : array (n, d)
        Training outputs, NaN where missing.
    weak_size : int
        Weak rows that join.
    """

    def __init__(
        self,
        rows: KernelRidgeRows,
        item: Item,
        inputs: PreparedInputs,
        neighbour_kernel: InputKernel,
    ) -> None:
        self._rows, self._item, self._inputs = rows, item, inputs
        self._neighbour_kernel = neighbour_kernel
        self.outputs = rows.train[: item.training_size]
        # Without any weight they are not there; and their number must not change the system.
        self.weak_size = 0 if item.weak_weight == 0 else item.weak_size
        self._scaled_outputs: list[np.ndarray] = []

    def by_count(self) -> dict[int | None, list[FoldTargets]]:
        """Return the targets of every fold, for every component count that the rows allow."""
        counts = self._item.counts
        if len(counts) > 1 and counts[0] is not None:
            most = max(LARGEST_COMPONENT_SHARE * self._item.training_size, counts[0])
            counts = tuple(count for count in counts if count <= most)
        folds = range(self._inputs.folds.max() + 1)
        return {count: [self._targets_of(count, fold) for fold in folds] for count in counts}

    def of_all_rows(
        self, count: int | None
    ) -> tuple[ForwardEmbedding | IdentityEmbedding, np.ndarray]:
        """Return the embedding and the targets (n, m) of all training rows."""
        if self._rows.embeddings is None:
            outputs = filled(self.outputs)
            return IdentityEmbedding(outputs.shape[1]), outputs
        size = self._item.training_size
        return self._rows.embedding(size, count, None), self._rows.embedded(size, count, None)

    def is_leading(self, block: str) -> bool:
        """Return whether a block has the penalty of the leading ones, which weak rows join."""
        return block in LEADING_BLOCKS or bool(self.weak_size and self._rows.weak_outputs)

    def of_weak_rows(
        self, count: int | None, fold: int | None, embedding: ForwardEmbedding | None = None
    ) -> np.ndarray | None:
        """Return the targets of the weak rows in the leading block, under one fold's model."""
        given = self._rows
        if not self.weak_size:
            return None
        if given.weak_outputs is None:
            return self._memberships(count, fold) / embedding.model.weights_
        known = slice(None) if fold is None else self._inputs.folds != fold
        labelled = filled(self.outputs[known])
        if given.weak_outputs == "true":
            return weak_outputs_of("true", labelled, given.weak[: self.weak_size])
        stored = given.stored_model(self._item.training_size, count, fold)
        model, scaling = model_from_tree(stored), scaling_from_tree(stored)
        told = self._memberships(count, fold)
        if given.weak_outputs == "component_mean":
            return weak_outputs_of("component_mean", labelled, None, model, scaling, told)
        gram = self._neighbour_grams[fold]
        found = weak_outputs_of(given.weak_outputs, labelled, None, model, scaling, told, gram)
        is_told = given.is_told(self._item.training_size, count, self.weak_size, fold)
        if is_told is None:
            return found
        # Rows of which nothing is told have no likeliest component; the mean over all is neutral.
        means = weak_outputs_of("component_mean", labelled, None, model, scaling, told)
        return np.where(is_told[:, None], found, means)

    def _memberships(self, count: int, fold: int | None) -> np.ndarray:
        item = self._item
        return self._rows.memberships(item.training_size, count, item.noise, self.weak_size, fold)

    def _targets_of(self, count: int | None, fold: int) -> FoldTargets:
        given, size, known = self._rows, self._item.training_size, self._inputs.folds != fold
        if given.embeddings is None:
            outputs = filled(self.outputs, known)
            if not (self.weak_size and given.weak_outputs):
                return FoldTargets(None, None, outputs)
            return FoldTargets(None, outputs, None, self.of_weak_rows(count, fold))
        embedding, embedded = given.embedding(size, count, fold), given.embedded(size, count, fold)
        scaling = scaling_from_tree(given.stored_model(size, count, fold))
        outputs = self._same_array(scaling.apply(filled(self.outputs, known)))
        weak = self.of_weak_rows(count, fold, embedding)
        return embedded_targets(embedding, embedded, outputs, known, weak, scaling)

    def _same_array(self, outputs: np.ndarray) -> np.ndarray:
        """Return the same array for equal outputs, so that they share their regression."""
        for known in self._scaled_outputs:
            if np.array_equal(known, outputs):
                return known
        self._scaled_outputs.append(outputs)
        return outputs

    @cached_property
    def _neighbour_grams(self) -> dict[int | None, np.ndarray]:
        """Gram matrices by fold (None: all rows) in which neighbours are found."""
        grams = self._inputs.fold_grams(*self._neighbour_kernel, self.weak_size)
        return {
            None: self._inputs.training_gram(*self._neighbour_kernel, self.weak_size),
            **{fold: K for fold, (K, _) in enumerate(grams)},
        }
