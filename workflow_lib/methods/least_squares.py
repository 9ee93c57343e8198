"""Ordinary least squares on lagged values, the baseline of forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract import base

REGRESSORS = ("least_squares",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Fit the outputs to the lagged values alone."""

    metric: str
    """{"arrmse", "rrmse"}: the relative error of the held-out rows; nothing is selected by it."""

    def specs(self, split: SplitData) -> list[FitSpec]:
        """As `base.Method.specs`.

        Raises UserError if the features hold no lagged values.
        """
        if (
            "lagged_values" not in split.features
            or split.features["lagged_values"]["train"].shape[1] == 0
        ):
            raise UserError(
                location=str(split.paths["features"]),
                found="the features hold no lagged values",
                expected="the lagged values that least squares predicts from",
                remedy="leave this method out, or choose a dataset with "
                "inputs.lagged_values: separate or added",
            )
        return super().specs(split)

    def select(self, data: FitData) -> base.Selection:
        heldout, values = np.empty_like(data.outputs), _lagged(data)
        for fold in data.fold_numbers:
            known = data.folds != fold
            fitted = least_squares(values[known], data.targets(fold)[known])
            heldout[~known] = values[~known] @ fitted[0] + fitted[1]
        score = heldout_error(data.outputs, heldout, data.folds, self.metric)
        return base.Selection(heldout, {"score": score})

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        return Fitted(*least_squares(_lagged(data), data.targets()))

    def restored(self, data: FitData, entries: Mapping) -> Fitted:
        return Fitted.from_arrays(entries)


class Fitted(base.Fitted):
    """Coefficients (k, d) of the lagged values, and intercepts (d,)."""

    def __init__(self, coefficients: np.ndarray, intercept: np.ndarray) -> None:
        self._coefficients, self._intercept = coefficients, intercept

    def predict(self, rows):
        return rows.lagged_values @ self._coefficients + self._intercept

    def to_arrays(self):
        return {"coefficients": self._coefficients, "intercept": self._intercept}

    entries = to_arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        return cls(arrays["coefficients"], arrays["intercept"])


def _lagged(data: FitData) -> np.ndarray:
    return data.split.features["lagged_values"]["train"][: data.size]


def least_squares(P: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients (k, d) and intercepts (d,) of Y (n, d) on lagged values P (n, k).

    They minimise sum_i |y_i - B'p_i - b|^2; of several solutions (fewer rows than values, or
    values that repeat each other) the B of least norm. A value that is constant counts for nothing.
    """
    mean, output_mean = P.mean(axis=0), Y.mean(axis=0)
    centred = P - mean
    # The rounding of its mean would pass for a value.
    centred[:, (P == P[0]).all(axis=0)] = 0.0
    coefficients = np.linalg.lstsq(centred, Y - output_mean, rcond=None)[0]
    return coefficients, output_mean - mean @ coefficients
