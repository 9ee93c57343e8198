"""A metric learned from triplets, and the classes of the nearest rows in it."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data


class TripletClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):
    """The nearest rows in a linear metric that is learned from triplets of rows.

    A triplet is a row a, a row b of its class and a row c of another class. The map L (m, q)
    minimises

        mean_(a,b,c) log(1 + exp(d(a, b) - d(a, c))) + alpha / 2 |L|^2 ,  d(x, z) = |L (x - z)|^2 ,

    the negative log probability that b is nearer to a than c, under the logistic law. Triplets are
    drawn at random, `n_triplets` for each row; L begins with the leading principal components and
    is found by L-BFGS. A row has the class of most of its nearest rows, weighted by 1 / distance.

    No library is used: metric-learn 0.7 cannot be imported into scikit-learn from 1.8 on. With
    ``metric="neighbourhood"`` L is that of scikit-learn's NeighborhoodComponentsAnalysis, which
    learns from all pairs of rows instead (Goldberger et al. 2005), and with ``"given"`` there is no
    map, for comparison.

    Parameters
    ----------
    metric : {"triplets", "neighbourhood", "given"}, default="triplets"
    n_components : int, default=10
        m, at most the rank of the centred rows.
    n_triplets : int, default=20
    alpha : float, default=1e-2
    n_neighbors : int, default=3
        At most the number of rows.
    max_iter : int, default=200
        Of L-BFGS.
    random_state : int, default=0

    Attributes
    ----------
    components_ : array (m, q)
        The map L.
    classes_ : array (K,)
    n_iter_ : int
        Iterations of the minimisation.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 5.0], [0.1, -5.0], [1.0, 5.0], [1.1, -5.0]])
    >>> TripletClassifier(n_neighbors=1).fit(X, [0, 0, 1, 1]).predict([[0.0, 0.0]]).tolist()
    [0]
    """

    safe_to_load = True

    def __init__(
        self,
        metric: str = "triplets",
        n_components: int = 10,
        n_triplets: int = 20,
        alpha: float = 1e-2,
        n_neighbors: int = 3,
        max_iter: int = 200,
        random_state: int = 0,
    ) -> None:
        self.metric, self.n_components, self.n_triplets = metric, n_components, n_triplets
        self.alpha, self.n_neighbors, self.max_iter = alpha, n_neighbors, max_iter
        self.random_state = random_state

    def fit(self, X, y) -> TripletClassifier:
        """Learn from rows `X` (n, q) and their classes `y` (n,).

        Raises ValueError for a metric that there is not.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        n_components = min(self.n_components, X.shape[1], max(len(X) - 1, 1))
        if self.metric not in ("triplets", "neighbourhood", "given"):
            raise ValueError(
                f"metric={self.metric!r}; expected 'triplets', 'neighbourhood' or 'given'."
            )
        triplets = drawn_triplets(labels, self.n_triplets, self.random_state)
        self.components_, self.n_iter_ = np.eye(X.shape[1]), 1
        if self.metric != "given" and len(triplets):
            start = PCA(n_components, random_state=self.random_state).fit(X).components_
            near, far = (X[triplets[:, 0]] - X[triplets[:, place]] for place in (1, 2))
            # So that the margins are about 1, where the logistic law is not flat.
            start /= np.sqrt(np.square(far @ start.T).sum(axis=1).mean()) or 1.0
            self.components_ = (
                self._by_neighbourhood(X, labels, start)
                if self.metric == "neighbourhood"
                else self._by_triplets(start, near, far)
            )
        self._neighbours = KNeighborsClassifier(
            min(self.n_neighbors, len(X)), weights="distance", algorithm="brute"
        ).fit(self.transform(X), labels)
        return self

    def _by_neighbourhood(self, X, labels, start):
        model = NeighborhoodComponentsAnalysis(
            len(start), init=start, max_iter=self.max_iter, random_state=self.random_state
        )
        components = model.fit(X, labels).components_
        self.n_iter_ = max(model.n_iter_, 1)
        return components

    def _by_triplets(self, start, near, far):
        def loss(flat):
            value, gradient = triplet_loss(flat.reshape(start.shape), near, far, self.alpha)
            return value, gradient.ravel()

        options = {"maxiter": self.max_iter}
        found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
        self.n_iter_ = max(found.nit, 1)
        return found.x.reshape(start.shape)

    def transform(self, X) -> np.ndarray:
        """Return the rows `X` (n, q) in the learned metric, (n, m)."""
        check_is_fitted(self, "components_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.components_.T

    def predict_proba(self, X) -> np.ndarray:
        """Return the weighted shares (n, K) of the classes among the nearest rows."""
        X = self.transform(X)
        return self._neighbours.predict_proba(X)

    def predict(self, X) -> np.ndarray:
        """Return the class of most of the nearest rows, (n,)."""
        found = self.predict_proba(X)
        return self.classes_[found.argmax(axis=1)]


def drawn_triplets(labels: np.ndarray, n_each: int, seed: int) -> np.ndarray:
    """Return triplets (t, 3) of rows a, b of its class and c of another, `n_each` for each a.

    A row that is alone in its class, or has no other class beside it, is no a.

    Parameters
    ----------
    labels : int array (n,)
    n_each, seed : int
    """
    random, found = np.random.default_rng(seed), []
    for row, label in enumerate(labels):
        own, others = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
        own = own[own != row]
        if len(own) and len(others):
            pairs = random.choice(own, n_each), random.choice(others, n_each)
            found.append(np.column_stack([np.full(n_each, row), *pairs]))
    return np.concatenate(found) if found else np.empty((0, 3), dtype=np.intp)


def triplet_loss(
    components: np.ndarray, near: np.ndarray, far: np.ndarray, alpha: float
) -> tuple[float, np.ndarray]:
    """Return the penalised mean logistic loss of triplets and its gradient (m, q).

    Parameters
    ----------
    components : array (m, q)
        The map L.
    near, far : array (t, q)
        a - b and a - c of each triplet.
    alpha : float
    """
    mapped_near, mapped_far = near @ components.T, far @ components.T
    margin = np.square(mapped_near).sum(axis=1) - np.square(mapped_far).sum(axis=1)
    loss = np.logaddexp(0.0, margin).mean() + 0.5 * alpha * np.vdot(components, components)
    weights = 2.0 * expit(margin)[:, None] / len(near)
    gradient = (weights * mapped_near).T @ near - (weights * mapped_far).T @ far
    return float(loss), gradient + alpha * components
