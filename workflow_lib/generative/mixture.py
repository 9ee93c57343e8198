"""A Gaussian mixture as the generative model of the outputs (section 3.2 of the OFER paper)."""

from __future__ import annotations

import warnings

import numpy as np

from workflow_lib.generative.covariance import (
    absolute_floor,
    check_covariance_type,
    estimate_covariances,
    log_gaussian_densities,
    squared_distances,
)
from workflow_lib.parameters import ParameterMixin, as_output_matrix, random_generator

# Mean log-likelihoods (nats per row) that differ by no more are equal but for rounding.
EQUAL = 1e-10

# Iterations of k-means before EM.
K_MEANS_ITERATIONS = 10

# A component that holds less than this many rows explains nothing; its parameters are undefined.
SMALLEST_COUNT = 1e-6


class GaussianMixtureModel(ParameterMixin):
    """A mixture p(y) = sum_j pi_j N(y; mu_j, Sigma_j) fitted to outputs by EM.

    All probabilities stay in log space. The floor under the variances is relative to the output
    variance, so that a component of a single row cannot decide the pre-image of eq. (10) alone.
    `n_components` is capped at the number of distinct outputs (with a warning), and components
    that lose all their rows are dropped and counted.

    Parameters
    ----------
    n_components : int, default=4
        Number of components C asked for.
    covariance_type : {"spherical", "tied_spherical", "diag", "full"}, default="spherical"
        Shape of the covariances (see `workflow_lib.generative.covariance`). The paper's are
        spherical; ``tied_spherical`` is the safer choice for few rows.
    variance_floor : float, default=0.05
        Smallest eigenvalue of a covariance, as a fraction of the mean output variance.
    n_init : int, default=5
        Number of k-means++ starts; the highest likelihood is kept.
    max_iter : int, default=200
        Most EM iterations of a start.
    tol : float, default=1e-6
        EM stops when the mean log-likelihood (nats per row) rises by less than this.
    random_state : int, Generator, RandomState or None, default=0

    Attributes
    ----------
    weights_ : array (C,)
    means_ : array (C, d)
    covariances_ : float, (C,), (C, d) or (C, d, d), by `covariance_type`
    n_components_ : int
        Components that were kept.
    n_dropped_ : int
        Components asked for and not kept.
    log_likelihoods_ : array
        Mean log-likelihood (nats per row) after every EM iteration of the best start.
    """

    has_component_block = True
    outputs_are_series = False

    def __init__(
        self,
        n_components: int = 4,
        covariance_type: str = "spherical",
        variance_floor: float = 0.05,
        n_init: int = 5,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state=0,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, Y, y=None) -> GaussianMixtureModel:
        """Fit to outputs `Y` (n, d) by EM from `n_init` starts; `y` is ignored.

        Raises
        ------
        ValueError
            If `Y` is empty or not finite, or a parameter is out of range.
        """
        check_covariance_type(self.covariance_type)
        if self.n_components < 1 or self.n_init < 1 or self.max_iter < 1:
            raise ValueError("n_components, n_init and max_iter must be at least 1.")
        Y = as_output_matrix(Y)
        n_distinct = len(np.unique(Y, axis=0))
        n_components = min(self.n_components, n_distinct)
        if n_components < self.n_components:
            warnings.warn(
                f"{self.n_components} components were asked for, but there are only {n_distinct} "
                f"distinct outputs; {n_components} are used.",
                stacklevel=2,
            )
        floor = absolute_floor(Y, self.variance_floor)
        generator = random_generator(self.random_state)
        # A single component has one optimum; more starts would find it again.
        n_init = self.n_init if n_components > 1 else 1
        best, highest = None, -np.inf
        for labels in k_means_labels(Y, n_components, n_init, generator):
            start = np.eye(n_components)[labels]
            candidate = self._expectation_maximisation(Y, start, floor)
            reached = candidate["log_likelihoods"][-1]
            # Of starts that reach the same optimum the first is kept: rounding decides nothing.
            if best is None or reached > highest + EQUAL:
                best, highest = candidate, reached
        self._set_parameters(best["weights"], best["means"], best["covariances"])
        self.log_likelihoods_ = np.array(best["log_likelihoods"])
        return self

    def fit_from_responsibilities(self, Y, responsibilities) -> GaussianMixtureModel:
        """Set the parameters by one M-step from given component memberships.

        Used where the meaning of each component must not change, for example when weak labels
        refer to it; components are neither reordered nor dropped.

        Parameters
        ----------
        Y : array (n, d)
        responsibilities : array (n, C)
            Rows sum to one. A component without any row keeps the mean of all rows.
        """
        Y = as_output_matrix(Y)
        responsibilities = np.asarray(responsibilities, dtype=np.float64)
        # A pseudo-row at the overall mean keeps the means of empty components defined.
        padded = responsibilities + SMALLEST_COUNT / len(Y)
        parameters = self._maximisation(Y, padded, absolute_floor(Y, self.variance_floor))
        self._set_parameters(*parameters)
        self.log_likelihoods_ = np.array([self.score_samples(Y).mean()])
        return self

    def _set_parameters(self, weights, means, covariances) -> None:
        self.weights_, self.means_, self.covariances_ = weights, means, covariances
        self.n_components_ = len(weights)
        self.n_dropped_ = self.n_components - self.n_components_

    def _maximisation(self, Y, responsibilities, floor):
        counts = responsibilities.sum(axis=0)
        weights = counts / counts.sum()
        means = responsibilities.T @ Y / counts[:, None]
        covariances = estimate_covariances(Y, responsibilities, means, self.covariance_type, floor)
        return weights, means, covariances

    def _expectation_maximisation(self, Y, responsibilities, floor) -> dict:
        log_likelihoods: list[float] = []
        for _ in range(self.max_iter):
            responsibilities = _without_empty_components(responsibilities)
            weights, means, covariances = self._maximisation(Y, responsibilities, floor)
            log_joint = np.log(weights) + log_gaussian_densities(
                Y, means, covariances, self.covariance_type
            )
            responsibilities, log_evidence = _posterior(log_joint)
            log_likelihoods.append(float(log_evidence.sum()) / len(Y))
            if len(log_likelihoods) > 1 and log_likelihoods[-1] - log_likelihoods[-2] < self.tol:
                break
        return {
            "weights": weights,
            "means": means,
            "covariances": covariances,
            "log_likelihoods": log_likelihoods,
        }

    def _log_joint(self, Y) -> np.ndarray:
        Y = as_output_matrix(Y)
        return np.log(self.weights_) + log_gaussian_densities(
            Y, self.means_, self.covariances_, self.covariance_type
        )

    def score_samples(self, Y) -> np.ndarray:
        """Return log p(y) of every row of `Y` (n, d), in nats: an array (n,)."""
        return _posterior(self._log_joint(Y))[1]

    def responsibilities(self, Y) -> np.ndarray:
        """Return p(component j | y) for every row of `Y` (n, d): an array (n, C), rows sum to 1."""
        return _posterior(self._log_joint(Y))[0]


