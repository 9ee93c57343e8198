"""Fisher vectors: one vector for a set of local descriptors, such as the patches of an image.

The Fisher embedding in the role of the inputs. With a diagonal Gaussian mixture as the model of
single descriptors, a set of T of them is described by the mean of their Fisher scores in the means
and deviations, each scaled by the root of its Fisher information (Perronnin, Sanchez & Mensink
2010, eq. (5) and (6)). With the responsibilities q_k(x) of component k, and pi_k, mu_k, sigma_k:

- mean block       1 / (T sqrt(pi_k))   sum_x q_k(x) (x - mu_k) / sigma_k
- deviation block  1 / (T sqrt(2 pi_k)) sum_x q_k(x) ((x - mu_k)^2 / sigma_k^2 - 1)

All of it follows from the sums s0 = sum q_k, s1 = sum q_k x and s2 = sum q_k x^2 over the set,
which are products of matrices, and those of a union of sets are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.generative.mixture import GaussianMixtureModel

PYRAMIDS = {"none": (), "2x2": (2, 2), "3x1": (3, 1)}
"""Rows and columns of the regions that are described besides the whole, by the option's value."""


class Statistics(NamedTuple):
    """Sums over a set of descriptors, for every component."""

    count: int
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

    Raises
    ------
    ValueError
        If `model` is no diagonal mixture, or `pyramid` is unknown.
    """

    def __init__(self, model: GaussianMixtureModel, pyramid: str = "none") -> None:
        if getattr(model, "covariance_type", None) != "diag":
            raise ValueError("Fisher vectors need a mixture with covariance_type='diag'.")
        if pyramid not in PYRAMIDS:
            raise ValueError(f"pyramid must be one of {tuple(PYRAMIDS)}; found {pyramid!r}.")
        self.model = model
        self.pyramid = pyramid
        self.deviations = np.sqrt(model.covariances_)
        rows_and_columns = PYRAMIDS[pyramid]
        self.n_regions = 1 + int(np.prod(rows_and_columns)) if rows_and_columns else 1
        self.n_features = self.n_regions * 2 * model.means_.size
        # The quadratic form -|(x - mu) / sigma|^2 / 2 + constant by powers of x - origin.
        self._origin = model.means_.mean(axis=0)
        means = model.means_ - self._origin
        self._squared = -0.5 / model.covariances_
        self._linear = means / model.covariances_
        self._constant = (
            np.log(model.weights_)
            - 0.5 * (means**2 / model.covariances_).sum(axis=1)
            - 0.5 * np.log(2 * np.pi * model.covariances_).sum(axis=1)
        )

    def transform(
        self,
        sets: Sequence[np.ndarray],
        positions: Sequence[np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the improved Fisher vectors (n, n_features) of `sets`.

        The vector of the whole comes first, then those of the regions by row and column; each has
        the mean block and then the deviation block, both component-major. A set or region without
        descriptors has a vector of zeros; the others have unit length, also with a pyramid.

        Parameters
        ----------
        sets : sequence of n arrays (m_i, d)
            The descriptors of each set.
        positions : sequence of n arrays (m_i, 2), default=None
            Where each descriptor lies, from the left and from the top, from 0 to 1. Only a pyramid
            needs it.

        Raises
        ------
        ValueError
            If a set has the wrong shape or numbers that are not finite, or a pyramid has no
            positions, or positions of another number or outside of 0 and 1.
        """
        if positions is None:
            if self.pyramid != "none":
                raise ValueError("A spatial pyramid needs the positions of the descriptors.")
            positions = [None] * len(sets)
        if len(positions) != len(sets):
            raise ValueError(f"{len(positions)} arrays of positions for {len(sets)} sets.")
        vectors = np.zeros((len(sets), self.n_regions, 2 * self.model.means_.size))
        for row, (descriptors, places) in enumerate(zip(sets, positions)):
            for region, statistics in enumerate(self.region_statistics(descriptors, places)):
                vectors[row, region] = improved(self.gradients(statistics))
        return improved(vectors.reshape(len(sets), self.n_features), power=1.0)

    def region_statistics(
        self, descriptors: np.ndarray, positions: np.ndarray | None = None
    ) -> list[Statistics]:
        """Return the statistics of the whole of one set, and then those of its regions."""
        descriptors = self._descriptors(descriptors)
        if self.pyramid == "none":
            return [self.statistics(descriptors)]
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
        region = row * n_columns + column
        regions = [self.statistics(descriptors[region == r]) for r in range(n_rows * n_columns)]
        whole = regions[0]
        for statistics in regions[1:]:
            whole = whole.plus(statistics)
        return [whole, *regions]

    def statistics(self, descriptors: np.ndarray) -> Statistics:
        """Return the sums over `descriptors` (m, d) of one set."""
        descriptors = self._descriptors(descriptors)
        squared = descriptors**2
        q = self.responsibilities(descriptors)
        return Statistics(len(descriptors), q.sum(axis=0), q.T @ descriptors, q.T @ squared)

    def responsibilities(self, descriptors: np.ndarray) -> np.ndarray:
        """Return p(component | x) of all descriptors (m, d): an array (m, C).

        The same as that of the model, by products of matrices for all components at once.
        """
        centred = descriptors - self._origin
        log_joint = centred**2 @ self._squared.T
        log_joint += centred @ self._linear.T
        log_joint += self._constant
        log_joint -= log_joint.max(axis=1, keepdims=True)
        relative = np.exp(log_joint, out=log_joint)
        return relative / relative.sum(axis=1, keepdims=True)

    def gradients(self, statistics: Statistics) -> np.ndarray:
        """Return the mean scaled scores (2 C d,) of a set, before root and length."""
        model = self.model
        if not statistics.count:
            return np.zeros(2 * model.means_.size)
        zeroth = statistics.zeroth[:, None]
        first, second = statistics.first, statistics.second
        weights = np.sqrt(model.weights_)[:, None] * statistics.count
        mean_block = (first - model.means_ * zeroth) / (self.deviations * weights)
        spread = second - 2 * model.means_ * first + model.means_**2 * zeroth
        deviation_block = (spread / model.covariances_ - zeroth) / (np.sqrt(2) * weights)
        return np.concatenate([mean_block.ravel(), deviation_block.ravel()])

    def _descriptors(self, descriptors: np.ndarray) -> np.ndarray:
        descriptors = np.asarray(descriptors, dtype=np.float64)
        dimension = self.model.means_.shape[1]
        if descriptors.ndim != 2 or descriptors.shape[1] != dimension:
            raise ValueError(
                f"Descriptors must have the shape (m, {dimension}); found {descriptors.shape}."
            )
        if not np.isfinite(descriptors).all():
            raise ValueError("Descriptors must be finite.")
        return descriptors


def improved(vectors: np.ndarray, power: float = 0.5) -> np.ndarray:
    """Return sign(v) |v|^power, scaled to unit length along the last axis; zeros stay zeros."""
    vectors = np.sign(vectors) * np.abs(vectors) ** power
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
