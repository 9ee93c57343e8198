"""Classifiers of maps: gradients, positions of rows, torch as reference, bags that are none."""

import numpy as np
import pytest
from saved_model_samples import Final
from test_bags_of_rows import HEADER, dataset, rows_of
from test_fisher_network import differences
from test_methods_contract import data_for, run

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.papers.palasek.map_network import LAYERS, MapNetwork
from workflow_lib.protocol import regression

NO_TORCH = "torch, of the extra `deep`, is not installed"


def maps_of_classes(n_maps=40, n_rows=4, seed=0):
    """Return maps, whose first row tells the class, or whose last row does with the other sign."""
    random = np.random.default_rng(seed)
    labels = np.arange(n_maps) % 2
    maps = random.normal(size=(n_maps, n_rows, 3))
    maps[:, 0, 0] += 3.0 * np.where(labels, 1, -1)
    maps[:, -1, 0] -= 3.0 * np.where(labels, 1, -1)
    return maps, np.where(labels[:, None] == [0, 1], 1.0, -1.0), labels


def network(layer, **settings):
    values = {"n_units": 5, "penalty": 0.1, "learning_rate": 1e-2, "n_epochs": 20}
    return MapNetwork(layer, **values | {"batch_size": 8, "random_state": 0} | settings)


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_equal_differences_of_the_cost(layer):
    maps, signs, _ = maps_of_classes(7)
    model = network(layer, n_epochs=1).fit(maps, signs)
    random = np.random.default_rng(1)
    model.weights = {n: w + 0.1 * random.normal(size=w.shape) for n, w in model.weights.items()}
    found = model.cost_and_gradients(maps, signs)[1]
    assert found.keys() == model.weights.keys()
    for name, values in list(model.weights.items()):

        def cost(changed, name=name):
            kept = model.weights
            model.weights = kept | {name: changed}
            value = model.cost_and_gradients(maps, signs)[0]
            model.weights = kept
            return value

        np.testing.assert_allclose(found[name], differences(cost, values), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_position_of_a_row_matters(layer):
    """The mean over the rows of a map is the same in both classes."""
    maps, signs, _ = maps_of_classes(60)
    others, _, labels = maps_of_classes(200, seed=1)
    model = network(layer).fit(maps, signs)
    assert (model.decision_function(others).argmax(axis=1) == labels).mean() > 0.9
    turned = model.decision_function(others[:, ::-1]).argmax(axis=1)
    assert (turned == labels).mean() < 0.2
    again = MapNetwork.from_arrays(model.to_arrays()).decision_function(others)
    np.testing.assert_array_equal(again, model.decision_function(others))


def test_without_a_layer_it_is_the_linear_machine_of_the_rows_in_their_order():
    maps, signs, _ = maps_of_classes()
    model = network("none").fit(maps, signs)
    gradients = model.cost_and_gradients(maps, signs)[1]
    np.testing.assert_allclose(gradients["coef"], 0.0, atol=1e-5)


@pytest.mark.parametrize("layer", ["convolution", "full"])
def test_the_layers_are_those_of_torch(layer):
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    maps, signs, _ = maps_of_classes(8)
    model = network(layer, n_epochs=3).fit(maps, signs)
    leaves = {n: torch.tensor(w, requires_grad=True) for n, w in model.weights.items()}
    given = torch.tensor(maps)
    if layer == "convolution":
        images = given.transpose(1, 2).reshape(8, 3, 2, 2)
        filters = leaves["filters"].T[:, :, None, None]
        hidden = torch.nn.functional.conv2d(images, filters, leaves["thresholds"]).relu()
        vectors = hidden.flatten(2).transpose(1, 2).flatten(1)
    else:
        linear = torch.nn.functional.linear
        vectors = linear(given.flatten(1), leaves["filters"].T, leaves["thresholds"]).relu()
    scores = torch.nn.functional.linear(vectors, leaves["coef"], leaves["intercept"])
    np.testing.assert_allclose(scores.detach(), model.decision_function(maps), atol=1e-12)
    cost = ((1 - torch.tensor(signs) * scores).relu() ** 2).sum(1).mean()
    cost = cost + 0.05 * ((leaves["coef"] ** 2).sum() + (leaves["intercept"] ** 2).sum())
    cost.backward()
    expected, gradients = model.cost_and_gradients(maps, signs)
    assert cost.item() == pytest.approx(expected, rel=1e-12)
    for name, leaf in leaves.items():
        np.testing.assert_allclose(leaf.grad, gradients[name], atol=1e-12)


def test_bags_that_are_no_maps_are_refused(tmp_path):
    data = data_for("map_network")
    run("map_network", tmp_path, data)
    tree = read_artifact(tmp_path / "dataset.h5", "dataset")
    paths = {name: tmp_path / f"{name}.h5" for name in ("dataset", "split")}
    settings = {"grid": {"penalty": [1.0], "learning_rate": [1e-3]}, "one_example": {}, "seed": 0}
    settings |= {"layer": "none", "n_units": 1, "n_dimensions": None, "n_epochs": 1}

    def refused(**changed):
        write_artifact(paths["dataset"], tree | {"bags": tree["bags"] | changed}, "dataset")
        results = tmp_path / "regression.h5", tmp_path / "regression.json"
        with pytest.raises(UserError) as caught:
            regression.run("map_network", paths, settings | {"batch_size": 4}, *results)
        return str(caught.value)

    begins = tree["bags"]["begins"].copy()
    begins[1] += 1
    assert "bags of 4 to 6 rows. Expected rows at the same positions" in refused(begins=begins)
    positions = np.tile(np.random.default_rng(0).random((5, 2)), (len(begins) - 1, 1))
    positions[7] += 0.1
    assert "1 of 72 bags with rows at other positions" in refused(positions=positions)


def test_saved_networks_repeat_their_predictions(tmp_path, capsys):
    lines = [HEADER, *(line for bag in range(24) for line in rows_of(bag)[:4])]
    (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n")
    final = Final(tmp_path, dataset(str(tmp_path / "cells.csv")), metric="accuracy", kind="all")
    settings = {"grid": {"penalty": [0.1, 1.0], "learning_rate": [1e-2]}, "one_example": {}}
    settings |= {"layer": "full", "n_units": 3, "n_dimensions": None, "n_epochs": 30}
    final._run("saved", "map_network", **settings, batch_size=4, seed=0)
    model = final.saved("saved")
    assert "predictions of saved reproduced exactly" in capsys.readouterr().out
    (tmp_path / "new.csv").write_text("\n".join([HEADER, *rows_of(1)[:4], *rows_of(2)[:4]]))
    assert model.predict(tmp_path / "new.csv").class_scores.argmax(axis=1).tolist() == [1, 0]
    (tmp_path / "new.csv").write_text("\n".join([HEADER, *rows_of(1)[:4], *rows_of(2)[:3]]))
    with pytest.raises(UserError, match="bag 1 .*3 rows. Expected 4, as in every bag"):
        model.predict(tmp_path / "new.csv")
