"""Rows of numbers or of terms, which no entry of a dataset describes.

``inputs`` (n, q) are numbers, NaN where missing, or a sparse matrix
(`workflow_lib.items.sparse_inputs`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow_lib.items.sparse_inputs import inputs_of, is_sparse

ARE_NUMBERS = True
IS_STATED = False


def pack(inputs: Any) -> dict[str, Any]:
    """Return the entry ``inputs`` of rows (n, q), dense or sparse."""
    return {"inputs": inputs}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> Any:
    """Return some rows (n, q), dense or sparse."""
    inputs = inputs_of(data)
    return inputs if rows is None else inputs[rows]


def check(data: Mapping[str, Any]) -> None:
    """Raise ValueError where a number is infinite."""
    inputs = inputs_of(data)
    if np.isinf(inputs.data if is_sparse(inputs) else inputs).any():
        raise ValueError("A row has an infinite number: expected numbers, NaN where missing.")
