"""Graphs as inputs: their rows, subtree patterns, the kernel, and the reader."""

import json
from collections import Counter

import numpy as np
import pytest
from each_case import each_case
from reader_samples import excluded, refusal

from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.items.kinds.graphs import Graph, graph_rows, graphs_in
from workflow_lib.papers.blaschko.subtree_patterns import pattern_counts
from workflow_lib.papers.blaschko.weisfeiler_lehman import WeisfeilerLehman

LINES = ["4", "3 1", "0 2 1 2", "1 2 0 2", "1 2 0 1", "1 2", "5 0", "3 1", "1 1 1", "0 2 0 2"]
LINES += ["1 1 1", "2 2", "0 1 1", "1 1 0"]
"""A triangle, a node alone, a path, and an edge."""


def drawn(n_graphs: int, seed: int) -> list[Graph]:
    """Return random graphs of 1 to 8 nodes with three labels."""
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(n_graphs):
        n_nodes = random.integers(1, 9)
        pairs = np.argwhere(np.triu(random.random((n_nodes, n_nodes)) < 0.4, 1))
        graphs.append(Graph(random.integers(3, size=n_nodes), pairs))
    return graphs


def kernel_by_definition(graphs: list[Graph], depth: int) -> np.ndarray:
    """Return inner products of the counts of nested patterns."""
    counts = []
    for graph in graphs:
        near = [[] for _ in graph.labels]
        for first, second in graph.edges:
            near[first].append(second)
            near[second].append(first)
        patterns = [(int(label),) for label in graph.labels]
        found = Counter(patterns)
        for _ in range(depth):
            patterns = [
                (own, tuple(sorted(patterns[other] for other in others)))
                for own, others in zip(patterns, near)
            ]
            found.update(patterns)
        counts.append(found)
    return np.array([[sum(a[key] * b[key] for key in a) for b in counts] for a in counts], float)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_kernel_is_that_of_the_definition(depth):
    graphs = drawn(25, 0)
    counts = pattern_counts(graphs, [{} for _ in range(depth + 1)])
    kernel = sum((part @ part.T).toarray() for part in counts)
    expected = kernel_by_definition(graphs, depth)
    np.testing.assert_array_equal(kernel, expected)
    lengths = np.sqrt(np.diag(expected))
    expected /= np.outer(lengths, lengths)
    fitted, new = graph_rows(graphs)[:15], graph_rows(graphs)[15:]
    model = WeisfeilerLehman(depth).fit(fitted)
    known, others = model.transform(fitted), model.transform(new)
    assert known.shape == (15, model._n_features_out)
    np.testing.assert_allclose(known @ known.T, expected[:15, :15], atol=1e-12)
    np.testing.assert_allclose(others @ known.T, expected[15:, :15], atol=1e-7)
    distances = ((others[:, None] - known) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances, 2.0 - 2.0 * expected[15:, :15], atol=1e-7)


def test_rows_hold_graphs():
    graphs = [*drawn(6, 3), Graph(np.array([4]), np.empty((0, 2), int))]
    for graph, found in zip(graphs, graphs_in(graph_rows(graphs)), strict=True):
        np.testing.assert_array_equal(found.labels, graph.labels)
        np.testing.assert_array_equal(found.edges, graph.edges)


def test_rows_hold_vectors_of_nodes_and_numbers_beside():
    graphs, random = drawn(6, 4), np.random.default_rng(5)
    known = [graph._replace(vectors=random.normal(size=(len(graph.labels), 2))) for graph in graphs]
    rows = np.hstack([graph_rows(known), random.normal(size=(6, 3))])
    for graph, found in zip(known, graphs_in(rows, {"n_node_numbers": 2}), strict=True):
        np.testing.assert_array_equal(found.vectors, graph.vectors)
    for graph, found in zip(graphs, graphs_in(rows), strict=True):
        assert found.vectors is None
        np.testing.assert_array_equal(found.edges, graph.edges)
    with pytest.raises(ValueError, match="a node without a vector"):
        graphs_in(graph_rows(graphs), {"n_node_numbers": 40})


