"""Classifiers of maps of local features, without Fisher vectors: the comparators of the paper.

Palasek and Patras (2017, section 5.1.1, Table 1) feed the outputs of a layer, rows at the same
positions of every image, straight into a linear classifier with the squared hinge loss, or into one
more trained layer before it. With the rows x_1 to x_m of a bag that layer is

- ``convolution``: h_i = max(0, F' x_i + b) for each row, the convolution with filters of 1 x 1;
- ``full``: h = max(0, F' (x_1, ..., x_m) + b), a fully connected layer;

and its outputs together, in the order of the rows, are what is classified. Unlike in a Fisher
vector, it matters where in the image a row is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.models.gradient_steps import GradientSteps
from workflow_lib.papers.palasek.fisher_network import fit_squared_hinge

LAYERS = ("none", "convolution", "full")


class MapNetwork:
    """A linear classifier of maps, and the layer before it.

    It minimises C_sup of Palasek and Patras (2017), eq. (10), as `FisherVectorNetwork`: without
    a layer as a linear support vector machine, and with one by RMSProp in batches, from random
    filters (He, Zhang, Ren & Sun 2015) and zeros as classifier. The last epoch is the result.

    The `layer` is one of `LAYERS`, of `n_units` filters or units; the `penalty` is of the squared
    weights and intercepts of the linear classifier, the `learning_rate` of RMSProp, for numbers of
    the spread 1, and the `random_state` of the filters and of the order of bags. The attribute
    `weights` has ``coef`` (K, p) and ``intercept`` (K,), and of a layer ``filters`` (d, h) and
    ``thresholds`` (h,).
    """

    def __init__(
        self,
        layer: str,
        n_units: int,
        penalty: float,
        learning_rate: float,
        n_epochs: int,
        batch_size: int,
        random_state: int,
    ) -> None:
        self.layer, self.n_units = layer, n_units
        self.penalty, self.learning_rate = penalty, learning_rate
        self.n_epochs, self.batch_size = n_epochs, batch_size
        self.random_state = random_state

    def fit(self, maps: np.ndarray, signs: np.ndarray) -> MapNetwork:
        """Fit to maps (n, m, d), near zero and of the spread 1, and to `signs` (n, K), 1 for the
        class of a bag and -1 for others."""
        if self.layer == "none":
            vectors = maps.reshape(len(maps), -1)
            fitted = fit_squared_hinge(vectors, signs, self.penalty, np.ones(len(maps)))
            self.weights = dict(zip(("coef", "intercept"), fitted, strict=True))
            return self
        random = np.random.default_rng(self.random_state)
        n_rows, n_inputs = self._given(maps).shape[1:]
        self.weights = {
            "filters": random.normal(0, np.sqrt(2.0 / n_inputs), (n_inputs, self.n_units)),
            "thresholds": np.zeros(self.n_units),
            "coef": np.zeros((signs.shape[1], n_rows * self.n_units)),
            "intercept": np.zeros(signs.shape[1]),
        }
        descents = GradientSteps("rmsprop", self.learning_rate)
        for _ in range(self.n_epochs):
            order = random.permutation(len(maps))
            for first in range(0, len(order), self.batch_size):
                batch = order[first : first + self.batch_size]
                steps = descents.steps(self.cost_and_gradients(maps[batch], signs[batch])[1])
                for name, step in steps.items():
                    self.weights[name] = self.weights[name] - step
        return self

    @property
    def n_numbers(self) -> int:
        """Numbers of a map."""
        numbers = self.weights["coef"].shape[1]
        if self.layer == "none":
            return numbers
        n_inputs, n_units = self.weights["filters"].shape
        return numbers // n_units * n_inputs

    def decision_function(self, maps: np.ndarray) -> np.ndarray:
        """Return the score of every class (n, K)."""
        vectors = self._hidden(maps).reshape(len(maps), -1)
        return vectors @ self.weights["coef"].T + self.weights["intercept"]

    def cost_and_gradients(
        self, maps: np.ndarray, signs: np.ndarray
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Return C_sup of maps and `signs`, and its gradient in every weight."""
        hidden = self._hidden(maps)
        vectors = hidden.reshape(len(maps), -1)
        coef, intercept = self.weights["coef"], self.weights["intercept"]
        violations = np.maximum(1.0 - signs * (vectors @ coef.T + intercept), 0.0)
        squares = float((coef**2).sum() + (intercept**2).sum())
        cost = float((violations**2).sum()) / len(maps) + 0.5 * self.penalty * squares
        in_scores = -2.0 / len(maps) * signs * violations
        gradients = {
            "coef": in_scores.T @ vectors + self.penalty * coef,
            "intercept": in_scores.sum(axis=0) + self.penalty * intercept,
        }
        if self.layer != "none":
            in_hidden = np.where(hidden > 0, (in_scores @ coef).reshape(hidden.shape), 0.0)
            rows, in_rows = self._given(maps), in_hidden.reshape(-1, self.n_units)
            gradients["filters"] = rows.reshape(-1, rows.shape[2]).T @ in_rows
            gradients["thresholds"] = in_rows.sum(axis=0)
        return cost, gradients

    def _given(self, maps: np.ndarray) -> np.ndarray:
        """Return what the layer sees: the rows, or all of them as one row."""
        return maps.reshape(len(maps), 1, -1) if self.layer == "full" else maps

    def _hidden(self, maps: np.ndarray) -> np.ndarray:
        if self.layer == "none":
            return maps
        outputs = self._given(maps) @ self.weights["filters"] + self.weights["thresholds"]
        return np.maximum(outputs, 0.0)

    def to_arrays(self) -> dict[str, Any]:
        """Return what `from_arrays` predicts with."""
        return {"layer": LAYERS.index(self.layer), "weights": dict(self.weights)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> MapNetwork:
        """Return the network of `to_arrays`, which cannot be trained further."""
        network = cls(LAYERS[int(arrays["layer"])], 0, 1.0, 1.0, 0, 1, 0)
        network.weights = dict(arrays["weights"])
        return network
