"""Bags classified by Fisher vectors, under a mixture that may be trained with the classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.named_class import combinations
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec, fit_specs
from workflow_lib.fitting.point_selection import select_point, single_values
from workflow_lib.items.group_names import SELECTED
from workflow_lib.items.kinds.bags import some_rows
from workflow_lib.methods.contract import base
from workflow_lib.papers.palasek.bag_classes import check_classes, scores_of_all, tried_points
from workflow_lib.papers.palasek.projection import MAX_ROWS, Projection, fitted_projection

if TYPE_CHECKING:
    from workflow_lib.papers.palasek.fisher_network import FisherVectorNetwork

REGRESSORS = ("fisher_vector_network",)
TASKS = ("classes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")
LEARNS_FROM_INPUTS = True


PSEUDO_ROUNDS = 5
"""Most times that pseudo-classes are predicted anew; the first from labelled bags alone."""


@dataclass
class Method(base.Method):
    """Select the penalty and the learning rate, and fit the network to bags.

    The grid point is that with the least `scaled_squared_error` of the scores of held-out bags;
    with a grid of one point nothing is held out. Principal components, mixture and network of a
    fold see its own training bags, and the unlabelled bags where they are used.

    The fields are keys of the YAML file; the `seed` of the samples of rows, of the starts and of
    the order of bags; and `components`, ``selected`` or the numbers that are run one by one instead
    of `n_components`.
    """

    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    seed: int
    components: str | Sequence[int]
    n_components: int
    n_dimensions: int | None
    mixture_bags: str
    mixture_start: str
    classifier_start: str
    n_epochs: int
    batches: str
    batch_size: int
    unlabelled_weight: float
    m_steps: int
    m_step_rate: float
    in_batches: str
    refit: bool
    unlabelled: bool
    by_epoch: bool
    trained_layer: str | None = None
    optimiser: str = "rmsprop"
    trained: str = "network"

    def specs(self, split: SplitData) -> list[FitSpec]:
        """Return the fits of each size, of each number of unlabelled bags that are used, and of
        each fixed number of components."""
        sizes = sorted({0, *split.weak_sizes}) if self.unlabelled else (0,)
        counts = None
        if self.components != SELECTED:
            counts = {count: (count,) for count in self.components}
        return fit_specs(split.sizes, sizes, counts)

    def select(self, data: FitData) -> base.Selection:
        check_classes(data)
        has_one = data.has_one_example
        grid = single_values(self.grid, self.one_example) if has_one else self.grid
        if not data.weak_items:
            grid = {**grid, "pseudo_weight": [0.0]}
        points = list(combinations(grid))
        if len(points) == 1:
            return base.Selection(None, points[0])
        error_of = partial(scaled_squared_error, labels=data.labels)
        start_of = partial(self._start, data, weak=data.weak_items)
        tried = partial(tried_points, data, start_of=start_of, fitted=self._fitted)
        return select_point(data, grid, {}, tried, error_of)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = {name: selection.entries[name] for name in self.grid}
        start = self._start(data, data.items, data.weak_items)
        return self._fitted(start, data.labels, data.n_classes, chosen)

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_arrays(entries["network"])

    def _start(self, data: FitData, bags: list[np.ndarray], weak: list[np.ndarray]) -> _Start:
        """Return the principal components and the mixture of labelled and unlabelled bags."""
        from workflow_lib.papers.palasek.fisher_network import first_mixture

        generator = np.random.default_rng(self.seed)
        used = bags + weak if self.mixture_bags == "all" else bags
        has_units = bool(data.split.dataset["bags"].get("has_own_units", False))
        projection = fitted_projection(used, self.n_dimensions, has_units, generator)
        layer = None
        if self.trained_layer is None:
            bags, weak, used = (projection.of(each) for each in (bags, weak, used))
        else:
            from workflow_lib.papers.palasek.row_layer import first_layer

            rows = some_rows(used, MAX_ROWS, generator)
            layer = first_layer(self.trained_layer, rows, *projection)
            projection, used = None, [layer.transform(bag) for bag in used]
        components = data.spec.components
        count = self.n_components if components == SELECTED else components
        mixture = first_mixture(used, count, self.mixture_start, generator)
        return _Start(projection, layer, bags, weak, mixture)

    def _fitted(
        self, start: _Start, labels: np.ndarray, n_classes: int, point: Mapping[str, float]
    ) -> Fitted:
        """Return the network fitted to the bags, with the classes of the labelled ones."""
        from workflow_lib.papers.palasek.fisher_network import FisherVectorNetwork

        classes, weights = start.classes(labels, point)
        network = FisherVectorNetwork(
            model=start.mixture,
            classifier=self.classifier_start,
            penalty=point["penalty"],
            unlabelled_weight=self.unlabelled_weight,
            learning_rate=point["learning_rate"],
            m_steps=self.m_steps,
            m_step_rate=self.m_step_rate,
            batch_size=self.batch_size,
            batches=self.batches,
            n_epochs=self.n_epochs,
            in_batches=self.in_batches,
            refit=self.refit,
            random_state=self.seed,
            layer=start.layer,
            optimiser=self.optimiser,
            trained=self.trained,
        )
        epochs: list[FisherVectorNetwork] = []

        def keep(trained: FisherVectorNetwork) -> None:
            epochs.append(FisherVectorNetwork.from_arrays(trained.to_arrays()))

        network.fit(start.bags, classes, weights, keep if self.by_epoch else None)
        return Fitted(network, start.projection, n_classes, epochs)


class _Start:
    """What all grid points of a fold have in common."""

    def __init__(self, projection, layer, bags, weak, mixture) -> None:
        self.projection, self.layer, self.mixture = projection, layer, mixture
        self.bags, self._n_labelled = bags + weak, len(bags)

    def classes(
        self, labels: np.ndarray, point: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes of all bags, -1 for unlabelled ones, and their weights. With a
        positive weight of pseudo-classes, at most PSEUDO_ROUNDS times a linear machine on the
        vectors of all bags gives unlabelled bags the classes that it predicts for them."""
        from workflow_lib.papers.palasek.fisher_network import UNLABELLED, fit_squared_hinge

        n, n_bags = self._n_labelled, len(self.bags)
        classes, weights = np.full(n_bags, UNLABELLED), np.ones(n_bags)
        classes[:n] = labels
        if point["pseudo_weight"] == 0 or n == n_bags:
            return classes, weights
        weights[n:] = point["pseudo_weight"]
        found = np.unique(labels)
        for _ in range(PSEUDO_ROUNDS):
            known = classes != UNLABELLED
            signs = np.where(classes[known, None] == found, 1.0, -1.0)
            coef, intercept = fit_squared_hinge(
                self._vectors[known], signs, point["penalty"], weights[known]
            )
            scores = self._vectors[n:] @ coef.T + intercept
            before, classes[n:] = classes[n:].copy(), found[scores.argmax(axis=1)]
            if (classes[n:] == before).all():
                break
        return classes, weights

    @cached_property
    def _vectors(self) -> np.ndarray:
        """Fisher vectors of all bags under the first mixture."""
        from workflow_lib.papers.palasek.fisher_network import FisherVectorNetwork

        # The vectors do not depend on the classes of an untrained network.
        classes = np.arange(len(self.bags)) % 2
        network = FisherVectorNetwork(
            model=self.mixture, classifier="zero", n_epochs=0, layer=self.layer
        )
        return network.fit(self.bags, classes).transform(self.bags)


