"""Wrong labels: which training row gets whose output where a share of the outputs is swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def training_output_rows(partition: Mapping) -> np.ndarray:
    """Return the rows (n,) of the dataset whose outputs the training pool has.

    They are the training rows themselves unless outputs were swapped (`swapped_rows`). Every stage
    takes the outputs and classes of training rows from these rows, and all else from ``train``.

    Parameters
    ----------
    partition : mapping
        Tree of the "split" artifact.
    """
    return partition.get("output_rows", partition["train"])


def swapped_rows(codes: np.ndarray, sizes: Sequence[int], share: float, seed: int) -> np.ndarray:
    """Return the place (n,) in the training pool of the output that each of its rows gets.

    Outputs are swapped in a cycle among the rows that each size adds to the one before it, so that
    every size is complete: its outputs are those of its own rows. Of the first s rows, the nearest
    number to `share` times s that the rows allow have the output of another row; a single row has
    none to swap with. Along a cycle outputs change from row to row (`_cycle`), so that swapped rows
    have a wrong output as far as there are enough different ones. Larger shares swap more rows
    first and all rows of smaller ones, with other partners.

    Returns an int array (n,): a permutation of 0 to n - 1.

    Parameters
    ----------
    codes : int array (n,)
        Equal where outputs are equal; n is the largest of `sizes`.
    sizes : sequence of int
        Training sizes, increasing.
    share : float
        Share of the rows, from 0 to 1.
    seed : int
    """
    taken, n_swapped, begin = np.arange(len(codes)), 0, 0
    for end in map(int, sizes):
        # A generator for each size, and the order before the cycle: see the nested shares above.
        generator = np.random.default_rng([seed, end])
        order = begin + generator.permutation(end - begin)
        # Rounded first, because 0.3 times 10 is a little more than 3 in floating point.
        lacking = round(share * end, 9) - n_swapped
        number = min(max(round(lacking), 0), end - begin)
        if number == 1:
            number = 2 if lacking >= 1 and end - begin > 1 else 0
        cycle = _cycle(order[:number], codes, generator)
        taken[cycle] = np.roll(cycle, -1)
        n_swapped, begin = n_swapped + number, end
    return taken


def _cycle(rows: np.ndarray, codes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return the rows in a random order in which neighbours have different codes, if possible. A
    code of more than half of the rows left is taken as soon as it may be, else it would be left
    over at the end. The last and the first row are neighbours too, and may be equal."""
    left, found, last = generator.permutation(rows).tolist(), [], None
    counts = np.bincount(codes[left], minlength=1)
    while left:
        most = counts.argmax()
        must = most if 2 * counts[most] > len(left) and most != last else None
        fits = (
            index
            for index, row in enumerate(left)
            if codes[row] != last and must in (None, codes[row])
        )
        found.append(left.pop(next(fits, 0)))
        last = codes[found[-1]]
        counts[last] -= 1
    return np.array(found, dtype=int)
