"""Features whose inner products approximate the rbf kernel, drawn without looking at any row.

The kernel exp(-gamma |x - x'|^2) is the mean of cos(w'(x - x')) over normal frequencies w of
variance 2 gamma (Rahimi & Recht 2007). With m frequencies the features

    Z = [cos(X W'), sin(X W')] / sqrt(m),    Z Z' ~ K

have an error of the order of 1 / sqrt(m). Frequencies that are orthogonal in groups of as many as
there are columns, with the lengths of independent ones, have a smaller error (Yu et al. 2016).
"""

import numpy as np

from workflow_lib.solvers.landmarks import Features


def orthogonal_directions(
    n_directions: int, n_columns: int, generator: np.random.Generator
) -> np.ndarray:
    """Return directions (m, q) for inputs of q columns, each of them standard normal, orthogonal in
    groups of q."""
    groups = []
    for _ in range(0, n_directions, n_columns):
        orthogonal, triangular = np.linalg.qr(generator.normal(size=(n_columns, n_columns)))
        # Without these signs the directions are not uniform (Mezzadri 2007).
        groups.append(orthogonal.T * np.sign(np.diag(triangular))[:, None])
    directions = np.vstack(groups)[:n_directions]
    return directions * np.sqrt(generator.chisquare(n_columns, size=n_directions))[:, None]


class RandomFeatures(Features):
    """The features Z of frequencies W = sqrt(2 gamma) D.

    Parameters
    ----------
    directions : array (m, q)
        D, as from `orthogonal_directions`.
    gamma : float
        Of the rbf kernel exp(-gamma |x - x'|^2).

    Attributes
    ----------
    n_features : int
        2 m.
    """

    def __init__(self, directions: np.ndarray, gamma: float) -> None:
        self.directions, self.gamma = directions, gamma
        self.n_features = 2 * len(directions)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the features (n, 2 m) of the rows of `X` (n, q)."""
        n_directions = len(self.directions)
        angles = np.asarray(X) @ (np.sqrt(2.0 * self.gamma) * self.directions.T)
        features = np.empty((len(angles), self.n_features))
        np.cos(angles, out=features[:, :n_directions])
        np.sin(angles, out=features[:, n_directions:])
        features /= np.sqrt(n_directions)
        return features
