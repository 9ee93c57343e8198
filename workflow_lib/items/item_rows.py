"""Sequences, bags and graphs as rows of numbers of one length, as a dataset holds them.

The group ``items`` of a "dataset" artifact describes its rows: ``kind``, and numbers of that kind.

``letters``
    Sequences of letters; `letter_rows`. ``n_symbols``: the number V of known letters.
``vectors``
    Sequences of vectors; `vector_rows`. ``n_numbers``: the numbers d of a vector.
``counts``
    Bags of words, as the counts of each of the ``n_words`` words; W columns for each part of the
    item, such as the quarters of an image, one part after the other.
``graphs``
    Graphs whose nodes have labels; `graph_rows`. ``n_node_numbers``: the numbers d of the vector of
    a node, 0 or missing where nodes have none. ``n_beside``: the numbers beside each graph, in the
    last columns, such as a fingerprint; 0 or missing for none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

UNKNOWN, AFTER_THE_END = -1, -2
"""An unknown letter, and a place after the last letter."""


def letter_rows(sequences: Sequence[str], letters: str, length: int | None = None) -> np.ndarray:
    """Return rows (n, length) with the place of every letter in `letters`.

    `length` is that of the longest sequence by default; longer ones are cut off after it.
    """
    length = max(map(len, sequences)) if length is None else length
    rows = np.full((len(sequences), length), float(AFTER_THE_END))
    places = {letter: place for place, letter in enumerate(letters)}
    for row, sequence in zip(rows, sequences):
        kept = sequence[:length]
        row[: len(kept)] = [places.get(letter, UNKNOWN) for letter in kept]
    return rows


def vector_rows(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows (n, 1 + longest length times d) of sequences of vectors (K, d).

    A row holds the length K, the vectors one after the other, and zeros.
    """
    longest, n_numbers = max(map(len, sequences)), np.shape(sequences[0])[1]
    rows = np.zeros((len(sequences), 1 + longest * n_numbers))
    for row, sequence in zip(rows, sequences):
        row[0] = len(sequence)
        row[1 : 1 + np.size(sequence)] = np.ravel(sequence)
    return rows


class Graph(NamedTuple):
    """A graph whose nodes have labels, and vectors where they are known.

    Attributes
    ----------
    labels : int array (n,)
        From 0.
    edges : int array (e, 2)
        The numbers of the two nodes of each edge, which has no direction and comes once.
    vectors : array (n, d) or None, default=None
    """

    labels: np.ndarray
    edges: np.ndarray
    vectors: np.ndarray | None = None


def graph_rows(graphs: Sequence[Graph]) -> np.ndarray:
    """Return rows (n, longest) of graphs: their nodes and edges, counted, then listed.

    A row holds the number of nodes, that of edges, the labels, the two nodes of each edge, the
    vectors of the nodes one after the other where they have any, and zeros.
    """
    parts = []
    for graph in graphs:
        counts = len(graph.labels), len(graph.edges)
        vectors = [] if graph.vectors is None else np.ravel(graph.vectors)
        parts.append(np.concatenate([counts, graph.labels, np.ravel(graph.edges), vectors]))
    rows = np.zeros((len(graphs), max(map(len, parts))))
    for row, part in zip(rows, parts):
        row[: len(part)] = part
    return rows


def graphs_in(rows: np.ndarray, items: Mapping[str, Any] | None = None) -> list[Graph]:
    """Return the graphs of rows; their nodes have vectors where `items` says so.

    What follows a graph in its row is not read.

    Raises
    ------
    ValueError
        If a row is no graph.
    """
    rows, n_numbers = np.asarray(rows), int((items or {}).get("n_node_numbers", 0))
    found = []
    for row in rows:
        n_nodes, n_edges = _whole(row[:2])
        begin = 2 + n_nodes + 2 * n_edges
        if n_nodes < 1 or begin > len(row):
            raise ValueError("A row is no graph: it has no node, or fewer numbers than it states.")
        labels, edges = np.split(_whole(row[2:begin]), [n_nodes])
        if (edges >= n_nodes).any():
            raise ValueError("A row is no graph: it has an edge to no node.")
        end = begin + n_nodes * n_numbers
        if end > len(row) or not np.isfinite(row[begin:end]).all():
            raise ValueError("A row is no graph with vectors: it has a node without a vector.")
        vectors = row[begin:end].reshape(n_nodes, n_numbers) if n_numbers else None
        found.append(Graph(labels, edges.reshape(-1, 2), vectors))
    return found


def _whole(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers from 0 as such."""
    whole = np.rint(numbers).astype(np.int64)
    if (numbers != whole).any() or (whole < 0).any():
        raise ValueError("A row is no graph: expected whole numbers from 0.")
    return whole


def items_in(rows: np.ndarray, items: Mapping[str, Any]) -> list[np.ndarray] | np.ndarray:
    """Return what generative models take: sequences, or counts (n, W) of the words of whole items.

    Parameters
    ----------
    rows : array (n, q)
    items : mapping
        The group ``items`` of the dataset.

    Raises
    ------
    ValueError
        If a row is no item of this kind.
    """
    return READERS[items["kind"]](np.asarray(rows), items)


def sequences_in(rows: np.ndarray, items: Mapping[str, Any] | None = None) -> list[np.ndarray]:
    """Return the sequences of letters, integer arrays with -1 for an unknown letter, of rows.

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


def _vectors_in(rows: np.ndarray, items: Mapping[str, Any]) -> list[np.ndarray]:
    n_numbers = int(items["n_numbers"])
    lengths = rows[:, 0].astype(np.int64)
    longest = (rows.shape[1] - 1) // n_numbers
    if (rows[:, 0] != lengths).any() or (lengths < 1).any() or (lengths > longest).any():
        raise ValueError(
            f"A row is no sequence of vectors: expected a length from 1 to {longest} first."
        )
    return [
        row[1 : 1 + length * n_numbers].reshape(length, n_numbers)
        for row, length in zip(rows, lengths)
    ]


def _counts_in(rows: np.ndarray, items: Mapping[str, Any]) -> np.ndarray:
    n_words = int(items["n_words"])
    if rows.shape[1] == 0 or rows.shape[1] % n_words:
        raise ValueError(
            f"A row has {rows.shape[1]} counts: expected {n_words}, or as many for each part."
        )
    if (rows < 0).any():
        raise ValueError(f"Row {np.flatnonzero((rows < 0).any(axis=1))[0]} has a negative count.")
    return rows.reshape(len(rows), -1, n_words).sum(axis=1)


READERS = {
    "letters": sequences_in,
    "vectors": _vectors_in,
    "counts": _counts_in,
    "graphs": graphs_in,
}
