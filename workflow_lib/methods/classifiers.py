"""The regression stage of classifiers: nested selection, fit, class scores."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.baselines.classifiers import (
    class_probabilities,
    fit_forest_classifier,
    fit_perceptron,
    fit_support_vector_machines,
    out_of_bag_probabilities,
)
from workflow_lib.baselines.stored_perceptron import perceptron_tree
from workflow_lib.experiments.class_rows import ClassRows
from workflow_lib.experiments.class_selection import least_error, squared_error
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import Grams, PreparedInputs

Point = dict[str, Any]

REGRESSORS = ("support_vector_machine", "perceptron", "random_forest_classifier")
TASKS = ("classes",)
NEEDS = {"minutes": 5, "grams": 6, "cubic_minutes": 0.4}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    regressor: str,
    kernel: str,
    grid: Mapping[str, Any],
    one_example: Mapping[str, Any],
    seed: int,
) -> None:
    """Select and fit a classifier for every training size.

    The grid point is that with the least `squared_error` of the class scores of held-out
    rows, the first of those that are equal. With one example per class a held-out class has no
    example left, and nothing can be selected: `one_example` is used instead, and the item has
    no score.

    Writes the "regression" artifact: for each training size what was chosen, the class scores of
    the test rows (n_test, K), and those of each training row without its fold (of forests: out of
    bag); of a perceptron also its weights, as
    `workflow_lib.baselines.stored_perceptron.perceptron_tree` names them; and the seconds of each
    item, as JSON.

    Parameters
    ----------
    regressor : {"support_vector_machine", "perceptron", "random_forest_classifier"}
        ``support_vector_machine``: a machine for each class against the rest, on Gram matrices; the
        scores are its decision functions. ``perceptron``: one hidden layer, on feature vectors;
        the scores are probabilities. ``random_forest_classifier``: classification trees, on feature
        vectors; the scores are probabilities. The forest that predicts is that which was scored out
        of bag, so its seconds count as those of selection.
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

    Raises
    ------
    ValueError
        If `regressor` is unknown, or the grid holds no value of what it needs.
    """
    if regressor not in CLASSIFIERS:
        raise ValueError(f"regressor is {regressor!r}; expected one of {sorted(CLASSIFIERS)}.")
    rows = ClassRows(dataset, split, features)
    items = OutputItems()
    for size in rows.sizes:
        is_fixed = rows.has_one_example(size)
        inputs, labels = rows.inputs(size), rows.labels(size)
        started = time.perf_counter()
        competing = CLASSIFIERS[regressor](
            inputs,
            labels,
            len(rows.vectors),
            kernel,
            _single(grid, one_example) if is_fixed else grid,
            seed,
        )
        point, score, heldout = _selected(competing, labels)
        selected = time.perf_counter()
        fitted_model = competing.fit(point)
        fitted = time.perf_counter()
        scores = competing.test_scores(fitted_model, point)
        items.add(
            size,
            scores,
            heldout,
            (started, selected, fitted, time.perf_counter()),
            score=None if is_fixed else score,
            **point,
            **competing.fitted_arrays(fitted_model),
        )
    items.write(output, timings, [dataset, split, features], seed)


def _single(grid: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the grid with one value in the place of each list: that of `fixed`, or the first."""
    single = dict(grid)
    for name, values in grid.items():
        if isinstance(values, list | tuple):
            single[name] = [fixed.get(name, values[0])] if values else []
        elif name in fixed:
            single[name] = fixed[name]
    return single


def _selected(classifier: _Classifier, labels: np.ndarray) -> tuple[Point, float, np.ndarray]:
    """Return the best grid point, its score, and its class scores of held-out rows."""
    tried = list(classifier.heldout_scores())
    errors = [squared_error(classifier.as_indicators(heldout), labels) for _, heldout in tried]
    best = least_error(errors)
    point, heldout = tried[best]
    return point, errors[best], heldout


class _Classifier(ABC):
    """A classifier of one training size, with the grid points that compete."""

    parameters: tuple[str, ...]

    def as_indicators(self, scores: np.ndarray) -> np.ndarray:
        """Return class scores (n, K) in the units of indicators: probabilities are already."""
        return scores

    def __init__(
        self,
        inputs: PreparedInputs,
        labels: np.ndarray,
        n_classes: int,
        kernel: str,
        grid: Mapping[str, Any],
        seed: int,
    ) -> None:
        self._inputs, self._labels, self._n_classes = inputs, labels, n_classes
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
    def fit(self, point: Point) -> Any:
        """Return the classifier fitted to all training rows."""

    @abstractmethod
    def test_scores(self, fitted: Any, point: Point) -> np.ndarray:
        """Return the class scores (n_test, K) of the test rows."""

    def fitted_arrays(self, fitted: Any) -> dict[str, np.ndarray]:
        """Return what is kept of the fitted classifier: nothing where a second fit is the same."""
        return {}

    def _folds(self) -> list[np.ndarray]:
        """Return the held-out rows (n,) of each fold, as a mask."""
        folds = self._inputs.folds
        return [folds == fold for fold in range(folds.max() + 1)]

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
        K = self._inputs.training_gram(self._kernel, point["width"])
        return self._machines(K, self._labels, point["cost"])

    def test_scores(self, fitted, point):
        return fitted.scores(self._inputs.test_gram(self._kernel, point["width"]))

    def _machines(self, K, labels, cost):
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
                perceptron = fit_perceptron(X, self._labels[~heldout], penalty, self._seed)
                scores[heldout] = class_probabilities(perceptron, X_heldout, self._n_classes)
            yield {"l2_penalty": penalty}, scores

    def fit(self, point):
        X, _ = self._inputs.refit_rows()
        return fit_perceptron(X, self._labels, point["l2_penalty"], self._seed)

    def test_scores(self, fitted, point):
        return class_probabilities(fitted, self._inputs.refit_rows()[1], self._n_classes)

    def fitted_arrays(self, fitted):
        # Many steps of a search that is stopped early: on another processor a second fit would
        # end elsewhere.
        return perceptron_tree(fitted, self._n_classes)


class _Forest(_Classifier):
    """A forest of classification trees."""

    parameters = ("max_features", "n_trees")

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self._fitted: dict[float, Any] = {}
        self._rows, self._test_rows = self._inputs.refit_rows()

    def heldout_scores(self):
        for share in self._grid["max_features"]:
            forest = fit_forest_classifier(
                self._rows, self._labels, self._grid["n_trees"], share, self._seed
            )
            self._fitted[share] = forest
            yield (
                {"max_features": share},
                out_of_bag_probabilities(forest, self._labels, self._n_classes),
            )

    def fit(self, point):
        return self._fitted[point["max_features"]]

    def test_scores(self, fitted, point):
        return class_probabilities(fitted, self._test_rows, self._n_classes)


CLASSIFIERS = {
    "support_vector_machine": _SupportVectorMachines,
    "perceptron": _Perceptron,
    "random_forest_classifier": _Forest,
}
