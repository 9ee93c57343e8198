"""Elastic nets of inputs and of subtree patterns: their optimum, their features, and the method."""

from types import SimpleNamespace

import numpy as np
import pytest
from fit_methods import run_method
from sklearn.linear_model import ElasticNet
from small_pipeline import Stages

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.papers.blaschko.elastic_nets import net_path, used_inputs
from workflow_lib.papers.blaschko.methods.elastic_net_features import Fitted
from workflow_lib.papers.blaschko.neighbour_graphs import NeighbourGraphPyramid
from workflow_lib.papers.blaschko.pattern_features import PatternFeatures

ALPHAS = [0.5, 0.1, 0.02]
PLACES = np.argwhere(np.ones((5, 6)))


def sparse_data(n_rows=24):
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 30)) + 3.0
    Y = X[:, :2] @ np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]) + 0.1 * random.normal(
        size=(n_rows, 3)
    )
    return X, Y


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_coefficients_satisfy_the_conditions_of_the_optimum(ratio):
    X, Y = sparse_data()
    paths, intercepts = net_path(X, Y, ratio, [1.0, *ALPHAS])
    assert not paths[0].any() and paths[1].any()
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0)
    largest = np.abs(A.T @ B).max() / (len(X) * ratio)
    for alpha, W, b in zip(ALPHAS, paths[1:], intercepts[1:], strict=True):
        penalty = alpha * largest
        slope = A.T @ (B - A @ W) / len(X) - penalty * (1.0 - ratio) * W
        is_used = W != 0.0
        bound = penalty * ratio
        np.testing.assert_allclose(slope[is_used], bound * np.sign(W[is_used]), atol=0.02 * bound)
        assert (np.abs(slope[~is_used]) <= 1.02 * bound).all()
        for output in range(3):
            peer = ElasticNet(alpha=penalty, l1_ratio=ratio, tol=1e-9, max_iter=100_000)
            peer.fit(X, Y[:, output])
            np.testing.assert_allclose(W[:, output], peer.coef_, atol=0.02)
            np.testing.assert_allclose(X @ W[:, output] + b[output], peer.predict(X), atol=0.05)


def test_inputs_of_the_outputs_are_selected_first():
    X, Y = sparse_data()
    assert np.flatnonzero(used_inputs(X, Y, 0.5, 2)).tolist() == [0, 1]
    assert 10 <= used_inputs(X, Y, 0.5, 10).sum() < 30
    assert not used_inputs(X, np.ones((24, 1)), 0.5, 2).any()


@pytest.mark.parametrize("with_inputs", [False, True])
def test_patterns_are_those_of_the_kernel(with_inputs):
    X, Y = sparse_data()
    X[:, 3:] += 2.0 * X[:, :1]
    settings = {"depth": 2, "n_levels": 4, "places": PLACES}
    columns = np.flatnonzero(used_inputs(X[:18], Y[:18], 0.5, 12))
    model = PatternFeatures(columns, **settings, with_inputs=with_inputs).fit(X[:18])
    np.testing.assert_array_equal(model.selected_, columns)
    features = model.transform(X)
    patterns = features[:, : len(model.kept_)]
    seen = (patterns[:18] > 0).sum(axis=0)
    assert seen.min() >= 2 and (np.ptp(patterns[:18], axis=0) > 0).all()
    # With the columns that are left out, the kernel of the other class for the same nodes.
    model.kept_ = np.arange(model.n_patterns_)
    all_patterns = model.transform(X)[:, : model.n_patterns_]
    other = NeighbourGraphPyramid(**settings)
    other._columns = lambda X: model.selected_
    known = other.fit(X[:18]).transform(X)
    np.testing.assert_allclose(all_patterns @ all_patterns[:18].T, known @ known[:18].T, atol=1e-7)
    if with_inputs:
        inputs = features[:18, patterns.shape[1] :]
        assert inputs.var(axis=0).sum() == pytest.approx(patterns[:18].var(axis=0).sum())


