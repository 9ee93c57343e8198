"""The subtree patterns of graphs as features: the Weisfeiler-Lehman kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.inputs.principal_coordinates import principal_directions
from workflow_lib.items.kinds.graphs import Graph, graphs_in
from workflow_lib.papers.blaschko.subtree_patterns import pattern_counts


class WeisfeilerLehman(TransformerMixin, BaseEstimator):
    """Coordinates of graphs whose inner products are the Weisfeiler-Lehman subtree kernel.

    The pattern of depth 0 of a node is its label; that of depth h is its pattern of depth h - 1
    with the sorted ones of its neighbours. With c(x) the counts of all patterns up to a depth, the
    kernel is c(x)'c(z) (Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt, 2011, def.
    4), here divided by the lengths of c(x) and c(z). There are more patterns than graphs, so the
    features are coordinates in the space of the fitted graphs, of at most as many columns, and the
    distance from this space in a last column: kernel values and distances between any graph and a
    fitted one are those of the counts.

    Rows are graphs of `workflow_lib.items.kinds.graphs`.

    Parameters
    ----------
    depth : int, default=3
        Largest depth h of a pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from workflow_lib.items.kinds.graphs import Graph, graph_rows
    >>> edge, path = np.array([[0, 1]]), np.array([[0, 1], [1, 2]])
    >>> graphs = [Graph(np.array([0, 1]), edge), Graph(np.array([0, 1, 0]), path)]
    >>> WeisfeilerLehman(depth=1).fit_transform(graph_rows(graphs)).shape
    (2, 3)
    """

    safe_to_load = True

    needs_all_columns = True
    """Also inputs that are constant: the position of a number in a row matters."""

    def __init__(self, depth: int = 3) -> None:
        self.depth = depth

    def fit(self, X, y=None) -> WeisfeilerLehman:
        """Learn the patterns of rows `X` (n, q); `y` is ignored.

        Raises ValueError if a row is no graph.
        """
        return self._fit_patterns([graphs_in(X)])

    def transform(self, X) -> np.ndarray:
        """Return the coordinates (n, m) of rows `X` (n, q).

        Raises ValueError if a row is no graph.
        """
        check_is_fitted(self)
        return self._coordinates([graphs_in(X)])

    def _fit_patterns(self, labellings: Sequence[Sequence[Graph]]) -> WeisfeilerLehman:
        """Learn the patterns of graphs with one or several labellings of their nodes. The kernel is
        the mean of those of the labellings."""
        known = self._learned_counts(labellings)
        vectors, roots = principal_directions((known @ known.T).toarray(), known.shape[0])
        self.directions_ = known.T @ (vectors / roots)
        self._n_features_out = len(roots) + 1
        return self

    def _learned_counts(self, labellings: Sequence[Sequence[Graph]]) -> csr_array:
        """Learn the patterns; return their counts (n, m), scaled as `_scaled`."""
        self.patterns_: list[list[dict[int, int]]] = [
            [{} for _ in range(self.depth + 1)] for _ in labellings
        ]
        return _scaled(
            [pattern_counts(*pair) for pair in zip(labellings, self.patterns_, strict=True)]
        )

    def _coordinates(self, labellings: Sequence[Sequence[Graph]]) -> np.ndarray:
        """Return the coordinates (n, m) of graphs with as many labellings."""
        coordinates = self._known_counts(labellings) @ self.directions_
        rest = 1.0 - np.einsum("nm,nm->n", coordinates, coordinates)
        return np.column_stack([coordinates, np.sqrt(np.maximum(rest, 0.0))])

    def _known_counts(self, labellings: Sequence[Sequence[Graph]]) -> csr_array:
        """Return the counts (n, m) of the patterns that fitted graphs have, scaled as `_scaled`."""
        # Patterns that no fitted graph has count for the length of a graph alone.
        counts = [
            pattern_counts(graphs, [dict(known) for known in patterns])
            for graphs, patterns in zip(labellings, self.patterns_, strict=True)
        ]
        start, indices = 0, []
        for parts, patterns in zip(counts, self.patterns_, strict=True):
            for part, known in zip(parts, patterns, strict=True):
                indices.append(np.arange(start, start + len(known)))
                start += part.shape[1]
        return _scaled(counts)[:, np.concatenate(indices)]


def _scaled(counts: Sequence[Sequence[csr_array]]) -> csr_array:
    """Return the counts of all labellings side by side, each row of unit length in each. And the
    whole divided by the root of the number of labellings, so that it has unit length too."""
    scaled = []
    for of_depths in counts:
        stacked = csr_array(hstack(of_depths))
        lengths = np.sqrt(np.asarray(stacked.power(2).sum(axis=1)).ravel())
        scaled.append(stacked.multiply(1.0 / (lengths * np.sqrt(len(counts)))[:, None]))
    return csr_array(hstack(scaled))
