"""The mean of several kernels, each of the features of a transformer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import FeatureUnion
from sklearn.utils.validation import check_is_fitted

from workflow_lib.core.named_class import imported_class


class AveragedKernels(TransformerMixin, BaseEstimator):
    """Features whose inner products are the mean of the kernels of several transformers.

    With the features z_p(x) of transformer p, their mean m_p over the fitted rows, and s_p^2 the
    mean squared length of z_p(x) - m_p over these rows, the kernel is

        k(x, z) = 1/P sum_p (z_p(x) - m_p)'(z_p(z) - m_p) / s_p^2 .

    So each kernel is centred and has the same mean diagonal over the fitted rows (the
    normalisation of Cortes, Mohri and Rostamizadeh 2012, for kernels that are to be combined), and
    none outweighs the others by its unit. The features are those of the transformers side by side,
    z_p(x) - m_p divided by s_p and by the root of P: nothing is approximated. A kernel with a width
    on these features has the mean of the squared distances.

    Parameters
    ----------
    parts : mapping from str to str, or FeatureUnion
        The class of each transformer, with its module, by a name of your choice. Their arguments
        are set by ``parts__NAME__ARGUMENT``.

    Examples
    --------
    >>> import numpy as np
    >>> scaler = "sklearn.preprocessing.MaxAbsScaler"
    >>> model = AveragedKernels({"raw": scaler, "main": "sklearn.decomposition.PCA"})
    >>> _ = model.set_params(parts__main__n_components=1)
    >>> model.fit_transform(np.array([[0.0, 2.0], [1.0, 1.0], [4.0, 3.0]])).shape
    (3, 3)
    """

    safe_to_load = True

    needs_all_columns = True
    """Also inputs that are constant: a transformer of items needs the position of each number."""

    def __init__(self, parts: Mapping[str, str] | FeatureUnion) -> None:
        # The transformers are parameters themselves, so that their arguments can compete.
        self.parts = (
            parts
            if isinstance(parts, FeatureUnion)
            else FeatureUnion([(name, imported_class(path)()) for name, path in parts.items()])
        )

    def fit(self, X, y=None) -> AveragedKernels:
        """Fit every transformer to rows `X` (n, q) and learn its mean and unit; `y` is ignored."""
        self.fitted_ = [clone(part).fit(X) for _, part in self.parts.transformer_list]
        self.means_, self.units_ = [], []
        for part in self.fitted_:
            features = _dense(part.transform(X))
            size = np.sqrt(features.var(axis=0).sum())
            self.means_.append(features.mean(axis=0))
            self.units_.append(size if size > 0 else 1.0)
        self._n_features_out = sum(map(len, self.means_))
        return self

    def transform(self, X) -> np.ndarray:
        """Return the features (n, m) of rows `X` (n, q)."""
        check_is_fitted(self)
        columns = [
            (_dense(part.transform(X)) - mean) / unit
            for part, mean, unit in zip(self.fitted_, self.means_, self.units_, strict=True)
        ]
        return np.hstack(columns) / np.sqrt(len(columns))


def _dense(features) -> np.ndarray:
    return np.asarray(
        features.toarray() if hasattr(features, "toarray") else features, dtype=np.float64
    )
