"""Fisher vectors: one vector for a set of local descriptors, such as the patches of an image.

The Fisher embedding in the role of the inputs. With a diagonal Gaussian mixture as the model of
single descriptors, a set of T of them is described by the mean of their Fisher scores in the means
and deviations, each scaled by the root of its Fisher information (Perronnin, Sanchez & Mensink
2010, eq. (5) and (6)). With the responsibilities q_k(x) of component k, and pi_k, mu_k, sigma_k:

- mean block       1 / (T sqrt(pi_k))   sum_x q_k(x) (x - mu_k) / sigma_k
- deviation block  1 / (T sqrt(2 pi_k)) sum_x q_k(x) ((x - mu_k)^2 / sigma_k^2 - 1)

All of it follows from the sums s0 = sum q_k, s1 = sum q_k x and s2 = sum q_k x^2 over the set,
which are products of matrices, and those of a union of sets are added up. There, x and mu_k are
taken less the mean of the component means, so that descriptors far from zero cancel no digits.

Many sets are described together: what a call costs is more than the arithmetic of a small set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from workflow_lib.models.exponentials import exp_in_place
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

PYRAMIDS = {"none": (), "2x2": (2, 2), "3x1": (3, 1)}
"""Rows and columns of the regions that are described besides the whole, by the option's value."""


# What is computed at once, so that it stays in a processor's cache: descriptors, and numbers of the
# vectors.
ROWS_AT_ONCE = 1024
NUMBERS_AT_ONCE = 2**16


class Statistics(NamedTuple):
    """Sums over a set of descriptors, for every component; or of many sets, along leading axes.

    Descriptors count from the mean of the component means.
    """

    count: int | np.ndarray
    """Number T of descriptors."""

    zeroth: np.ndarray
    """Sums (C,) of the responsibilities."""

    first: np.ndarray
    """Sums (C, d) of the responsibilities times the descriptor."""

    second: np.ndarray
    """Sums (C, d) of the responsibilities times the squared descriptor."""

    def plus(self, other: Statistics) -> Statistics:
        """Return the statistics of both sets together."""
        return Statistics(*(own + its for own, its in zip(self, other)))


