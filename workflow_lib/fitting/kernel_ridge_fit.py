"""Selection and refit in one fit of kernel ridge regression, on Gram matrices of all rows.

Its targets are the outputs, or their embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.fitting.bootstrap_choices import BootstrapChoices
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, counts_of_size
from workflow_lib.fitting.fitted import Fitted, Selection
from workflow_lib.fitting.fitted_ridge import FittedAverage, FittedRidge
from workflow_lib.fitting.fold_targets import FoldTargets, embedded_targets
from workflow_lib.fitting.input_kernels import (
    Grid,
    InputKernel,
    KernelGrid,
    kernel_without_selection,
)
from workflow_lib.fitting.missing_outputs import impute_mean, impute_mean_from
from workflow_lib.fitting.selection import Choice, best_of, select_each
from workflow_lib.fitting.validation_curves import ENTRY, ValidationCurves
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.identity import IdentityEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.solvers.ridge import fit_blocks

if TYPE_CHECKING:
    from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
    from workflow_lib.solvers.weak import WeakGrams


@dataclass(frozen=True)
class KernelRidgeGrid:
    """What competes in one fit of kernel ridge regression, and how it is compared.

    Attributes
    ----------
    kernels, widths, alphas, is_relative
        As of `workflow_lib.fitting.input_kernels.KernelGrid`.
    extends : bool
        Whether the grid is extended where a chosen value lies on its edge
        (`workflow_lib.fitting.input_kernels.KernelGrid.search`).
    penalty, weak_weights, projections, metric
        As in `workflow_lib.fitting.selection.select_each`.
    precision : {"float64", "float32"}
        As in `workflow_lib.solvers.heldout.SharedGram`.
    center : bool
        Whether there is an unpenalised intercept.
    weak_outputs : str or None
        As of `KernelRidgeTargets`.
    bootstrap_seed : int or None
        Of the bootstrap samples that choose grid points
        (`workflow_lib.fitting.bootstrap_choices`); None for the best grid point alone.
    """

    kernels: Sequence[str]
    widths: Sequence[float]
    alphas: Sequence[float]
    is_relative: bool
    extends: bool
    penalty: str
    weak_weights: Sequence[float]
    projections: Sequence[bool]
    metric: str
    precision: str
    center: bool
    weak_outputs: str | None
    bootstrap_seed: int | None

    @classmethod
    def of_method(cls, method: Any, **settings) -> KernelRidgeGrid:
        """Return the grid of a method; by default it has one penalty and no weak rows.

        Parameters
        ----------
        method : object
            With the fields ``kernel``, ``kernels``, ``widths``, ``alphas``, ``center``, ``metric``
            and ``precision``, as of `workflow_lib.methods.kernel_ridge.Method`. Of several
            `kernels` penalties are relative to each, and the grid may be extended.
        **settings
            ``penalty``, ``weak_weights``, ``projections``, ``weak_outputs`` and ``bootstrap_seed``,
            where they differ.
        """
        defaults = {"penalty": "shared", "weak_weights": [], "projections": [False]}
        return cls(
            kernels=list(method.kernels or [method.kernel]),
            widths=list(method.widths),
            alphas=list(method.alphas),
            is_relative=bool(method.kernels),
            extends=bool(method.kernels),
            metric=method.metric,
            precision=method.precision,
            center=method.center,
            **{"weak_outputs": None, "bootstrap_seed": None} | defaults | settings,
        )

    def single(self, values: Mapping) -> KernelRidgeGrid:
        """Return the grid with one value instead of each list, for fits without a selection.

        Parameters
        ----------
        values : mapping
            ``alpha``, and ``width``, ``weak_weight`` and ``projection`` where the method has
            them.
        """
        projections = self.projections
        if "projection" in values:
            projections = [values["projection"] == "simplex"]
        return replace(
            self,
            kernels=[kernel_without_selection(self.kernels)],
            extends=False,
            widths=[values["width"]] if "width" in values else self.widths,
            alphas=[values["alpha"]],
            weak_weights=[values["weak_weight"]] if self.weak_weights else [],
            projections=projections,
        )


class KernelRidgeFit:
    """Selection and refit of one fit.

    Parameters
    ----------
    data : FitData
    grid : KernelRidgeGrid
    """

    description: Mapping[str, int] = {}
    """What the results say of the way in which they were computed; nothing here."""

    def __init__(self, data: FitData, grid: KernelRidgeGrid) -> None:
        self._data, self._inputs, self._grid = data, data.inputs, grid
        self._kernel_grid = KernelGrid(
            grid.kernels,
            grid.widths,
            grid.alphas,
            self._inputs.n_columns,
            grid.is_relative,
            data.size,
        )
        self._extension: Grid = {}
        self._curves = ValidationCurves(self._kernel_grid.unit)
        kernels = self._kernel_grid.kernels()
        # Of a kernel with a width the nearest row has the largest value.
        of_neighbours = next((kernel for kernel in kernels if kernel.width), kernels[0])
        self._targets = self._new_targets(of_neighbours)
        self._targets_by_count = self._targets.by_count()
        self._samples = None
        if grid.bootstrap_seed is not None:
            self._samples = BootstrapChoices(
                self._targets.outputs,
                self._inputs.folds,
                grid.metric,
                grid.bootstrap_seed,
                self._inputs.weights,
            )

    def _new_targets(self, neighbour_kernel: InputKernel) -> KernelRidgeTargets:
        return KernelRidgeTargets(self._data, self._grid.weak_outputs, neighbour_kernel)

    def choices(self) -> dict[int | None, Choice]:
        """Return the best grid point of every component count.

        Where one lies on an edge of the grid, this is extended there.
        """
        found, self._extension = self._kernel_grid.search(self._select, self._grid.extends)
        return found

    def selection(self, combine: str) -> Selection:
        """Return the best choice, or with "average" the average over component counts."""
        choices = list(self.choices().values())
        if combine == "best" or len(choices) == 1:
            choices = [best_of(choices)]
        parts = tuple(
            Selection(
                choice.heldout_outputs,
                self.entries_of(choice) | {"edges": self.edges_of(choice) or None},
                fitting=(self, choice),
            )
            for choice in choices
        )
        curves = {ENTRY: self._curves.tree(choices) or None}
        if len(parts) == 1:
            parts[0].entries.update({**self.description, **curves})
            return parts[0] if self._samples is None else self._mean_of_samples(parts[0])
        average = np.mean([choice.heldout_outputs for choice in choices], axis=0)
        edges = {choice.n_components: self.edges_of(choice) for choice in choices}
        by_count = "; ".join(f"C = {count}: {text}" for count, text in edges.items() if text)
        entries = {"score": self.score(average), "edges": by_count or None}
        return Selection(average, {**entries, **self.description, **curves}, parts)

    def _mean_of_samples(self, best: Selection) -> Selection:
        """Return the mean over bootstrap samples; the entries but the score are those of the best
        grid point."""
        heldout = self._samples.heldout_outputs()
        entries = best.entries | {"score": self.score(heldout)}
        return Selection(heldout, entries, fitting=best.fitting)

    def entries_of(self, choice: Choice) -> dict[str, Any]:
        """Return the numbers of a choice that mean something for this method."""
        entries = {
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "n_components": choice.n_components,
            "alpha_leading": choice.alpha_leading,
            "alpha_rest": choice.alpha_rest,
            "weak_weight": choice.weak_weight,
            "projected": choice.projected if choice.n_components is not None else None,
            "score": choice.score,
        }
        return {
            name: value for name, value in entries.items() if value is not None and value == value
        }

    def edges_of(self, choice: Choice) -> str:
        """Return which chosen values lie on an edge of the grid nevertheless, in words."""
        return self._kernel_grid.edges_of(choice, self._extension)

    def _select(self, alphas: Grid) -> dict[int | None, Choice]:
        """Return the best point of every component count of a grid of kernels and penalties."""
        grid, fixed = self._grid, self._data.spec.weak_weight
        return select_each(
            self._targets.outputs,
            self._inputs.folds,
            self._solver_of,
            self._weak_solver_of if self._targets.weak_size else None,
            self._targets_by_count,
            alphas,
            grid.weak_weights if fixed is None else [2.0 * self._data.size * fixed],
            grid.penalty,
            grid.projections,
            grid.metric,
            self._curves,
            self._samples,
            self._inputs.weights,
        )

    def score(self, outputs: np.ndarray) -> float:
        """Return the relative error of outputs (n, d) predicted for the training rows."""
        folds, weights = self._inputs.folds, self._inputs.weights
        metric = self._grid.metric
        return heldout_error(self._targets.outputs, outputs, folds, metric, weights=weights)

    def fitted(self, choice: Choice) -> Fitted:
        """Return the regression fitted to all rows: with a choice, or with those of the samples."""
        if self._samples is not None:
            return self._fitted_to_samples()
        weak_size = self._targets.weak_size
        K = self._inputs.training_gram(*choice.kernel, weak_size)
        embedding, targets = self._targets.of_all_rows(choice.n_components)
        weak_targets = self._targets.of_weak_rows(choice.n_components, None, embedding)
        leading = [name for name in embedding.blocks if self._targets.is_leading(name)]
        alphas = dict.fromkeys(embedding.blocks, choice.alpha_rest)
        dual, intercept = fit_blocks(
            K,
            targets,
            embedding.blocks,
            alphas | dict.fromkeys(leading, choice.alpha_leading),
            self._grid.center,
            dict.fromkeys(leading, weak_targets) if weak_size else None,
            choice.weak_weight,
            self._inputs.weights,
        )
        return FittedRidge(dual, intercept, choice.kernel, weak_size)

    def _fitted_to_samples(self) -> FittedAverage:
        """Return the mean of the fits that bootstrap samples chose. Those of one kernel share a
        Gram matrix, and are one set of dual coefficients."""
        embedding, targets = self._targets.of_all_rows(None)
        solutions: dict[InputKernel, list[np.ndarray]] = {}
        for point, weight in self._samples.weights().items():
            K = self._inputs.training_gram(*point.kernel, 0)
            alphas = dict.fromkeys(embedding.blocks, point.alpha)
            solution = fit_blocks(
                K,
                targets,
                embedding.blocks,
                alphas,
                self._grid.center,
                row_weights=self._inputs.weights,
            )
            weighted = [weight * each for each in solution]
            known = solutions.get(point.kernel, [0.0, 0.0])
            solutions[point.kernel] = [old + new for old, new in zip(known, weighted, strict=True)]
        return FittedAverage(FittedRidge(*each, kernel) for kernel, each in solutions.items())

    def _solver_of(self, kernel: InputKernel) -> SharedGram | SeparateGrams:
        return self._inputs.heldout_solver(*kernel, self._grid.center, self._grid.precision)

    def _weak_solver_of(self, kernel: InputKernel) -> WeakGrams:
        return self._inputs.weak_heldout_solver(
            *kernel,
            self._grid.center,
            self._targets.weak_size,
            self._data.split.weak_decompositions,
        )


def shared_selection(data: FitData, select: Callable[[FitData], Selection]) -> Selection:
    """Return what `select` returns, made once for consecutive fits of equal rows."""
    key = data.size, data.spec.unpaired_size
    selection, seconds = data.split.once("selection", key, lambda: select(data))
    seconds += selection.more_seconds.get("selection_seconds", 0.0)
    return replace(selection, more_seconds={"selection_seconds": seconds})


def ridge_of_outputs(data: FitData, settings: Any) -> tuple[tuple[KernelRidgeFit, Choice], float]:
    """Return kernel ridge regression of the outputs on labelled rows alone, and its choice.

    It is made once for all fits of a training size; the seconds are as of `SplitData.once`.

    Parameters
    ----------
    data : FitData
    settings : object
        A method, as of `KernelRidgeGrid.of_method`; for classes also with ``one_example``.
    """

    def chosen():
        grid = KernelRidgeGrid.of_method(settings)
        if data.split.is_one_example_of_each(data.size):
            grid = grid.single(settings.one_example)
        fit = KernelRidgeFit(FitData(data.split, FitSpec(data.size)), grid)
        return fit, fit.choices()[None]

    return data.split.once("ridge", data.size, chosen)


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
