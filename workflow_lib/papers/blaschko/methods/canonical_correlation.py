"""Regression of the outputs on kernel canonical directions, which unpaired rows smooth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.input_kernels import Grid, InputKernel, KernelGrid
from workflow_lib.fitting.missing_outputs import impute_mean_from
from workflow_lib.fitting.prepared_inputs import Grams
from workflow_lib.fitting.validation_curves import KernelErrors, rounded
from workflow_lib.measures.metrics import (
    MIN_GAIN,
    heldout_error,
    reference_errors,
    relative_error,
    sum_of_observed,
)
from workflow_lib.measures.pearson_correlation import mean_correlation
from workflow_lib.methods.contract import base
from workflow_lib.models.output_scaling import OutputScaling, fit_output_scaling
from workflow_lib.papers.blaschko.canonical_correlation import (
    output_basis,
    output_roughness,
    projected_outputs,
    spectral_gain,
)
from workflow_lib.papers.blaschko.coupled_outputs import Filter, SpectralRidge
from workflow_lib.papers.blaschko.pairwise_graphs import laplacian_of
from workflow_lib.solvers.heldout import Decomposition
from workflow_lib.solvers.laplacian import deformation, deformed_grams
from workflow_lib.solvers.principal_components import first_least
from workflow_lib.solvers.ridge import labelled_ridge

REGRESSORS = ("canonical_correlation",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 2, "grams": 40, "cubic_minutes": 1.0}
READS = ("dataset", "split", "features")
LEARNS_FROM_INPUTS = True


@dataclass
class Method(base.Method):
    """Select the settings; see `workflow_lib.papers.blaschko.canonical_correlation`.

    The unlabelled rows are those of the weak pool, of which only the inputs are used: as many as
    each weak size of the split, and none. The graph of a fold holds its training rows and the
    unlabelled ones, never its held-out rows or the test rows. A missing training output takes the
    mean of that output over the rows of the fit; errors count the observed outputs only. Outputs
    are in units of their standard deviation.

    `kernel`, `kernels`, `widths` and `alphas` are those of
    `workflow_lib.fitting.input_kernels.KernelGrid.of_method`, `grid` has the other lists of
    `CanonicalGrid`, `center` fits an unpenalised intercept, and `seed` is that of the permutation.
    """

    not_finite = ("output_penalty",)

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    grid: Mapping[str, Sequence]
    criterion: str
    center: bool
    metric: str
    seed: int
    kernels: Sequence[str] | None = None

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits without unlabelled rows, and with each number of them.

        Outputs without inputs are all used, where their Laplacian has a weight.
        """
        weak_sizes = [0, *split.weak_sizes] if max(self.grid["laplacian_weight"]) > 0 else [0]
        uses_outputs = max(self.grid["output_laplacian_weight"]) > 0
        unpaired = max(split.unpaired_sizes, default=0) if uses_outputs else 0
        return [
            FitSpec(size, weak_size, unpaired_size=unpaired)
            for size in split.sizes
            for weak_size in weak_sizes
        ]

    def select(self, data: FitData) -> base.Selection:
        kernels = KernelGrid.of_method(
            self.kernel, self.kernels, self.widths, self.alphas, data.inputs
        )
        folds = [self._outputs(data, fold) for fold in data.fold_numbers]
        curves = KernelErrors(kernels.unit)
        settings_of = partial(_settings, kernels.unit)
        best = partial(self._best, data, folds, curves, settings_of)
        if self.criterion == "permutation":
            kernel, alpha, graph, penalty = self._farthest_from_permuted(data, kernels)
            choice, extension = best({kernel: [alpha]}, lambda _: [graph], [penalty]), {}
        else:
            found, extension = kernels.search(
                lambda grid: {None: best(grid, self._graphs_of(kernels), self._penalties())},
                extends=bool(self.kernels),
            )
            choice = found[None]
        heldout = self._heldout(data, folds, choice)
        entries = {
            "score": heldout_error(data.outputs, heldout, data.folds, self.metric),
            "kernel": choice.kernel.name,
            "width": choice.kernel.width,
            "edges": kernels.edges_of(choice, extension) or None,
            "alpha_rest": choice.alpha_rest,
            **choice.graph._asdict(),
            **choice.penalty._asdict(),
            "n_directions": choice.n_directions,
            "projection_penalty": choice.projection_penalty,
        }
        shown = entries | settings_of(choice.kernel, choice.graph, choice.penalty)
        entries |= curves.entry_of(choice.kernel, choice.alpha_rest, shown)
        return base.Selection(heldout, entries, fitting=choice)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        choice, outputs = selection.fitting, self._outputs(data, None)
        weak_size = data.spec.weak_size if choice.graph.laplacian_weight > 0 else 0
        K = data.inputs.training_gram(*choice.kernel, weak_size)
        Z = choice.graph.deformation(K, data.size)
        gram, _ = deformed_grams(K, K[:0], Z)
        ridge = SpectralRidge(gram, outputs.targets, self.center)
        labelled, intercept = ridge.solution(choice.alpha_rest, choice.filter(outputs))
        dual = -Z @ labelled
        dual[: data.size] += labelled
        scaling = outputs.scaling
        intercept = scaling.inverse_transform(intercept)
        return Fitted(dual * scaling.scale, intercept, choice.kernel, weak_size)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _graphs_of(self, kernels: KernelGrid) -> Callable[[InputKernel], list[Graph]]:
        """Return the function that gives the Laplacians of the inputs for each kernel. Of the
        weight 0 there is one, whatever its neighbours."""
        weights, neighbours = self.grid["laplacian_weight"], self.grid["neighbours"]
        return lambda kernel: [
            Graph(float(weight) / kernels.unit(kernel), int(count))
            for weight in weights
            for count in (neighbours if weight > 0 else neighbours[:1])
        ]

    def _penalties(self) -> list[OutputPenalty]:
        """Return the penalties of the outputs; without one their Laplacian means nothing."""
        weights = self.grid["output_laplacian_weight"]
        return [
            OutputPenalty(float(penalty), float(weight))
            for penalty in self.grid["output_penalty"]
            for weight in (weights if penalty > 0 else weights[:1])
        ]

    def _outputs(self, data: FitData, fold: int | None) -> PairedOutputs:
        """Return the training outputs of a fold, and all outputs that its graph may hold."""
        known = data.outputs if fold is None else data.outputs[data.folds != fold]
        paired, unpaired = (
            impute_mean_from(values, known) for values in (known, data.unpaired_outputs)
        )
        scaling = fit_output_scaling(paired, "standard")
        graph = scaling.apply(np.vstack([paired, unpaired]))
        if not self.center:
            scaling = replace(scaling, offset=np.zeros_like(scaling.offset))
        return PairedOutputs(scaling, scaling.apply(paired), graph)

    def _best(
        self,
        data: FitData,
        folds: Sequence[PairedOutputs],
        curves: KernelErrors,
        settings_of: Callable[[InputKernel, Graph, OutputPenalty], dict[str, float]],
        grid: Grid,
        graphs_of: Callable[[InputKernel], list[Graph]],
        penalties: Sequence[OutputPenalty],
    ) -> CanonicalChoice:
        """Return the point with the least value of the criterion, the first of equal ones. The
        values of all are added to `curves`."""
        directions = {name: self.grid[name] for name in ("n_directions", "projection_penalty")}
        candidates = list(product(penalties, *directions.values()))
        reference = reference_errors(data.outputs, data.folds)
        filters = {
            count: [
                projected_outputs(
                    [penalty.basis(outputs, count) for penalty in penalties],
                    self.grid["n_directions"],
                    self.grid["projection_penalty"],
                )
                for outputs in folds
            ]
            for count in self.grid["neighbours"]
        }
        best = None
        for kernel, alphas in grid.items():
            for graph, grams in self._fold_grams(data, kernel, graphs_of(kernel)):
                errors, correlations = 0.0, []
                for fold, (gram, others) in enumerate(grams):
                    ridge = SpectralRidge(gram, folds[fold].targets, self.center)
                    couple = filters[graph.neighbours][fold]
                    predicted = folds[fold].scaling.inverse_transform(
                        ridge.predict(others, alphas, couple)
                    )
                    truth = data.outputs[data.folds == fold]
                    errors = errors + sum_of_observed((truth - predicted) ** 2)
                    if self.criterion == "correlation":
                        correlations.append(mean_correlation(truth, predicted))
                if self.criterion == "correlation":
                    # Of a fold whose outputs are all constant there is none.
                    known = [values for values in correlations if np.isfinite(values).all()]
                    scores = (
                        1.0 - np.mean(known, axis=0) if known else np.full(errors.shape[:2], np.inf)
                    )
                else:
                    scores = relative_error(errors, reference, self.metric)
                scores = np.where(np.isfinite(scores), scores, np.inf).reshape(-1, 1)
                for penalty, of_penalty in zip(penalties, np.split(scores, len(penalties))):
                    settings = settings_of(kernel, graph, penalty)
                    axes = {name: [value] for name, value in settings.items()}
                    curves.add_penalties(kernel, axes | directions, alphas, of_penalty)
                (index,) = first_least(scores, MIN_GAIN)
                score = float(scores[index, 0])
                if best is None or score < best.score * (1.0 - MIN_GAIN):
                    candidate, number = divmod(int(index), len(alphas))
                    alpha = float(alphas[number])
                    best = CanonicalChoice(kernel, alpha, graph, *candidates[candidate], score)
        return best

    def _heldout(
        self, data: FitData, folds: Sequence[PairedOutputs], choice: CanonicalChoice
    ) -> np.ndarray:
        """Return the predictions (n, d) of the training rows, each without its fold."""
        heldout = np.empty_like(data.outputs)
        ((_, grams),) = self._fold_grams(data, choice.kernel, [choice.graph])
        for fold, (gram, others) in enumerate(grams):
            ridge = SpectralRidge(gram, folds[fold].targets, self.center)
            ((predicted,),) = ridge.predict(others, [choice.alpha_rest], choice.filter(folds[fold]))
            heldout[data.folds == fold] = folds[fold].scaling.inverse_transform(predicted)
        return heldout

    def _fold_grams(
        self, data: FitData, kernel: InputKernel, graphs: Sequence[Graph]
    ) -> Iterator[tuple[Graph, Iterator[Grams]]]:
        """Yield each graph with the Gram matrices of all folds under its deformed kernel."""
        weak_size = data.spec.weak_size if graphs[-1].laplacian_weight > 0 else 0
        grams = list(data.inputs.fold_grams(*kernel, weak_size))
        counts = {graph.neighbours for graph in graphs if graph.laplacian_weight > 0}
        smoothness = {count: [laplacian_of(K, count) @ K for K, _ in grams] for count in counts}
        for graph in graphs:
            by_fold = smoothness.get(graph.neighbours, [None] * len(grams))
            yield (
                graph,
                (
                    deformed_grams(K, others, graph.deformation(K, len(K) - weak_size, smooth))
                    for (K, others), smooth in zip(grams, by_fold, strict=True)
                ),
            )

    def _farthest_from_permuted(
        self, data: FitData, kernels: KernelGrid
    ) -> tuple[InputKernel, float, Graph, OutputPenalty]:
        """Return the settings of the directions with the largest `spectral_gain`."""
        outputs, graphs_of = self._outputs(data, None), self._graphs_of(kernels)
        # Covariances are in other units than correlations.
        finite = [each for each in self._penalties() if each.output_penalty < np.inf]
        penalties = finite or self._penalties()
        order = np.random.default_rng(derive_seed(self.seed, "permutation")).permutation(data.size)
        weak_size = data.spec.weak_size if max(self.grid["laplacian_weight"]) > 0 else 0
        best = -1.0, None
        for kernel, alphas in kernels.all().items():
            K = data.inputs.training_gram(*kernel, weak_size)
            for graph in graphs_of(kernel):
                gram, _ = deformed_grams(K, K[:0], graph.deformation(K, data.size))
                decomposition = Decomposition(gram, overwrite=True, center=self.center)
                rotated, permuted = (
                    decomposition.eigenvectors.T @ Z
                    for Z in (outputs.targets, outputs.targets[order])
                )
                bases = [penalty.basis(outputs, graph.neighbours) for penalty in penalties]
                for alpha in alphas:
                    gains = spectral_gain(
                        decomposition.eigenvalues,
                        rotated,
                        permuted,
                        labelled_ridge(data.size, alpha),
                        bases,
                    )
                    for penalty, gain in zip(penalties, gains, strict=True):
                        if gain > best[0] * (1.0 + MIN_GAIN):
                            best = gain, (kernel, float(alpha), graph, penalty)
        return best[1]


