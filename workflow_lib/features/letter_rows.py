"""Sequences of letters as rows of numbers of one length, the form in which a dataset holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNKNOWN, AFTER_THE_END = -1, -2
"""An unknown letter, and a place after the last letter."""


def letter_rows(sequences: Sequence[str], letters: str) -> np.ndarray:
    """Return rows (n, longest length) with the place of every letter in `letters`."""
    rows = np.full((len(sequences), max(map(len, sequences))), float(AFTER_THE_END))
    places = {letter: place for place, letter in enumerate(letters)}
    for row, sequence in zip(rows, sequences):
        row[: len(sequence)] = [places.get(letter, UNKNOWN) for letter in sequence]
    return rows


def sequences_in(rows: np.ndarray) -> list[np.ndarray]:
    """Return the sequences, integer arrays with -1 for an unknown letter, of rows.

    Raises
    ------
    ValueError
        If a row holds other numbers than letters, or no letter.
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
