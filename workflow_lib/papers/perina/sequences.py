"""Batches of sequences of different lengths: what a user gives, and its order in memory.

The recursions over a batch go through time, all sequences at once. Sequences are therefore sorted
by length, longest first, so that those that have a step t are the first `active[t]` of all, and the
numbers of one step lie next to each other. Arrays with an axis of positions hold the step t of
the n-th sequence at position ``offsets[t] + n``.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.core.array_arguments import as_items, as_numbers, masked_as_nan

UNKNOWN = -1
"""The letter of a symbol that is not known."""


class Sequences(NamedTuple):
    """N sequences, one after the other."""

    values: np.ndarray
    """(P,) integers, with -1 for an unknown letter, or (P, d) float64."""

    lengths: np.ndarray
    """(N,) of each sequence, at least one."""

    @property
    def starts(self) -> np.ndarray:
        """The position (N,) of the first step of each sequence."""
        return np.cumsum(self.lengths) - self.lengths

    def values_of(self, subset) -> np.ndarray:
        """Return the values of some sequences, one after the other."""
        starts = self.starts
        return np.concatenate(
            [self.values[starts[index] : starts[index] + self.lengths[index]] for index in subset]
        )


class Layout(NamedTuple):
    """The order of the steps of sequences in memory, for M models with sequences of their own.

    Where models have different numbers of sequences, or sequences of different lengths, those of
    a model that end first are continued by positions without a value.
    """

    active: tuple[int, ...]
    """Sequences with a step t, for every t; the most over models."""

    offsets: tuple[int, ...]
    """Position of the first of them, for every t."""

    positions: np.ndarray
    """(M, Q) position of every value in `Sequences.values`, or their number where there is none."""

    order: np.ndarray
    """(M, n) index of each sequence in the batch, longest first; -1 beyond a model's own."""

    own: np.ndarray
    """(T, M) sequences of each model with a step t."""

    @property
    def size(self) -> int:
        """Number Q of positions."""
        return self.positions.shape[1]

    def at(self, step: int, n: int | None = None) -> slice:
        """Return the positions of the first `n` sequences (None: all with that step) at a step."""
        begin = self.offsets[step]
        return slice(begin, begin + (self.active[step] if n is None else n))


def arrange(sequences: Sequences, subsets: Sequence[np.ndarray], padded: bool = False) -> Layout:
    """Return the layout of the sequences that each of M models has, from their indices.

    Where it is `padded`, every step has as many positions as the first, so that an axis of
    positions is one of steps and one of sequences.
    """
    width = max(map(len, subsets))
    order = np.full((len(subsets), width), -1)
    for row, subset in zip(order, subsets):
        subset = np.asarray(subset)
        row[: len(subset)] = subset[np.argsort(-sequences.lengths[subset], kind="stable")]
    lengths = np.where(order >= 0, sequences.lengths[order], 0)
    starts = sequences.starts[order]
    own = (lengths[None] > np.arange(lengths.max())[:, None, None]).sum(axis=2)
    active = own.max(axis=1)
    sizes = np.full_like(active, width) if padded else active
    offsets = np.cumsum(sizes) - sizes
    positions = np.full((len(subsets), int(sizes.sum())), len(sequences.values))
    for step, (begin, n) in enumerate(zip(offsets.tolist(), active.tolist())):
        index = slice(begin, begin + n)
        positions[:, index] = np.where(
            lengths[:, :n] > step, starts[:, :n] + step, len(sequences.values)
        )
    return Layout(tuple(active.tolist()), tuple(offsets.tolist()), positions, order, own)


