"""Candidate outputs of each training row, ranked by their loss (Blaschko 2014, section 3.2).

An item is a pair of a training row and a candidate output. Its score is <w, phi(x_i, y_c)> with the
joint kernel k(x, x') l(y, y'), so that a solution is a matrix of dual coefficients C of rows and
outputs, and the scores of all outputs for an input are k(x)' C L, with the Gram matrix L of the
outputs. The joint Gram matrix of the items is never formed.

Of classes all are candidates of every row, L is the identity, and losses are 0-1 or those of the
dataset. Of numeric outputs those of the training rows are candidates. A row has only some of them,
its own included, evenly spaced in the order of their distance from its own output: near ones and
far ones. The loss is the squared distance in units of the median squared distance of the training
outputs, and L the rbf kernel of the outputs. For a new input all training outputs compete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from workflow_lib.core.convergence import GAP_AT_LIMIT, gap_at_limit
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.point_selection import KernelFold, Point, chosen_gram, select_with_kernels
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import Ranking, RankingMachine
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import median_squared_distance

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
    """Select a kernel and a cost, and rank the `Candidates`.

    Of classes the grid point is that with the least `scaled_squared_error` of the scores of
    held-out rows, and with one example per class `one_example` is used instead. Of numeric outputs
    it is that with the least error of the best-ranked training output, where a held-out row has the
    outputs of the other folds as candidates. The item holds the duality gap of the fit as a share
    of its objective, as ``duality_gap``, and the number of its planes.

    The fields are keys of the YAML file, the `kernel` of the inputs, those `kernels` that compete
    (None: it alone), and the `metric` of numeric outputs.
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

        Raises UserError if there is one class, so that none is preferred.
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
            outputs, losses = None, 1.0 - np.eye(data.n_classes)
            if self.losses == "dataset" and "losses" in data.split.dataset["classes"]:
                losses = data.split.losses
            candidates = Candidates.of_classes(data.labels[rows], losses)
        else:
            outputs = data.targets(fold)[rows]
            candidates = Candidates.of_outputs(outputs, self.candidates)
        graph = candidates.graph(self.preferences, self.n_preferred, self.across_rows)
        return candidates, graph, outputs

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
    """The scores of o candidates, k(x)' times `dual_coefficients` (n, o), and their outputs.

    These `outputs` (o, d) are numbers, None for classes; `reached` has ``duality_gap`` and
    ``n_planes``.
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


@dataclass(frozen=True)
class Candidates:
    """The candidates of n training rows among o outputs."""

    indices: np.ndarray
    """Int array (n, m): output of each candidate, different ones in a row."""

    losses: np.ndarray
    """Array (n, m)."""

    n_outputs: int
    """o."""

    is_numeric: bool = False
    """Whether outputs are numbers, not classes."""

    @classmethod
    def of_classes(cls, labels: np.ndarray, losses: np.ndarray) -> Candidates:
        """Return all classes as candidates of rows of classes `labels` (n,).

        Losses (K, K), of a true class and a predicted one, are divided by the largest.
        """
        n_classes = len(losses)
        indices = np.tile(np.arange(n_classes), (len(labels), 1))
        return cls(indices, losses[labels] / max(losses.max(), 1e-300), n_classes)

    @classmethod
    def of_outputs(cls, outputs: np.ndarray, most: int) -> Candidates:
        """Return at most so many of the training outputs (n, d) as candidates of each row."""
        from scipy.spatial.distance import cdist

        distances = cdist(outputs, outputs, "sqeuclidean") / median_squared_distance(outputs)
        n = len(outputs)
        # Its own output is first, before copies of it.
        order = np.lexsort((np.arange(n) != np.arange(n)[:, None], distances), axis=1)
        chosen = np.linspace(0, n - 1, min(most, n)).round().astype(int)
        indices = order[:, chosen]
        return cls(indices, np.take_along_axis(distances, indices, axis=1), n, True)

    def graph(
        self, preferences: str, n_preferred: int, across_rows: bool
    ) -> PreferenceGraph | None:
        """Return the preferences between candidates of each row, or between those of all rows.

        None where all numeric outputs are equal, which are then predicted whatever their order.
        """
        if self.is_numeric and not self.losses.any():
            return None
        groups = np.repeat(np.arange(len(self.indices)), self.indices.shape[1])
        return PreferenceGraph(
            self.losses.ravel(), None if across_rows else groups, preferences, n_preferred
        )


def output_kernel(outputs: np.ndarray, width: float) -> np.ndarray:
    """Return the rbf Gram matrix (n, n) of outputs (n, d), their median squared distance as unit.

    exp(-||y - y'||^2 / (width^2 s)) with the median squared distance s.
    """
    gamma = 1.0 / (width**2 * median_squared_distance(outputs))
    return gram_matrix(outputs, None, "rbf", gamma)


def ranked(
    K: np.ndarray,
    L: np.ndarray | None,
    candidates: Candidates,
    graph: PreferenceGraph | None,
    rescaling: str,
    costs: Sequence[float],
    tolerance: float,
) -> Iterator[tuple[np.ndarray, Ranking]]:
    """Yield the dual coefficients C L (n, o) and the solution of each cost.

    `K` (n, n) and `L` (o, o) are the Gram matrices of the training rows and of the outputs, None
    for the identity. Costs are of the mean hinge of a row, so that C = cost n; they share what they
    learn, best in ascending order. `tolerance` is that of `RankingMachine.solve`.
    """
    n = len(K)
    rows = np.arange(n)[:, None]

    def dual(coefficients: np.ndarray) -> np.ndarray:
        of_outputs = np.zeros((n, candidates.n_outputs))
        of_outputs[rows, candidates.indices] = coefficients.reshape(candidates.indices.shape)
        return of_outputs if L is None else of_outputs @ L

    def product(coefficients: np.ndarray) -> np.ndarray:
        return (K @ dual(coefficients))[rows, candidates.indices].ravel()

    if graph is None:
        none = np.zeros(candidates.indices.size)
        yield from [(dual(none), Ranking(none, 0.0, 0.0, 0))] * len(costs)
        return
    machine = RankingMachine(graph, product, rescaling)
    for cost in costs:
        solution = machine.solve(cost * n, tolerance)
        yield dual(solution.coefficients), solution
