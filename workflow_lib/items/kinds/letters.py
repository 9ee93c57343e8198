"""Sequences of letters, as rows of the numbers of the letters.

``inputs`` (n, longest length) are these rows, and ``n_symbols`` in the group ``items`` is the
number V of known letters.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

UNKNOWN, AFTER_THE_END = -1, -2
"""An unknown letter, and a position after the last letter."""


def pack(sequences: Sequence[str], letters: str) -> dict[str, Any]:
    """Return the entries of sequences, of which `letters` are known."""
    return {"inputs": letter_rows(sequences, letters), "items": items_group(letters)}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the sequences of some rows, as `sequences_in`."""
    return sequences_in(data["inputs"] if rows is None else data["inputs"][rows])


def items_group(letters: str) -> dict[str, Any]:
    """Return the group ``items`` of sequences of which `letters` are known."""
    return {"kind": "letters", "n_symbols": len(letters)}


def letter_rows(sequences: Sequence[str], letters: str, length: int | None = None) -> np.ndarray:
    """Return rows (n, length) with the index of every letter in `letters`.

    `length` is that of the longest sequence by default; longer ones are cut off after it.
    """
    length = max(map(len, sequences)) if length is None else length
    rows = np.full((len(sequences), length), float(AFTER_THE_END))
    indices = {letter: index for index, letter in enumerate(letters)}
    for row, sequence in zip(rows, sequences):
        kept = sequence[:length]
        row[: len(kept)] = [indices.get(letter, UNKNOWN) for letter in kept]
    return rows


def sequences_in(rows: np.ndarray) -> list[np.ndarray]:
    """Return the sequences of letters, integer arrays with -1 for an unknown letter, of rows.

    Raises ValueError if a row holds other numbers than letters, or no letter.
    """
    rows = np.asarray(rows)
    codes = np.rint(rows).astype(np.int64)
    wrong = (rows != codes) | (codes < AFTER_THE_END)
    if wrong.any():
        raise ValueError(
            f"Row {np.flatnonzero(wrong.any(axis=1))[0]} is no sequence of letters: expected whole "
            f"numbers from 0, {UNKNOWN} for an unknown letter and {AFTER_THE_END} after the end."
        )
    lengths = (codes != AFTER_THE_END).sum(axis=1)
    ends = np.where(lengths > 0, lengths, 1) - 1
    if (lengths == 0).any() or (codes[np.arange(len(codes)), ends] == AFTER_THE_END).any():
        raise ValueError("A row has no letter, or letters after its end.")
    return [row[:length] for row, length in zip(codes, lengths)]