class FisherVectors:
    """Improved Fisher vectors of sets of descriptors under a fitted mixture.

    "Improved" (Perronnin, Sanchez & Mensink 2010): of every number the signed square root is taken,
    which makes up for patches that an image repeats, and the vector is scaled to unit length, which
    makes up for the share of the image that is background.

    Raises ValueError if `model` is no diagonal mixture, or `pyramid` is unknown.

    Parameters
    ----------
    model : GaussianMixtureModel
        Fitted to single descriptors (m, d), with ``covariance_type="diag"``.
    pyramid : {"none", "2x2", "3x1"}, default="none"
        Regions that are described besides the whole, by the positions of the descriptors (spatial
        pyramid: Lazebnik, Schmid & Ponce 2006): none, the quarters, or three horizontal bands. Each
        has its own improved vector; the parts weigh the same.

    Attributes
    ----------
    n_features : int
        Length of a Fisher vector: 2 C d for each region.
    """

    def __init__(self, model: GaussianMixtureModel, pyramid: str = "none") -> None:
        if getattr(model, "covariance_type", None) != "diag":
            raise ValueError("Fisher vectors need a mixture with covariance_type='diag'.")
        if pyramid not in PYRAMIDS:
            raise ValueError(f"pyramid must be one of {tuple(PYRAMIDS)}; found {pyramid!r}.")
        self.model = model
        self.pyramid = pyramid
        self.deviations = np.sqrt(model.covariances_)
        self._inverse_deviations = 1.0 / self.deviations
        self._inverse_variances = 1.0 / model.covariances_
        rows_and_columns = PYRAMIDS[pyramid]
        self.n_regions = 1 + int(np.prod(rows_and_columns)) if rows_and_columns else 1
        self.n_features = self.n_regions * 2 * model.means_.size
        self._origin = model.means_.mean(axis=0)
        self._means = model.means_ - self._origin
        # The quadratic form -|(x - mu) / sigma|^2 / 2 + constant by powers of x - origin.
        self._squared = (-0.5 / model.covariances_).T
        self._linear = (self._means / model.covariances_).T
        self._constant = (
            np.log(model.weights_)
            - 0.5 * (self._means**2 / model.covariances_).sum(axis=1)
            - 0.5 * np.log(2 * np.pi * model.covariances_).sum(axis=1)
        )
        # Of the sums of q z and of q (z^2 - 1), z = (x - mu) / sigma, in the two blocks.
        self._weights = np.outer([1.0, np.sqrt(0.5)], 1.0 / np.sqrt(model.weights_))

    def transform(
        self, sets: Sequence[np.ndarray], positions: Sequence[np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the improved Fisher vectors (n, n_features) of `sets`.

        The vector of the whole comes first, then those of the regions by row and column; each has
        the mean block and then the deviation block, both component-major. A set or region without
        descriptors has a vector of zeros; the others have unit length, also with a pyramid.

        Raises ValueError if a set has the wrong shape or numbers that are not finite, or a pyramid
        has no positions, or positions of another number or outside of 0 and 1.

        Parameters
        ----------
        sets : sequence of n arrays (m_i, d)
            The descriptors of each set.
        positions : sequence of n arrays (m_i, 2), default=None
            Where each descriptor lies, from the left and from the top, from 0 to 1. Only a pyramid
            needs it.
        """
        if positions is None:
            if self.pyramid != "none":
                raise ValueError("A spatial pyramid needs the positions of the descriptors.")
            positions = [None] * len(sets)
        if len(positions) != len(sets):
            raise ValueError(f"{len(positions)} arrays of positions for {len(sets)} sets.")
        members = [self._descriptors(descriptors) for descriptors in sets]
        regions = [self._regions(*each) for each in zip(members, positions)]
        vectors = np.empty((len(sets), self.n_regions, 2, *self._means.shape))
        # One array for all blocks: the system takes long to hand out a new one for each.
        scores = np.empty((self._most_sets, *vectors.shape[1:]))
        for block in self._blocks(members):
            own, own_scores = members[block], scores[: block.stop - block.start]
            weights = self._weights
            if self.pyramid == "none" and all(len(descriptors) == 1 for descriptors in own):
                weights = self._write_scores_of_single_descriptors(own, own_scores)
            else:
                self._write_scores(self._region_statistics(own, regions[block]), own_scores)
            _improve(own_scores, weights, vectors[block])
        return vectors.reshape(len(sets), self.n_features)

    def region_statistics(
        self, descriptors: np.ndarray, positions: np.ndarray | None = None
    ) -> list[Statistics]:
        """Return the statistics of the whole of one set, and then those of its regions."""
        descriptors = self._descriptors(descriptors)
        found = self._region_statistics([descriptors], [self._regions(descriptors, positions)])
        return [Statistics(*each) for each in zip(*(part[0] for part in found))]

    def statistics(self, descriptors: np.ndarray) -> Statistics:
        """Return the sums over `descriptors` (m, d) of one set."""
        descriptors = self._descriptors(descriptors)
        pieces = [self._sums([descriptors[rows]]) for rows in _slices(len(descriptors))]
        return Statistics(*(part[0] for part in reduce(Statistics.plus, pieces)))

    def responsibilities(self, descriptors: np.ndarray) -> np.ndarray:
        """Return p(component | x) of all descriptors (m, d): an array (m, C).

        The same as that of the model, by products of matrices for all components at once.
        """
        centred = descriptors - self._origin
        return self._responsibilities(centred, centred**2)

    def gradients(self, statistics: Statistics) -> np.ndarray:
        """Return the mean scaled scores (2 C d,) of a set, before root and length.

        The leading axes of the statistics of many sets stay.
        """
        counts = np.asarray(statistics.count)
        scores = np.empty((*counts.shape, 2, *self._means.shape))
        self._write_scores(statistics, scores)
        scores *= self._weights[..., None]
        return scores.reshape(*counts.shape, -1) / np.maximum(counts, 1)[..., None]

    def _write_scores(self, statistics: Statistics, out: np.ndarray) -> None:
        """Write the sums (..., 2, C, d) of q z and of q (z^2 - 1), with z = (x - mu) / sigma."""
        _, zeroth, first, second = statistics
        zeroth = zeroth[..., None]
        means, deviations = out[..., 0, :, :], out[..., 1, :, :]
        np.multiply(self._means, zeroth, out=means)
        np.subtract(first, means, out=means)
        # sum q (x - mu)^2 = s2 - mu (s1 + (s1 - mu s0))
        np.add(first, means, out=deviations)
        deviations *= self._means
        np.subtract(second, deviations, out=deviations)
        means *= self._inverse_deviations
        deviations *= self._inverse_variances
        deviations -= zeroth

    def _write_scores_of_single_descriptors(self, members, out: np.ndarray) -> np.ndarray:
        """Write z and z^2 - 1 of n sets (n, 1, 2, C, d), and return their weights (n, 1, 2, C).
        Without sums, q need not be multiplied with each number of a vector: it is a weight."""
        centred = self._stacked(members) - self._origin
        means, deviations = out[:, 0, 0], out[:, 0, 1]
        np.subtract(centred[:, None], self._means, out=means)
        means *= self._inverse_deviations
        np.square(means, out=deviations)
        deviations -= 1.0
        q = self._responsibilities(centred, centred**2)
        return q[:, None, None] * self._weights

    def _region_statistics(self, members, regions) -> Statistics:
        """Return the statistics (n, n_regions, ...) of n sets by region, the whole first."""
        if len(members) == 1:
            (own,), (region,) = members, regions
            pieces = [
                self._region_sums([own[rows]], [None if region is None else region[rows]])
                for rows in _slices(len(own))
            ]
            return reduce(Statistics.plus, pieces)
        return self._region_sums(members, regions)

    def _region_sums(self, members, regions) -> Statistics:
        if self.pyramid == "none":
            return Statistics(*(part[:, None] for part in self._sums(members)))
        n_parts = self.n_regions - 1
        found = self._sums(
            [
                own[region == part]
                for own, region in zip(members, regions)
                for part in range(n_parts)
            ]
        )
        by_set = [part.reshape(len(members), n_parts, *part.shape[1:]) for part in found]
        return Statistics(
            *(np.concatenate([part.sum(axis=1, keepdims=True), part], axis=1) for part in by_set)
        )

    def _sums(self, members) -> Statistics:
        """Return the statistics (n, ...) of n sets, with the responsibilities of all at once."""
        counts = np.array([len(own) for own in members])
        centred = self._stacked(members) - self._origin
        squared = centred**2
        q = self._responsibilities(centred, squared)
        ends = np.cumsum(counts)
        occupied = counts > 0
        zeroth = np.zeros((len(members), len(self._means)))
        zeroth[occupied] = np.add.reduceat(q, (ends - counts)[occupied], axis=0)
        first, second = np.empty((2, len(members), *self._means.shape))
        for index, rows in enumerate(map(slice, ends - counts, ends)):
            own = q[rows].T
            np.matmul(own, centred[rows], out=first[index])
            np.matmul(own, squared[rows], out=second[index])
        return Statistics(counts, zeroth, first, second)

    def _stacked(self, members) -> np.ndarray:
        """Return the descriptors of all sets in one array."""
        stacked = members[0] if len(members) == 1 else np.concatenate(members)
        if not np.isfinite(stacked).all():
            raise ValueError("Descriptors must be finite.")
        return stacked

    def _responsibilities(self, centred: np.ndarray, squared: np.ndarray) -> np.ndarray:
        log_joint = squared @ self._squared
        log_joint += centred @ self._linear
        log_joint += self._constant
        log_joint -= log_joint.max(axis=1, keepdims=True)
        relative = exp_in_place(log_joint)
        relative /= relative.sum(axis=1, keepdims=True)
        return relative

    def _regions(self, descriptors, positions) -> np.ndarray | None:
        """Return the region of each descriptor of a set."""
        if self.pyramid == "none":
            return None
        n_rows, n_columns = PYRAMIDS[self.pyramid]
        positions = np.asarray(positions, dtype=np.float64)
        if positions.shape != (len(descriptors), 2):
            raise ValueError(
                f"Positions must have the shape ({len(descriptors)}, 2); found {positions.shape}."
            )
        if not ((positions >= 0) & (positions <= 1)).all():
            raise ValueError("Positions must lie between 0 and 1.")
        # A descriptor at the right or lower rim belongs to the last region.
        column = np.minimum((positions[:, 0] * n_columns).astype(int), n_columns - 1)
        row = np.minimum((positions[:, 1] * n_rows).astype(int), n_rows - 1)
        return row * n_columns + column

    @property
    def _most_sets(self) -> int:
        """Number of sets that are described together, at most."""
        return max(1, NUMBERS_AT_ONCE // self.n_features)

    def _blocks(self, members) -> Iterator[slice]:
        """Yield the indices of consecutive sets that are described together."""
        begin = n_rows = 0
        for end, own in enumerate(members):
            if end > begin and (end - begin == self._most_sets or n_rows + len(own) > ROWS_AT_ONCE):
                yield slice(begin, end)
                begin, n_rows = end, 0
            n_rows += len(own)
        if members:
            yield slice(begin, len(members))

    def _descriptors(self, descriptors: np.ndarray) -> np.ndarray:
        descriptors = np.asarray(descriptors, dtype=np.float64)
        dimension = self.model.means_.shape[1]
        if descriptors.ndim != 2 or descriptors.shape[1] != dimension:
            raise ValueError(
                f"Descriptors must have the shape (m, {dimension}); found {descriptors.shape}."
            )
        return descriptors


def _slices(n_rows: int) -> list[slice]:
    """Return the rows of a set in pieces that are computed at once; one piece if there are none."""
    return [slice(begin, begin + ROWS_AT_ONCE) for begin in range(0, max(n_rows, 1), ROWS_AT_ONCE)]


def _improve(scores: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Write sign(v) sqrt|v| / L of v = weights * scores; zeros stay zeros. With axes for sets,
    regions, blocks, components and, of the scores, dimensions. L gives every region that is not
    empty the same length, and all regions of a set together unit length."""
    np.abs(scores, out=out)
    # The squared lengths of the roots are sums of absolute values.
    sums = out.reshape(-1, out.shape[-1]) @ np.ones(out.shape[-1])
    squared_lengths = weights * sums.reshape(out.shape[:-1])
    squared_lengths = squared_lengths.sum(axis=(-2, -1), keepdims=True)
    squared_lengths *= np.count_nonzero(squared_lengths, axis=1, keepdims=True)
    out *= (weights / np.where(squared_lengths > 0, squared_lengths, 1.0))[..., None]
    np.sqrt(out, out=out)
    np.copysign(out, scores, out=out)
