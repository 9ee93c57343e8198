"""Emissions of vectors: p(x | state i) = N(x; mu_i, diag(sigma_i^2))."""

from __future__ import annotations

import numpy as np

from workflow_lib.models.covariance import absolute_floor
from workflow_lib.models.mixtures.mixture import k_means_labels
from workflow_lib.papers.perina.sequences import Layout, Sequences, read_vectors

# A state with fewer expected steps keeps its mean and variances: they are not determined.
MIN_COUNT = 1e-6


class GaussianEmissions:
    """Means and variances of M models, as `hidden_markov.fitting.Emissions` says.

    Of None the numbers d of a step, `dimension`, and the `origin` (d,), which is subtracted from
    all vectors so that squares cancel no digits, are those of the first sequences that are read,
    and their mean. The `variance_floor` is the smallest variance, as a fraction of the mean
    variance of the numbers of a step over the training sequences
    (`workflow_lib.models.covariance.absolute_floor`).
    """

    names = ("means_", "variances_")

    def __init__(
        self, dimension: int | None, variance_floor: float, origin: np.ndarray | None = None
    ) -> None:
        self.dimension = dimension
        self.variance_floor = variance_floor
        self.origin = origin

    def read(self, sequences) -> Sequences:
        batch = read_vectors(sequences, self.dimension)
        self.dimension = batch.values.shape[1]
        if self.origin is None:
            self.origin = batch.values.mean(axis=0)
        return batch

    def observe(self, sequences: Sequences, layout: Layout) -> ObservedVectors:
        """Return the features of the vectors by position."""
        return ObservedVectors(sequences, layout, self.origin)

    def likelihoods(self, parameters, observed: ObservedVectors) -> VectorLikelihoods:
        """Return the likelihoods of every position under means and variances (M, S, d)."""
        return VectorLikelihoods(*parameters, observed)

    def log_likelihoods(self, parameters, observed: ObservedVectors) -> np.ndarray:
        """Return the log densities (M, S, Q) of every position; zero where there is no value."""
        return log_densities(*parameters, observed)

    def start(self, sequences: Sequences, subset, n_states: int, n_init: int, generator) -> tuple:
        """Return means and variances (n_init, S, d) of clusters by k-means of all steps."""
        values = sequences.values_of(subset)
        floor = absolute_floor(values, self.variance_floor)
        labels = k_means_labels(values, n_states, n_init, generator)
        members = (labels[:, None, :] == np.arange(n_states)[:, None]).astype(np.float64)
        centre = values.mean(axis=0)
        # A cluster without a step, where there are fewer distinct ones, is that of all steps.
        counts = members.sum(axis=2, keepdims=True) + MIN_COUNT
        centred = values - centre
        spread = MIN_COUNT * centred.var(axis=0)
        means = (members @ centred) / counts
        variances = (members @ centred**2 + spread) / counts - means**2
        return means + centre, np.maximum(variances, floor)

    def statistics(self, states: np.ndarray, observed: ObservedVectors) -> np.ndarray:
        """Return the expected sums (M, S, 2 d + 1) of (x - o)^2, x - o and 1; o is the origin."""
        return np.matmul(states, observed.features.swapaxes(1, 2))

    def maximise(self, statistics: np.ndarray, previous, floors: np.ndarray) -> tuple:
        """Return the means and variances of the M-step; a state without steps keeps its own.

        A variance below the floor (M,) is set to it, which is the maximum under that restriction:
        the likelihood as a function of a variance has one maximum.
        """
        squares, sums, counts = np.split(statistics, [self.dimension, 2 * self.dimension], axis=2)
        seen = counts > MIN_COUNT
        divisor = np.where(seen, counts, 1.0)
        means = sums / divisor
        variances = np.maximum(squares / divisor - means**2, floors[:, None, None])
        return (
            np.where(seen, means + self.origin, previous[0]),
            np.where(seen, variances, previous[1]),
        )

    def floor(self, sequences: Sequences, subset) -> float:
        """Return the smallest variance of a model of these sequences."""
        return absolute_floor(sequences.values_of(subset), self.variance_floor)

    def log_prior(self, parameters) -> np.ndarray:
        """Return zeros (M,): means and variances have no prior but the floor."""
        return np.zeros(len(parameters[0]))


class ObservedVectors:
    """The features (M, 2 d + 1, Q) of every position: (x - o)^2, x - o, 1; zeros beyond the end."""

    def __init__(self, sequences: Sequences, layout: Layout, origin: np.ndarray) -> None:
        self.origin = origin
        n_values, d = sequences.values.shape
        self.features = np.empty((len(layout.positions), 2 * d + 1, layout.size))
        # One more column, for positions without a value.
        centred = np.concatenate([(sequences.values - origin).T, np.zeros((d, 1))], axis=1)
        vectors = self.features[:, d : 2 * d]
        vectors[...] = centred.take(layout.positions, axis=1).swapaxes(0, 1)
        np.square(vectors, out=self.features[:, :d])
        self.features[:, -1] = layout.positions < n_values


def log_densities(means, variances, observed: ObservedVectors) -> np.ndarray:
    """Return log N(x; mu, sigma^2) (M, S, Q) of every position.

    It is linear in the features, so that all positions are one product.
    """
    centred = means - observed.origin
    constant = -0.5 * (np.log(2.0 * np.pi * variances) + centred**2 / variances).sum(axis=2)
    coefficients = np.concatenate(
        [-0.5 / variances, centred / variances, constant[:, :, None]], axis=2
    )
    return np.matmul(coefficients, observed.features)


class VectorLikelihoods:
    """The densities of every position, in units of the largest over states."""

    def __init__(self, means, variances, observed: ObservedVectors) -> None:
        relative = log_densities(means, variances, observed)
        self.log_units = relative.max(axis=1)
        relative -= self.log_units[:, None]
        self._relative = np.exp(relative, out=relative)

    def at(self, index: slice) -> np.ndarray:
        """Return the relative densities (M, S, n) of these positions."""
        return self._relative[:, :, index]
