"""Emissions of letters: p(x | state i) = b_i(x), a table of probabilities."""

from __future__ import annotations

import numpy as np

from workflow_lib.papers.perina.sequences import Layout, Sequences, read_symbols

# The probabilities of a start are the frequencies of the letters times gamma variables of this
# shape: the states differ by a factor of about two, and no letter is impossible in one.
START_SHAPE = 2.0


class CategoricalEmissions:
    """The tables of M models, as `workflow_lib.papers.perina.hidden_markov.fitting.Emissions` says.

    The number of letters V is `n_symbols`, or from the first sequences that are read where that is
    None; the `prior` is the pseudo-count of every letter in every state.
    """

    names = ("emissions_",)

    def __init__(self, n_symbols: int | None, prior: float) -> None:
        self.n_symbols = n_symbols
        self.prior = prior

    def read(self, sequences) -> Sequences:
        batch, self.n_symbols = read_symbols(sequences, self.n_symbols)
        return batch

    def observe(self, sequences: Sequences, layout: Layout) -> ObservedLetters:
        """Return the letters by position."""
        return ObservedLetters(sequences, layout, self.n_symbols)

    def likelihoods(self, parameters, observed: ObservedLetters) -> LetterLikelihoods:
        """Return the likelihoods of every position under the table (M, S, V)."""
        return LetterLikelihoods(parameters[0], observed.letters)

    def log_likelihoods(self, parameters, observed: ObservedLetters) -> np.ndarray:
        """Return log b (M, S, Q) of every position; zero where the letter is unknown."""
        with np.errstate(divide="ignore"):
            likelihoods = LetterLikelihoods(np.log(parameters[0]), observed.letters, unknown=0.0)
        return likelihoods.at(slice(None))

    def start(self, sequences: Sequences, subset, n_states: int, n_init: int, generator) -> tuple:
        """Return random tables (n_init, S, V) near the frequencies of the letters."""
        letters = sequences.values_of(subset)
        counts = np.bincount(letters[letters >= 0], minlength=self.n_symbols) + 1.0
        draws = generator.gamma(START_SHAPE, size=(n_init, n_states, self.n_symbols))
        table = counts * draws
        return (table / table.sum(axis=2, keepdims=True),)

    def statistics(self, states: np.ndarray, observed: ObservedLetters) -> np.ndarray:
        """Return the expected counts (M, S, V) of letters, from gamma (M, S, Q)."""
        n_bins = self.n_symbols + 1
        return np.stack(
            [
                [np.bincount(own, weights=row, minlength=n_bins)[:-1] for row in rows]
                for own, rows in zip(observed.letters, states)
            ]
        )

    def maximise(self, statistics: np.ndarray, previous, floors: np.ndarray) -> tuple:
        """Return the tables of the M-step; a state without any count keeps its row."""
        return (normalised(statistics + self.prior, previous[0]),)

    def floor(self, sequences: Sequences, subset) -> float:
        """Return zero: probabilities have no floor but the prior."""
        return 0.0

    def log_prior(self, parameters) -> np.ndarray:
        """Return the log prior (M,), less its constant."""
        return dirichlet_log_prior(parameters[0], self.prior)


class ObservedLetters:
    """The letters (M, Q) by position; those that are unknown or beyond the end are V."""

    def __init__(self, sequences: Sequences, layout: Layout, n_symbols: int) -> None:
        letters = np.where(sequences.values < 0, n_symbols, sequences.values)
        self.letters = np.append(letters, n_symbols)[layout.positions]


class LetterLikelihoods:
    """b of the letters at every position, looked up in a table; and of the unknown letter."""

    log_units = None

    def __init__(self, table: np.ndarray, letters: np.ndarray, unknown: float = 1.0) -> None:
        n_models, n_states, _ = table.shape
        self._letters = letters
        self._table = np.concatenate([table, np.full((n_models, n_states, 1), unknown)], axis=2)
        width = self._table.shape[2]
        self._rows = (np.arange(n_models * n_states) * width).reshape(n_models, n_states, 1)

    def at(self, index: slice) -> np.ndarray:
        """Return b (M, S, n) of these positions."""
        letters = self._letters[:, index]
        if len(letters) == 1:
            return self._table[0].take(letters[0], axis=1)[None]
        return self._table.take(self._rows + letters[:, None])


def normalised(counts: np.ndarray, previous: np.ndarray) -> np.ndarray:
    """Return counts (..., n) divided by their sums; rows of zeros are those of `previous`."""
    totals = counts.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), previous)


def dirichlet_log_prior(probabilities: np.ndarray, pseudo_count: float) -> np.ndarray:
    """Return pseudo_count * sum log theta (M,) over all axes but the first."""
    if pseudo_count == 0:
        return np.zeros(len(probabilities))
    return pseudo_count * np.log(probabilities).reshape(len(probabilities), -1).sum(axis=1)
