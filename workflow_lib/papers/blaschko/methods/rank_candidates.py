"""Candidate outputs, ranked by their loss: classes, or the outputs of training rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from workflow_lib.core.convergence import GAP_AT_LIMIT, gap_at_limit
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.heldout_errors import heldout_error
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.point_selection import KernelFold, Point, chosen_gram, select_with_kernels
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.ranked_candidates import Candidates, output_kernel, ranked

REGRESSORS = ("rank_candidates",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 10, "grams": 20, "cubic_minutes": 2.0}
READS = ("dataset", "split", "features")


SELECTION_TOLERANCE = 1e-2
"""Duality gap in the comparison of grid points, as a share of the objective. On digits the accuracy
is then within .2 points on average of that with a gap of 1e-4, at a sixth of the time of 1e-3."""

REFIT_TOLERANCE = 1e-3
"""Duality gap of the chosen fits."""


@dataclass
class Method(base.Method):
    """Select a kernel and a cost, and rank; see `workflow_lib.papers.blaschko.ranked_candidates`.

    Of classes the grid point is that with the least `scaled_squared_error` of the scores of
    held-out rows, and with one example per class `one_example` is used instead. Of numeric outputs
    it is that with the least error of the best-ranked training output, where a held-out row has the
    outputs of the other folds as candidates. The item holds the duality gap of the fit as a share
    of its objective, as ``duality_gap``, and the number of its planes.

    Attributes
    ----------
    kernel : str
        That of the inputs.
    grid : mapping
        Lists ``cost``, ``width`` and ``output_width``.
    one_example : mapping
    metric : {"arrmse", "rrmse"}
        Error of numeric outputs that is minimised.
    preferences, rescaling, losses : str
    n_preferred, candidates : int
    across_rows : bool
        As of `Parameters`.
    kernels : sequence of str or None
        Those that compete; None for `kernel` alone.
    """

    kernel: str
    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    metric: str
    preferences: str
    rescaling: str
    losses: str
    n_preferred: int
    candidates: int
    across_rows: bool
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        """Return the grid point with the least error, the first of those that are equal.

        Raises
        ------
        UserError
            If there is one class, so that none is preferred.
        """
        sets = [self._candidates(data, data.folds != fold, fold) for fold in data.fold_numbers]
        of_fold = partial(self._of_fold, sets)
        if data.has_classes:
            error_of = partial(scaled_squared_error, labels=data.labels)
        else:
            error_of = partial(heldout_error, data.outputs, folds=data.folds, metric=self.metric)
        return select_with_kernels(data, self, of_fold, error_of, shared=False)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = selection.entries
        kernel, K, unit = chosen_gram(data, self, chosen)
        cost = chosen["cost"] / unit
        rows = np.ones(data.size, dtype=bool)
        candidates, graph, outputs = self._candidates(data, rows, None)
        L = None if outputs is None else output_kernel(outputs, chosen["output_width"])
        ((dual, solution),) = ranked(
            K, L, candidates, graph, self.rescaling, [cost], REFIT_TOLERANCE
        )
        reached = {"duality_gap": solution.relative_gap, "n_planes": solution.n_planes}
        reached |= gap_at_limit(solution.relative_gap, REFIT_TOLERANCE)
        return Fitted(dual, kernel, outputs, reached)

    def _candidates(self, data: FitData, rows: np.ndarray, fold: int | None):
        """Return candidates of some training rows, their preferences, and their outputs."""
        if data.has_classes:
            outputs = None
            candidates = Candidates.of_classes(data.labels[rows], self._class_losses(data))
        else:
            outputs = data.targets(fold)[rows]
            candidates = Candidates.of_outputs(outputs, self.candidates)
        graph = candidates.graph(self.preferences, self.n_preferred, self.across_rows)
        return candidates, graph, outputs

    def _class_losses(self, data: FitData) -> np.ndarray:
        has_losses = "losses" in data.split.dataset["classes"]
        if self.losses == "dataset" and has_losses:
            return data.split.losses
        return 1.0 - np.eye(data.n_classes)

    def _of_fold(self, sets: Sequence, fold: KernelFold) -> Iterator[Point]:
        """Yield the points of `select_with_kernels`, of the `_candidates` of all folds."""
        candidates, graph, outputs = sets[fold.number]
        # In ascending order the costs share most of what they learn.
        costs = sorted(fold.grid["cost"])
        scaled = [cost / fold.unit for cost in costs]
        for output_width in [None] if outputs is None else fold.grid["output_width"]:
            L = None if outputs is None else output_kernel(outputs, output_width)
            found = ranked(
                fold.gram, L, candidates, graph, self.rescaling, scaled, SELECTION_TOLERANCE
            )
            point = {} if outputs is None else {"output_width": output_width}
            for cost, (dual, _) in zip(costs, found, strict=True):
                yield point | {"cost": cost}, _decoded(fold.heldout_gram @ dual, outputs)


class Fitted(base.Fitted):
    """The scores of candidates, and their outputs.

    Parameters
    ----------
    dual_coefficients : array (n, o)
        The scores of o candidates are k(x)' times them.
    kernel : InputKernel
    outputs : array (o, d) or None
        Numeric outputs of the candidates; None for classes.
    reached : mapping
        ``duality_gap`` and ``n_planes``.
    """

    def __init__(
        self,
        dual_coefficients: np.ndarray,
        kernel: InputKernel,
        outputs: np.ndarray | None,
        reached: Mapping[str, float],
    ) -> None:
        self._dual, self._kernel, self._outputs = dual_coefficients, kernel, outputs
        self._reached = dict(reached)

    def predict(self, rows):
        return _decoded(rows.test_gram(*self._kernel) @ self._dual, self._outputs)

    def entries(self):
        return dict(self._reached)

    def to_arrays(self):
        arrays = {"dual_coefficients": self._dual} | kernel_arrays(self._kernel) | self._reached
        return arrays if self._outputs is None else arrays | {"outputs": self._outputs}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        names = ("duality_gap", "n_planes", GAP_AT_LIMIT)
        reached = {name: arrays[name] for name in names if name in arrays}
        return cls(
            arrays["dual_coefficients"], kernel_in(arrays)[0], arrays.get("outputs"), reached
        )


def _decoded(scores: np.ndarray, outputs: np.ndarray | None) -> np.ndarray:
    """Return the scores of classes, or the outputs with the highest scores."""
    return scores if outputs is None else outputs[scores.argmax(axis=1)]
