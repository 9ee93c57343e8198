"""Classifiers: support vector machines, a perceptron and a forest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.baselines.stored_perceptron import perceptron_probabilities, perceptron_tree
from workflow_lib.fitting.class_selection import least_error, squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_forest import FittedForest
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.prepared_inputs import Grams
from workflow_lib.methods import base

Point = dict[str, Any]

REGRESSORS = ("support_vector_machine", "perceptron", "random_forest_classifier")
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Select and fit a classifier.

    The grid point is that with the least `squared_error` of the class scores of held-out
    rows, the first of those that are equal. With one example per class a held-out class has no
    example left, and nothing can be selected: `one_example` is used instead, and the item has
    no score.

    Attributes
    ----------
    regressor : {"support_vector_machine", "perceptron", "random_forest_classifier"}
        ``support_vector_machine``: a machine for each class against the rest, on Gram matrices; the
        scores are its decision functions. ``perceptron``: one hidden layer, on feature vectors;
        the scores are probabilities; its weights are in the artifact. ``random_forest_classifier``:
        classification trees, on feature vectors; the scores are probabilities, those of training
        rows out of bag. The forest that predicts is that which was scored out of bag, so its
        seconds count as those of selection.
    kernel : str
        Kernel of the Gram matrices; only ``rbf`` has widths.
    grid : mapping
        Lists of the values that compete: ``width`` and ``cost`` of machines, ``l2_penalty`` of
        the perceptron, ``max_features`` of the forest; and its number ``n_trees``.
        What another classifier needs is ignored.
    one_example : mapping
        One value of each with one example per class; the first of its list where one is missing.
    seed : int
        Of the perceptron's first weights, and of the forest.
    """

    regressor: str
    kernel: str
    grid: Mapping[str, Any]
    one_example: Mapping[str, Any]
    seed: int

    def select(self, data: FitData) -> base.Selection:
        """Return the best grid point.

        Raises
        ------
        ValueError
            If `regressor` is unknown, or the grid holds no value of what it needs.
        """
        grid = _single(self.grid, self.one_example) if data.has_one_example else self.grid
        competing = self._classifier(data, grid)
        tried = list(competing.heldout_scores())
        errors = [
            squared_error(competing.as_indicators(heldout), data.labels) for _, heldout in tried
        ]
        best = least_error(errors)
        point, heldout = tried[best]
        score = None if data.has_one_example else errors[best]
        return base.Selection(heldout, {"score": score} | point, fitting=competing)

    def fit(self, data: FitData, selection: base.Selection) -> base.Fitted:
        competing = selection.fitting or self._classifier(data, self.grid)
        return competing.fit(selection.entries)

    def restored(self, data: FitData, entries: Mapping) -> base.Fitted:
        if self.regressor == "perceptron":
            return FittedPerceptron(_entries_of_perceptron(entries), data.directions)
        return super().restored(data, entries)

    def _classifier(self, data: FitData, grid: Mapping[str, Any]) -> _Classifier:
        if self.regressor not in CLASSIFIERS:
            raise ValueError(
                f"regressor is {self.regressor!r}; expected one of {sorted(CLASSIFIERS)}."
            )
        return CLASSIFIERS[self.regressor](data, self.kernel, grid, self.seed)


class Fitted(base.Fitted):
    """A fitted classifier of one of the three kinds."""

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> base.Fitted:
        """Return the classifier that the arrays are of."""
        if "forest" in arrays:
            return FittedForest.from_arrays(arrays)
        kind = FittedPerceptron if "hidden_weights" in arrays else FittedMachines
        return kind.from_arrays(arrays)


