"""Expected statistics of emissions, their energies and their scores, for each kind of emission."""

import numpy as np


class LetterScores:
    """Of a table b (S, V): the statistics are the expected counts n_iv (N, S, V) of letters."""

    def __init__(self, model) -> None:
        self.table = np.asarray(model.emissions_, dtype=np.float64)

    def statistics(self, gamma: np.ndarray, observed) -> np.ndarray:
        """Return the sums (N, S, V) over the steps of every sequence, from gamma (S, T, N)."""
        n_states, _, n = gamma.shape
        width = self.table.shape[1] + 1
        letters = observed.letters[0].reshape(gamma.shape[1:])
        indices = (letters + width * np.arange(n)).ravel()
        counts = np.stack(
            [np.bincount(indices, weights=own.ravel(), minlength=n * width) for own in gamma],
            axis=1,
        )
        return counts.reshape(n, width, n_states)[:, :-1].swapaxes(1, 2)

    def energies(self, statistics: np.ndarray) -> np.ndarray:
        """Return -n_iv log b_iv."""
        return -times_log(statistics, self.table)

    def counts(self, statistics: np.ndarray) -> dict[str, np.ndarray]:
        """Return the statistics by name."""
        return {"emissions": statistics}

    def scores(self, statistics: np.ndarray, parametrization: str) -> dict[str, np.ndarray]:
        """Return the derivatives in the table, or in the logits of its rows."""
        return {"emissions": probability_scores(statistics, self.table, parametrization)}


class VectorScores:
    """Of means and variances (S, d): the statistics are sums of (x - o)^2, x - o and 1."""

    def __init__(self, model) -> None:
        self.means = np.asarray(model.means_, dtype=np.float64)
        self.variances = np.asarray(model.variances_, dtype=np.float64)
        self.origin = self.means.mean(axis=0)

    def statistics(self, gamma: np.ndarray, observed) -> np.ndarray:
        """Return the sums (N, S, 2 d + 1) over the steps of every sequence."""
        features = observed.features[0].reshape(-1, *gamma.shape[1:])
        return np.einsum("stn,ftn->nsf", gamma, features)

    def energies(self, statistics: np.ndarray) -> np.ndarray:
        """Return -sum_k gamma_k(i) log N(x_kj; mu_ij, sigma_ij^2), (N, S, d)."""
        squares, _, counts = self._centred(statistics)
        return 0.5 * (counts * np.log(2.0 * np.pi * self.variances) + squares / self.variances)

    def counts(self, statistics: np.ndarray) -> dict[str, np.ndarray]:
        """Return the expected steps in each state, and the sums of x and of x^2."""
        d = self.means.shape[1]
        squares, sums, counts = np.split(statistics, [d, 2 * d], axis=2)
        squares = squares + 2.0 * self.origin * sums + counts * self.origin**2
        sums = sums + counts * self.origin
        return {"states": counts[..., 0], "sums": sums, "squares": squares}

    def scores(self, statistics: np.ndarray, parametrization: str) -> dict[str, np.ndarray]:
        """Return the derivatives in the means, and in the variances or their logarithms."""
        squares, sums, counts = self._centred(statistics)
        by_logarithm = 0.5 * (squares / self.variances - counts)
        if parametrization == "free":
            by_logarithm = by_logarithm / self.variances
        return {"means": sums / self.variances, "variances": by_logarithm}

    def _centred(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the sums of (x - mu)^2, of x - mu, and of 1."""
        d = self.means.shape[1]
        squares, sums, counts = np.split(statistics, [d, 2 * d], axis=2)
        means = self.means - self.origin
        return squares - 2.0 * means * sums + counts * means**2, sums - counts * means, counts


def times_log(counts: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return counts (..., n) times log theta, with 0 log 0 = 0."""
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    impossible = np.isneginf(logs)
    if not impossible.any():
        return counts * logs
    products = counts * np.where(impossible, 0.0, logs)
    return np.where(impossible & (counts > 0), -np.inf, products)


def probability_scores(
    counts: np.ndarray, probabilities: np.ndarray, parametrization: str
) -> np.ndarray:
    """Return the derivatives of sum counts log theta in probabilities that sum to one.

    ``free``: n / theta, as if they were free numbers; zero where theta is zero. ``softmax``: in
    the logits of theta, n - theta sum n.
    """
    if parametrization == "softmax":
        return counts - probabilities * counts.sum(axis=-1, keepdims=True)
    possible = probabilities > 0
    return np.where(possible, counts / np.where(possible, probabilities, 1.0), 0.0)
