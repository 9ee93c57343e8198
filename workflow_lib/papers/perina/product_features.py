"""Probability product kernels between models of single sequences of letters, as features."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks, random_generator
from workflow_lib.inputs.principal_coordinates import principal_directions
from workflow_lib.items.kinds.letters import sequences_in
from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel, fit_models
from workflow_lib.papers.perina.probability_products import hidden_markov_products, markov_products

# Numbers of an array of a recursion, at most; rows beyond follow in blocks, which the cache holds.
BLOCK_NUMBERS = 2**16

MAX_ITER, TOL = 50, 1e-4
"""EM of the model of a single sequence: it takes 18 iterations in the mean."""

MAX_FITTED = 20_000
_FITTED: dict[tuple, tuple[np.ndarray, ...]] = {}
"""Hidden Markov models of sequences, by settings and letters: those of all folds and lengths are
the same, and their fit is most of the time. Emptied when there are `MAX_FITTED`."""


class ProductFeatures(ParameterMixin):
    """Coordinates of sequences whose inner products are a probability product kernel.

    A model is fitted to each sequence alone, and the kernel of two sequences is that of their
    models (`workflow_lib.papers.perina.probability_products`), divided by the roots of those of
    each with itself. The features of a sequence are coordinates in the space of the landmarks, some
    of the fitted rows, and the distance from this space in a last column: kernel values and
    distances between any sequence and a landmark are those of the kernel.

    Rows are letters of `workflow_lib.items.kinds.letters`.
    """

    estimator_type = None

    needs_all_columns = True
    """Also inputs that are constant: the position of a letter matters."""

    def fit(self, X, y=None) -> ProductFeatures:
        """Choose the landmarks among the rows `X` (n, q); `y` is ignored.

        Raises ValueError if a row is no sequence of letters, or a parameter is out of range.
        """
        check_parameters(self)
        sequences, generator = sequences_in(X), random_generator(self.random_state)
        n_kept = min(self.n_landmarks or len(sequences), len(sequences))
        chosen = np.sort(generator.permutation(len(sequences))[:n_kept])
        self.landmarks_ = self._models([sequences[row] for row in chosen])
        self.log_lengths_ = 0.5 * self._log_products(self.landmarks_, self.landmarks_, True)[:, 0]
        kernel = self._kernel(self.landmarks_)
        vectors, roots = principal_directions(0.5 * (kernel + kernel.T), n_kept)
        self.directions_ = vectors / roots
        self._n_features_out = len(roots) + 1
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Return the coordinates (n, m) of the rows `X` (n, q) of the fit."""
        return self.fit(X, y).transform(X)

    def transform(self, X) -> np.ndarray:
        """Return the coordinates (n, m) of rows `X` (n, q).

        Raises ValueError if a row is no sequence of letters.
        """
        self._check_is_fitted()
        coordinates = self._kernel(self._models(sequences_in(X))) @ self.directions_
        rest = 1.0 - np.einsum("nm,nm->n", coordinates, coordinates)
        return np.column_stack([coordinates, np.sqrt(np.maximum(rest, 0.0))])

    def _kernel(self, models: list[np.ndarray]) -> np.ndarray:
        """Return the kernel (n, m) of models and landmarks, divided by the roots."""
        n_rows = max(1, BLOCK_NUMBERS // (len(self.log_lengths_) * models[-1][0].size))
        found = []
        for begin in range(0, len(models[0]), n_rows):
            part = [array[begin : begin + n_rows] for array in models]
            logs = self._log_products(part, self.landmarks_)
            logs -= 0.5 * self._log_products(part, part, True) + self.log_lengths_
            found.append(np.exp(logs))
        return np.concatenate(found)

    @abstractmethod
    def _models(self, sequences) -> list[np.ndarray]:
        """Return the parameters (n, ...) of the model of each sequence."""

    @abstractmethod
    def _log_products(self, left, right, paired: bool = False) -> np.ndarray:
        """Return the logarithms of the kernel of models before it is divided."""


class HiddenMarkovProducts(ProductFeatures):
    """`ProductFeatures` of hidden Markov models, with rho = 1.

    Parameters
    ----------
    length : int, default=8
        Steps T of the sequences that the kernel sums over.
    n_states : int, default=2
        Number of states of the model of a sequence.
    prior : float, default=0.5
        As of `HiddenMarkovModel`.
    n_landmarks : int or None, default=300
        Fitted rows in whose space the coordinates are, drawn by `random_state`; None: all.
    n_symbols : int or None, default=None
        Number of letters V; None: as the dataset says.
    random_state : int, default=0
        Also of the start of EM, which is that of every sequence.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, -2.0]])
    >>> HiddenMarkovProducts(length=2, n_symbols=2).fit_transform(rows).shape
    (2, 3)
    """

    allowed: ClassVar = checks(
        whole="length n_states",
        positive="prior",
        whole_or_none="n_landmarks n_symbols",
        count="random_state",
    )

    def __init__(
        self,
        length: int = 8,
        n_states: int = 2,
        prior: float = 0.5,
        n_landmarks: int | None = 300,
        n_symbols: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.length, self.n_states, self.prior = length, n_states, prior
        self.n_landmarks, self.n_symbols, self.random_state = n_landmarks, n_symbols, random_state

    def _models(self, sequences):
        settings = (self.n_states, self.n_symbols, self.prior, self.random_state)
        keys = [(*settings, sequence.tobytes()) for sequence in sequences]
        if len(_FITTED) + len(keys) > MAX_FITTED:
            _FITTED.clear()
        missing = {key: row for row, key in enumerate(keys) if key not in _FITTED}
        models = [
            HiddenMarkovModel(
                self.n_states,
                n_symbols=self.n_symbols,
                prior=self.prior,
                n_init=1,
                random_state=self.random_state,
                max_iter=MAX_ITER,
                tol=TOL,
                # The engine of one sequence must not depend on how many are fitted with it.
                engine="batched",
            )
            for _ in missing
        ]
        if models:
            fit_models(models, sequences, [np.array([row]) for row in missing.values()])
        for key, model in zip(missing, models):
            _FITTED[key] = model.initial_, model.transitions_, model.emissions_
        return [np.stack(arrays) for arrays in zip(*(_FITTED[key] for key in keys))]

    def _log_products(self, left, right, paired=False):
        return hidden_markov_products(left, right, self.length, paired)


class MarkovProducts(ProductFeatures):
    """`ProductFeatures` of Markov chains of the letters.

    Parameters
    ----------
    length : int, default=8
        Steps T of the sequences that the kernel sums over.
    order : int, default=1
        Letters on which the next one depends.
    rho : float, default=0.5
        Power of the probabilities.
    prior : float, default=0.5
        Pseudo-count of every probability.
    n_landmarks, n_symbols, random_state
        As of `HiddenMarkovProducts`.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, -2.0]])
    >>> MarkovProducts(length=2, n_symbols=2).fit_transform(rows).shape
    (2, 3)
    """

    allowed: ClassVar = checks(
        whole="length order",
        positive="rho prior",
        whole_or_none="n_landmarks n_symbols",
        count="random_state",
    )

    def __init__(
        self,
        length: int = 8,
        order: int = 1,
        rho: float = 0.5,
        prior: float = 0.5,
        n_landmarks: int | None = 300,
        n_symbols: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.length, self.order, self.rho, self.prior = length, order, rho, prior
        self.n_landmarks, self.n_symbols, self.random_state = n_landmarks, n_symbols, random_state

    def _models(self, sequences):
        n_contexts = self.n_symbols**self.order
        counts = self._word_counts(sequences, self.order + 1).reshape(
            len(sequences), n_contexts, self.n_symbols
        )
        initial = self._word_counts(sequences, self.order)
        return [each / each.sum(axis=-1, keepdims=True) for each in (initial, counts)]

    def _word_counts(self, sequences, k: int) -> np.ndarray:
        """Return the counts (n, V^k) of words of `k` known letters, plus the prior."""
        weights = self.n_symbols ** np.arange(k)[::-1]
        counts = np.full((len(sequences), self.n_symbols**k), float(self.prior))
        for row, sequence in zip(counts, sequences):
            if len(sequence) >= k:
                words = np.lib.stride_tricks.sliding_window_view(sequence, k)
                words = words[(words >= 0).all(axis=1)]
                row += np.bincount(words @ weights, minlength=len(row))
        return counts

    def _log_products(self, left, right, paired=False):
        return markov_products(left, right, self.length, self.rho, paired)
