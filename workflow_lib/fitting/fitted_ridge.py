"""A fitted kernel ridge regression: dual coefficients and intercepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from workflow_lib.fitting.fitted import Fitted
from workflow_lib.fitting.input_kernels import InputKernel


class FittedRidge(Fitted):
    """Predictions K(x, training rows) A + b.

    Parameters
    ----------
    dual_coefficients : array (n + w, m)
        A, of the training rows and then of weak or unlabelled rows.
    intercept : array (m,)
        b.
    kernel : InputKernel
    weak_size : int, default=0
        w.
    more_entries : mapping or None, default=None
        More entries of the fit in the "regression" artifact.
    """

    def __init__(
        self,
        dual_coefficients: np.ndarray,
        intercept: np.ndarray,
        kernel: InputKernel,
        weak_size: int = 0,
        more_entries: Mapping | None = None,
    ) -> None:
        self._dual, self._intercept = dual_coefficients, intercept
        self._kernel, self._weak_size = kernel, weak_size
        self._more_entries = dict(more_entries or {})

    def predict(self, rows):
        return rows.test_gram(*self._kernel, self._weak_size) @ self._dual + self._intercept

    def entries(self):
        solution = {"dual_coefficients": self._dual, "intercept": self._intercept}
        return solution | self._more_entries

    def to_arrays(self):
        solution = {"dual_coefficients": self._dual, "intercept": self._intercept}
        return solution | kernel_arrays(self._kernel, self._weak_size)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedRidge:
        return cls(arrays["dual_coefficients"], arrays["intercept"], *kernel_in(arrays))

    @classmethod
    def from_entries(cls, entries: Mapping, size: int, kernel: str) -> FittedRidge:
        """Return what was fitted, from the entries of an item of the "regression" artifact.

        Parameters
        ----------
        entries : mapping
        size : int
            Training rows; coefficients of more rows are those of weak ones.
        kernel : str
            That of the experiment, where the entries name no other.
        """
        weak_size = len(entries["dual_coefficients"]) - size
        return cls.from_arrays({"kernel": kernel} | dict(entries) | {"weak_size": weak_size})


def kernel_arrays(kernel: InputKernel, weak_size: int = 0) -> dict:
    """Return the kernel of the Gram matrices and their number of weak rows, as a tree."""
    arrays = {"kernel": kernel.name, "weak_size": weak_size}
    return arrays if kernel.width is None else arrays | {"width": kernel.width}


def kernel_in(arrays: Mapping) -> tuple[InputKernel, int]:
    """Return the kernel and the number of weak rows of `kernel_arrays`."""
    kernel = InputKernel(str(arrays["kernel"]), arrays.get("width"))
    return kernel, int(arrays.get("weak_size", 0))


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
