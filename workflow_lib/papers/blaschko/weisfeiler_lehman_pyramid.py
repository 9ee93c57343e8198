"""The subtree patterns of graphs whose nodes have vectors, at several resolutions of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from workflow_lib.items.kinds.graphs import Graph, graphs_in
from workflow_lib.papers.blaschko.weisfeiler_lehman import WeisfeilerLehman


class WeisfeilerLehmanPyramid(WeisfeilerLehman):
    """Coordinates of graphs with vectors whose inner products are the mean of subtree kernels.

    A tree of clusters of the vectors of fitted nodes, cut into 1, 2, 4, ... clusters, gives the
    nodes labels at levels of growing resolution; the kernel is the mean over the levels of the
    Weisfeiler-Lehman subtree kernel with the labels of the level, each divided by the lengths of
    the counts (Blaschko 2014, section 4.3.2, eq. 4.15, where the patterns of all levels are the
    features of one linear method). The tree is Ward's, whose cost is quadratic, so that it sees at
    most `most_nodes` nodes; every other node, fitted or new, takes the labels of the nearest one
    that it has seen. Vectors count in their own units; labels of nodes are not used.

    Rows are graphs of `workflow_lib.items.kinds.graphs`; see `WeisfeilerLehman` for the
    coordinates.

    Parameters
    ----------
    depth : int, default=2
        Largest depth h of a pattern; 0 counts nodes by their labels. The default is the best of
        the source.
    n_levels : int or None, default=None
        Most levels. None: up to that at which each different vector of the tree has a label of its
        own, as in the source.
    most_nodes : int, default=2000
        Most nodes that the tree sees; where there are more, as many are drawn.
    random_state : int or None, default=0
        Seed of this draw.
    n_node_numbers : int or None, default=None
        Numbers d of the vector of a node. None: as the dataset says.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow_lib.items.kinds.graphs import Graph, graph_rows
    >>> edges, labels = np.array([[0, 1], [1, 2]]), np.zeros(3)
    >>> values = np.array([[[0.1], [0.2], [2.1]], [[2.3], [0.3], [1.9]]])
    >>> rows = graph_rows([Graph(labels, edges, vectors) for vectors in values])
    >>> WeisfeilerLehmanPyramid(depth=1, n_node_numbers=1).fit_transform(rows).shape
    (2, 3)
    """

    def __init__(
        self,
        depth: int = 2,
        n_levels: int | None = None,
        most_nodes: int = 2000,
        random_state: int | None = 0,
        n_node_numbers: int | None = None,
    ) -> None:
        super().__init__(depth)
        self.n_levels, self.most_nodes = n_levels, most_nodes
        self.random_state, self.n_node_numbers = random_state, n_node_numbers

    def fit(self, X, y=None) -> WeisfeilerLehmanPyramid:
        """Learn the tree and the patterns of rows `X` (n, q); `y` is ignored.

        Raises ValueError if a row is no graph, or nodes have no vectors.
        """
        graphs = self._graphs(X)
        vectors = np.concatenate([graph.vectors for graph in graphs])
        if len(vectors) > self.most_nodes:
            random = check_random_state(self.random_state)
            drawn = random.choice(len(vectors), self.most_nodes, replace=False)
            vectors = vectors[np.sort(drawn)]
        self.seen_, self.levels_ = vectors, ward_levels(vectors, self.n_levels)
        return self._fit_patterns(self._labellings(graphs))

    def transform(self, X) -> np.ndarray:
        """Return the coordinates (n, m) of rows `X` (n, q).

        Raises ValueError if a row is no graph, or nodes have no vectors.
        """
        check_is_fitted(self)
        return self._coordinates(self._labellings(self._graphs(X)))

    def _graphs(self, X) -> list[Graph]:
        if not self.n_node_numbers:
            raise ValueError("The nodes of these graphs have no vectors: use WeisfeilerLehman.")
        return graphs_in(X, {"n_node_numbers": self.n_node_numbers})

    def _labellings(self, graphs: Sequence[Graph]) -> list[list[Graph]]:
        """Return the graphs with the labels of each level."""
        ends = np.cumsum([len(graph.vectors) for graph in graphs])[:-1]
        vectors = np.concatenate([graph.vectors for graph in graphs])
        labels = self.levels_[cKDTree(self.seen_).query(vectors)[1]]
        return [
            [Graph(own, graph.edges) for own, graph in zip(np.split(level, ends), graphs)]
            for level in labels.T
        ]


def ward_levels(vectors: np.ndarray, n_levels: int | None = None) -> np.ndarray:
    """Return the labels (m, L) of vectors (m, d) at levels with 1, 2, 4, ... labels.

    The levels are cuts of one tree, agglomerated by the least increase of the variance within
    clusters (Ward 1963), so that each label of a level lies within one label of the level before.
    With D different vectors level l has min(2^l, D) labels. Equal vectors have equal labels. Memory
    and time are quadratic in m. There are at most `n_levels`; None: up to that at which each
    different vector has a label of its own, the least l with 2^l >= D.
    """
    from scipy.cluster.hierarchy import cut_tree, ward

    different, indices = np.unique(vectors, axis=0, return_inverse=True)
    needed = int(np.ceil(np.log2(len(different)))) + 1
    numbers = [min(2**level, len(different)) for level in range(min(needed, n_levels or needed))]
    if len(different) == 1:
        return np.zeros((len(vectors), 1), dtype=np.int64)
    counts = np.bincount(indices.ravel())
    # Equal vectors are merged before all others, at the height 0.
    known = np.repeat(different, counts, axis=0)
    # From many to few: in another order cut_tree writes singletons into the wrong column.
    of_known = cut_tree(ward(known), n_clusters=numbers[::-1])[:, ::-1]
    first = np.cumsum(counts) - counts
    return of_known[first][indices.ravel()].astype(np.int64)
