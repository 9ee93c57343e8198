"""A Gaussian mixture as the generative model of the outputs (section 3.2 of the OFER paper)."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from workflow_lib.core.array_arguments import as_numbers, as_output_matrix, check_ignored
from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks, random_generator
from workflow_lib.models.covariance import (
    COVARIANCE_TYPES,
    absolute_floor,
    floor_from_variance,
    log_gaussian_densities,
    squared_distances,
)
from workflow_lib.models.exponentials import exp_in_place
from workflow_lib.models.mixtures import mixture_batches
from workflow_lib.models.mixtures.mixture_batches import MIN_COUNT, Fit, RowReader

# Mean log-likelihoods (nats per row) that differ by no more are equal but for rounding.
EQUAL = 1e-10

# Iterations of k-means before EM.
K_MEANS_ITERATIONS = 10

# Rows from which on batches pay. With 60 outputs and 4, 10 and 20 components they were 3 to 10
# times faster at 20,000 rows, 1.4 to 5 times at 6,000. They lose 0 to 0.012 nats per row on data
# from a mixture where both end in the same optimum; with 5 starts both often end in others, which
# are up to 1 apart (20 components, either way), and 0.1 to 0.2 worse on heavy-tailed outputs.
BATCHES_FROM = 20_000

# Rows of a batch. Smaller batches mean more steps in a pass: a higher likelihood from the same
# rows, until the calls of each step take longer than its arithmetic.
BATCH_SIZE = 1024

# In batches, the starts are compared by EM over so many rows (and so many for each component),
# until a mean log-likelihood rises by less than the tolerance: more would fit the sample only.
START_ROWS = 5000
START_ROWS_PER_COMPONENT = 200
START_TOLERANCE = 1e-4


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
        Shape of the covariances (see `workflow_lib.models.covariance`). The paper's are
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
    batch_size : int or None, default=None
        None: EM over all rows at once. A number: for more rows than that, EM in batches of this
        size (about `BATCH_SIZE` is good, from `BATCHES_FROM` rows on), whose cost per row does
        not depend on the number of iterations that full EM would need, and which reads outputs
        that do not fit into memory. The starts are compared on a random sample of rows
        (`START_ROWS`), the best goes on by stepwise EM, and the parameters are set by one M-step
        from an E-step over all rows (see `mixture_batches.stepwise`).

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
        Mean log-likelihood (nats per row) after every EM iteration of the best start. In batches:
        of every pass over the rows, each batch scored before the step it leads to, so that these
        numbers may fall; and last, that of all rows under the parameters above. Either way the
        last number is the mean of `score_samples` of the training rows.
    """

    allowed: ClassVar = checks(
        whole="n_components n_init max_iter",
        whole_or_none="batch_size",
        positive="variance_floor",
        number="tol",
        seed="random_state",
        covariance_type=COVARIANCE_TYPES,
    )
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
        batch_size: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.batch_size = batch_size

    def fit(self, Y, y=None) -> GaussianMixtureModel:
        """Fit to outputs `Y` (n, d) by EM from `n_init` starts; `y` is ignored.

        With `batch_size`, `Y` may be anything that gives rows when sliced, for example an h5py
        dataset: it is read once for its moments, once for every pass of stepwise EM and twice at
        the end, in runs of `batch_size` / 16 rows or more. Such a dataset should be stored
        contiguously, or in chunks of no more rows than a run: a chunk is read as a whole.

        Raises
        ------
        ValueError
            If `Y` is empty or not finite, or a parameter is out of range.
        """
        check_parameters(self)
        self._check_columns(Y)
        generator = random_generator(self.random_state)
        rows = None if self.batch_size is None else RowReader(Y)
        if rows is None or rows.n_rows <= self.batch_size:
            Y = as_output_matrix(Y)
            check_ignored(y, len(Y), self)
            floor = absolute_floor(Y, self.variance_floor)
            centre = Y.mean(axis=0)
            fit = self._best_start(Y, centre, floor, self.tol, "outputs", generator)
        else:
            check_ignored(y, rows.n_rows, self)
            n_sample = max(START_ROWS, START_ROWS_PER_COMPONENT * self.n_components)
            centre, variance, sample = rows.moments_and_sample(
                self.batch_size, min(n_sample, rows.n_rows), generator
            )
            floor = floor_from_variance(variance, self.variance_floor)
            tol = max(self.tol, START_TOLERANCE)
            location = f"outputs in a sample of {len(sample)} rows"
            start = self._best_start(sample, centre, floor, tol, location, generator)
            fit = mixture_batches.stepwise(
                rows,
                self.batch_size,
                centre,
                start.parameters,
                sample,
                self.covariance_type,
                floor,
                self.max_iter,
                self.tol,
                generator,
            )
        self._set_parameters(**of_one_start(fit.parameters, centre))
        self.log_likelihoods_ = np.array(fit.log_likelihoods)
        return self

    def _best_start(self, Y, centre, floor, tol: float, location: str, generator) -> Fit:
        """Return the end of EM over `Y` from the best of the k-means++ starts."""
        n_distinct = _distinct_rows(Y, self.n_components)
        n_components = min(self.n_components, n_distinct)
        if n_components < self.n_components:
            warnings.warn(
                f"{self.n_components} components were asked for, but there are only {n_distinct} "
                f"distinct {location}; {n_components} are used.",
                stacklevel=3,
            )
        # A single component has one optimum; more starts would find it again.
        n_init = self.n_init if n_components > 1 else 1
        labels = _distinct_partitions(k_means_labels(Y, n_components, n_init, generator))
        values = mixture_batches.features(Y, centre, self.covariance_type)
        clusters = np.arange(n_components)[:, None]
        start = mixture_batches.statistics_of_memberships(
            values,
            lambda block: (labels[:, None, block] == clusters).astype(np.float64),
            (len(labels), n_components),
            self.covariance_type,
        )
        best = None
        for candidate in mixture_batches.expectation_maximisation(
            values, start, self.covariance_type, floor, self.max_iter, tol
        ):
            # Of starts that reach the same optimum the first is kept: rounding decides nothing.
            if best is None or candidate.log_likelihoods[-1] > best.log_likelihoods[-1] + EQUAL:
                best = candidate
        return best

    def fit_from_responsibilities(self, Y, responsibilities) -> GaussianMixtureModel:
        """Set the parameters by one M-step from given component memberships.

        Used where the meaning of each component must not change, for example when weak labels
        refer to it; components are neither reordered nor dropped.

        Parameters
        ----------
        Y : array (n, d)
        responsibilities : array (n, C)
            Probabilities; rows sum to one. A component without any row keeps the mean of all rows.
        """
        check_parameters(self)
        self._check_columns(Y)
        Y = as_output_matrix(Y)
        responsibilities = as_numbers(responsibilities, "responsibilities")
        sums = responsibilities.sum(axis=-1)
        if sums.shape != (len(Y),) or not (
            (responsibilities >= 0).all() and np.allclose(sums, 1.0, atol=1e-6)
        ):
            raise ValueError(
                f"responsibilities must be probabilities ({len(Y)}, C) whose rows sum to 1; found "
                f"the shape {responsibilities.shape}."
            )
        # A pseudo-row at the overall mean keeps the means of empty components defined.
        padded = responsibilities + MIN_COUNT / len(Y)
        centre = Y.mean(axis=0)
        statistics = mixture_batches.statistics_of_memberships(
            mixture_batches.features(Y, centre, self.covariance_type),
            lambda block: padded.T[None, :, block],
            (1, padded.shape[1]),
            self.covariance_type,
        )
        floor = absolute_floor(Y, self.variance_floor)
        parameters = mixture_batches.maximisation(statistics, self.covariance_type, floor)
        self._set_parameters(**of_one_start(parameters, centre))
        self.log_likelihoods_ = np.array([self.score_samples(Y).mean()])
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the rows it was fitted to."""
        return self.means_.shape[1]

    def _set_parameters(self, weights, means, covariances) -> None:
        self.weights_, self.means_, self.covariances_ = weights, means, covariances
        self.n_components_ = len(weights)
        self.n_dropped_ = self.n_components - self.n_components_

    def _posterior_of_blocks(self, Y):
        self._check_is_fitted()
        rows = RowReader(Y)
        self._check_columns(Y, rows.dimension)
        for block in mixture_batches.blocks(rows.n_rows, max(self.means_.shape)):
            log_joint = log_gaussian_densities(
                rows.read(block.start, block.stop),
                self.means_,
                self.covariances_,
                self.covariance_type,
            )
            log_joint += np.log(self.weights_)
            yield _posterior(log_joint)

    def score_samples(self, Y) -> np.ndarray:
        """Return log p(y) of every row of `Y` (n, d), in nats: an array (n,).

        `Y` is read in blocks of rows, and may be a dataset of an h5py file.
        """
        return np.concatenate([evidence for _, evidence in self._posterior_of_blocks(Y)])

    def responsibilities(self, Y) -> np.ndarray:
        """Return p(component j | y) for every row of `Y` (n, d): an array (n, C), rows sum to 1.

        `Y` is read in blocks of rows, and may be a dataset of an h5py file.
        """
        return np.concatenate([posterior for posterior, _ in self._posterior_of_blocks(Y)])


def of_one_start(parameters, centre: np.ndarray) -> dict:
    """Return the parameters of a single start without its absent components, means moved back."""
    weights, means, covariances = (values[0] for values in parameters)
    present = weights > 0
    return {
        "weights": weights[present],
        "means": means[present] + centre,
        "covariances": float(covariances) if covariances.ndim == 0 else covariances[present],
    }


def _distinct_rows(Y: np.ndarray, enough: int) -> int:
    """Return how many distinct rows there are, or some number from `enough` on."""
    n_looked_at = 2 * enough
    while n_looked_at < len(Y):
        n_distinct = len(np.unique(Y[:n_looked_at], axis=0))
        if n_distinct >= enough:
            return n_distinct
        n_looked_at *= 8
    return len(np.unique(Y, axis=0))


def _distinct_partitions(labels: np.ndarray) -> np.ndarray:
    """Return the rows of `labels` (n_starts, n) less those that only number clusters anew. EM from
    these would go the same way again."""
    n_rows = labels.shape[1]
    seen, kept = set(), []
    for start, clusters in enumerate(labels):
        first = np.full(clusters.max() + 1, n_rows)
        first[clusters[::-1]] = np.arange(n_rows)[::-1]
        partition = first[clusters].tobytes()
        if partition not in seen:
            seen.add(partition)
            kept.append(start)
    return labels[kept]


def _posterior(log_joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return p(j | y) (n, C) and log p(y) (n,) from log p(j, y) (n, C), without underflow."""
    highest = log_joint.max(axis=1, keepdims=True)
    relative = exp_in_place(log_joint - highest)
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
    [0, 1); the next centre is the row where the cumulated share of the distances reaches one."""
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
