"""The figure of trees of classes has their lengths, their classes and the names of their groups."""

import json

import numpy as np
import pytest

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import json_bytes
from workflow_lib.items.class_trees import linkage_tree, tree_of_edges
from workflow_lib.papers.blaschko.figures.class_trees import draw

CLASSES = ["ant", "bee", "blue_carp", "dace"]
EDGES = [["life", "insects"], ["life", "fish"], ["insects", "ant"], ["insects", "bee"]]
EDGES += [["fish", "blue_carp"], ["fish", "dace"]]
METHODS = {
    name: {"label": name.title(), "color": color}
    for name, color in (("given", "#0072B2"), ("learned", "#D55E00"), ("plain", "#009E73"))
}


def sample(folder):
    """Return the files of methods with a given tree, a learned one twice, and none."""
    given = tree_of_edges(EDGES, CLASSES)
    given = given._replace(lengths=np.array([1.0, 2, 3, 4, 5, 6, 0]))
    distances = np.array([[0, 2, 8, 8], [2, 0, 8, 8], [8, 8, 0, 4], [8, 8, 4, 0.0]])
    trees = {"given": given, "learned": linkage_tree(distances), "plain": None}
    files = {}
    for method, tree in trees.items():
        item = {"training_size": 20, "weak_size": 0, "components": "selected"}
        small = item | {"training_size": 4}
        if tree is not None:
            item["class_tree"] = tree._asdict()
            small["class_tree"] = tree_of_edges(EDGES, CLASSES)._asdict()
        files[method] = [folder / f"{method}.h5"]
        write_artifact(files[method][0], {"n-20": item, "n-4": small}, "regression")
    classes = {"tree": json_bytes(EDGES), "labels": np.arange(4), "vectors": np.eye(4)}
    tree = {"names": {"classes": json.dumps(CLASSES)}, "classes": classes}
    tree |= {"inputs": np.eye(4), "outputs": np.eye(4)}
    write_artifact(folder / "dataset.h5", tree, "dataset")
    return files, folder / "dataset.h5"


def test_trees_are_drawn_side_by_side_at_the_largest_size(tmp_path):
    files, dataset = sample(tmp_path)
    files["again"] = files["learned"]
    shown = METHODS | {"again": METHODS["learned"]}
    figure = draw(files, dataset, title="Toy", shown_methods=shown)
    first, second = figure.axes
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["Given", "Learned"]
    texts = {text.get_text(): text.get_position() for text in first.texts}
    assert set(texts) == {"ant", "bee", "blue carp", "dace", "insects", "fish"}
    # Groups are numbered by their names: those of one depth are "fish" and "insects".
    ends = {name: float(np.round(texts[name][0], 6)) for name in ("ant", "blue carp")}
    gap = 0.02 * 9.0
    assert ends == {"ant": round(7 + gap, 6), "blue carp": round(8 + gap, 6)}
    (line,) = second.lines
    along, across = line.get_data()
    assert np.nanmax(along) == 4.0 and set(across[np.isfinite(across)]) >= {0.0, 1.0, 2.0, 3.0}
    # The leaves of average linkage are equally far from the root; no groups have names.
    assert len({text.get_position()[0] for text in second.texts}) == 1 and len(second.texts) == 4
    assert "20 training rows" in figure.get_suptitle() or "20 training rows" in str(
        [text.get_text() for text in figure.texts]
    )


def test_methods_without_a_tree_are_refused(tmp_path):
    files, dataset = sample(tmp_path)
    shown = {"plain": METHODS["plain"]}
    with pytest.raises(UserError, match="no method holds a tree of classes: plain"):
        draw(files, dataset, title="Toy", shown_methods=shown)
