"""A Gaussian mixture as the generative model of the outputs (section 3.2 of the OFER paper)."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import logsumexp

from workflow_lib.generative.covariance import (
    absolute_floor,
    check_covariance_type,
    estimate_covariances,
    log_gaussian_densities,
)
from workflow_lib.parameters import ParameterMixin, as_output_matrix, random_generator

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
        best = None
        for _ in range(n_init):
            start = _starting_responsibilities(Y, n_components, generator)
            candidate = self._expectation_maximisation(Y, start, floor)
            if best is None or candidate["log_likelihoods"][-1] > best["log_likelihoods"][-1]:
                best = candidate
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
            log_evidence = logsumexp(log_joint, axis=1)
            responsibilities = np.exp(log_joint - log_evidence[:, None])
            log_likelihoods.append(float(log_evidence.mean()))
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
        return logsumexp(self._log_joint(Y), axis=1)

    def responsibilities(self, Y) -> np.ndarray:
        """Return p(component j | y) for every row of `Y` (n, d): an array (n, C), rows sum to 1."""
        log_joint = self._log_joint(Y)
        return np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))


def _starting_responsibilities(Y, n_components, generator) -> np.ndarray:
    """Return one-hot memberships (n, C) from k-means with a k-means++ start."""
    from scipy.cluster.vq import kmeans2

    if n_components == 1:
        return np.ones((len(Y), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty cluster is dropped by the first M-step
        _, labels = kmeans2(Y, n_components, minit="++", iter=10, rng=generator)
    return np.eye(n_components)[labels]


def _without_empty_components(responsibilities: np.ndarray) -> np.ndarray:
    kept = responsibilities.sum(axis=0) > SMALLEST_COUNT
    if kept.all():
        return responsibilities
    responsibilities = responsibilities[:, kept]
    return responsibilities / responsibilities.sum(axis=1, keepdims=True)
