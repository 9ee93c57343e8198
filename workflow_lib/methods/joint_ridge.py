"""OFER with mixtures whose memberships are learned together with their regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from workflow_lib.fitting.embedding_decoding import Decoder
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, counts_by_setting, counts_of_size, fit_specs
from workflow_lib.fitting.fitted_ridge import FittedRidge
from workflow_lib.fitting.fold_targets import FoldTargets, scattered
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.kernel_ridge_fit import (
    KernelRidgeFit,
    KernelRidgeGrid,
    KernelRidgeTargets,
)
from workflow_lib.fitting.selection import Choice, best_of
from workflow_lib.methods.contract import base
from workflow_lib.models.covariance import absolute_floor
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, model_to_tree, scaling_from_tree
from workflow_lib.solvers.joint_mixture import Components, JointMixture, fit_joint_mixture

REGRESSORS = ("joint_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 10, "grams": 20, "cubic_minutes": 1}
READS = ("dataset", "split", "features", "models", "weak_labels")


@dataclass
class Method(base.Method):
    """Select a mixture and kernel ridge regression for each component count.

    Attributes
    ----------
    components, component_counts, combine, kernel, widths, alphas, weak, weak_weights, projections,
    center, metric, precision, kernels
        As of `workflow_lib.methods.kernel_ridge.Method`.
    grid : mapping
        Lists of ``joint_alpha`` and ``variance_floor``.
    """

    components: str | Sequence[int]
    component_counts: Sequence[int]
    combine: str
    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    weak: bool
    weak_weights: Sequence[float]
    projections: Sequence[bool]
    grid: Mapping[str, Sequence]
    center: bool
    metric: str
    precision: str = "float64"
    kernels: Sequence[str] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, and of each fixed number of components."""
        counts = counts_by_setting(self.components, self.component_counts, has_model=True)
        return fit_specs(split.sizes, split.weak_sizes if self.weak else [0], counts)

    def select(self, data: FitData) -> base.Selection:
        grid = KernelRidgeGrid.of_method(
            self,
            penalty="per_block",
            weak_weights=list(self.weak_weights),
            projections=list(self.projections),
        )
        fit = JointRidgeFit(data, grid, self.grid["joint_alpha"], self.grid["variance_floor"])
        return fit.selection(self.combine)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        fit, choice = selection.fitting
        return fit.fitted(choice)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)


class Joint(NamedTuple):
    """How a mixture is learned together with the regression; in a fit it stands for a count."""

    n_components: int
    variance_floor: float
    """Smallest variance of the components, as a fraction of the mean output variance."""

    kernel: InputKernel
    """That of the weights of the mixture."""

    alpha: float
    """Penalty of these weights; infinity where they do not depend on the inputs."""


@dataclass(frozen=True)
class JointChoice(Choice):
    """A choice of kernel ridge regression, and the mixture that it was made with."""

    joint: Joint


class LearnedMixture(NamedTuple):
    """A joint mixture, the embedding under its components, and the units of its outputs."""

    mixture: JointMixture
    embedding: FisherEmbedding
    scaling: OutputScaling


class JointTargets(KernelRidgeTargets):
    """The targets of one fit, under joint mixtures of each fold's training rows.

    They are those of `KernelRidgeTargets` with the memberships of the joint mixture instead
    of the posterior probabilities of the components.

    Parameters
    ----------
    data, neighbour_kernel
        As of `KernelRidgeTargets`.
    floors : sequence of float
        Those of `Joint`, of which each competes.
    weights : sequence of (InputKernel, float)
        Kernels and penalties of `Joint`, of which each competes.
    """

    def __init__(
        self,
        data: FitData,
        neighbour_kernel: InputKernel,
        floors: Sequence[float],
        weights: Sequence[tuple[InputKernel, float]],
    ) -> None:
        super().__init__(data, None, neighbour_kernel)
        self._floors, self._weights = floors, weights
        self._learned: dict[tuple, LearnedMixture] = {}
        self._grams: dict[InputKernel, list[np.ndarray]] = {}

    def by_count(self) -> dict[Joint, list[FoldTargets]]:
        """Return the targets of every fold, for every count and each mixture that competes."""
        joints = [
            Joint(count, floor, *weights)
            for weights in self._weights
            for count in counts_of_size(self._spec.counts, self._data.size)
            for floor in self._floors
        ]
        folds = self._data.fold_numbers
        found = {joint: [self._targets_of(joint, fold) for fold in folds] for joint in joints}
        self._grams = {}
        return found

    def of_all_rows(self, count: Joint) -> tuple[FisherEmbedding, np.ndarray]:
        """As `KernelRidgeTargets.of_all_rows`."""
        mixture, embedding, scaling = self.learned(count, None)
        outputs = scaling.apply(self._data.targets())
        rest = embedding.mean_block_of_outputs(outputs, mixture.memberships)
        return embedding, np.hstack([mixture.memberships / embedding.model.weights_, rest])

    def of_weak_rows(self, count: Joint, fold, embedding=None) -> np.ndarray | None:
        """As `KernelRidgeTargets.of_weak_rows`."""
        if not self.weak_size:
            return None
        mixture, embedding, _ = self.learned(count, fold)
        return mixture.weak_memberships / embedding.model.weights_

    def learned(self, joint: Joint, fold: int | None) -> LearnedMixture:
        """Return what is learned of the training rows of a fold (None: of all)."""
        if (joint, fold) not in self._learned:
            self._learned[joint, fold] = self._learn(joint, fold)
        return self._learned[joint, fold]

    def _targets_of(self, count: Joint, fold: int) -> FoldTargets:
        mixture, embedding, scaling = self.learned(count, fold)
        return FoldTargets(
            embedding,
            scattered(mixture.memberships / embedding.model.weights_, self._data.folds != fold),
            None,
            self.of_weak_rows(count, fold),
            scaling,
            self._same_array(scaling.apply(self._data.targets(fold))),
        )

    def _learn(self, joint: Joint, fold: int | None) -> LearnedMixture:
        data, count = self._data, joint.n_components
        stored = data.split.stored_model(data.size, count, fold)
        model, scaling = model_from_tree(stored), scaling_from_tree(stored)
        known = slice(None) if fold is None else data.folds != fold
        outputs = scaling.apply(data.targets(fold)[known])
        # Under the weights by which it was found, a label that says nothing has equal likelihoods.
        weak = self._memberships(count, fold) / model.weights_ if self.weak_size else None
        mixture = fit_joint_mixture(
            self._gram(joint.kernel, fold),
            outputs,
            Components(model.weights_, model.means_, model.covariances_),
            absolute_floor(outputs, joint.variance_floor),
            joint.alpha,
            weak,
        )
        model.means_, model.covariances_ = mixture.components.means, mixture.components.variance
        return LearnedMixture(mixture, FisherEmbedding(model), scaling)

    def _gram(self, kernel: InputKernel, fold: int | None) -> np.ndarray:
        inputs = self._data.inputs
        if fold is None:
            return inputs.training_gram(*kernel, self.weak_size)
        if kernel not in self._grams:
            # Those of the previous kernel make room.
            self._grams = {kernel: [K for K, _ in inputs.fold_grams(*kernel, self.weak_size)]}
        return self._grams[kernel][fold]


