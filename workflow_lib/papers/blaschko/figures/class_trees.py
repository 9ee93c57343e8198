"""The trees of classes by which methods compare classes, side by side."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.class_trees import ROOT, ClassTree, nodes_of_edges, tree_of_edges
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, plain_name, write_title

SHOWS = "the trees of classes by which methods compare classes, side by side"
CAPTION = (
    "The trees of classes by which methods compare classes, of the fits to the training rows of "
    "the first split, at the largest training size. The lines along the axis are branches: the "
    "path between two classes is their squared distance in the feature space of the classes. The "
    "given tree has the lengths of the largest dependence between inputs and classes. Figures 5.6 "
    "and 5.8 of Blaschko (2014) have this form."
)
READS = {
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
    "dataset": "results/datasets/{dataset}.h5",
}
METHOD_FIELDS = ("label", "color")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind class_trees shows trees of classes, and the task is {task}"

N_COLUMNS = 2


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    dataset: str | Path,
    *,
    shown_methods: Mapping[str, Mapping],
    title: str,
):
    """Return the figure: a panel for each method that holds a tree, methods with one tree once.

    Groups have their names where the tree is that of the dataset.

    Raises UserError if no method holds a tree.
    """
    from matplotlib.figure import Figure

    trees: dict[str, ClassTree] = {}
    size = 0
    for method in shown_methods:
        item = _largest(all_regressions.get(method, ()))
        if "class_tree" in item:
            tree, size = ClassTree(**item["class_tree"]), int(item["training_size"])
            if not any(_are_equal(tree, other) for other in trees.values()):
                trees[method] = tree
    if not trees:
        raise UserError(
            location="a figure of the kind class_trees",
            found=f"no method holds a tree of classes: {', '.join(shown_methods)}",
            expected="a method with class_similarity: learned_tree or given_tree, such as "
            "ssvm-learned-tree",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    data = read_artifact(dataset, "dataset", ("inputs",))
    names = json.loads(data["names"]["classes"])
    given = data["classes"].get("tree")
    edges = [] if given is None else json.loads(given.tobytes())
    columns = min(N_COLUMNS, len(trees))
    lines = -(-len(trees) // columns)
    most = max(len(tree.members) for tree in trees.values())
    with applied_style():
        figure = Figure(
            figsize=(WIDTH, 0.8 + lines * (0.8 + 0.155 * max(most, 8))), layout="constrained"
        )
        axes = figure.subplots(lines, columns, squeeze=False)
        for axis in axes.flat[len(trees) :]:
            axis.axis("off")
        for axis, (method, tree) in zip(axes.flat, trees.items()):
            is_given = bool(edges) and np.array_equal(
                tree.members, tree_of_edges(edges, names).members
            )
            groups = nodes_of_edges(edges, names) if is_given else []
            color = shown_methods[method].get("color")
            _draw_tree(axis, tree, names, groups, color, method_label(method, shown_methods))
        write_title(figure, f"{title}\n{count_of(size, 'training row')}, first split")
    return figure


def _largest(paths: Sequence[str | Path]) -> Mapping[str, Any]:
    """Return the item of the first split with the most training rows; empty for none."""
    items = read_artifact(paths[0], "regression").values() if paths else ()
    items = [item for item in items if not item.get("setting")]
    return max(items, key=lambda item: item["training_size"], default={})


def _are_equal(tree: ClassTree, other: ClassTree) -> bool:
    return all(
        first.shape == second.shape and np.allclose(first, second)
        for first, second in zip(tree, other)
    )


def _draw_tree(
    axis, tree: ClassTree, names: Sequence[str], groups: Sequence[str], color: str, label: str
) -> None:
    """Draw a tree with its root at the left and its classes at the right, one below the other."""
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parents):
        children.setdefault(int(parent), []).append(node)
    depths, heights = np.zeros(len(tree.parents)), np.zeros(len(tree.parents))
    order = _leaves_in_order(children, len(tree.parents) - 1)
    heights[order] = np.arange(len(order))
    for node in _from_above(children):
        if node in children:
            depths[children[node]] = depths[node] + tree.lengths[children[node]]
    for node in reversed(_from_above(children)):
        if node in children:
            heights[node] = heights[children[node]].mean()
    across, along = [], []
    for parent, below in children.items():
        if parent == ROOT:
            continue
        for node in below:
            along += [(depths[parent], depths[node], np.nan)]
            across += [(heights[node], heights[node], np.nan)]
        along += [(depths[parent], depths[parent], np.nan)]
        across += [(heights[below].min(), heights[below].max(), np.nan)]
    axis.plot(np.ravel(along), np.ravel(across), color=color, linewidth=1.2, label=label)
    axis.set_title(label, fontsize=9.5)
    axis.set_ylim(len(order) - 0.5, -0.5)
    axis.grid(False)
    axis.spines["left"].set_visible(False)
    axis.set_yticks([])
    axis.set_xlabel("length of the path from the root")
    gap = 0.02 * (depths.max() or 1.0)
    size = 8.5 if len(order) <= 20 else 6.5
    for leaf in order:
        axis.text(
            depths[leaf] + gap, heights[leaf], plain_name(names[leaf]), va="center", fontsize=size
        )
    for node, name in enumerate(groups):
        # Groups of linkage have numbers for names.
        if node in children and tree.parents[node] != ROOT and not name.startswith("group "):
            location = depths[node] - gap, heights[node] - 0.08
            axis.text(*location, plain_name(name), va="bottom", ha="right", fontsize=6.5)
    longest = max(len(plain_name(name)) for name in names)
    axis.set_xlim(-gap, (depths.max() or 1.0) * (1.0 + 0.03 * longest * size / 6.5))


def _from_above(children: Mapping[int, Sequence[int]]) -> list[int]:
    """Return the nodes, each after its parent."""
    found = list(children[ROOT])
    for node in found:
        found += children.get(node, ())
    return found


def _leaves_in_order(children: Mapping[int, Sequence[int]], node: int) -> list[int]:
    """Return the leaves below a node so that no branches cross, smaller groups first."""
    if node not in children:
        return [node]
    groups = [_leaves_in_order(children, child) for child in children[node]]
    return [
        leaf for group in sorted(groups, key=lambda group: (len(group), group)) for leaf in group
    ]
