"""The targets of kernel ridge regression in one fit: outputs, or their embeddings."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import counts_of_size
from workflow_lib.fitting.fold_targets import FoldTargets, embedded_targets
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.missing_outputs import impute_mean, impute_mean_from
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.identity import IdentityEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, scaling_from_tree

# Blocks that hold the structure share one penalty; the others share the second.
LEADING_BLOCKS = ("pi", "initial", "state")


class KernelRidgeTargets:
    """The targets of one fit.

    Parameters
    ----------
    data : FitData
    weak_outputs : str or None
        What replaces the outputs of weak rows where outputs are regressed; see
        `weak_outputs_of`.
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
        self, data: FitData, weak_outputs: str | None, neighbour_kernel: InputKernel
    ) -> None:
        self._data, self._split, self._spec = data, data.split, data.spec
        self._weak_outputs, self._neighbour_kernel = weak_outputs, neighbour_kernel
        self.outputs = data.outputs
        # Without weight they are left out, so that their number does not change the system.
        self.weak_size = 0 if data.spec.weak_weight == 0 else data.spec.weak_size
        self._known_outputs = [self.outputs]

    def by_count(self) -> dict[int | None, list[FoldTargets]]:
        """Return the targets of every fold, for every component count that the rows allow."""
        counts = counts_of_size(self._spec.counts, self._data.size)
        folds = self._data.fold_numbers
        return {count: [self._targets_of(count, fold) for fold in folds] for count in counts}

    def of_all_rows(
        self, count: int | None
    ) -> tuple[ForwardEmbedding | IdentityEmbedding, np.ndarray]:
        """Return the embedding and the targets (n, m) of all training rows."""
        split, size = self._split, self._data.size
        if split.embeddings is None:
            outputs = self._same_array(self._data.targets())
            return IdentityEmbedding(outputs.shape[1]), outputs
        return embedding_of(split, size, count, None), split.embedded(size, count, None)

    def is_leading(self, block: str) -> bool:
        """Return whether a block has the penalty of the leading ones, which weak rows join."""
        return block in LEADING_BLOCKS or bool(self.weak_size and self._weak_outputs)

    def of_weak_rows(
        self, count: int | None, fold: int | None, embedding: ForwardEmbedding | None = None
    ) -> np.ndarray | None:
        """Return the targets of the weak rows in the leading block, under one fold's model."""
        split, size = self._split, self._data.size
        if not self.weak_size:
            return None
        if self._weak_outputs is None:
            return self._memberships(count, fold) / embedding.model.weights_
        known = slice(None) if fold is None else self._data.folds != fold
        labelled = impute_mean(self.outputs[known])
        if self._weak_outputs == "true":
            return weak_outputs_of("true", labelled, split.weak[: self.weak_size])
        stored = split.stored_model(size, count, fold)
        model, scaling = model_from_tree(stored), scaling_from_tree(stored)
        memberships = self._memberships(count, fold)
        if self._weak_outputs == "component_mean":
            return weak_outputs_of("component_mean", labelled, None, model, scaling, memberships)
        gram = self._neighbour_grams[fold]
        found = weak_outputs_of(
            self._weak_outputs, labelled, None, model, scaling, memberships, gram
        )
        has_label = split.has_weak_label(size, count, self.weak_size, fold)
        if has_label is None:
            return found
        # Rows without a label have no likeliest component; the mean over all is neutral.
        means = weak_outputs_of("component_mean", labelled, None, model, scaling, memberships)
        return np.where(has_label[:, None], found, means)

    def _memberships(self, count: int, fold: int | None) -> np.ndarray:
        return self._split.memberships(
            self._data.size, count, self.weak_size, self._spec.noise, fold
        )

    def _targets_of(self, count: int | None, fold: int) -> FoldTargets:
        split, size, known = self._split, self._data.size, self._data.folds != fold
        if split.embeddings is None:
            outputs = self._same_array(self._data.targets(fold))
            if not (self.weak_size and self._weak_outputs):
                return FoldTargets(None, None, outputs)
            return FoldTargets(None, outputs, None, self.of_weak_rows(count, fold))
        embedding = embedding_of(split, size, count, fold)
        embedded = split.embedded(size, count, fold)
        scaling = scaling_from_tree(split.stored_model(size, count, fold))
        outputs = self._same_array(scaling.apply(self._data.targets(fold)))
        weak = self.of_weak_rows(count, fold, embedding)
        return embedded_targets(embedding, embedded, outputs, known, weak, scaling)

    def _same_array(self, outputs: np.ndarray) -> np.ndarray:
        """Return the same array for equal outputs, so that they share their regression."""
        for known in self._known_outputs:
            if np.array_equal(known, outputs):
                return known
        self._known_outputs.append(outputs)
        return outputs

    @cached_property
    def _neighbour_grams(self) -> dict[int | None, np.ndarray]:
        """Gram matrices by fold (None: all rows) in which neighbours are found."""
        grams = self._data.inputs.fold_grams(*self._neighbour_kernel, self.weak_size)
        return {
            None: self._data.inputs.training_gram(*self._neighbour_kernel, self.weak_size),
            **{fold: K for fold, (K, _) in enumerate(grams)},
        }