class FittedMachines(Fitted):
    """Machines of one class against the rest."""

    def __init__(self, machines: Any, kernel: InputKernel) -> None:
        self._machines, self._kernel = machines, kernel

    def predict(self, rows):
        return self._machines.scores(rows.test_gram(*self._kernel))

    def to_arrays(self):
        machines = self._machines
        arrays = {"dual_coefficients": machines.dual, "intercept": machines.intercept}
        return arrays | {"known": machines.known} | kernel_arrays(self._kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedMachines:
        from workflow_lib.baselines.machines import SupportVectorMachines

        fitted = arrays["dual_coefficients"], arrays["intercept"], arrays["known"]
        return cls(SupportVectorMachines(*fitted), kernel_in(arrays)[0])


class FittedPerceptron(Fitted):
    """The weights of a perceptron, as `workflow_lib.baselines.stored_perceptron` names them."""

    def __init__(self, weights: Mapping[str, np.ndarray], directions: Any) -> None:
        self._weights, self._directions = weights, directions

    def predict(self, rows):
        return perceptron_probabilities(self._weights, rows.vectors(self._directions))

    def entries(self):
        # Many steps of a search that is stopped early: on another processor a second fit would
        # end elsewhere.
        return dict(self._weights)

    def to_arrays(self):
        return dict(self._weights) | self._directions()

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedPerceptron:
        return cls(_entries_of_perceptron(arrays), lambda: arrays)


def _entries_of_perceptron(arrays: Mapping) -> dict[str, np.ndarray]:
    names = ("known", "hidden_weights", "hidden_intercept", "output_weights", "output_intercept")
    return {name: arrays[name] for name in names}


def _single(grid: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grid with one value in the place of each list: that of `fixed`, or the first."""
    single = dict(grid)
    for name, values in grid.items():
        if isinstance(values, list | tuple):
            single[name] = [fixed.get(name, values[0])] if values else []
        elif name in fixed:
            single[name] = fixed[name]
    return single


class _Classifier(ABC):
    """A classifier of one training size, with the grid points that compete."""

    parameters: tuple[str, ...]

    def as_indicators(self, scores: np.ndarray) -> np.ndarray:
        """Return class scores (n, K) in the units of indicators: probabilities are already."""
        return scores

    def __init__(self, data: FitData, kernel: str, grid: Mapping[str, Any], seed: int) -> None:
        self._data, self._inputs, self._labels = data, data.inputs, data.labels
        self._n_classes = data.n_classes
        self._kernel, self._grid, self._seed = kernel, dict(grid), seed
        if kernel != "rbf":
            self._grid["width"] = [None]
        for name in self.parameters:
            if not self._grid.get(name):
                raise ValueError(f"the grid has no value of {name}, which this classifier needs.")

    @abstractmethod
    def heldout_scores(self) -> Iterator[tuple[Point, np.ndarray]]:
        """Yield each grid point with the class scores (n, K) of the training rows held out."""

    @abstractmethod
    def fit(self, point: Point) -> base.Fitted:
        """Return the classifier fitted to all training rows."""

    def _folds(self) -> list[np.ndarray]:
        """Return the held-out rows (n,) of each fold, as a mask."""
        return [self._data.folds == fold for fold in self._data.fold_numbers]

    def _no_scores(self) -> np.ndarray:
        return np.empty((len(self._labels), self._n_classes))


class _SupportVectorMachines(_Classifier):
    """Machines of one class against the rest."""

    parameters = ("width", "cost")

    def as_indicators(self, scores):
        # A row at its margin has the value 1 for its own class and -1 for the others.
        return (scores + 1.0) / 2.0

    def heldout_scores(self):
        for width in self._grid["width"]:
            grams = list(self._fold_grams(width))
            for cost in self._grid["cost"]:
                scores = self._no_scores()
                for heldout, (K, K_heldout) in zip(self._folds(), grams, strict=True):
                    machines = self._machines(K, self._labels[~heldout], cost)
                    scores[heldout] = machines.scores(K_heldout)
                yield {"width": width, "cost": cost}, scores

    def fit(self, point):
        kernel = InputKernel(self._kernel, point.get("width"))
        K = self._inputs.training_gram(*kernel)
        return FittedMachines(self._machines(K, self._labels, point["cost"]), kernel)

    def _machines(self, K, labels, cost):
        from workflow_lib.baselines.classifiers import fit_support_vector_machines

        return fit_support_vector_machines(K, labels, self._n_classes, cost)

    def _fold_grams(self, width: float | None) -> Iterator[Grams]:
        """Yield the two Gram matrices of each fold."""
        if self._inputs.learns:
            yield from self._inputs.fold_grams(self._kernel, width)
            return
        # One matrix holds those of all folds, and computing it can cost more than the machines.
        K = self._inputs.training_gram(self._kernel, width)
        for heldout in self._folds():
            yield K[np.ix_(~heldout, ~heldout)], K[np.ix_(heldout, ~heldout)]


class _Perceptron(_Classifier):
    """A perceptron with one hidden layer."""

    parameters = ("l2_penalty",)

    def heldout_scores(self):
        rows = list(self._inputs.fold_rows())
        for penalty in self._grid["l2_penalty"]:
            scores = self._no_scores()
            for heldout, (X, X_heldout) in zip(self._folds(), rows, strict=True):
                weights = self._weights(X, self._labels[~heldout], penalty)
                scores[heldout] = perceptron_probabilities(weights, X_heldout)
            yield {"l2_penalty": penalty}, scores

    def fit(self, point):
        weights = self._weights(self._data.vectors[0], self._labels, point["l2_penalty"])
        return FittedPerceptron(weights, self._data.directions)

    def _weights(self, X, labels, penalty):
        from workflow_lib.baselines.classifiers import fit_perceptron

        return perceptron_tree(fit_perceptron(X, labels, penalty, self._seed), self._n_classes)


class _Forest(_Classifier):
    """A forest of classification trees."""

    parameters = ("max_features", "n_trees")

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._grown: dict[float, Any] = {}

    def heldout_scores(self):
        from workflow_lib.baselines.classifiers import out_of_bag_probabilities

        for share in self._grid["max_features"]:
            forest = self._forest(share)
            scores = out_of_bag_probabilities(forest, self._labels, self._n_classes)
            yield {"max_features": share}, scores

    def fit(self, point):
        forest = self._forest(point["max_features"])
        known = np.isin(np.arange(self._n_classes), forest.classes_)
        return FittedForest(forest, self._data.directions, known)

    def _forest(self, share: float):
        from workflow_lib.baselines.classifiers import fit_forest_classifier

        if share not in self._grown:
            self._grown[share] = fit_forest_classifier(
                self._data.vectors[0], self._labels, self._grid["n_trees"], share, self._seed
            )
        return self._grown[share]


CLASSIFIERS = {
    "support_vector_machine": _SupportVectorMachines,
    "perceptron": _Perceptron,
    "random_forest_classifier": _Forest,
}
