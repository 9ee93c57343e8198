"""Laplacian-regularised kernel ridge regression, which learns from unlabelled inputs too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, fit_specs
from workflow_lib.fitting.fitted_ridge import FittedRidge as Fitted
from workflow_lib.fitting.grid_choice import GridChoice, GridComparison
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import sum_of_observed
from workflow_lib.methods.contract import base
from workflow_lib.solvers.heldout import SeparateGrams
from workflow_lib.solvers.laplacian import (
    deformation,
    deformed_grams,
    fit_laplacian_ridge,
    graph_laplacian,
)
from workflow_lib.solvers.ridge import labelled_ridge

REGRESSORS = ("laplacian_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 40, "cubic_minutes": 1.0}
READS = ("dataset", "split", "features")
LEARNS_FROM_INPUTS = True


@dataclass
class Method(base.Method):
    """Select the weight of a graph and a penalty; see `workflow_lib.solvers.laplacian`.

    The unlabelled rows are those of the weak pool, of which only the inputs are used: as many as
    each weak size of the split, and none. A fold's graph holds its
    training rows and the unlabelled ones, never its held-out rows or the test rows. A missing
    training output takes the mean of that output over the rows of the fit; errors count the
    observed outputs only.

    Attributes
    ----------
    kernel : str
    widths : sequence of float
        Of the rbf kernel.
    alphas, laplacian_weights : sequences of float
    neighbours : sequence of int
    center : bool
        Fit an unpenalised intercept.
    metric : {"arrmse", "rrmse"}
    """

    kernel: str
    widths: Sequence[float]
    alphas: Sequence[float]
    laplacian_weights: Sequence[float]
    neighbours: Sequence[int]
    center: bool
    metric: str

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits without unlabelled rows, and with each number of them."""
        return fit_specs(split.sizes, [0, *split.weak_sizes])

    def select(self, data: FitData) -> base.Selection:
        curves = KernelErrors()
        choice = self._best(data, curves)
        entries = {
            "score": choice.score,
            "width": choice.kernel.width,
            **choice.settings,
            "alpha_rest": choice.alpha_rest,
        }
        entries |= curves.entry_of(choice.kernel, choice.alpha_rest, entries)
        return base.Selection(choice.heldout_outputs, entries)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen, weak_size = selection.entries, data.spec.weak_size
        kernel = InputKernel(self.kernel, chosen["width"])
        dual, intercept = fit_laplacian_ridge(
            data.inputs.training_gram(*kernel, weak_size),
            data.targets(),
            chosen["neighbours"],
            chosen["laplacian_weight"],
            labelled_ridge(data.size, chosen["alpha_rest"]),
            self.center,
        )
        return Fitted(dual, intercept, kernel, weak_size)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_entries(entries, data.size, self.kernel)

    def _best(self, data: FitData, curves: KernelErrors) -> GridChoice:
        """Return the grid point with the lowest error, the first of equal ones. All errors are
        added to `curves`."""
        outputs, folds = data.outputs, data.folds
        comparison = GridComparison(outputs, folds, self.metric, curves)
        outputs_by_fold = [data.targets(fold) for fold in data.fold_numbers]
        best = None
        for width in self.widths if self.kernel == "rbf" else [None]:
            for count, weight, solver in self._deformed_solvers(data, width):
                predictions = solver.predict(outputs_by_fold, self.alphas)
                errors = sum(
                    sum_of_observed((outputs[rows] - predicted) ** 2)
                    for rows, predicted in zip(solver.heldout, predictions, strict=True)
                )
                graph = {"laplacian_weight": [weight], "neighbours": [count]}
                kernel = InputKernel(self.kernel, width)
                found = comparison.best_of(kernel, graph, self.alphas, errors)
                if found:
                    heldout = np.empty_like(outputs)
                    for rows, predicted in zip(solver.heldout, predictions, strict=True):
                        heldout[rows] = predicted[found.index[1]]
                    best = replace(found, heldout_outputs=heldout)
        return best

    def _deformed_solvers(
        self, data: FitData, width: float | None
    ) -> Iterator[tuple[int, float, SeparateGrams]]:
        """Yield each number of neighbours and weight, with the solver of held-out predictions."""
        weak_size = data.spec.weak_size
        grams = list(data.inputs.fold_grams(self.kernel, width, weak_size))
        for count in self.neighbours:
            smoothness = [graph_laplacian(K, count) @ K for K, _ in grams]
            for weight in self.laplacian_weights:
                deformed = [
                    deformed_grams(
                        K, K_heldout, deformation(fold_smoothness, weight, len(K) - weak_size)
                    )
                    for (K, K_heldout), fold_smoothness in zip(grams, smoothness, strict=True)
                ]
                yield int(count), float(weight), SeparateGrams(deformed, data.folds, self.center)