class PairedOutputs(NamedTuple):
    """Training outputs in units of their standard deviation, none missing.

    ``targets`` (l, d) are those of the training rows, ``graph`` (l + u, d) the same, centred,
    followed by the outputs without inputs.
    """

    scaling: OutputScaling
    targets: np.ndarray
    graph: np.ndarray


class Graph(NamedTuple):
    """The graph Laplacian of the inputs in their penalty."""

    laplacian_weight: float
    neighbours: int

    def deformation(
        self, K: np.ndarray, n_labelled: int, smoothness: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `workflow_lib.solvers.laplacian.deformation`; zero for the weight 0.

        `smoothness` is the Laplacian times `K`, where it is known.
        """
        if not self.laplacian_weight:
            return np.zeros((len(K), n_labelled))
        if smoothness is None:
            smoothness = laplacian_of(K, self.neighbours) @ K
        return deformation(smoothness, self.laplacian_weight, n_labelled)


class OutputPenalty(NamedTuple):
    """The penalty of the directions of the outputs."""

    output_penalty: float
    output_laplacian_weight: float

    def basis(self, outputs: PairedOutputs, neighbours: int) -> np.ndarray:
        """Return `workflow_lib.papers.blaschko.canonical_correlation.output_basis`."""
        weight = self.output_laplacian_weight
        roughness = output_roughness(outputs.graph, neighbours) if weight > 0 else None
        return output_basis(outputs.targets, self.output_penalty, roughness, weight)


def _settings(
    unit: Callable[[InputKernel], float], kernel: InputKernel, graph: Graph, penalty: OutputPenalty
) -> dict[str, float]:
    """Return the settings of graph and outputs by name, the weight in units of the kernel."""
    weight = float(rounded(np.array(graph.laplacian_weight * unit(kernel))))
    return {**graph._asdict(), "laplacian_weight": weight, **penalty._asdict()}


@dataclass(frozen=True)
class CanonicalChoice:
    """A grid point and the value of the criterion."""

    kernel: InputKernel

    alpha_rest: float
    """lambda_0 of eq. (13)."""

    graph: Graph
    penalty: OutputPenalty

    n_directions: int
    """Number of directions asked for; a fit may have fewer."""

    projection_penalty: float

    score: float
    """Lower is better; with the permutation as criterion the error."""

    alpha_leading = None

    def filter(self, outputs: PairedOutputs) -> Filter:
        """Return the filter of this point alone."""
        basis = self.penalty.basis(outputs, self.graph.neighbours)
        return projected_outputs([basis], [self.n_directions], [self.projection_penalty])
