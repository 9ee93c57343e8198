"""Subtree patterns of values at places, such as voxels, as graphs of nearest neighbours."""

from __future__ import annotations

import numpy as np

from workflow_lib.items.kinds.graphs import Graph
from workflow_lib.papers.blaschko.weisfeiler_lehman_pyramid import WeisfeilerLehmanPyramid


class NeighbourGraphPyramid(WeisfeilerLehmanPyramid):
    """The pyramid of subtree kernels of rows whose columns are values at places.

    A row becomes a graph: its nodes are the columns whose values vary most over the fitted rows,
    each joined to its nearest places without direction, and the vector of a node is its value
    (Blaschko 2014, section 4.3.4, where an elastic net selects the columns). All rows have the same
    nodes and edges. Columns are selected without outputs, so the units of columns matter: values
    that are in units of their noise are selected by their signal.

    Parameters
    ----------
    depth, n_levels, most_nodes, random_state
        As of `WeisfeilerLehmanPyramid`.
    n_selected : int or None, default=None
        Columns that are nodes. None: all.
    n_neighbours : int, default=5
        Nearest places to which a node is joined, as in the source; of equally near ones the first
        columns.
    place_weight : float, default=0.0
        Weight of the place in the vector of a node: the places follow the value, of its deviation
        times this weight. 0, as in the source: the vector is the value alone, and patterns are the
        same wherever they are.
    places : array (q, 2) or None, default=None
        Row and column of each place. None: as the dataset says.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=(5, 9))
    >>> places = np.argwhere(np.ones((3, 3)))
    >>> NeighbourGraphPyramid(depth=1, n_selected=6, places=places).fit_transform(values).shape
    (5, 6)
    """

    def __init__(
        self,
        depth: int = 2,
        n_levels: int | None = None,
        most_nodes: int = 2000,
        random_state: int | None = 0,
        n_selected: int | None = None,
        n_neighbours: int = 5,
        place_weight: float = 0.0,
        places: np.ndarray | None = None,
    ) -> None:
        super().__init__(depth, n_levels, most_nodes, random_state)
        self.n_selected, self.n_neighbours = n_selected, n_neighbours
        self.place_weight, self.places = place_weight, places

    def fit(self, X, y=None) -> NeighbourGraphPyramid:
        """Select columns, and learn the tree and the patterns of rows `X` (n, q); `y` is ignored.

        Raises ValueError if `places` is not one place for each column.
        """
        X = np.asarray(X, dtype=np.float64)
        if self.places is None or len(self.places) != X.shape[1]:
            found = "none" if self.places is None else len(self.places)
            raise ValueError(f"There are {X.shape[1]} columns; found places for {found}.")
        self.selected_ = self._columns(X)
        places = np.asarray(self.places, dtype=np.float64)[self.selected_]
        self.edges_ = _neighbours(places, self.n_neighbours)
        places -= places.mean(axis=0)
        size = np.sqrt((places**2).mean())
        unit = X[:, self.selected_].std() / size if size > 0 else 0.0
        self.scaled_places_ = self.place_weight * unit * places
        return super().fit(X)

    def _columns(self, X: np.ndarray) -> np.ndarray:
        """Return the columns that are nodes, in increasing order."""
        return np.sort(np.argsort(-X.var(axis=0), kind="stable")[: self.n_selected])

    def _graphs(self, X) -> list[Graph]:
        labels = np.zeros(len(self.selected_), dtype=np.int64)
        graphs = []
        for values in np.asarray(X, dtype=np.float64)[:, self.selected_]:
            vectors = values[:, None]
            if self.place_weight:
                vectors = np.hstack([vectors, self.scaled_places_])
            graphs.append(Graph(labels, self.edges_, vectors))
        return graphs


def _neighbours(places: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Return the edges (e, 2) of the nearest places of each of n places, each once."""
    distances = ((places[:, None] - places) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(n_neighbours, len(places) - 1)]
    own = np.repeat(np.arange(len(places)), nearest.shape[1])
    pairs = np.column_stack([own, nearest.ravel()])
    return np.unique(np.sort(pairs, axis=1), axis=0).reshape(-1, 2)
