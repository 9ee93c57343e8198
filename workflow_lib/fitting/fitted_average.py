"""The mean of several kernel ridge regressions, one set of dual coefficients for each kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from workflow_lib.fitting.fitted import Fitted
from workflow_lib.fitting.fitted_ridge import FittedRidge


class FittedAverage(Fitted):
    """Predictions sum_k K_k(x, training rows) A_k + b_k.

    Parameters
    ----------
    parts : iterable of FittedRidge
        Of a kernel each, with its weight multiplied in.
    """

    def __init__(self, parts: Iterable[FittedRidge]) -> None:
        self._parts = list(parts)

    def predict(self, rows) -> np.ndarray:
        return sum(part.predict(rows) for part in self._parts)

    def entries(self):
        return self.to_arrays()

    def to_arrays(self):
        return {"averaged": {str(k): part.to_arrays() for k, part in enumerate(self._parts)}}

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedAverage:
        # Groups of an artifact have no order, and sums depend on it.
        parts = sorted(arrays["averaged"].items(), key=lambda item: int(item[0]))
        return cls(FittedRidge.from_arrays(each) for _, each in parts)
