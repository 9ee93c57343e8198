"""Marginalised count kernels of sequences of letters, as features."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks
from workflow_lib.items.kinds.letters import sequences_in
from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel
from workflow_lib.papers.perina.score_spaces.hidden_markov import Terms


class MarginalisedCounts(ParameterMixin):
    """Features of sequences whose inner products are a marginalised count kernel.

    If the hidden states s of a sequence x of K letters were known, a kernel could count how often a
    state and a letter occur together, c_iv(x, s) = sum_k [s_k = i, x_k = v] / K. The marginalised
    kernel is its mean over the posteriors of a hidden Markov model (Tsuda, Kin & Asai 2002),

        k(x, x') = sum_s sum_s' p(s | x) p(s' | x') sum_iv c_iv(x, s) c_iv(x', s'),

    that is, the inner product of expected counts, sum_k p(s_k = i | x) [x_k = v] / K. The kernel of
    the second order counts pairs of successive states and letters.

    Rows are letters of `workflow_lib.items.kinds.letters`; unknown ones are not counted.

    Parameters
    ----------
    n_states : int, default=4
        Number of states S of the model, which is fitted to all rows of `fit`. With one state the
        kernel is that of the shares of words of `order` letters.
    order : {1, 2}, default=1
        Successive steps that are counted together: S V columns, or S^2 V^2.
    n_init : int, default=3
        Random starts of the model.
    n_symbols : int or None, default=None
        Number of letters V; None: as the dataset says.
    random_state : int, default=0

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, -2.0]])
    >>> MarginalisedCounts(n_states=2, n_symbols=2).fit_transform(rows).shape
    (2, 4)
    """

    allowed: ClassVar = checks(
        whole="n_states order n_init", whole_or_none="n_symbols", seed="random_state"
    )
    estimator_type = None

    needs_all_columns = True
    """Also inputs that are constant: the position of a letter matters."""

    def __init__(
        self,
        n_states: int = 4,
        order: int = 1,
        n_init: int = 3,
        n_symbols: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_states, self.order, self.n_init = n_states, order, n_init
        self.n_symbols, self.random_state = n_symbols, random_state

    def fit(self, X, y=None) -> MarginalisedCounts:
        """Fit the hidden Markov model to rows `X` (n, q); `y` is ignored.

        Raises ValueError if a row is no sequence of letters, or a parameter is out of range.
        """
        check_parameters(self)
        if self.order > 2:
            raise ValueError(f"order must be 1 or 2; found {self.order}.")
        self.model_ = HiddenMarkovModel(
            self.n_states,
            n_symbols=self.n_symbols,
            n_init=self.n_init,
            random_state=self.random_state,
        ).fit(sequences_in(X))
        self._n_features_out = self.model_.emissions_.size**self.order
        return self

    def fit_transform(self, X, y=None) -> np.ndarray:
        """Return the expected counts (n, m) of the rows `X` (n, q) of the fit."""
        return self.fit(X, y).transform(X)

    def transform(self, X) -> np.ndarray:
        """Return the expected counts (n, m) of rows `X` (n, q), divided by their lengths.

        Raises ValueError if a row is no sequence of letters.
        """
        self._check_is_fitted()
        sequences, terms = sequences_in(X), Terms(self.model_)
        if self.order == 1:
            counts = terms.expected_counts(sequences, "symbol", "exact")["emissions"]
        else:
            counts = terms.letter_pairs(sequences)
        return counts.reshape(len(sequences), -1) / terms.lengths(sequences)[:, None]