@pytest.mark.parametrize("row", [[0, 0, 0], [1, 1, 0, 0, 1], [2, 0, 0.5, 0], [2, 0, 1], [1, 0, -1]])
def test_rows_that_are_no_graphs_are_refused(row):
    with pytest.raises(ValueError, match="A row is no graph"):
        WeisfeilerLehman().fit(np.array([row], dtype=float))


def written(folder, lines=LINES):
    path = folder / "graphs.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path, **options):
    return read_dataset("labelled_graphs", options, [path], 0)


def test_graphs_are_read_with_their_classes(tmp_path):
    assert kind_of_inputs("labelled_graphs", {}) == "graphs"
    tree = read(written(tmp_path))
    assert json.loads(tree["names"]["classes"]) == ["1", "2"]
    assert tree["classes"]["labels"].tolist() == [0, 1, 0, 1]
    triangle, alone, path, edge = graphs_in(tree["inputs"])
    assert triangle.edges.tolist() == [[0, 1], [0, 2], [1, 2]] and alone.labels.tolist() == [5]
    assert path.labels.tolist() == [1, 0, 1] and edge.edges.tolist() == [[0, 1]]
    # The same path from its other end, in the same class; and the edge in two classes.
    more = ["3 1", "1 1 2", "1 1 2", "0 2 0 1", "2 1", "1 1 1", "0 1 0"]
    again = read(written(tmp_path, ["6", *LINES[1:], *more]))
    assert excluded(again) == {
        "a graph with the patterns of an earlier graph of its class": 1,
        "graphs with the same patterns and two classes": 2,
    }
    assert json.loads(again["names"]["rows"]) == ["graph 1", "graph 2", "graph 3"]


def test_a_file_of_copies_of_two_classes_is_refused(tmp_path):
    lines = ["2", "1 1", "5 0", "1 2", "5 0"]
    assert "every graph is a copy of one of another class" in refusal(
        read, written(tmp_path, lines)
    )


@each_case(
    ("line", "text", "message"),
    [
        (2, "0 2 1 3", "line 3: an edge to the node 3 of 3"),
        (5, "0 2", "line 6: a graph without nodes"),
        (2, "0", "line 3: '0'. Expected the label of a node"),
        (2, "0 3 1 2", "line 3: '0 3 1 2'. Expected the label of a node"),
        (2, "a 2 1 2", "in whole numbers"),
        (0, "3", "line 12: more lines"),
        (0, "5", "line 15: the end of the file"),
        (0, "0", "line 1: 0 graphs. Expected at least one graph"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, text, message):
    lines = [*LINES[:line], text, *LINES[line + 1 :]]
    assert message in refusal(read, written(tmp_path, lines))


WITH_VECTORS = ["2", "2 1", "0 1 1 0.5 2", "0 1 0 -1 3", "2 1", "0 1 1 0.5 2", "0 1 0 -1 4"]


def test_vectors_of_nodes_are_read_after_the_neighbours(tmp_path):
    tree = read(written(tmp_path, [*WITH_VECTORS[:4], "2 2", *WITH_VECTORS[5:]]), node_numbers=2)
    first, second = graphs_in(tree["inputs"], tree["items"])
    assert first.vectors.tolist() == [[0.5, 2], [-1, 3]]
    assert second.vectors.tolist() == [[0.5, 2], [-1, 4]]
    # Without their vectors they are one graph in two classes.
    lines = [*WITH_VECTORS[:4], "2 2", *WITH_VECTORS[5:]]
    assert "copy of one of another class" in refusal(read, written(tmp_path, lines))


@pytest.mark.parametrize("line", ["0 1 0 -1", "0 1 0", "0 1 0 -1 nan", "0 1 0 -1 x"])
def test_a_node_without_a_vector_is_named(tmp_path, line):
    lines = [*WITH_VECTORS[:3], line, *WITH_VECTORS[4:]]
    message = refusal(read, written(tmp_path, lines), node_numbers=2)
    assert "line 4: a node without a vector" in message
