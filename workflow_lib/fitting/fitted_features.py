"""A fitted ridge regression on landmarks, on random features, or on the inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.fitting.fitted import Fitted
from workflow_lib.fitting.fitted_ridge import kernel_arrays, kernel_in
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.random_features import RandomFeatures


class FittedFeatureRidge(Fitted):
    """Predictions v(x) W + b from values v of features.

    Parameters
    ----------
    arrays : mapping
        ``weights`` (k, m) and ``intercept`` (m,); ``landmarks``, whose kernel values are v, or
        ``directions`` of `workflow_lib.solvers.random_features.RandomFeatures`, or none of these
        where the inputs are the features.
    kernel : InputKernel
    details : mapping, optional
        More entries of an item.
    """

    # All training rows at once are more than memory is meant to hold.
    has_training_error = False

    ARRAYS = ("weights", "intercept", "landmarks", "directions")

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        kernel: InputKernel,
        details: Mapping[str, float] | None = None,
    ) -> None:
        self._arrays = {name: arrays[name] for name in self.ARRAYS if name in arrays}
        self._kernel, self._details = kernel, dict(details or {})

    def predict(self, rows):
        arrays, X = self._arrays, rows.test_rows()
        n_columns = X.shape[1]
        gamma = kernel_gamma(*self._kernel, n_columns)
        values = X
        if "directions" in arrays:
            values = RandomFeatures(arrays["directions"], gamma).transform(X)
        if "landmarks" in arrays:
            values = gram_matrix(X, arrays["landmarks"], self._kernel.name, gamma)
        return values @ arrays["weights"] + arrays["intercept"]

    def entries(self):
        return self._arrays | self._details

    def to_arrays(self):
        return self._arrays | kernel_arrays(self._kernel)

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> FittedFeatureRidge:
        kernel = kernel_in(arrays)[0]
        if "projection" in arrays:
            # Former saved models hold weights of features, which are kernel values times these.
            arrays = {**arrays, "weights": arrays["projection"] @ arrays["weights"]}
        return cls(arrays, kernel)
