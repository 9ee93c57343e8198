"""Elastic nets of inputs, or of the subtree patterns of a graph of selected inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.named_class import combinations
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.validation_curves import NO_KERNEL, GridErrors
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract import base
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

if TYPE_CHECKING:
    from workflow_lib.papers.blaschko.pattern_features import PatternFeatures

REGRESSORS = ("elastic_net_features",)
TASKS = ("regression", "classes")
NEEDS = {"minutes": 30, "cubic_minutes": 1.0, "more_mb": 500}
READS = ("dataset", "split", "features")

SELECTION_RATIO = 0.5
"""rho of the elastic net that selects the nodes of the graph."""

MAX_NODES = 500
"""Nodes that the tree of the levels sees; its cost is quadratic."""


@dataclass
class Method(base.Method):
    """Select the graph and the penalties; see `workflow_lib.papers.blaschko.elastic_nets`.

    A fold learns everything from its own rows: the selected inputs, the levels, the patterns. Of
    equal errors the first grid point is chosen, the sparsest. A missing training output takes the
    mean of that output over the rows of the fit.

    An item holds the ``weights`` (q, d) of the inputs where only these are used. With patterns it
    holds ``selected``, the numbers of the inputs that are nodes, ``node_values`` (s, d), the
    mean part of each of them in an output over the training rows where this output is largest, and
    how many features there are and are used. The fields are keys of the YAML file, and the
    `metric` that is minimised.
    """

    metric: str
    grid: Mapping[str, Any]
    uses: str = "inputs"
    n_levels: int = 6
    n_neighbours: int = 5

    def select(self, data: FitData) -> base.Selection:
        from workflow_lib.papers.blaschko.elastic_nets import SELECTION_TOLERANCE, net_path

        alphas, ratios = self.grid["alpha"], self.grid["l1_ratio"]
        # A single empty point without graphs.
        graphs = combinations({name: self.grid[name] for name in self._axes()})
        shape = (len(graphs), len(ratios), len(alphas))
        heldout, used = np.empty((*shape, *data.outputs.shape)), np.zeros(shape)
        for fold, (X, X_heldout) in enumerate(data.inputs.fold_rows()):
            known = data.folds != fold
            targets = data.targets(fold)[known]
            for at, learned in enumerate(self._learned(data, graphs, X, targets)):
                features, others = (
                    rows if learned is None else learned.transform(rows) for rows in (X, X_heldout)
                )
                for index, ratio in enumerate(ratios):
                    coefficients, intercepts = net_path(
                        features, targets, ratio, alphas, SELECTION_TOLERANCE
                    )
                    predicted = others @ coefficients + intercepts[:, None]
                    heldout[at, index][:, ~known] = predicted
                    used[at, index] += (coefficients != 0.0).any(axis=2).sum(axis=1)
        errors = np.array(
            [
                heldout_error(data.outputs, each, data.folds, self.metric)
                for each in heldout.reshape(-1, *data.outputs.shape)
            ]
        )
        best = 0
        for index, error in enumerate(errors):
            if error < errors[best] * (1.0 - MIN_GAIN):
                best = index
        at, ratio, alpha = np.unravel_index(best, shape)
        chosen = dict(graphs[at]) | {"l1_ratio": ratios[ratio], "alpha": alphas[alpha]}
        axes = {name: list(dict.fromkeys(each[name] for each in graphs)) for name in graphs[0]}
        axes |= {"l1_ratio": list(ratios), "alpha": list(alphas)}
        curves = GridErrors()
        curves.add(NO_KERNEL, axes, errors, used_inputs=used / len(data.fold_numbers))
        entries = chosen | {"score": float(errors[best])} | curves.entry(NO_KERNEL, chosen)
        return base.Selection(heldout[at, ratio, alpha], entries)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        from workflow_lib.papers.blaschko.elastic_nets import net_path

        chosen, targets = selection.entries, data.targets()
        X, _ = data.inputs.refit_rows()
        point = {name: chosen[name] for name in self._axes()}
        (learned,) = self._learned(data, [point], X, targets)
        features = X if learned is None else learned.transform(X)
        # The path from the largest penalty, as in the folds.
        alphas = [alpha for alpha in self.grid["alpha"] if alpha >= chosen["alpha"]]
        coefficients, intercepts = net_path(features, targets, chosen["l1_ratio"], alphas)
        weights = coefficients[-1]
        details: dict[str, Any] = {}
        if learned is not None:
            parts = learned.node_values(X, weights[: len(learned.kept_)])
            # Of the rows in which an output is largest; of no row the mean is 0.
            is_largest = np.eye(targets.shape[1])[targets.argmax(axis=1)]
            sums = np.einsum("nsd,nd->sd", parts, is_largest)
            details = {"selected": learned.selected_}
            details |= {"node_values": sums / np.maximum(is_largest.sum(axis=0), 1.0)}
            details |= {"n_features": len(weights)}
            details |= {"n_used_features": int((weights != 0.0).any(axis=1).sum())}
        return Fitted(weights, intercepts[-1], learned, details)

    def _axes(self) -> tuple[str, ...]:
        return () if self.uses == "inputs" else ("n_selected", "depth", "place_weight")

    def _learned(
        self,
        data: FitData,
        graphs: Sequence[Mapping[str, float]],
        X: np.ndarray,
        targets: np.ndarray,
    ) -> Iterator[PatternFeatures | None]:
        """Yield the fitted map to patterns of each graph; None where the inputs are used."""
        if self.uses == "inputs":
            yield None
            return
        from workflow_lib.papers.blaschko.elastic_nets import used_inputs
        from workflow_lib.papers.blaschko.pattern_features import PatternFeatures

        places = data.split.dataset["places"]
        columns = {
            n: np.flatnonzero(used_inputs(X, targets, SELECTION_RATIO, n))
            for n in {point["n_selected"] for point in graphs}
        }
        for point in graphs:
            yield PatternFeatures(
                columns[point["n_selected"]],
                depth=point["depth"],
                place_weight=point["place_weight"],
                n_levels=self.n_levels,
                n_neighbours=self.n_neighbours,
                most_nodes=MAX_NODES,
                places=np.column_stack([places["row"], places["column"]]),
                with_inputs=self.uses == "both",
            ).fit(X)


class Fitted(base.Fitted):
    """Weights (m, d) and intercepts (d,) of `learned` features, or of the inputs where it is None.

    `details` are more entries of an item.
    """

    def __init__(self, weights, intercept, learned=None, details=None) -> None:
        self._weights, self._intercept, self._learned = weights, intercept, learned
        self._details = dict(details or {})

    def predict(self, rows):
        X = rows.test_rows()
        if not len(X):
            return np.empty((0, len(self._intercept)))
        features = X if self._learned is None else self._learned.transform(X)
        return features @ self._weights + self._intercept

    def entries(self):
        if self._learned is None:
            return {"weights": self._weights, "intercept": self._intercept}
        return self._details

    def to_arrays(self):
        arrays = {"weights": self._weights, "intercept": self._intercept}
        if self._learned is not None:
            arrays["transformer"] = estimator_bytes(self._learned)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        stored = arrays.get("transformer")
        learned = None if stored is None else estimator_from_bytes(stored)
        return cls(arrays["weights"], arrays["intercept"], learned)
