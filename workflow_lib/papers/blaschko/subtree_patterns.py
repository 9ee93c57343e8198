"""Subtree patterns of graphs whose nodes have labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.items.kinds.graphs import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def node_patterns(
    graphs: Sequence[Graph], patterns: Sequence[dict[int, int]]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the graph (v,) of every node, and the columns (v,) of its patterns of each depth.

    As `pattern_counts`, which says what patterns are.
    """
    from scipy.sparse import coo_array

    sizes = np.array([len(graph.labels) for graph in graphs])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owners = np.repeat(np.arange(len(graphs)), sizes)
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts)])
    both = np.concatenate([edges, edges[edges[:, 0] != edges[:, 1], ::-1]]).astype(np.int64)
    threes = np.full(len(both), 3, dtype=np.uint64)
    # 3 for each pair of joined nodes, both ways.
    ends = coo_array((threes, (both[:, 0], both[:, 1])), shape=(starts[-1],) * 2).tocsr()
    codes = np.concatenate([graph.labels for graph in graphs]).astype(np.uint64)
    columns = []
    for depth, known in enumerate(patterns):
        mixed = _mixed(codes)
        codes = _mixed(mixed + ends @ mixed) if depth else mixed
        different, indices = np.unique(codes, return_inverse=True)
        of_codes = [known.setdefault(code, len(known)) for code in different.tolist()]
        columns.append(np.array(of_codes, dtype=np.int64)[indices])
    return owners, columns


def pattern_counts(graphs: Sequence[Graph], patterns: Sequence[dict[int, int]]) -> list[csr_array]:
    """Return the counts (n, m_h) of the patterns of each depth in n graphs.

    A pattern of depth h is that of its node at depth h - 1 and the multiset of those of its
    neighbours. Patterns are known by codes of 64 bits: with s the bit mixer of Steele, Lea and
    Flood (2014), the code at depth 0 is s of the label, and that of a node with the code c whose
    neighbours have the codes c_j becomes s(s(c) + 3 sum_j s(c_j)) modulo 2^64. The probability that
    any two of a million different patterns share a code is 3e-8. `patterns` hold the column of the
    code of each pattern of depth 0, 1, ...; those that are not yet there are added.
    """
    from scipy.sparse import coo_array

    owners, columns = node_patterns(graphs, patterns)
    ones = np.ones(len(owners))
    return [
        coo_array((ones, (owners, of_nodes)), shape=(len(graphs), len(known))).tocsr()
        for of_nodes, known in zip(columns, patterns, strict=True)
    ]


def _mixed(codes: np.ndarray) -> np.ndarray:
    """Return unsigned numbers of 64 bits, each mapped to another that looks random (SplitMix64)."""
    codes = codes + np.uint64(0x9E3779B97F4A7C15)
    codes = (codes ^ (codes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    codes = (codes ^ (codes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return codes ^ (codes >> np.uint64(31))
