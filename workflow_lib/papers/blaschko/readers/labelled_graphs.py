"""Reader of graphs with classes, whose nodes have labels, and vectors where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import check_sources, read_text, wrong_source

if TYPE_CHECKING:
    from workflow_lib.items.kinds.graphs import Graph

REPEATED = "a graph with the patterns of an earlier graph of its class"
TWO_CLASSES = "graphs with the same patterns and two classes"

DEPTH = 5
"""Graphs whose counts of subtree patterns are the same up to this depth count as one."""


class Options(Settings):
    """Options of the reader ``labelled_graphs``."""

    node_numbers: Annotated[int, Strict(), Field(ge=0)] = 0
    """Numbers of the vector of each node, which follow its neighbours on its line; 0, the default,
    where nodes have none, or where they are not read."""


def kind_of_inputs(options: Options) -> str:
    """Return ``graphs``."""
    return "graphs"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per different graph; `seed` is not used.

    The source is a text file: the number of graphs; for each graph a line with the number of its
    nodes and its class, then for each node a line with its label, its number of neighbours, these,
    counted from 0, and the numbers of its vector where ``node_numbers`` says so. ``inputs`` are the
    rows of `workflow_lib.items.kinds.graphs`. ``classes``: see
    `workflow_lib.data.class_tables.class_dataset_tree`; the class vectors are the unit vectors.
    Graphs that have the same counts of subtree patterns as an earlier one, which would be in
    training and test rows, are left out, and all of such with two classes.

    Raises UserError naming the line: a graph without nodes, a node without a label or a vector, an
    edge to no node, other numbers of graphs, nodes or neighbours than stated, or what is no whole
    number.
    """
    import numpy as np

    from workflow_lib.data.class_tables import class_dataset_tree
    from workflow_lib.items.kinds.graphs import pack

    check_sources(sources, "labelled_graphs", "the file of the graphs")
    labels, graphs = _graphs(sources[0], options.node_numbers)
    kept, excluded = _different(labels, graphs)
    if not kept:
        found, expected = "every graph is a copy of one of another class", "different graphs"
        raise wrong_source(str(sources[0]), found, expected)
    names = sorted({labels[row] for row in kept})
    items = pack([graphs[row] for row in kept], n_node_numbers=options.node_numbers)
    inputs = items["inputs"]
    return class_dataset_tree(
        inputs,
        np.array([names.index(labels[row]) for row in kept]),
        np.eye(len(names)),
        names,
        [f"number_{index + 1}" for index in range(inputs.shape[1])],
        names,
        [f"graph {row + 1}" for row in kept],
        location=str(sources[0]),
        rows_read=len(graphs),
        report={"exclusions": excluded},
        items=items["items"],
    )


def _graphs(path: Path, n_numbers: int) -> tuple[list[str], list[Graph]]:
    """Return the classes and the graphs of a file."""
    import numpy as np

    from workflow_lib.items.kinds.graphs import Graph

    lines = [line.split() for line in read_text(path).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    index = 0

    def wrong(found: str, expected: str):
        return wrong_source(f"{path}, line {index + 1}", found, expected)

    def numbers(count: int, what: str) -> list[int]:
        if index >= len(lines):
            raise wrong("the end of the file", what)
        if len(lines[index]) < count:
            raise wrong(f"'{' '.join(lines[index])[:60]}'", what)
        try:
            return [int(word) for word in lines[index][:count]]
        except ValueError:
            raise wrong(f"'{' '.join(lines[index])[:60]}'", f"{what}, in whole numbers") from None

    def vector(begin: int) -> list[float]:
        words = lines[index][begin : begin + n_numbers]
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) < n_numbers or not np.isfinite(found).all():
            expected = f"{n_numbers} finite numbers after the neighbours of every node"
            raise wrong(f"a node without a vector ('{' '.join(words)[:60]}')", expected)
        return found

    n_graphs = numbers(1, "the number of graphs")[0]
    if n_graphs < 1:
        raise wrong(f"{n_graphs} graphs", "at least one graph")
    classes, graphs = [], []
    for _ in range(n_graphs):
        index += 1
        n_nodes, label = numbers(2, "the number of nodes of a graph, and its class")[:2]
        if n_nodes < 1:
            raise wrong("a graph without nodes", "at least one node in every graph")
        tags, edges, vectors = [], set(), []
        for node in range(n_nodes):
            index += 1
            what = "the label of a node, its number of neighbours, and these"
            tag, n_neighbours = numbers(2, what)
            if tag < 0 or n_neighbours < 0:
                raise wrong(f"'{' '.join(lines[index])[:60]}'", what)
            for other in numbers(2 + n_neighbours, what)[2:]:
                if not 0 <= other < n_nodes:
                    found = f"an edge to the node {other} of {n_nodes}"
                    raise wrong(found, "edges between nodes of the graph, counted from 0")
                edges.add((min(node, other), max(node, other)))
            tags.append(tag)
            vectors.append(vector(2 + n_neighbours))
        classes.append(str(label))
        ends = np.array(sorted(edges), dtype=int).reshape(-1, 2)
        graphs.append(Graph(np.array(tags), ends, np.array(vectors) if n_numbers else None))
    if index + 1 < len(lines):
        index += 1
        raise wrong("more lines", f"the {n_graphs} graphs that the first line states")
    return classes, graphs


def _different(classes: Sequence[str], graphs: Sequence[Graph]) -> tuple[list[int], dict[str, int]]:
    """Return the rows of graphs that can be used, and the number of others by reason."""
    import numpy as np
    from scipy.sparse import hstack

    from workflow_lib.core.copies import without_copies
    from workflow_lib.papers.blaschko.subtree_patterns import pattern_counts

    counts = hstack(pattern_counts(_by_vector(graphs), [{} for _ in range(DEPTH + 1)])).tocsr()
    counts.sum_duplicates()
    keys = []
    for row in range(len(graphs)):
        own = slice(counts.indptr[row], counts.indptr[row + 1])
        order = np.argsort(counts.indices[own])
        keys.append(counts.indices[own][order].tobytes() + counts.data[own][order].tobytes())
    kept, n_repeated, n_two_classes = without_copies(
        (row, key, classes[row]) for row, key in enumerate(keys)
    )
    return kept, {REPEATED: n_repeated, TWO_CLASSES: n_two_classes}


def _by_vector(graphs: Sequence[Graph]) -> list[Graph]:
    """Return graphs in which nodes with another label or vector have another label."""
    import numpy as np

    if graphs[0].vectors is None:
        return list(graphs)
    nodes = np.concatenate([np.column_stack([each.labels, each.vectors]) for each in graphs])
    labels = np.unique(nodes, axis=0, return_inverse=True)[1].ravel()
    parts = np.split(labels, np.cumsum([len(each.labels) for each in graphs])[:-1])
    return [each._replace(labels=own) for each, own in zip(graphs, parts, strict=True)]
