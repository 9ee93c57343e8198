"""Selection and refit in one fit of kernel ridge regression, on Gram matrices of all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.fitting.bootstrap_choices import BootstrapChoices
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.fitted import Fitted, Selection
from workflow_lib.fitting.fitted_ridge import FittedAverage, FittedRidge
from workflow_lib.fitting.input_kernels import (
    Grid,
    InputKernel,
    KernelGrid,
    kernel_without_selection,
)
from workflow_lib.fitting.kernel_ridge_targets import KernelRidgeTargets
from workflow_lib.fitting.selection import Choice, best_of, select_each
from workflow_lib.fitting.validation_curves import ENTRY, ValidationCurves
from workflow_lib.measures.metrics import heldout_error
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
            "width": choice.width,
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
