"""The training mean, to which all relative errors refer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.measures.metrics import heldout_error, means_of_observed
from workflow_lib.methods.contract import base

REGRESSORS = ("training_mean",)
TASKS = ("regression", "series")
NEEDS = {}
READS = ("dataset", "split")


@dataclass
class Method(base.Method):
    """Predict the mean of the training outputs; missing outputs count nowhere."""

    metric: str
    """{"arrmse", "rrmse"}: the relative error of the held-out rows, which is 1."""

    def select(self, data: FitData) -> base.Selection:
        """Return for each row the mean of the rows outside its fold."""
        heldout = np.empty_like(data.outputs)
        for fold in data.fold_numbers:
            heldout[data.folds == fold] = means_of_observed(data.outputs[data.folds != fold])
        score = heldout_error(data.outputs, heldout, data.folds, self.metric)
        return base.Selection(heldout, {"score": score})

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        return Fitted(means_of_observed(data.outputs))


class Fitted(base.Fitted):
    """The mean (d,) of the training outputs."""

    def __init__(self, mean: np.ndarray) -> None:
        self._mean = mean

    def predict(self, rows):
        return np.tile(self._mean, (len(rows), 1))

    def to_arrays(self):
        return {"mean": self._mean}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        return cls(arrays["mean"])
