"""Structured support vector machines of classes, with losses and similarities between these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.convergence import gap_at_limit
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.point_selection import KernelFold, Point, chosen_gram, select_with_kernels
from workflow_lib.methods.contract import base

if TYPE_CHECKING:
    from workflow_lib.items.class_trees import ClassTree
    from workflow_lib.papers.blaschko.structured_machine import StructuredMachine

REGRESSORS = ("structured_svm",)
TASKS = ("classes",)
NEEDS = {"minutes": 10, "grams": 6, "cubic_minutes": 1}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select the kernel and the cost, and fit the machine.

    The inputs are centred on the training rows of each fold, which stands for an intercept. Of the
    grid points that is chosen whose scores of held-out rows have the least `scaled_squared_error`
    with the losses that are trained. All costs of a fold begin with the weights of the one before.

    An item holds the relative duality gap and the passes of its machine, as ``gap`` and ``passes``,
    and the largest gap of all machines of the folds, as ``heldout_gap``; with a tree, also
    ``class_tree``, as `workflow_lib.items.class_trees.ClassTree`, of the classes that have
    training rows. That of cutting planes holds ``constraint_terms``, as of `fit_by_planes`, and
    ``constraint_products``, the multiplications for the most violated constraint: by products of
    matrices, and of each of these terms.

    The fields are keys of the YAML file, the `kernel` of the inputs, and those `kernels` that
    compete (None: it alone). Only ``rbf`` has widths. A value that `one_example` lacks is the first
    of its list in `grid`.
    """

    kernel: str
    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    rescaling: str
    loss: str
    class_similarity: str
    solver: str = "blocks"
    kernels: Sequence[str] | None = None

    def select(self, data: FitData) -> base.Selection:
        n_known = len(np.unique(data.labels))
        if n_known < 2:
            raise UserError(
                f"{data.split.paths['split']}, {data.size} training rows",
                "one class in all training rows",
                "at least two classes, between which a structured machine can decide",
                "use larger training_sizes, or split: per_class or stratified",
            )
        gaps: list[float] = []
        of_fold = partial(self._of_fold, gaps)
        error_of = partial(scaled_squared_error, labels=data.labels, losses=self._losses(data))
        selection = select_with_kernels(data, self, of_fold, error_of)
        selection.entries["heldout_gap"] = max(gaps)
        return selection

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        from workflow_lib.papers.blaschko.structured_machine import TOLERANCE, centre, uncentred

        kernel, K, unit = chosen_gram(data, self, selection.entries)
        means = centre(K)
        similarity, tree = self._similarity(data, K, data.labels)
        cost = selection.entries["cost"] / unit
        machine, details = self._machine(data, K, data.labels, similarity, cost)
        details |= {"gap": machine.gap, "passes": machine.passes}
        details |= gap_at_limit(machine.gap, TOLERANCE)
        if tree is not None:
            details["class_tree"] = tree._asdict()
        coefficients, intercept = uncentred(machine.coefficients, means)
        return Fitted(coefficients, intercept, machine.known, kernel, details)

    def _of_fold(self, gaps: list[float], fold: KernelFold) -> Iterator[Point]:
        """Yield the points of `select_with_kernels`; the gaps of the machines go to `gaps`."""
        from workflow_lib.papers.blaschko.structured_machine import centre, class_scores, uncentred

        data, K, labels, weights = fold.data, fold.gram, fold.labels, None
        means = centre(K)
        similarity, _ = self._similarity(data, K, labels)
        for cost in fold.grid["cost"]:
            machine, _ = self._machine(data, K, labels, similarity, cost / fold.unit, weights)
            weights = machine.weights
            gaps.append(machine.gap)
            linear, intercept = uncentred(machine.coefficients, means)
            scores = class_scores(fold.heldout_gram, linear, machine.known, intercept)
            yield {"cost": cost}, scores

    def _losses(self, data: FitData) -> np.ndarray:
        """Return the losses (K, K) that are trained."""
        if self.loss == "zero_one":
            return 1.0 - np.eye(data.n_classes)
        return data.split.losses

    def _similarity(
        self, data: FitData, K: np.ndarray, labels: np.ndarray
    ) -> tuple[np.ndarray, ClassTree | None]:
        """Return B (K, K) and its tree, of training rows with a Gram matrix. Classes without a row
        have zeros, and no place in a learned tree."""
        if self.class_similarity == "identity":
            return np.eye(data.n_classes), None
        from workflow_lib.papers.blaschko.class_dependence import (
            class_products,
            comparable,
            dependent_lengths,
            learned_tree,
        )
        from workflow_lib.papers.blaschko.fitted_trees import dependent_tree

        counts = np.bincount(labels, minlength=data.n_classes)
        known = np.flatnonzero(counts)
        products = class_products(K, labels, data.n_classes)[np.ix_(known, known)]
        if self.class_similarity == "learned_tree":
            tree = learned_tree(products, counts[known])
        elif self.class_similarity == "fitted_tree":
            tree = dependent_tree(products)
        else:
            given = data.split.class_tree
            tree = dependent_lengths(given._replace(members=given.members[known]), products)
        similarity = np.zeros((data.n_classes, data.n_classes))
        similarity[np.ix_(known, known)] = comparable(tree.covariance())
        return similarity, tree

    def _machine(
        self,
        data: FitData,
        K: np.ndarray,
        labels: np.ndarray,
        similarity: np.ndarray,
        cost: float,
        start: np.ndarray | None = None,
    ) -> tuple[StructuredMachine, dict[str, Any]]:
        """Return the machine, and what its planes cost."""
        from workflow_lib.papers.blaschko.cutting_planes import fit_by_planes
        from workflow_lib.papers.blaschko.structured_machine import fit_structured_machine

        problem = K, labels, self._losses(data), similarity, cost, self.rescaling
        if self.solver == "blocks":
            return fit_structured_machine(*problem, start=start), {}
        machine, terms = fit_by_planes(*problem)
        scores = len(K) * int(machine.known.sum())
        products = np.array([scores * (len(K) + int(machine.known.sum())), scores])
        return machine, {"constraint_terms": terms, "constraint_products": products}


class Fitted(base.Fitted):
    """Coefficients (n, K) and intercepts (K,) of the classes, and the kernel of the inputs.

    `known` (K,) says which classes have a training row; `details` are more entries of an item.
    """

    def __init__(
        self,
        coefficients: np.ndarray,
        intercept: np.ndarray,
        known: np.ndarray,
        kernel: InputKernel,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self._coefficients, self._intercept, self._known = coefficients, intercept, known
        self._kernel, self._details = kernel, dict(details or {})

    def predict(self, rows):
        from workflow_lib.papers.blaschko.structured_machine import class_scores

        K = rows.test_gram(*self._kernel)
        return class_scores(K, self._coefficients, self._known, self._intercept)

    def entries(self):
        return self._details

    def to_arrays(self):
        arrays = {"coefficients": self._coefficients, "intercept": self._intercept}
        return arrays | {"known": self._known} | kernel_arrays(self._kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        names = ("coefficients", "intercept", "known")
        return cls(*(arrays[name] for name in names), kernel_in(arrays)[0])
