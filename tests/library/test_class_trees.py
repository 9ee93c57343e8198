"""Trees of classes: covariances and path lengths."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from workflow_lib.core.errors import UserError
from workflow_lib.core.values import CLASS_VECTORS
from workflow_lib.data.class_losses import path_lengths, with_class_losses
from workflow_lib.items.class_trees import linkage_edges, linkage_tree, tree_of_edges

CLASSES = ["ant", "bee", "carp", "dace", "eel"]
EDGES = [["life", "insects"], ["life", "fish"], ["insects", "ant"], ["insects", "bee"]]
EDGES += [["fish", "long"], ["long", "eel"], ["fish", "carp"], ["fish", "dace"]]


def path_metric(covariance):
    squares = np.diagonal(covariance)
    return squares[:, None] + squares - 2.0 * covariance


def test_the_covariance_has_the_path_lengths_of_the_tree():
    tree = tree_of_edges(EDGES, CLASSES)
    expected = path_lengths({child: parent for parent, child in EDGES}, CLASSES)
    np.testing.assert_array_equal(path_metric(tree.covariance()), expected)
    assert tree.members[:, -1].all() and tree.parents[-1] == -1


def test_class_vectors_give_the_tree_of_a_dataset():
    vectors = np.array([[0.0, 0], [0, 1], [9, 0], [9, 2], [9, 9]])
    tree = {"names": {"classes": json.dumps(CLASSES)}, "classes": {"vectors": vectors}}
    classes = with_class_losses(tree, CLASS_VECTORS, None)["classes"]
    lengths = classes["losses"]["path_length"]
    assert lengths[0, 1] == lengths[2, 3] == 2 and lengths[2, 4] == 3 and lengths[0, 4] == 4
    edges = json.loads(classes["tree"].tobytes())
    read = tree_of_edges(edges, CLASSES)
    expected = linkage_tree(squareform(pdist(vectors, "sqeuclidean")))
    np.testing.assert_array_equal(
        np.sort(read.members.sum(axis=0)), np.sort(expected.members.sum(axis=0))
    )
    with pytest.raises(UserError, match="equally far from each other"):
        linkage_edges(np.eye(5), CLASSES, "data.csv")
    assert linkage_tree(np.zeros((1, 1))).covariance().tolist() == [[0.0]]
