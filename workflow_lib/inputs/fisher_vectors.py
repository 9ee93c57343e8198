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

import numpy as np

from workflow_lib.models.exponentials import exp_in_place
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

# What is computed at once, so that it stays in a processor's cache: descriptors, and numbers of the
# vectors.
ROWS_AT_ONCE = 1024
NUMBERS_AT_ONCE = 2**16


class FisherVectors:
    """Improved Fisher vectors of sets of descriptors under a fitted mixture.

    "Improved" (Perronnin, Sanchez & Mensink 2010): of every number the signed square root is taken,
    which makes up for patches that an image repeats, and the vector is scaled to unit length, which
    makes up for the share of the image that is background.

    Raises ValueError if `model` is no diagonal mixture.

    Parameters
    ----------
    model : GaussianMixtureModel
        Fitted to single descriptors (m, d), with ``covariance_type="diag"``.

    Attributes
    ----------
    n_features : int
        Length of a Fisher vector: 2 C d.
    """

    def __init__(self, model: GaussianMixtureModel) -> None:
        if getattr(model, "covariance_type", None) != "diag":
            raise ValueError("Fisher vectors need a mixture with covariance_type='diag'.")
        self.n_features = 2 * model.means_.size
        self._inverse_deviations = 1.0 / np.sqrt(model.covariances_)
        self._inverse_variances = 1.0 / model.covariances_
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

    def transform(self, sets: Sequence[np.ndarray]) -> np.ndarray:
        """Return the improved Fisher vectors (n, n_features) of n `sets` of descriptors (m_i, d).

        The mean block and then the deviation block, both component-major. A set without descriptors
        has a vector of zeros; the others have unit length.

        Raises ValueError if a set has the wrong shape or numbers that are not finite.
        """
        members = [self._descriptors(descriptors) for descriptors in sets]
        vectors = np.empty((len(sets), 2, *self._means.shape))
        # One array for all blocks: the system takes long to hand out a new one for each.
        scores = np.empty((self._most_sets, *vectors.shape[1:]))
        for block in self._blocks(members):
            own, own_scores = members[block], scores[: block.stop - block.start]
            weights = self._weights
            if all(len(descriptors) == 1 for descriptors in own):
                weights = self._write_scores_of_single_descriptors(own, own_scores)
            else:
                self._write_scores(*self._statistics(own), own_scores)
            _improve(own_scores, weights, vectors[block])
        return vectors.reshape(len(sets), self.n_features)

    def _write_scores(self, zeroth, first, second, out: np.ndarray) -> None:
        """Write the sums (n, 2, C, d) of q z and of q (z^2 - 1), with z = (x - mu) / sigma."""
        zeroth = zeroth[..., None]
        means, deviations = out[:, 0], out[:, 1]
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
        """Write z and z^2 - 1 of n sets (n, 2, C, d), and return their weights (n, 2, C).
        Without sums, q need not be multiplied with each number of a vector: it is a weight."""
        centred = self._stacked(members) - self._origin
        means, deviations = out[:, 0], out[:, 1]
        np.subtract(centred[:, None], self._means, out=means)
        means *= self._inverse_deviations
        np.square(means, out=deviations)
        deviations -= 1.0
        return self._responsibilities(centred, centred**2)[:, None] * self._weights

    def _statistics(self, members) -> list[np.ndarray]:
        """Return the sums of `_sums`; those of a single set in pieces."""
        if len(members) > 1:
            return self._sums(members)
        (own,) = members
        begins = range(0, max(len(own), 1), ROWS_AT_ONCE)
        pieces = [self._sums([own[begin : begin + ROWS_AT_ONCE]]) for begin in begins]
        return [sum(parts) for parts in zip(*pieces)]

    def _sums(self, members) -> list[np.ndarray]:
        """Return the sums of q (n, C), q x and q x^2 (n, C, d) over each of n sets, where x counts
        from the mean of the component means."""
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
        return [zeroth, first, second]

    def _stacked(self, members) -> np.ndarray:
        """Return the descriptors of all sets in one array."""
        stacked = members[0] if len(members) == 1 else np.concatenate(members)
        if not np.isfinite(stacked).all():
            raise ValueError("Descriptors must be finite.")
        return stacked

    def _responsibilities(self, centred: np.ndarray, squared: np.ndarray) -> np.ndarray:
        """Return p(component | x) (m, C), by products of matrices for all components at once."""
        log_joint = squared @ self._squared
        log_joint += centred @ self._linear
        log_joint += self._constant
        log_joint -= log_joint.max(axis=1, keepdims=True)
        relative = exp_in_place(log_joint)
        relative /= relative.sum(axis=1, keepdims=True)
        return relative

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
        dimension = self._means.shape[1]
        if descriptors.ndim != 2 or descriptors.shape[1] != dimension:
            raise ValueError(
                f"Descriptors must have the shape (m, {dimension}); found {descriptors.shape}."
            )
        return descriptors


def _improve(scores: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """Write sign(v) sqrt|v| / L of v = weights * scores, with the length L of the roots of a set;
    zeros stay zeros. With axes for sets, blocks, components and, of the scores, dimensions."""
    np.abs(scores, out=out)
    # The squared lengths of the roots are sums of absolute values.
    sums = out.reshape(-1, out.shape[-1]) @ np.ones(out.shape[-1])
    squared_lengths = weights * sums.reshape(out.shape[:-1])
    squared_lengths = squared_lengths.sum(axis=(-2, -1), keepdims=True)
    out *= (weights / np.where(squared_lengths > 0, squared_lengths, 1.0))[..., None]
    np.sqrt(out, out=out)
    np.copysign(out, scores, out=out)
