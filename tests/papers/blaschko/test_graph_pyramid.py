"""Graphs whose nodes have vectors: labels at several levels, the mean kernel, and voxels."""

from types import SimpleNamespace

import numpy as np
import pytest
from test_graphs import drawn, kernel_by_definition

from workflow_lib.items.kinds.graphs import graph_rows
from workflow_lib.methods.input_steps.learned_features import _facts_of_data
from workflow_lib.papers.blaschko.neighbour_graphs import NeighbourGraphPyramid
from workflow_lib.papers.blaschko.weisfeiler_lehman_pyramid import (
    WeisfeilerLehmanPyramid,
    ward_levels,
)


@pytest.mark.parametrize("n_values", [None, 5, 1])
def test_each_label_of_a_level_lies_within_one_of_the_level_before(n_values):
    random = np.random.default_rng(0)
    vectors = random.normal(size=(60, 2))
    if n_values:
        vectors = vectors[random.integers(n_values, size=60)]
    levels = ward_levels(vectors)
    n_different = len(np.unique(vectors, axis=0))
    expected = {None: [1, 2, 4, 8, 16, 32, 60], 5: [1, 2, 4, 5], 1: [1]}[n_values]
    assert [len(np.unique(level)) for level in levels.T] == expected
    for coarse, fine in zip(levels.T, levels.T[1:]):
        assert len(np.unique(np.column_stack([coarse, fine]), axis=0)) == len(np.unique(fine))
    assert len(np.unique(np.column_stack([vectors, levels[:, -1:]]), axis=0)) == n_different
    np.testing.assert_array_equal(ward_levels(vectors, 3), levels[:, :3])


def test_a_cut_is_that_of_least_variance_within_clusters():
    vectors = np.array([0.0, 0.1, 1.0, 1.1, 9.0, 9.2, 30.0, 30.5])[:, None]
    levels = ward_levels(vectors)
    for column, group in ((1, [0, 0, 0, 0, 0, 0, 1, 1]), (2, [0, 0, 1, 1, 2, 2, 3, 3])):
        pairs = np.column_stack([levels[:, column], group])
        assert len(np.unique(pairs, axis=0)) == len(set(group))


def with_vectors(n_graphs: int):
    random = np.random.default_rng(1)
    return [
        graph._replace(vectors=random.normal(size=(len(graph.labels), 2)))
        for graph in drawn(n_graphs, 6)
    ]


@pytest.mark.parametrize("most_nodes", [2000, 30])
def test_the_kernel_is_the_mean_of_those_of_the_levels(most_nodes):
    graphs = with_vectors(20)
    model = WeisfeilerLehmanPyramid(2, most_nodes=most_nodes, n_node_numbers=2)
    rows = graph_rows(graphs)
    known, others = model.fit(rows[:14]).transform(rows[:14]), model.transform(rows[14:])
    fitted = np.concatenate([graph.vectors for graph in graphs[:14]])
    assert len(model.seen_) == min(most_nodes, len(fitted))
    assert {tuple(vector) for vector in model.seen_} <= {tuple(vector) for vector in fitted}
    levels = ward_levels(model.seen_)
    expected = 0.0
    for level in levels.T:
        labelled = [
            graph._replace(
                labels=[
                    level[((model.seen_ - vector) ** 2).sum(axis=1).argmin()]
                    for vector in graph.vectors
                ]
            )
            for graph in graphs
        ]
        kernel = kernel_by_definition(labelled, 2)
        lengths = np.sqrt(np.diag(kernel))
        expected = expected + kernel / np.outer(lengths, lengths) / levels.shape[1]
    np.testing.assert_allclose(known @ known.T, expected[:14, :14], atol=1e-12)
    np.testing.assert_allclose(others @ known.T, expected[14:, :14], atol=1e-7)


def test_the_nodes_that_the_tree_sees_have_a_seed():
    rows = graph_rows(with_vectors(20))

    def seen(seed):
        model = WeisfeilerLehmanPyramid(0, most_nodes=10, random_state=seed, n_node_numbers=2)
        return model.fit(rows).seen_

    np.testing.assert_array_equal(seen(3), seen(3))
    assert not np.array_equal(seen(3), seen(4))


def test_graphs_without_vectors_are_refused():
    with pytest.raises(ValueError, match="have no vectors"):
        WeisfeilerLehmanPyramid(n_node_numbers=0).fit(graph_rows(drawn(3, 0)))


def test_values_at_places_are_graphs_of_the_nearest():
    random = np.random.default_rng(2)
    places = random.permutation(np.argwhere(np.ones((6, 7))))
    X = random.normal(size=(12, 42)) * random.uniform(0.5, 2.0, size=42)
    X[10:, 0] = 50.0
    model = NeighbourGraphPyramid(1, n_selected=20, n_neighbours=3, places=places).fit(X[:10])
    expected = np.sort(np.argsort(X[:10].var(axis=0))[-20:])
    np.testing.assert_array_equal(model.selected_, expected)
    own = places[expected]
    near = {
        (min(i, j), max(i, j))
        for i in range(20)
        for j in sorted(set(range(20)) - {i}, key=lambda j: (((own[i] - own[j]) ** 2).sum(), j))[:3]
    }
    assert {tuple(edge) for edge in model.edges_} == near
    graph = model._graphs(X[11:])[0]
    np.testing.assert_array_equal(graph.vectors[:, 0], X[11, expected])
    assert model.transform(X).shape == (12, model._n_features_out)


def test_places_in_the_vectors_have_the_deviation_of_the_values():
    random = np.random.default_rng(3)
    places, X = np.argwhere(np.ones((5, 5))), random.normal(size=(8, 25))
    model = NeighbourGraphPyramid(places=places, place_weight=2.0).fit(X)
    (graph, *_) = model._graphs(X)
    assert graph.vectors.shape == (25, 3)
    np.testing.assert_allclose(graph.vectors[:, 1:].std(), 2.0 * X.std())
    # Without the places, values may be anywhere.
    plain = NeighbourGraphPyramid(0, places=places).fit(X)
    np.testing.assert_allclose(plain.transform(X[:, ::-1]), plain.transform(X), atol=1e-9)
    moved = NeighbourGraphPyramid(0, places=places, place_weight=1.0).fit(X)
    assert not np.allclose(moved.transform(X[:, ::-1]), moved.transform(X), atol=1e-3)


def test_places_come_from_the_dataset():
    dataset = {"places": {"row": np.array([0, 0, 1]), "column": np.array([0, 1, 0])}}
    facts = _facts_of_data(NeighbourGraphPyramid(), SimpleNamespace(dataset=dataset))
    assert facts["places"].tolist() == [[0, 0], [0, 1], [1, 0]]
    model = NeighbourGraphPyramid(**facts)
    with pytest.raises(ValueError, match="There are 4 columns; found places for 3"):
        model.fit(np.ones((2, 4)))
