"""Samples of item kinds, for the tests of every kind."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from workflow_lib.items.kinds.graphs import Graph


class ItemSample(NamedTuple):
    """Arguments of ``pack``, what ``unpack`` then returns, and ways to damage what was packed.

    A damage takes the entries of the dataset and changes them.
    """

    arguments: tuple
    items: Any
    damages: tuple[Callable[[dict[str, Any]], None], ...]


def change(*path: str | int | slice, to: Any) -> Callable[[dict[str, Any]], None]:
    """Return a damage that sets the value at a path of keys and locations."""

    def damage(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = to

    return damage


COUNTS = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 4.0, 0.0, 0.0]])
NUMBERS = np.array([[1.0, np.nan], [0.5, 2.0]])
VECTORS = [np.array([[0.5, 1.0], [2.0, 0.0]]), np.array([[3.0, 4.0]])]
GRAPHS = [
    Graph(np.array([0, 1, 1]), np.array([[0, 1], [1, 2]])),
    Graph(np.array([2]), np.empty((0, 2))),
]
BAGS = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])]

SAMPLES = {
    "bags": ItemSample(
        (BAGS,), BAGS, (change("bags", "begins", 1, to=0), change("bags", "begins", 2, to=2))
    ),
    "counts": ItemSample(
        (COUNTS, 2),
        COUNTS[:, :2] + COUNTS[:, 2:],
        (change("inputs", (0, 1), to=-1.0), change("items", "n_words", to=3)),
    ),
    "graphs": ItemSample(
        (GRAPHS,), GRAPHS, (change("inputs", (0, 0), to=0.0), change("inputs", (0, 5), to=7.0))
    ),
    "letters": ItemSample(
        (["ACXT", "G"], "ACGT"),
        [np.array([0, 1, -1, 3]), np.array([2])],
        (change("inputs", (0, 1), to=0.5), change("inputs", (0, 0), to=-3.0)),
    ),
    "numbers": ItemSample((NUMBERS,), NUMBERS, (change("inputs", (0, 0), to=np.inf),)),
    "transitions": ItemSample(
        (csr_array(COUNTS), np.array([0, 0, 1, 1])),
        COUNTS,
        (change("term_states", to=np.array([0, 1])), change("inputs", to=csr_array(-COUNTS))),
    ),
    "vectors": ItemSample(
        (VECTORS,), VECTORS, (change("inputs", (0, 0), to=0.0), change("inputs", (0, 0), to=9.0))
    ),
}
