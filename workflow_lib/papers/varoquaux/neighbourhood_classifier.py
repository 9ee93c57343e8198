"""The classes of the nearest rows in a metric that is learned by neighbourhood components."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class NeighbourhoodClassifier(ClassifierMixin, BaseEstimator):
    """The nearest rows in a linear metric, learned from few rows by neighbourhood components.

    The metric is that of L z, where z (m,) are the leading principal components of a row in units
    of their deviation, so that m limits what is learned where there are more inputs than rows. L
    (m, m) maximises the expected number of rows whose class is that of a neighbour, drawn with
    probabilities in proportion to exp(-|L (z - z')|^2) (Goldberger et al. 2005). It is found by
    scikit-learn from a multiple of the identity, in which two rows have the mean squared distance
    1: in much larger units the nearest row alone would be drawn. A row has the class of most of its
    nearest rows, weighted by 1 / distance.

    Parameters
    ----------
    n_components : int, default=20
        m, at most the rank of the centred rows.
    n_neighbors : int, default=3
        At most the number of rows.
    max_iter : int, default=50
        Of L-BFGS.

    Attributes
    ----------
    classes_ : array (K,)
    n_iter_ : int
        Iterations of L-BFGS.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [0.1, -5.0], [1.0, 5.0], [1.1, -5.0]])
    >>> model = NeighbourhoodClassifier(n_neighbors=1).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.0, 0.0]]).tolist()
    [0]
    """

    safe_to_load = True

    def __init__(self, n_components: int = 20, n_neighbors: int = 3, max_iter: int = 50) -> None:
        self.n_components, self.n_neighbors = n_components, n_neighbors
        self.max_iter = max_iter

    def fit(self, X, y) -> NeighbourhoodClassifier:
        """Learn from rows `X` (n, q) and their classes `y` (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        m = min(self.n_components, np.linalg.matrix_rank(X - X.mean(axis=0)) or 1)
        metric = NeighborhoodComponentsAnalysis(
            init=np.eye(m) / np.sqrt(2.0 * m), max_iter=self.max_iter
        )
        nearest = KNeighborsClassifier(min(self.n_neighbors, len(X)), weights="distance")
        whitened = PCA(m, whiten=True, svd_solver="full")
        self._fitted = make_pipeline(whitened, metric, nearest).fit(X, y)
        self.classes_, self.n_iter_ = self._fitted.classes_, max(metric.n_iter_, 1)
        return self

    def predict_proba(self, X) -> np.ndarray:
        """Return the weighted shares (n, K) of the classes among the nearest rows."""
        check_is_fitted(self)
        return self._fitted.predict_proba(validate_data(self, X, dtype=np.float64, reset=False))

    def predict(self, X) -> np.ndarray:
        """Return the class of most of the nearest rows, (n,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
