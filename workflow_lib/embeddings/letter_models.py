"""Hidden Markov models of sequences of letters, as trees of arrays for an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workflow_lib.embeddings.score_space_storage import model_to_tree
from workflow_lib.generative.hidden_markov import HiddenMarkovModel, fit_models

SETTINGS = ("n_states", "n_symbols", "prior", "n_init", "random_state")
"""Arguments of `HiddenMarkovModel` that an estimator of sequences has, too."""


def fitted_models(
    estimator: Any, sequences: list[np.ndarray], subsets: Sequence[np.ndarray]
) -> list[dict]:
    """Return a model of the sequences of each subset, fitted in one recursion.

    Parameters
    ----------
    estimator : object
        Has `SETTINGS`. Where ``n_symbols`` is None, the models of all subsets have one more letter
        than the largest of all sequences.
    sequences : list of int arrays
    subsets : sequence of int arrays
        Places of the sequences of each model.
    """
    settings = {name: getattr(estimator, name) for name in SETTINGS}
    if settings["n_symbols"] is None:
        settings["n_symbols"] = 1 + max(int(sequence.max()) for sequence in sequences)
    models = [HiddenMarkovModel(**settings) for _ in subsets]
    return [model_to_tree(model) for model in fit_models(models, sequences, subsets)]
