"""Subtree patterns of graphs whose nodes have labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.features.item_rows import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def pattern_counts(
    graphs: Sequence[Graph], patterns: Sequence[dict[bytes, int]]
) -> list[csr_array]:
    """Return the counts (n, m_h) of the patterns of each depth in n graphs.

    Parameters
    ----------
    graphs : sequence of n Graph
    patterns : sequence of dict
        The number of each pattern of depth 0, 1, ...; those that are not yet there are added. A
        pattern of depth h is the number of that of its node at depth h - 1 and the sorted ones of
        its neighbours.
    """
    from scipy.sparse import coo_array

    sizes = np.array([len(graph.labels) for graph in graphs])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    owners = np.repeat(np.arange(len(graphs)), sizes)
    edges = np.concatenate([graph.edges + start for graph, start in zip(graphs, starts)])
    both = np.concatenate([edges, edges[edges[:, 0] != edges[:, 1], ::-1]]).astype(np.int64)
    ends = np.searchsorted(np.sort(both[:, 0]), np.arange(starts[-1] + 1))
    codes = np.concatenate([graph.labels for graph in graphs]).astype(np.int64)
    counts = []
    for depth, known in enumerate(patterns):
        if depth == 0:
            keys = [code.tobytes() for code in codes]
        else:
            near = codes[both[:, 1]]
            sorted_near = near[np.lexsort((near, both[:, 0]))]
            keys = [
                code.tobytes() + sorted_near[begin:end].tobytes()
                for code, begin, end in zip(codes, ends[:-1], ends[1:])
            ]
        codes = np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.int64)
        ones = np.ones(len(codes))
        counts.append(coo_array((ones, (owners, codes)), shape=(len(graphs), len(known))).tocsr())
    return counts
