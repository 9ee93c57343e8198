"""The objective of gradient ascent on a Gaussian mixture, and its gradient.

They need no rows, only three sums: of the responsibilities, and of these times the rows and their
squares (Palasek & Patras 2017, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Coordinates(NamedTuple):
    """What is moved: alpha (C,), of weights softmax(alpha), means (C, d), and deviations.

    Deviations are (C, d) for diagonal covariances, (C,) for spherical ones.
    """

    alpha: np.ndarray
    means: np.ndarray
    deviations: np.ndarray

    def moved(self, steps: dict[str, np.ndarray], least: float) -> Coordinates:
        """Return these plus steps, by name, with no deviation below `least`."""
        found = self._replace(**{name: getattr(self, name) + step for name, step in steps.items()})
        return found._replace(deviations=np.maximum(found.deviations, least))

    def are_finite(self) -> bool:
        """Return whether no number is infinite or NaN."""
        return all(np.isfinite(values).all() for values in self)


def softmax(alpha: np.ndarray) -> np.ndarray:
    """Return weights (C,) that are positive and sum to one."""
    weights = np.exp(alpha - alpha.max())
    return weights / weights.sum()


def expected_log_joint(
    counts: np.ndarray, sums: np.ndarray, second: np.ndarray, coordinates: Coordinates
) -> float:
    """Return E log p(y, z) of an average row, F of eq. (2) without the entropy of q.

    Parameters
    ----------
    counts, sums, second : arrays (C,), (C, d), and (C, d) or (C,)
        Means over the rows of the responsibilities, and of these times y, and y^2 or |y|^2.
    coordinates : Coordinates
    """
    alpha, means, deviations = coordinates
    squares = _squares(counts, sums, second, means) / deviations**2
    logarithms = np.log(deviations)
    logarithms = logarithms.sum(axis=1) if logarithms.ndim == 2 else means.shape[1] * logarithms
    normaliser = 0.5 * means.shape[1] * np.log(2 * np.pi)
    return float(counts @ (np.log(softmax(alpha)) - logarithms - normaliser) - 0.5 * squares.sum())


def expected_gradient(
    counts: np.ndarray, sums: np.ndarray, second: np.ndarray, coordinates: Coordinates
) -> dict[str, np.ndarray]:
    """Return the gradient of `expected_log_joint` in alpha, the means and the deviations.

    With the responsibilities of the same parameters it is that of the mean log-likelihood.
    """
    alpha, means, deviations = coordinates
    squares = _squares(counts, sums, second, means)
    if deviations.ndim == 2:
        logarithms, columns = counts[:, None], deviations
    else:
        logarithms, columns = means.shape[1] * counts, deviations[:, None]
    return {
        "alpha": counts - counts.sum() * softmax(alpha),
        "means": (sums - counts[:, None] * means) / columns**2,
        "deviations": (squares / deviations**2 - logarithms) / deviations,
    }


def _squares(counts, sums, second, means) -> np.ndarray:
    """Return the mean of the responsibilities times the squared difference from the mean."""
    if second.ndim == 2:
        return second - 2.0 * means * sums + means**2 * counts[:, None]
    return second - 2.0 * (means * sums).sum(axis=1) + (means**2).sum(axis=1) * counts
