"""Losses between classes: trees and tables of costs, and the class of the least expected loss."""

import json

import numpy as np
import pytest
from reader_samples import refusal
from saved_model_samples import N_ROWS, Final, small_table, table_dataset
from scipy.optimize import nnls

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.data.class_losses import path_lengths, read_costs, read_tree, with_class_losses
from workflow_lib.measures.base import Predictions
from workflow_lib.models.class_decoding import least_loss_scores, on_simplex
from workflow_lib.tasks.found import values_of

CLASSES = ["ant", "bee", "carp", "dace", "eel"]
EDGES = ["life,insects", "life,fish", "insects,ant", "insects,bee", "fish,long", "long,eel"]
EDGES += ["fish,carp", "fish,dace"]
LENGTHS = [[0, 2, 4, 4, 5], [2, 0, 4, 4, 5], [4, 4, 0, 2, 3], [4, 4, 2, 0, 3], [5, 5, 3, 3, 0]]
COSTS = ["true,bee,ant,carp,dace,eel", "bee,0,1,2,2,2", "ant,3,0,2,2,2", "carp,5,5,0,1,1"]
COSTS += ["dace,5,5,1,0,1", "eel,9,9,1,1,0"]


def written(folder, lines, header="parent,child"):
    path = folder / "file.csv"
    path.write_text("\n".join([header, *lines][not header :]) + "\n")
    return path


def test_path_lengths_count_the_edges_of_the_tree(tmp_path):
    parents = read_tree(written(tmp_path, EDGES), CLASSES)
    lengths = path_lengths(parents, CLASSES)
    np.testing.assert_array_equal(lengths, LENGTHS)
    # Distances in a tree meet the four-point condition.
    for a, b, c, d in np.random.default_rng(0).integers(5, size=(200, 4)):
        sums = lengths[a, b] + lengths[c, d], lengths[a, c] + lengths[b, d]
        largest = sorted([*sums, lengths[a, d] + lengths[b, c]])
        assert largest[1] == largest[2]
    # Another root of the same edges changes nothing.
    other = ["fish,life", "life,insects", *EDGES[2:]]
    rooted = path_lengths(read_tree(written(tmp_path, other), CLASSES), CLASSES)
    np.testing.assert_array_equal(rooted, LENGTHS)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*EDGES, "eel,fish"], "line 10: the node 'fish' with the parents 'life' and 'eel'"),
        ([*EDGES, "eel,life"], "a cycle through the node"),
        ([*EDGES, "stones,flint"], "2 roots: 'life', 'stones'"),
        (EDGES[:-1], "leaves without the class 'dace'"),
        ([*EDGES, "insects,gnat"], "leaves that are no classes of the dataset: 'gnat'"),
        ([*EDGES, "insects,"], "line 10: an empty cell"),
    ],
)
def test_what_is_no_tree_of_the_classes_is_refused(tmp_path, lines, message):
    assert message in refusal(read_tree, written(tmp_path, lines), CLASSES)


def test_a_table_of_costs_is_read_by_its_names(tmp_path):
    costs = read_costs(written(tmp_path, COSTS, header=""), CLASSES)
    assert costs[0].tolist() == [0, 3, 2, 2, 2] and costs[4].tolist() == [9, 9, 1, 1, 0]
    assert costs[1, 0] == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ant,3,0,2", "ant,3,0,-2", "line 3, column 'carp': the cost -2"),
        ("ant,3,0,2", "ant,3,1,2", "line 3, column 'ant': the cost 1 of the right class"),
        ("ant,3,0,2", "ant,3,0,", "line 3, column 'carp': the value is missing"),
        ("eel,9", "cod,9", "lines without the class 'eel'"),
        ("dace,eel\n", "dace,eel,cod\n", "columns that are no classes of the dataset: 'cod'"),
    ],
)
def test_a_wrong_table_of_costs_is_refused(tmp_path, old, new, message):
    path = written(tmp_path, COSTS, header="")
    text = path.read_text().replace(old, new)
    if "cod" in text.splitlines()[0]:
        text = "\n".join([text.splitlines()[0], *(f"{line},1" for line in COSTS[1:])])
    path.write_text(text)
    assert message in refusal(read_costs, path, CLASSES)


