"""Hidden Markov models of sequences of letters, as trees of arrays for an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workflow_lib.embeddings.score_space_storage import model_to_tree
from workflow_lib.generative.hidden_markov import HiddenMarkovModel, fit_models


def fitted_models(
    sequences: list[np.ndarray],
    subsets: Sequence[np.ndarray],
    n_symbols: int | None,
    **settings: Any,
) -> list[dict]:
    """Return a model of the sequences of each subset, fitted in one recursion.

    Parameters
    ----------
    sequences : list of int arrays
    subsets : sequence of int arrays
        Places of the sequences of each model.
    n_symbols : int or None
        Number of letters; None: one more than the largest letter of all sequences.
    **settings
        Further arguments of `workflow_lib.generative.hidden_markov.HiddenMarkovModel`.
    """
    if n_symbols is None:
        n_symbols = 1 + max(int(sequence.max()) for sequence in sequences)
    models = [HiddenMarkovModel(n_symbols=n_symbols, **settings) for _ in subsets]
    return [model_to_tree(model) for model in fit_models(models, sequences, subsets)]