class Fitted(base.Fitted):
    """A network, the projection of its rows, and the number of classes.

    The projection is None where a layer of the network takes its place. `n_classes` is the number K
    of the scores, those without a training bag included; `epochs` are the network before the first
    epoch and after each, where they are kept.
    """

    def __init__(
        self,
        network: FisherVectorNetwork,
        projection: Projection | None,
        n_classes: int,
        epochs: Sequence[FisherVectorNetwork] = (),
    ) -> None:
        self._network, self._projection, self._n_classes = network, projection, n_classes
        self._epochs = epochs

    def predict(self, rows):
        return self.scores(rows.items())

    def predictions(self, rows):
        bags = self._of(rows.items())
        found = {"test_targets": self._of_all_classes(self._network, bags)}
        if self._epochs:
            by_epoch = [self._of_all_classes(network, bags) for network in self._epochs]
            found["test_targets_by_epoch"] = np.stack(by_epoch).astype(np.float32)
        return found

    def scores(self, bags: Sequence[np.ndarray]) -> np.ndarray:
        """Return the score of every class (m, K); classes without a training bag are last."""
        return self._of_all_classes(self._network, self._of(bags))

    def _of(self, bags: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        return bags if self._projection is None else self._projection.of(bags)

    def _of_all_classes(
        self, network: FisherVectorNetwork, bags: Sequence[np.ndarray]
    ) -> np.ndarray:
        return scores_of_all(network.decision_function(bags), network.classes_, self._n_classes)

    def entries(self):
        # On another processor a second training would end elsewhere.
        found: dict[str, Any] = {"network": self.to_arrays()}
        if self._epochs:
            history = self._network.history_
            found["updates_by_epoch"] = np.array([0, *(each["updates"] for each in history)])
        return found

    def to_arrays(self):
        projection = {} if self._projection is None else self._projection._asdict()
        return self._network.to_arrays() | projection | {"n_classes": self._n_classes}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        from workflow_lib.papers.palasek.fisher_network import FisherVectorNetwork

        projection = None
        if "shift" in arrays:
            projection = Projection(arrays["shift"], arrays["directions"])
        network = FisherVectorNetwork.from_arrays(arrays)
        return cls(network, projection, int(arrays["n_classes"]))
