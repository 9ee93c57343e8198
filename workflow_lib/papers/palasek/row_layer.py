"""A trained layer of the rows of bags, which comes before their Fisher vectors.

A row x of d numbers becomes one of k numbers: with z = (x - shift) / scale,

- projection: D' z, with the directions D (d, k);
- convolution: D' max(0, F' z + b), with the filters F (d, h), the thresholds b (h,) and the
  directions D (h, k). Where rows are the windows of an image, this is a convolution of the image
  with h filters of the size of a window, a rectifier, and one with k filters of a single pixel.

Palasek and Patras (2017, section 4) keep such layers fixed, since the rows collapse where they are
trained to raise the log-likelihood. Here they are trained by the supervised cost alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

KINDS = ("projection", "convolution")


class RowLayer(NamedTuple):
    """A layer with its weights; `shift` and `scale` (d,), by which rows are standardised, stay.

    The weights are ``directions`` (d, k), or ``filters`` (d, h), ``thresholds`` (h,) and
    ``directions`` (h, k).
    """

    shift: np.ndarray
    scale: np.ndarray
    weights: dict[str, np.ndarray]

    def transform(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows (m, k) of rows (m, d)."""
        return self._hidden(self._standard(rows)) @ self.weights["directions"]

    def gradients(self, rows: np.ndarray, in_result: np.ndarray) -> dict[str, np.ndarray]:
        """Return the gradient in each weight of a function whose gradient in `transform` (m, k) is
        `in_result`."""
        standard = self._standard(rows)
        hidden = self._hidden(standard)
        found = {"directions": hidden.T @ in_result}
        if "filters" in self.weights:
            in_hidden = np.where(hidden > 0, in_result @ self.weights["directions"].T, 0.0)
            found |= {"filters": standard.T @ in_hidden, "thresholds": in_hidden.sum(axis=0)}
        return found

    def moved(self, steps: Mapping[str, np.ndarray]) -> RowLayer:
        """Return the layer with steps added to its weights, by name."""
        return self._replace(weights={name: self.weights[name] + steps[name] for name in steps})

    def to_arrays(self) -> dict[str, Any]:
        """Return the layer as a tree of arrays."""
        return {"shift": self.shift, "scale": self.scale, "weights": dict(self.weights)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> RowLayer:
        """Return the layer of `to_arrays`."""
        return cls(arrays["shift"], arrays["scale"], dict(arrays["weights"]))

    def _standard(self, rows: np.ndarray) -> np.ndarray:
        return (rows - self.shift) / self.scale

    def _hidden(self, standard: np.ndarray) -> np.ndarray:
        if "filters" not in self.weights:
            return standard
        return np.maximum(standard @ self.weights["filters"] + self.weights["thresholds"], 0.0)


def check_layer(name: str, value: object) -> None:
    """Raise ValueError unless `value` is a layer or None."""
    if value is not None and not isinstance(value, RowLayer):
        raise ValueError(f"{name} must be a RowLayer or None; found {value!r}.")


def first_layer(kind: str, rows: np.ndarray, shift: np.ndarray, directions: np.ndarray) -> RowLayer:
    """Return the layer that gives, but for their unit, the rows (x - shift) @ directions.

    A convolution starts from each direction and its opposite as filters, of which the rectified
    values are subtracted again: what training it changes is then measured against the same start.

    The `kind` is one of `KINDS`, `shift` (d,) and `directions` (d, k) are arrays. The `rows` (m, d)
    give the scale of each column, and the unit: results have the spread 1 over them, so that one
    learning rate suits all parameters of a network.
    """
    deviations = rows.std(axis=0)
    scale = np.where(deviations > 0, deviations, 1.0)
    spread = np.sqrt((((rows - shift) @ directions) ** 2).mean())
    directions = directions * (scale / (spread if spread > 0 else 1.0))[:, None]
    weights = {"directions": directions}
    if kind == "convolution":
        signs = np.eye(directions.shape[1])
        weights = {
            "filters": np.hstack([directions, -directions]),
            "thresholds": np.zeros(2 * directions.shape[1]),
            "directions": np.vstack([signs, -signs]),
        }
    return RowLayer(shift, scale, weights)
