"""Joint kernel support estimation with a chi-squared kernel that finds the box of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_fitting import (
    MAX_OVERLAP,
    N_DETECTIONS,
    best_selection,
    box_rows,
)
from workflow_lib.papers.blaschko.box_scan import (
    BoxScan,
    chi_squared_distances,
    distances_of_all_boxes,
    scanned_detections,
)
from workflow_lib.papers.blaschko.joint_support import fit_joint_support

REGRESSORS = ("box_kernel_support",)
TASKS = ("boxes",)
NEEDS = {"minutes": 10}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Fit a one-class machine to the words in boxes, with the kernel exp(-d / (width d0)).

    Blaschko (2014), Section 3.1: d is the chi-squared distance of the shares of the visual words in
    two boxes, and d0 its mean over the pairs of training boxes, a common unit of such kernels
    (Zhang et al. 2007). The score of a box is a weighted mean of its kernel with the training
    boxes, for which no useful upper bound over a set of boxes is known, so that all boxes of the
    grid are compared, as in the thesis. Selected is the grid point with the highest mean overlap of
    held-out rows.

    Attributes
    ----------
    cells : int
    grid : mapping
        Lists ``nu`` and ``width``.
    """

    cells: int
    grid: Mapping[str, Sequence[float]]

    def select(self, data: FitData) -> base.Selection:
        shares, points = self._shares(data), data.items
        found: list[tuple[dict[str, Any], np.ndarray]] = []
        for fold in data.fold_numbers:
            heldout = data.folds == fold
            fits = list(self._fits(shares[~heldout]))
            found = found or [(entries, np.empty((data.size, 4))) for entries, _ in fits]
            for row in np.flatnonzero(heldout):
                scan = BoxScan(points[row], self.cells)
                distances = distances_of_all_boxes(shares[~heldout], scan)
                unit = points[row].size / self.cells
                for (_, boxes), (_, support) in zip(found, fits):
                    best = scan.boxes[support.scores(distances).argmax()]
                    boxes[row] = best * np.tile(unit, 2)
        return best_selection(data.outputs, found)

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        shares, chosen = self._shares(data), selection.entries
        return Fitted(shares, _support(shares, chosen["nu"], chosen["width"]), self.cells)

    def _shares(self, data: FitData) -> np.ndarray:
        features = box_rows(data, self.cells, center=False).features
        totals = features.sum(axis=1, keepdims=True)
        return features / np.where(totals > 0, totals, 1.0)

    def _fits(self, shares: np.ndarray) -> Iterator[tuple[dict[str, Any], Support]]:
        for width in self.grid["width"]:
            for nu in self.grid["nu"]:
                yield {"nu": nu, "width": width}, _support(shares, nu, width)


@dataclass
class Support:
    """A fitted one-class machine.

    Attributes
    ----------
    coefficients : array (n,)
        Of the training boxes, with sum 1; 0 where no training box has points.
    unit : float
        width d0, by which distances are divided.
    """

    coefficients: np.ndarray
    unit: float

    def scores(self, distances: np.ndarray) -> np.ndarray:
        """Return the scores (m,) of boxes with the distances (n, m) to the training boxes."""
        kept = self.coefficients > 0
        similarities = np.exp(distances[kept] * np.float32(-1.0 / self.unit))
        return self.coefficients[kept].astype(np.float32) @ similarities


def _support(shares: np.ndarray, nu: float, width: float) -> Support:
    """Return the machine of training boxes; those without points have no part in it."""
    kept = np.flatnonzero(shares.any(axis=1))
    distances = chi_squared_distances(shares[kept], shares[kept])
    apart = distances[~np.eye(len(kept), dtype=bool)]
    # Of one training box, or of equal ones, any unit gives the same order of boxes.
    unit = width * float(apart.mean() if apart.any() else 1.0)
    coefficients = np.zeros(len(shares))
    if len(kept):
        K = np.exp(-distances / unit)
        coefficients[kept] = fit_joint_support(K, np.ones_like(K), nu)
    return Support(coefficients, unit)


class Fitted(base.Fitted):
    """The support of training boxes, and their shares (n, W) of words, on a grid of cells."""

    def __init__(self, shares: np.ndarray, support: Support, n_cells: int) -> None:
        self._shares, self._support, self._n_cells = shares, support, n_cells

    def predict(self, rows):
        """Return the best box (m, 4) of each image, in pixels."""
        return np.array([self._detected(points, 1)[0, :4] for points in rows.items()])

    def predictions(self, rows):
        """Return the best box of each image, and further `DETECTIONS`."""
        found = np.array([self._detected(points, N_DETECTIONS) for points in rows.items()])
        return {"test_targets": found[:, 0, :4], DETECTIONS: found}

    def _detected(self, points, n_detections: int) -> np.ndarray:
        scan = BoxScan(points, self._n_cells)
        scores = self._support.scores(distances_of_all_boxes(self._shares, scan))
        found = list(scanned_detections(scan.boxes, scores, n_detections, MAX_OVERLAP))
        boxes = np.zeros((n_detections, 5))
        boxes[: len(found), :4] = scan.boxes[found] * np.tile(points.size, 2) / self._n_cells
        boxes[: len(found), 4] = scores[found]
        boxes[len(found) :, 4] = scores[found[-1]]
        return boxes

    def to_arrays(self):
        return {
            "shares": self._shares,
            "coefficients": self._support.coefficients,
            "unit": self._support.unit,
            "n_cells": self._n_cells,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        support = Support(arrays["coefficients"], float(arrays["unit"]))
        return cls(arrays["shares"], support, int(arrays["n_cells"]))
