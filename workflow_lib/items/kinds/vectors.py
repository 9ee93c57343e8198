"""Sequences of vectors, as rows of numbers of one length.

A row of ``inputs`` (n, 1 + longest length times d) holds the length K of a sequence, its vectors
one after the other, and zeros; ``n_numbers`` in the group ``items`` is the number d of a vector.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ARE_NUMBERS = True


def pack(sequences: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the entries of sequences of vectors (K, d)."""
    longest, n_numbers = max(map(len, sequences)), int(np.shape(sequences[0])[1])
    rows = np.zeros((len(sequences), 1 + longest * n_numbers))
    for row, sequence in zip(rows, sequences):
        row[0] = len(sequence)
        row[1 : 1 + np.size(sequence)] = np.ravel(sequence)
    return {"inputs": rows, "items": {"kind": "vectors", "n_numbers": n_numbers}}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the sequences, arrays (K, d), of some rows.

    Raises ValueError if a row does not begin with a length that it has room for.
    """
    found = np.asarray(data["inputs"] if rows is None else data["inputs"][rows])
    n_numbers = int(data["items"]["n_numbers"])
    lengths = found[:, 0].astype(np.int64)
    longest = (found.shape[1] - 1) // n_numbers
    if (found[:, 0] != lengths).any() or (lengths < 1).any() or (lengths > longest).any():
        raise ValueError(
            f"A row is no sequence of vectors: expected a length from 1 to {longest} first."
        )
    return [
        row[1 : 1 + length * n_numbers].reshape(length, n_numbers)
        for row, length in zip(found, lengths)
    ]