def test_the_nearest_point_of_the_simplex_is_that_of_a_quadratic_programme():
    points = np.random.default_rng(0).normal(size=(30, 4))
    found = on_simplex(points)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    for point, nearest in zip(points, found):
        # A large weight of the row of ones makes the sum 1.
        system, values = np.vstack([np.eye(4), 1e4 * np.ones(4)]), np.append(point, 1e4)
        np.testing.assert_allclose(nearest, nnls(system, values)[0], atol=1e-6)
    inside = np.array([[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(on_simplex(inside), inside, atol=1e-15)


def test_the_class_of_the_least_expected_loss_is_found():
    scores = np.array([[0.4, 0.0, 0.3, 0.3, 0.0], [1.2, 0.1, 0.0, 0.0, -0.3]])
    found = least_loss_scores(scores, np.array(LENGTHS, dtype=float))
    lengths = np.array(LENGTHS)
    expected = 0.4 * lengths[0] + 0.3 * lengths[2] + 0.3 * lengths[3]
    np.testing.assert_allclose(-found[0], expected)
    assert found.argmax(axis=1).tolist() == [2, 0]
    # With the 0-1 loss it is the class of the highest score.
    zero_one = 1.0 - np.eye(5)
    random = np.random.default_rng(1).normal(size=(50, 5))
    best = least_loss_scores(random, zero_one).argmax(axis=1)
    np.testing.assert_array_equal(best, random.argmax(axis=1))


def dataset(folder, **files):
    columns = small_table()
    tree = table_dataset(columns, numbers=["dose, mg", "weight"], categories=["colour"])
    names = np.array(CLASSES)[np.arange(N_ROWS) % len(CLASSES)]
    tree["classes"] = {"labels": np.arange(N_ROWS) % 5, "vectors": np.eye(5)}
    tree["outputs"] = np.eye(5)[tree["classes"]["labels"]]
    tree["names"] |= {"classes": json.dumps(CLASSES), "outputs": json.dumps(CLASSES)}
    return with_class_losses(tree, files.get("class_tree"), files.get("class_costs")), names


def test_errors_and_the_method_use_the_losses_of_the_dataset(tmp_path):
    tree = written(tmp_path, EDGES)
    costs = tmp_path / "costs.csv"
    costs.write_text("\n".join(COSTS) + "\n")
    data, _ = dataset(tmp_path, class_tree=tree, class_costs=costs)
    assert set(data["classes"]["losses"]) == {"path_length", "class_cost"}
    final = Final(tmp_path, data, metric="accuracy")
    final.class_ridge("plain")
    final.class_ridge("saved", "least_loss")
    costs = read_costs(costs, CLASSES)
    np.testing.assert_allclose(
        final.stored("saved"), least_loss_scores(final.stored("plain"), costs), atol=1e-12
    )
    np.testing.assert_array_equal(final.repeated("saved"), final.stored("saved"))
    paths = [final.methods["saved"]["predictions"]]
    (item,) = read_artifact(paths[0], "predictions").values()
    truth = data["classes"]["labels"][final.split["test"]]
    known = {"class_scores": item["class_scores"], "losses": data["classes"]["losses"]}
    errors = values_of(("classes",), Predictions(truth, item["classes"], entries=known))
    assert errors["class_cost"] == pytest.approx(costs[truth, item["classes"]].mean())
    assert errors["path_length"] == pytest.approx(np.array(LENGTHS)[truth, item["classes"]].mean())
    only_tree, _ = dataset(tmp_path, class_tree=tree)
    assert list(only_tree["classes"]["losses"]) == ["path_length"]
    edges = json.loads(only_tree["classes"]["tree"].tobytes())
    assert sorted(edges) == sorted(line.split(",") for line in EDGES)