def blocks_by_length(sequences: Sequences, most_numbers: int, per_step: int) -> Iterator:
    """Yield the indices of all sequences in blocks of similar lengths, longest first.

    Of a block at most `most_numbers` are held (but for a block of one sequence), where `per_step`
    are held for a step of a sequence.
    """
    order = np.argsort(-sequences.lengths, kind="stable")
    begin = 0
    while begin < len(order):
        longest = int(sequences.lengths[order[begin]])
        end = begin + max(1, most_numbers // (longest * per_step))
        yield order[begin:end]
        begin = end


def read_symbols(sequences, n_symbols: int | None = None) -> tuple[Sequences, int]:
    """Return sequences of letters, and the number of letters there are.

    `sequences` are a list of integer arrays (K_i,), or an integer array (N, K), of letters from 0;
    -1 or a masked one is an unknown letter. Where `n_symbols` is None, the number of letters is one
    more than the largest.

    Raises ValueError if there is no sequence, one is empty or not of integers, or a letter is out
    of range.
    """
    rows = [_symbols(index, row) for index, row in enumerate(as_items(sequences, "Sequences"))]
    values, lengths = np.concatenate(rows), np.array([len(row) for row in rows])
    if n_symbols is None:
        n_symbols = int(values.max()) + 1
        if n_symbols < 1:
            raise ValueError("All letters are unknown (-1). State n_symbols, or leave these out.")
    outside = (values < UNKNOWN) | (values >= n_symbols)
    if outside.any():
        position = int(np.flatnonzero(outside)[0])
        index = _sequence_of(position, lengths)
        raise ValueError(
            f"Sequence {index} holds the letter {values[position]}; letters are 0 to "
            f"{n_symbols - 1}, or -1 where unknown. Replace it by -1, or raise n_symbols."
        )
    return Sequences(values.astype(np.intp), lengths), n_symbols


def read_vectors(sequences, dimension: int | None = None) -> Sequences:
    """Return sequences of vectors.

    `sequences` are a list of arrays (K_i, d), or (K_i,) with d = 1, or an array (N, K, d). The
    numbers d of a step are `dimension`, or those of the first sequence.

    Raises ValueError if there is no sequence, one is empty, has another number of columns, or is
    not finite.
    """
    rows = []
    for index, row in enumerate(as_items(sequences, "Sequences")):
        try:
            row = as_numbers(row, f"Sequence {index}")
        except ValueError as error:
            raise ValueError(f"Sequence {index} is not an array (K, d) of numbers.") from error
        row = row[:, None] if row.ndim == 1 else row
        if row.ndim != 2 or row.shape[1] < 1:
            raise ValueError(
                f"A sequence of vectors must have the shape (K, d); sequence {index} has "
                f"{row.shape}."
            )
        _check_not_empty(index, row)
        dimension = row.shape[1] if dimension is None else dimension
        if row.shape[1] != dimension:
            raise ValueError(
                f"Sequence {index} has {row.shape[1]} numbers per step; expected {dimension}."
            )
        rows.append(row)
    values, lengths = np.concatenate(rows), np.array([len(row) for row in rows])
    if not np.isfinite(values).all():
        index = _sequence_of(int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]), lengths)
        raise ValueError(
            f"Sequences must be finite; sequence {index} holds NaN or infinity. Fill missing "
            "numbers, or leave that sequence out."
        )
    return Sequences(values, lengths)


def _sequence_of(position: int, lengths: np.ndarray) -> int:
    """Return the sequence that holds a position of all values."""
    return int(np.searchsorted(np.cumsum(lengths), position, side="right"))


def _symbols(index: int, row) -> np.ndarray:
    try:
        is_masked = np.ma.is_masked(row) and row.dtype.kind in "iu"
        values = np.asarray(row.filled(UNKNOWN) if is_masked else masked_as_nan(row))
    except ValueError as error:
        raise ValueError(f"Sequence {index} is not an array of integers.") from error
    if values.ndim != 1:
        raise ValueError(
            f"A sequence of letters has one axis; sequence {index} has the shape {values.shape}. "
            "A single sequence goes into a list; vectors need emission='gaussian'."
        )
    _check_not_empty(index, values)
    if values.dtype.kind == "f" and np.array_equal(values, np.rint(values)):
        values = values.astype(np.intp)
    if values.dtype.kind not in "iu":
        raise ValueError(
            f"A sequence of letters must hold integers; sequence {index} holds {values.dtype} "
            "(or NaN). Number the letters from 0, and write -1 for an unknown one."
        )
    return values


def _check_not_empty(index: int, values: np.ndarray) -> None:
    if not len(values):
        raise ValueError(f"Sequence {index} is empty. Leave it out.")
