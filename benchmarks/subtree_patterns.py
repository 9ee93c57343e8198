"""The Weisfeiler-Lehman kernel of graphs: ours and grakel's.

Both compute the matrix of kernel values, not normalised, of drawn graphs; the values are equal.
"""

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared, each, where_installed
from workflow_lib.items.kinds.graphs import Graph

TITLE = "The Weisfeiler-Lehman kernel of graphs"

DEPTH = 3
NUMBERS = (200, 600)
MAX_NODES, N_LABELS, SHARE_OF_EDGES = 40, 7, 0.1
GAIN, EQUAL = 1.3, 1e-12


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: the kernel of more and more graphs, where grakel is installed."""
    return where_installed("grakel", each("kernel", n=NUMBERS[:1] if quick else NUMBERS))


def graphs_of(n: int) -> list[Graph]:
    """Return random graphs of 10 to 40 nodes."""
    random, graphs = np.random.default_rng(0), []
    for size in random.integers(10, MAX_NODES + 1, n):
        edges = np.argwhere(np.triu(random.random((size, size)) < SHARE_OF_EDGES, 1))
        graphs.append(Graph(random.integers(N_LABELS, size=size), edges))
    return graphs


def kernel(n: int) -> list[dict[str, str]]:
    """Time the kernel matrix of n graphs."""
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    from workflow_lib.papers.blaschko.subtree_patterns import pattern_counts

    graphs = graphs_of(n)
    theirs = [
        [
            {(int(a), int(b)): 1 for edge in graph.edges for a, b in (edge, edge[::-1])},
            {node: int(label) for node, label in enumerate(graph.labels)},
        ]
        for graph in graphs
    ]

    def ours():
        counts = pattern_counts(graphs, [{} for _ in range(DEPTH + 1)])
        return sum((part @ part.T).toarray() for part in counts)

    def peer():
        model = WeisfeilerLehman(n_iter=DEPTH, base_graph_kernel=VertexHistogram)
        return model.fit_transform(theirs)

    return compared(
        n,
        MAX_NODES,
        {f"kernel of graphs, patterns to depth {DEPTH}": ours, "grakel": peer},
        at_least(GAIN, EQUAL),
        agreement=lambda found, expected: float(np.abs(found - expected).max() / expected.max()),
        note="n is graphs, p is the largest number of nodes",
    )
