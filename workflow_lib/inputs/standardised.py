"""Features that are computed row by row, with columns standardised over the training rows."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from workflow_lib.core.parameters import ParameterMixin
from workflow_lib.inputs.score_columns import MIN_DEVIATION


class Standardised(ParameterMixin):
    """Features whose columns are centred and divided by their standard deviations.

    Constant columns become zero. A subclass computes the columns in `columns`.
    """

    estimator_type = None

    needs_all_columns = True
    """Also inputs that are constant: the position of a letter or of a count matters."""

    @abstractmethod
    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns (n, m) of rows (n, q) before they are standardised.

        Raises ValueError if a row is not what the features are of.
        """

    def fit(self, X, y=None) -> Standardised:
        """Standardise the columns of rows `X` (n, q); `y` is ignored.

        Raises ValueError as `columns`.
        """
        columns = self.columns(X)
        self.mean_ = columns.mean(axis=0)
        deviation = columns.std(axis=0)
        varies = deviation > MIN_DEVIATION * np.abs(columns).max(axis=0)
        self.scale_ = np.where(varies, deviation, np.inf)
        self._n_features_out = len(self.mean_)
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Return the standardised columns (n, m) of the rows `X` (n, q) of the fit."""
        return self.fit(X, y).transform(X)

    def transform(self, X) -> np.ndarray:
        """Return the standardised columns (n, m) of rows `X` (n, q).

        Raises ValueError as `columns`.
        """
        self._check_is_fitted()
        return (self.columns(X) - self.mean_) / self.scale_
