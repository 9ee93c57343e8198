"""Losses between classes: path lengths in a tree of classes, and a table of costs.

A loss is a matrix (K, K): of predicting the class of a column for a row of the class of the line.
It is zero for the right class and not negative for the others; the 0-1 loss is 1 for these.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import json_bytes
from workflow_lib.core.values import CLASS_VECTORS
from workflow_lib.items.class_trees import linkage_edges
from workflow_lib.tabular.cell_texts import known_spelling
from workflow_lib.tabular.table_file import read_table
from workflow_lib.tabular.tables import listed_names
from workflow_lib.tabular.user_table import Table

PARENT, CHILD = "parent", "child"
"""Columns of the file of a tree."""

PATH_LENGTH, CLASS_COST = "path_length", "class_cost"
"""Names of the losses, in datasets and in ``scores.csv``."""


def with_class_losses(
    tree: Mapping[str, Any], class_tree: str | Path | None, class_costs: str | Path | None
) -> dict[str, Any]:
    """Return the tree of a "dataset" artifact of classes, with the losses between these.

    Returns a dict: ``classes`` has further entries: ``losses``, the matrices (K, K) `PATH_LENGTH`
    and `CLASS_COST` as far as there are files; and ``tree``, with the tree: the pairs of a parent
    and a child as JSON.

    Raises UserError as `read_tree`, `read_costs` and
    `workflow_lib.items.class_trees.linkage_edges`.

    Parameters
    ----------
    tree : mapping
    class_tree : path or None
        Table with the columns ``parent`` and ``child``, of which the leaves are the classes; or
        `CLASS_VECTORS`.
    class_costs : path or None
        Square table: a line for each true class, named by its first column, and a column for each
        predicted one. One of the two files is given at least.
    """
    names = json.loads(tree["names"]["classes"])
    classes, losses = dict(tree["classes"]), {}
    if class_tree is not None:
        if class_tree == CLASS_VECTORS:
            location = "the tree of the class vectors (class_tree: class_vectors)"
            edges = linkage_edges(classes["vectors"], names, location)
            parents = {child: parent for parent, child in edges}
        else:
            parents = read_tree(class_tree, names)
        losses[PATH_LENGTH] = path_lengths(parents, names)
        classes["tree"] = json_bytes([[parent, child] for child, parent in parents.items()])
    if class_costs is not None:
        losses[CLASS_COST] = read_costs(class_costs, names)
    return {**tree, "classes": {**classes, "losses": losses}}


def check_losses(
    class_tree: str | Path | None, class_costs: str | Path | None, classes: Sequence[str]
) -> None:
    """Raise the errors of `with_class_losses` for files of losses between these classes."""
    if class_tree not in (None, CLASS_VECTORS):
        read_tree(class_tree, classes)
    if class_costs is not None:
        read_costs(class_costs, classes)


def read_tree(path: str | Path, classes: Sequence[str]) -> dict[str, str]:
    """Return the parent of every node of a tree but its root.

    Raises UserError if the file has no columns ``parent`` and ``child``, a cell is empty, a node
    has two parents, the edges have a cycle or two roots, or the leaves are not the classes.
    """
    # A class may be called NA.
    table = read_table(path, missing_values=("",))
    columns = [
        known_spelling(table.strings(table.named(name)), classes) for name in (PARENT, CHILD)
    ]
    parents: dict[str, str] = {}
    for row, (parent, child) in enumerate(zip(*columns)):
        if not parent or not child:
            raise _wrong(table, row, "an empty cell", "a parent and a child in every line")
        if parents.get(child, parent) != parent:
            found = f"the node '{child}' with the parents '{parents[child]}' and '{parent}'"
            raise _wrong(table, row, found, "one parent of each node")
        parents[child] = parent
    for row, node in enumerate(columns[1]):
        above = {node}
        while node in parents:
            node = parents[node]
            if node in above:
                raise _wrong(table, row, f"a cycle through the node '{node}'", "a tree")
            above.add(node)
    roots = sorted(set(parents.values()) - set(parents))
    if len(roots) > 1:
        found = f"{len(roots)} roots: {listed_names(roots)}"
        raise _wrong(table, None, found, "a tree, of which one node has no parent")
    leaves = set(parents) - set(parents.values())
    _check_classes(table, leaves, classes, "leaves")
    return parents


def path_lengths(parents: Mapping[str, str], classes: Sequence[str]) -> np.ndarray:
    """Return the number of edges (K, K) between two leaves, given the parents of all nodes."""
    paths = []
    for name in classes:
        path = [name]
        while path[-1] in parents:
            path.append(parents[path[-1]])
        paths.append(path[::-1])
    lengths = np.zeros((len(classes), len(classes)))
    for first, above in enumerate(paths):
        for second, other in enumerate(paths[:first]):
            n_shared = next(
                (index for index, pair in enumerate(zip(above, other)) if pair[0] != pair[1]),
                min(len(above), len(other)),
            )
            lengths[first, second] = len(above) + len(other) - 2 * n_shared
    return lengths + lengths.T


def read_costs(path: str | Path, classes: Sequence[str]) -> np.ndarray:
    """Return the costs (K, K) of a square table, in the order of the classes.

    Raises UserError if lines or columns are not the classes, a cost is missing, negative or no
    number, or the cost of a right class is not zero.
    """
    table = read_table(path, missing_values=("",))
    names = known_spelling(table.keys(table.names[0], "class"), classes)
    columns = known_spelling(table.names[1:], classes)
    _check_classes(table, names, classes, "lines")
    _check_classes(table, columns, classes, "columns")
    order = [names.index(name) for name in classes]
    named = dict(zip(columns, table.names[1:]))
    costs = table.matrix([named[name] for name in classes], complete=True)
    for row, column in np.argwhere(costs < 0):
        found = f"the cost {costs[row, column]:g}"
        raise _wrong(table, row, found, "costs that are not negative", classes[column])
    for row, name in enumerate(names):
        own = classes.index(name)
        if costs[row, own] != 0:
            found = f"the cost {costs[row, own]:g} of the right class"
            raise _wrong(table, row, found, "0 where the predicted class is the true one", name)
    return costs[order]


def _check_classes(table: Table, found: Sequence[str], classes: Sequence[str], what: str) -> None:
    missing = sorted(set(classes) - set(found))
    unknown = sorted(set(found) - set(classes))
    if missing:
        text = f"{what} without the class{'es' * (len(missing) > 1)} {listed_names(missing)}"
        raise _wrong(table, None, text, f"all {len(classes)} classes of the dataset")
    if unknown:
        text = f"{what} that are no classes of the dataset: {listed_names(unknown)}"
        raise _wrong(table, None, text, "the classes of the dataset alone")


def _wrong(
    table: Table, row: int | None, found: str, expected: str, column: str | None = None
) -> UserError:
    location = table.location if row is None else table.where(row, column)
    return UserError(location, found, expected, "fix the file")