def _posterior(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(j | y) (n, C) and log p(y) (n,) from log p(j, y) (n, C), without underflow."""
    highest = log_joint.max(axis=1, keepdims=True)
    relative = np.exp(log_joint - highest)
    total = relative.sum(axis=1, keepdims=True)
    return relative / total, (highest + np.log(total))[:, 0]


def k_means_labels(Y: np.ndarray, n_clusters: int, n_starts: int, generator) -> np.ndarray:
    """Return the clusters (n_starts, n) of every row by k-means from k-means++ starts.

    All starts go together. A cluster that loses its rows keeps its centre.
    """
    n_rows, dimension = Y.shape
    centres = _k_means_plus_plus(Y, n_clusters, n_starts, generator)
    labels = None
    for _ in range(K_MEANS_ITERATIONS):
        distances = squared_distances(Y, centres.reshape(-1, dimension))
        previous, labels = labels, distances.reshape(n_rows, n_starts, -1).argmin(axis=2).T
        if previous is not None and (labels == previous).all():
            break
        members = (labels[:, None, :] == np.arange(n_clusters)[:, None]).astype(np.float64)
        counts = members.sum(axis=2, keepdims=True)
        means = (members @ Y) / np.maximum(counts, 1.0)
        centres = np.where(counts > 0, means, centres)
    return labels


def _k_means_plus_plus(Y, n_clusters, n_starts, generator) -> np.ndarray:
    """Return centres (n_starts, n_clusters, d): rows drawn by their squared distance to the others.

    (Arthur & Vassilvitskii 2007.) Every start draws one row and then `n_clusters` - 1 numbers in
    [0, 1); the next centre is the row where the cumulated share of the distances reaches one.
    """
    draws = [
        (generator.integers(len(Y)), generator.random(n_clusters - 1)) for _ in range(n_starts)
    ]
    chosen = np.empty((n_starts, n_clusters), dtype=int)
    chosen[:, 0] = [first for first, _ in draws]
    shares = np.array([rest for _, rest in draws])
    nearest = np.full((n_starts, len(Y)), np.inf)
    for cluster in range(1, n_clusters):
        distances = squared_distances(Y, Y[chosen[:, cluster - 1]]).T
        nearest = np.minimum(nearest, distances)
        nearest[np.arange(n_starts), chosen[:, cluster - 1]] = 0.0
        cumulated = np.cumsum(nearest, axis=1)
        reached = cumulated < shares[:, cluster - 1, None] * cumulated[:, -1:]
        chosen[:, cluster] = np.minimum(reached.sum(axis=1), len(Y) - 1)
    return Y[chosen]


def _without_empty_components(responsibilities: np.ndarray) -> np.ndarray:
    kept = responsibilities.sum(axis=0) > SMALLEST_COUNT
    if kept.all():
        return responsibilities
    responsibilities = responsibilities[:, kept]
    return responsibilities / responsibilities.sum(axis=1, keepdims=True)
