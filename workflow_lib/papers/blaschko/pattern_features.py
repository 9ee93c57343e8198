"""Numbers of subtree patterns of graphs of inputs that an elastic net has selected."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from workflow_lib.papers.blaschko.neighbour_graphs import NeighbourGraphPyramid
from workflow_lib.papers.blaschko.subtree_patterns import node_patterns

MIN_ROWS = 2
"""Fitted rows that a pattern must be in: one of a single row tells it from all others, and nothing
of new rows."""


class PatternFeatures(NeighbourGraphPyramid):
    """The numbers of subtree patterns themselves, for methods that select among them.

    The columns that are nodes are given, as another elastic net selects them (Blaschko 2014,
    section 4.3.4). A column of the features is the number of nodes with one pattern at one level,
    divided by the root of the number of levels and by the length of the counts of the level, so
    that inner products of all columns are the kernel of `NeighbourGraphPyramid`. Patterns in fewer
    than `MIN_ROWS` fitted rows, and those that are as frequent in all, are left out. With
    `with_inputs` the inputs follow, in units in which both blocks have the same variance in sum.
    `columns` (s,) are increasing, and other parameters as of `NeighbourGraphPyramid`.
    """

    def __init__(
        self,
        columns: np.ndarray,
        depth: int = 2,
        n_levels: int | None = None,
        most_nodes: int = 2000,
        n_neighbours: int = 5,
        place_weight: float = 0.0,
        places: np.ndarray | None = None,
        with_inputs: bool = False,
    ) -> None:
        super().__init__(
            depth,
            n_levels,
            most_nodes,
            n_neighbours=n_neighbours,
            place_weight=place_weight,
            places=places,
        )
        self.columns, self.with_inputs = columns, with_inputs

    def fit(self, X, y=None) -> PatternFeatures:
        """Learn the patterns of rows `X` (n, q); `y` is ignored."""
        super().fit(X)
        if self.with_inputs:
            size = np.sqrt(np.asarray(X, dtype=np.float64).var(axis=0).sum())
            self.ratio_ = self.size_ / size if size > 0 else 0.0
        return self

    def transform(self, X) -> np.ndarray:
        """Return the features (n, m) of rows `X` (n, q)."""
        features = super().transform(X)
        return np.hstack([features, self.ratio_ * X]) if self.with_inputs else features

    def node_values(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the part (n, s, d) of each node in the values of linear functions of rows `X`.

        `weights` (m, d) are those of the columns of patterns. The parts of the s nodes of a row sum
        to features @ weights.
        """
        graphs = self._graphs(X)
        of_all = np.zeros((self.n_patterns_ + 1, weights.shape[1]))
        of_all[self.kept_] = weights
        values, start = 0.0, 0
        for labelled, patterns in zip(self._labellings(graphs), self.patterns_, strict=True):
            owners, columns = node_patterns(labelled, [dict(known) for known in patterns])
            part, squares = 0.0, 0.0
            for of_nodes, known in zip(columns, patterns, strict=True):
                # A pattern that no fitted row has counts for the length alone.
                places = np.where(of_nodes < len(known), start + of_nodes, self.n_patterns_)
                part = part + of_all[places]
                counts = csr_array((np.ones(len(owners)), (owners, of_nodes)))
                squares = squares + np.asarray(counts.power(2).sum(axis=1)).ravel()
                start += len(known)
            scale = 1.0 / np.sqrt(squares * len(self.patterns_))
            values = values + part * scale[owners][:, None]
        return values.reshape(len(graphs), -1, weights.shape[1])

    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.columns)

    def _fit_patterns(self, labellings) -> PatternFeatures:
        counts = self._learned_counts(labellings).tocsc()
        self.n_patterns_ = counts.shape[1]
        in_rows = np.diff(counts.indptr)
        self.kept_ = np.flatnonzero(in_rows >= MIN_ROWS)
        found = counts[:, self.kept_].toarray()
        varies = np.ptp(found, axis=0) > 1e-12
        self.kept_ = self.kept_[varies]
        self.size_ = float(np.sqrt(found[:, varies].var(axis=0).sum()))
        return self

    def _coordinates(self, labellings) -> np.ndarray:
        return self._known_counts(labellings)[:, self.kept_].toarray()