class JointRidgeFit(KernelRidgeFit):
    """Selection and refit of one fit, in which the mixtures of every component count compete.

    Parameters
    ----------
    data : FitData
    grid : KernelRidgeGrid
        Its kernels are those of the weights of the mixtures, too.
    alphas : sequence of float
        Penalties of these weights, relative to the kernel where those of `grid` are.
    floors : sequence of float
        Smallest variances of components, as fractions of the mean output variance.
    """

    def __init__(
        self, data: FitData, grid: KernelRidgeGrid, alphas: Sequence[float], floors: Sequence[float]
    ) -> None:
        self._alphas, self._floors = alphas, floors
        super().__init__(data, grid)

    def choices(self) -> dict[int, JointChoice]:
        """As `KernelRidgeFit.choices`, with the best mixture of every component count."""
        found: dict[int, list[JointChoice]] = {}
        for joint, choice in super().choices().items():
            values = {field.name: getattr(choice, field.name) for field in fields(choice)}
            values["n_components"] = joint.n_components
            found.setdefault(joint.n_components, []).append(JointChoice(**values, joint=joint))
        return {count: best_of(choices) for count, choices in found.items()}

    def entries_of(self, choice: JointChoice) -> dict:
        """As `KernelRidgeFit.entries_of`, with how the mixture was learned."""
        joint = choice.joint
        entries = {"joint_alpha": joint.alpha, "variance_floor": joint.variance_floor}
        if np.isfinite(joint.alpha) and joint.kernel.width is not None:
            entries["joint_width"] = joint.kernel.width
        return super().entries_of(choice) | entries

    def fitted(self, choice: JointChoice) -> Fitted:
        """As `KernelRidgeFit.fitted`."""
        ridge = super().fitted(replace(choice, n_components=choice.joint))
        _, embedding, scaling = self._targets.learned(choice.joint, None)
        return Fitted(ridge, model_to_tree(embedding.model, scaling), projected=choice.projected)

    def _new_targets(self, neighbour_kernel):
        grid = replace(self._kernel_grid, alphas=self._alphas).all()
        weights = [(kernel, alpha) for kernel, alphas in grid.items() for alpha in alphas]
        # Weights that do not depend on the inputs are the same for all kernels.
        fixed = [pair for pair in weights if np.isinf(pair[1])][:1]
        weights = fixed + [pair for pair in weights if np.isfinite(pair[1])]
        return JointTargets(self._data, neighbour_kernel, self._floors, weights)


class Fitted(base.Fitted):
    """Predicted embeddings under a joint mixture, and the way back to outputs.

    Parameters
    ----------
    ridge : base.Fitted
        Predicts embeddings.
    model : mapping
        The components and the units of the outputs, as of `model_to_tree`.
    projected : bool
        Whether predicted memberships are projected on the simplex.
    """

    def __init__(self, ridge: base.Fitted, model: Mapping, projected: bool) -> None:
        self._ridge, self._model, self._projected = ridge, model, projected

    def predict(self, rows):
        member = {"test_targets": self._ridge.predict(rows), "projected": self._projected}
        embedding = FisherEmbedding(model_from_tree(self._model))
        return Decoder(embedding, scaling_from_tree(self._model)).outputs(
            member, "projected", "closed_form"
        )

    def entries(self):
        return self._ridge.entries() | {"model": dict(self._model)}

    def to_arrays(self):
        more = {"model": dict(self._model), "projected": self._projected}
        return self._ridge.to_arrays() | more

    @classmethod
    def from_arrays(cls, arrays):
        return cls(FittedRidge.from_arrays(arrays), arrays["model"], bool(arrays["projected"]))

    @classmethod
    def from_entries(cls, entries: Mapping, size: int, kernel: str) -> Fitted:
        """As `FittedRidge.from_entries`."""
        ridge = FittedRidge.from_entries(entries, size, kernel)
        return cls(ridge, entries["model"], bool(entries["projected"]))
