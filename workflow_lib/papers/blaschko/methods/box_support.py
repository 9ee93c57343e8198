"""Joint kernel support estimation that finds the box of an object."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.methods.contract import base
from workflow_lib.papers.blaschko.box_fitting import BoxRows, box_rows, selected_weights
from workflow_lib.papers.blaschko.box_fitting import FittedBoxes as Fitted

REGRESSORS = ("box_support",)
TASKS = ("boxes",)
NEEDS = {"minutes": 2}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Fit a one-class support vector machine to the pairs of images and boxes (JKSE).

    Blaschko (2014), Section 3.1, with a linear joint kernel of the words in a box, each pair scaled
    to unit length: w = sum_i a_i phi(x_i, y_i) / ||phi(x_i, y_i)||. With nu = 1, which scikit-learn
    refuses, all a_i are 1 / n (the Parzen density). A box is found by branch and bound, as the one
    with the highest w'phi(x, y). Selected is the grid point with the highest mean overlap of
    held-out rows.
    """

    cells: int
    center: bool
    levels: int

    grid: Mapping[str, Sequence[float]]
    """Lists ``nu`` and ``word_power``."""

    def select(self, data: FitData) -> base.Selection:
        rows = box_rows(data, self.cells, self.center, self.levels)
        return selected_weights(data, rows, lambda known: self._weights(rows.chosen(known)))

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        rows, chosen = box_rows(data, self.cells, self.center, self.levels), selection.entries
        weights = _support_weights(rows, chosen["nu"], chosen["word_power"])
        return Fitted(weights, self.cells, self.center, levels=self.levels)

    def _weights(self, rows: BoxRows) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
        for power in self.grid.get("word_power", [0.0]):
            for nu in self.grid["nu"]:
                yield {"nu": nu, "word_power": power}, _support_weights(rows, nu, power)


def _support_weights(rows: BoxRows, nu: float, power: float) -> np.ndarray:
    """Return the weights (W,) of the features, those of their scale included."""
    scale = rows.word_scale(power)
    features = rows.features * scale
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    features = features / np.where(lengths > 0, lengths, 1.0)
    return scale * (support_coefficients(features, nu) @ features)


def support_coefficients(features: np.ndarray, nu: float) -> np.ndarray:
    """Return the coefficients (n,), of sum 1, of a one-class machine with the linear kernel."""
    n = len(features)
    coefficients = np.full(n, 1.0 / n)
    # A single example has weight 1 with any nu.
    if nu < 1.0 and n > 1:
        from sklearn.svm import OneClassSVM

        machine = OneClassSVM(kernel="linear", nu=nu, tol=1e-6).fit(features)
        coefficients = np.zeros(n)
        coefficients[machine.support_] = machine.dual_coef_[0]
        coefficients /= coefficients.sum()
    return coefficients
