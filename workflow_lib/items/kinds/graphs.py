"""Graphs whose nodes have labels, as rows of numbers of one length.

A row of ``inputs`` is that of `graph_rows`. In the group ``items``, ``n_node_numbers`` is the
number d of the vector of a node, 0 or missing where nodes have none, and ``n_beside`` is the number
of the last columns that are no part of the graphs, such as a fingerprint; 0 or missing for none.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np


class Graph(NamedTuple):
    """A graph whose nodes have labels, and vectors where they are known."""

    labels: np.ndarray
    """Int array (n,): from 0."""

    edges: np.ndarray
    """Int array (e, 2): the numbers of the two nodes of each edge, which has no direction and comes
    once."""

    vectors: np.ndarray | None = None
    """Array (n, d) or None, default=None."""


def pack(graphs: Sequence[Graph], **items: int) -> dict[str, Any]:
    """Return the entries of graphs; `items` are further numbers of the group ``items``."""
    return {"inputs": graph_rows(graphs), "items": {"kind": "graphs", **items}}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> list[Graph]:
    """Return the graphs of some rows, as `graphs_in`."""
    return graphs_in(data["inputs"] if rows is None else data["inputs"][rows], data["items"])


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

    Trailing values of a row are ignored.

    Raises ValueError if a row is no graph.
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
