"""Maps of local features, classified without Fisher vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.point_selection import select_point
from workflow_lib.methods.contract import base
from workflow_lib.papers.palasek.bag_classes import check_classes, scores_of_all, tried_points
from workflow_lib.papers.palasek.projection import Projection, fitted_projection

if TYPE_CHECKING:
    from workflow_lib.papers.palasek.map_network import MapNetwork

REGRESSORS = ("map_network",)
TASKS = ("classes",)
NEEDS = {"minutes": 20, "more_mb": 1000}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Select the penalty and the learning rate, and fit the network to maps.

    The grid point is that with the least `scaled_squared_error` of the scores of held-out bags.
    Principal components and network of a fold see its own training bags alone. The fields are keys
    of the YAML file, and the `seed` of the rows that give the components, of the filters and of the
    order of bags.
    """

    grid: Mapping[str, Sequence[float]]
    one_example: Mapping[str, float]
    seed: int
    layer: str
    n_units: int
    n_dimensions: int | None
    n_epochs: int
    batch_size: int

    def select(self, data: FitData) -> base.Selection:
        check_classes(data)
        check_maps(data)
        error_of = partial(scaled_squared_error, labels=data.labels)
        start_of = partial(self._start, data)
        tried = partial(tried_points, data, start_of=start_of, fitted=self._fitted)
        return select_point(data, self.grid, self.one_example, tried, error_of)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        chosen = {name: selection.entries[name] for name in self.grid}
        return self._fitted(self._start(data, data.items), data.labels, data.n_classes, chosen)

    def _start(self, data: FitData, bags: list[np.ndarray]) -> tuple[Projection, np.ndarray, float]:
        """Return the principal components of bags, their maps (n, m, k), and the number by which
        these were divided."""
        has_units = bool(data.split.dataset["bags"].get("has_own_units", False))
        generator = np.random.default_rng(self.seed)
        projection = fitted_projection(bags, self.n_dimensions, has_units, generator)
        maps = np.stack(projection.of(bags))
        spread = float(np.sqrt((maps**2).mean()))
        unit = spread if spread > 0 else 1.0
        return projection, maps / unit, unit

    def _fitted(
        self,
        start: tuple[Projection, np.ndarray, float],
        labels: np.ndarray,
        n_classes: int,
        point: Mapping[str, float],
    ) -> Fitted:
        from workflow_lib.papers.palasek.map_network import MapNetwork

        projection, maps, unit = start
        network = MapNetwork(
            self.layer,
            self.n_units,
            point["penalty"],
            point["learning_rate"],
            self.n_epochs,
            self.batch_size,
            self.seed,
        )
        classes = np.unique(labels)
        network.fit(maps, np.where(labels[:, None] == classes, 1.0, -1.0))
        return Fitted(network, projection, unit, classes, n_classes)


class Fitted(base.Fitted):
    """A network, the projection of its rows, and the number by which these are then divided.

    `classes` (k,) are those of its scores, of `n_classes` K in all.
    """

    def __init__(
        self,
        network: MapNetwork,
        projection: Projection,
        unit: float,
        classes: np.ndarray,
        n_classes: int,
    ) -> None:
        self._network, self._projection, self._unit = network, projection, unit
        self._classes, self._n_classes = classes, n_classes

    def predict(self, rows):
        return self.scores(rows.items())

    def scores(self, bags: Sequence[np.ndarray]) -> np.ndarray:
        """Return the score of every class (m, K); classes without a training bag are last."""
        n_rows = self._network.n_numbers // self._projection.directions.shape[1]
        for index, bag in enumerate(bags):
            if len(bag) != n_rows:
                raise UserError(
                    location=f"bag {index} (counted from 0)",
                    found=f"{len(bag)} rows",
                    expected=f"{n_rows}, as in every bag that the method was fitted to",
                    remedy="describe it at the same positions",
                )
        maps = np.stack(self._projection.of(bags)) / self._unit
        return scores_of_all(self._network.decision_function(maps), self._classes, self._n_classes)

    def to_arrays(self):
        own = {"unit": self._unit, "classes": self._classes, "n_classes": self._n_classes}
        return self._network.to_arrays() | self._projection._asdict() | own

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        from workflow_lib.papers.palasek.map_network import MapNetwork

        projection = Projection(arrays["shift"], arrays["directions"])
        unit, n_classes = float(arrays["unit"]), int(arrays["n_classes"])
        network = MapNetwork.from_arrays(arrays)
        return cls(network, projection, unit, arrays["classes"], n_classes)


def check_maps(data: FitData) -> None:
    """Raise UserError where the rows of bags are not at the same positions in all of them."""
    bags = data.split.dataset["bags"]
    counts = np.diff(np.asarray(bags["begins"]))
    found = None
    if (counts != counts[0]).any():
        found = f"bags of {counts.min()} to {counts.max()} rows"
    elif "positions" in bags:
        positions = np.asarray(bags["positions"]).reshape(len(counts), counts[0], -1)
        n_others = int((positions != positions[0]).any(axis=(1, 2)).sum())
        if n_others:
            found = f"{n_others} of {len(counts)} bags with rows at other positions than the first"
    if found is not None:
        raise UserError(
            location=f"{data.split.paths.get('dataset', 'the dataset')}, its bags",
            found=found,
            expected="rows at the same positions in each, as of a map",
            remedy="use images of one size and all of their patches, or a method with Fisher "
            "vectors",
        )