def test_parts_of_the_nodes_sum_to_the_function():
    X, Y = sparse_data()
    model = PatternFeatures(np.arange(12), 2, 4, places=PLACES).fit(X[:18])
    weights = np.random.default_rng(1).normal(size=(len(model.kept_), 2))
    parts = model.node_values(X, weights)
    assert parts.shape == (24, len(model.selected_), 2)
    np.testing.assert_allclose(parts.sum(axis=1), model.transform(X) @ weights, atol=1e-12)


def test_a_net_of_patterns_can_be_stored():
    X, Y = sparse_data()
    model = PatternFeatures(np.arange(8), 1, 3, places=PLACES, with_inputs=True).fit(X)
    weights = np.random.default_rng(2).normal(size=(model.transform(X).shape[1], 3))
    fitted = Fitted(weights, np.ones(3), model)
    rows = SimpleNamespace(test_rows=lambda: X[:5])
    restored = Fitted.from_arrays(fitted.to_arrays())
    np.testing.assert_array_equal(restored.predict(rows), fitted.predict(rows))
    assert restored.predict(SimpleNamespace(test_rows=lambda: X[:0])).shape == (0, 3)


def method_item(folder, uses, **grid):
    """Return the item of the method on rows of three classes, and the stages."""
    labels = np.arange(60) % 3
    X = np.random.default_rng(3).normal(size=(60, 30))
    X[:, :6] += 2.0 * np.eye(3)[labels].repeat(2, axis=1)
    stages = Stages(folder, X, np.eye(3)[labels], sizes=[36], scale="none").prepare()
    tree = stages.tree("dataset") | {"classes": {"labels": labels, "vectors": np.eye(3)}}
    tree["places"] = {"row": PLACES[:, 0], "column": PLACES[:, 1]}
    write_artifact(stages.path("dataset"), tree, "dataset")
    grid = {"alpha": ALPHAS, "l1_ratio": [0.5, 1.0]} | grid
    settings = {"uses": uses, "n_levels": 3, "n_neighbours": 3, "metric": "arrmse"}
    (item,) = run_method("elastic_net_features", stages.path, grid=grid, **settings).values()
    return item, stages, labels


def test_an_elastic_net_of_inputs_end_to_end(tmp_path):
    item, stages, labels = method_item(tmp_path, "inputs")
    split = stages.tree("split")
    train = split["train"][:36]
    X, Y = stages.X[train], np.eye(3)[labels[train]]
    alphas = [alpha for alpha in ALPHAS if alpha >= item["alpha"]]
    paths, intercepts = net_path(X, Y, item["l1_ratio"], alphas)
    np.testing.assert_allclose(item["weights"], paths[-1], atol=1e-12)
    predicted = stages.X[split["test"]] @ paths[-1] + intercepts[-1]
    np.testing.assert_allclose(item["test_targets"], predicted)
    assert (predicted.argmax(axis=1) == labels[split["test"]]).mean() > 0.8
    used = item["validation_curves"]["used_inputs"]["no kernel"]["alpha"]
    assert (np.diff(used[np.argsort(used[:, 0]), 1]) < 0).all()


@pytest.mark.parametrize("uses", ["patterns", "both"])
def test_an_elastic_net_of_patterns_end_to_end(tmp_path, uses):
    grid = {"depth": [0, 1], "place_weight": [0.0, 1.0], "n_selected": [8]}
    item, stages, labels = method_item(tmp_path, uses, **grid)
    assert item["depth"] in (0, 1) and item["n_selected"] == 8
    assert set(range(6)) <= set(item["selected"].tolist())
    assert item["node_values"].shape == (len(item["selected"]), 3)
    assert 0 < item["n_used_features"] <= item["n_features"]
    right = item["test_targets"].argmax(axis=1) == labels[stages.tree("split")["test"]]
    # A third by chance; patterns know the places of the six inputs by their weight alone.
    assert right.mean() > (0.8 if uses == "both" else 0.45)
