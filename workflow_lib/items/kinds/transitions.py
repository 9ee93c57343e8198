"""Counts of transitions from one state to another, such as those of trees and sequences.

``inputs`` is a sparse matrix (n, q) of counts, and ``term_states`` (q,) the number of the state
that each transition leads from.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.items.sparse_inputs import inputs_of

ARE_NUMBERS = True
IS_STATED = False
ENTRY = "term_states"


def pack(counts: Any, states: np.ndarray) -> dict[str, Any]:
    """Return the entries of counts (n, q), sparse, whose columns lead from `states` (q,)."""
    return {"inputs": counts, "term_states": states}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> Any:
    """Return the counts (n, q) of some rows, sparse.

    Raises ValueError if not every column has a state, or a count is negative.
    """
    counts, states = inputs_of(data), np.asarray(data["term_states"])
    if states.shape != (counts.shape[1],):
        raise ValueError(
            f"There are {len(states)} states: expected {counts.shape[1]}, one for each column."
        )
    if counts.min() < 0:
        raise ValueError("A row has a negative count of transitions.")
    return counts if rows is None else counts[rows]