# Neighbours whose outputs are averaged for a pseudo-output.
N_NEIGHBOURS = 5


def weak_outputs_of(
    kind: str,
    training_outputs: np.ndarray,
    true_outputs: np.ndarray | None,
    model: GaussianMixtureModel | None = None,
    scaling: OutputScaling | None = None,
    memberships: np.ndarray | None = None,
    gram: np.ndarray | None = None,
) -> np.ndarray:
    """Return outputs (w, d) in the place of those of weak rows, the alternative to weak labels.

    A weak row of which only the component is known can join plain kernel ridge regression with an
    output made from that label. It compares with eq. (14) fairly, because it knows the same.

    Parameters
    ----------
    kind : {"component_mean", "neighbours", "true"}
        ``component_mean``: the mean of the row's component (by soft labels, of all components).
        ``neighbours``: the mean output of the nearest training rows of the same component, at most
        N_NEIGHBOURS; pseudo-outputs that use the input as well. ``true``: the outputs themselves,
        the ceiling of what weak labels could give.
    training_outputs : array (l, d)
        Without missing values.
    true_outputs : array (w, d) or None
        For ``true`` only.
    model, scaling :
        The mixture fitted to the training rows, and the units of the outputs in it.
    memberships : array (w, C)
        The weak labels.
    gram : array (l + w, l + w)
        Gram matrix of the inputs, for ``neighbours``.
    """
    if kind == "true":
        return impute_mean_from(true_outputs, training_outputs)
    means = scaling.inverse_transform(memberships @ model.means_)
    if kind == "component_mean":
        return means
    n_training = len(training_outputs)
    squared = np.diagonal(gram)
    distances = (
        squared[n_training:, None] + squared[:n_training] - 2 * gram[n_training:, :n_training]
    )
    known = model.responsibilities(scaling.apply(training_outputs)).argmax(axis=1)
    labels = memberships.argmax(axis=1)
    distances = np.where(labels[:, None] == known, distances, np.inf)
    count = min(N_NEIGHBOURS, n_training)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    counted = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
    sums = np.einsum("wk,wkd->wd", counted.astype(float), training_outputs[nearest])
    totals = counted.sum(axis=1, keepdims=True)
    # A component that holds no training row has its mean alone.
    return np.where(totals > 0, sums / np.maximum(totals, 1), means)


def embedding_of(split: SplitData, size: int, count: int, fold: int | None) -> ForwardEmbedding:
    """Return the embedding under the model of a training size, component count and fold."""
    return ForwardEmbedding(
        model_from_tree(split.stored_model(size, count, fold)),
        split.embeddings["form"],
        split.embeddings["covariance_block"],
    )
