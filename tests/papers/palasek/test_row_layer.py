"""Layers of rows that are trained through Fisher vectors, and gradient descent with momentum."""

import numpy as np
import pytest
from test_fisher_network import differences, labelled_bags, network

from workflow_lib.papers.palasek import fisher_layer
from workflow_lib.papers.palasek.momentum import MomentumSteps
from workflow_lib.papers.palasek.projection import fitted_projection
from workflow_lib.papers.palasek.row_layer import KINDS, RowLayer, first_layer

NO_TORCH = "torch, of the extra `deep`, is not installed"


def wide_bags(n_bags=20, n_labelled=12):
    """Return bags of five columns, of which two hold clusters whose shares depend on the class."""
    bags, y = labelled_bags(n_bags, n_labelled, 15)
    random = np.random.default_rng(5)
    mixing = random.normal(size=(5, 5))
    return [np.hstack([bag, random.normal(size=(15, 3))]) @ mixing for bag in bags], y


def layer_of(kind, bags, n_dimensions=3):
    projection = fitted_projection(bags, n_dimensions, False, np.random.default_rng(0))
    return first_layer(kind, np.concatenate(bags), *projection), projection


@pytest.mark.parametrize("kind", KINDS)
def test_an_untrained_layer_is_the_projection(kind):
    bags, y = wide_bags()
    layer, projection = layer_of(kind, bags)
    rows = np.concatenate([layer.transform(bag) for bag in bags])
    expected = np.concatenate(projection.of(bags))
    np.testing.assert_allclose(rows * np.sqrt((expected**2).mean()), expected, atol=1e-10)
    fixed = network(n_epochs=0).fit(projection.of(bags), y)
    model = network(n_epochs=0, layer=layer).fit(bags, y)
    found, expected = model.decision_function(bags), fixed.decision_function(projection.of(bags))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_a_layer_equal_differences_of_the_cost(kind):
    bags, y = wide_bags(8, 8)
    layer = layer_of(kind, bags)[0]
    # Off the symmetric start of the convolution, and with margins that are violated.
    random = np.random.default_rng(2)
    layer = layer.moved({n: 0.1 * random.normal(size=w.shape) for n, w in layer.weights.items()})
    model = network(n_epochs=0, layer=layer, unlabelled_weight=0.0, penalty=0.1).fit(bags, y)
    gradients = model._cost_and_gradients(model._scaled(bags), y, np.ones(len(y)), None)[2]
    found = layer.gradients(np.concatenate(bags), gradients["rows"] / model._unit)
    assert found.keys() == layer.weights.keys()
    for name, values in layer.weights.items():

        def cost(changed, name=name):
            model._layer = layer._replace(weights=layer.weights | {name: changed})
            return model.objective(bags, y)

        assert np.abs(found[name]).max() > 1e-3
        np.testing.assert_allclose(found[name], differences(cost, values), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_training_a_layer_lowers_the_cost_and_leaves_its_start_alone(kind):
    bags, y = wide_bags()
    layer = layer_of(kind, bags, 2)[0]
    start = {name: values.copy() for name, values in layer.weights.items()}
    settings = {"layer": layer, "learning_rate": 3e-3, "unlabelled_weight": 0.0, "penalty": 0.1}
    before = network(**settings | {"n_epochs": 0}).fit(bags, y)
    model = network(**settings | {"n_epochs": 20}).fit(bags, y)
    assert model.objective(bags, y) < before.objective(bags, y) - 0.01
    for name, values in start.items():
        np.testing.assert_array_equal(layer.weights[name], values)
        assert (model._layer.weights[name] != values).any()
    again = type(model).from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.decision_function(bags), model.decision_function(bags))
    # Unlabelled bags alone, which have no supervised cost, do not move it.
    held = model._layer
    model.partial_fit(bags[-4:], y[-4:])
    assert model._layer is held


def test_a_layer_of_another_width_is_refused():
    bags, y = wide_bags()
    layer = layer_of("projection", [bag[:, :4] for bag in bags])[0]
    with pytest.raises(ValueError, match="The bags have 5 columns, and layer has 4"):
        network(layer=layer).fit(bags, y)


# Roots of numbers near zero enlarge their rounding.
@pytest.mark.parametrize(("root", "tolerance"), [(False, 1e-11), (True, 1e-5)])
def test_a_layer_of_windows_is_a_convolution_with_the_gradients_of_autograd(root, tolerance):
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    random = np.random.default_rng(0)
    images = random.random((4, 10, 10, 3))
    windows = np.lib.stride_tricks.sliding_window_view(images, (6, 6), axis=(1, 2))[:, ::2, ::2]
    bags = list(windows.reshape(4, 9, 108))
    y = np.array([0, 1, 0, 1])
    layer = RowLayer(
        np.full(108, 0.5),
        np.ones(108),
        {
            "filters": random.normal(size=(108, 6)),
            "thresholds": random.normal(size=6),
            "directions": random.normal(size=(6, 4)),
        },
    )
    settings = {"unlabelled_weight": 0.0, "penalty": 0.1, "root": root}
    model = network(n_epochs=0, layer=layer, **settings).fit(bags, y)
    gradients = model._cost_and_gradients(model._scaled(bags), y, np.ones(4), None)[2]
    found = layer.gradients(np.concatenate(bags), gradients["rows"] / model._unit)
    leaves = {
        name: torch.tensor(values, requires_grad=True)
        for name, values in (layer.weights | model._coordinates._asdict()).items()
    }
    pixels = torch.tensor(images.transpose(0, 3, 1, 2) - 0.5)
    filters = leaves["filters"].T.reshape(6, 3, 6, 6)
    maps = torch.nn.functional.conv2d(pixels, filters, leaves["thresholds"], stride=2).relu()
    maps = torch.nn.functional.conv2d(maps, leaves["directions"].T[:, :, None, None])
    rows = maps.flatten(2).transpose(1, 2)
    rows = (rows - torch.tensor(model._centre)) / model._unit
    weights = torch.softmax(leaves["alpha"], 0)
    scaled = (rows[:, :, None] - leaves["means"]) / leaves["deviations"]
    densities = -0.5 * scaled**2 - leaves["deviations"].log()
    shares = torch.softmax(weights.log() + densities.sum(-1), -1)[..., None]
    roots = weights.sqrt()[:, None]
    vectors = torch.cat(
        [
            ((shares[..., 0] - weights) / weights.sqrt()).mean(1),
            (shares * scaled / roots).mean(1).flatten(1),
            (shares * (scaled**2 - 1) / (2**0.5 * roots)).mean(1).flatten(1),
        ],
        1,
    )
    vectors = torch.sign(vectors) * vectors.abs().sqrt() if root else vectors
    vectors = vectors / vectors.norm(dim=1, keepdim=True)
    np.testing.assert_allclose(vectors.detach(), model.transform(bags), atol=tolerance)
    signs = torch.tensor(model._signs(y))
    scores = vectors @ torch.tensor(model.coef_).T + torch.tensor(model.intercept_)
    ((1 - signs * scores).relu() ** 2).sum(1).mean().backward()
    for name, leaf in leaves.items():
        expected = (found | gradients)[name]
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(leaf.grad, expected, rtol=0, atol=tolerance)


def test_steps_with_momentum_are_weighted_sums_of_all_gradients():
    gradients = np.random.default_rng(0).normal(size=(6, 3))
    optimiser = MomentumSteps(0.1)
    steps = [optimiser.steps({"a": gradient})["a"] for gradient in gradients]
    for last, step in enumerate(steps):
        powers = 0.9 ** np.arange(last, -1, -1)
        np.testing.assert_allclose(step, 0.1 * powers @ gradients[: last + 1], rtol=1e-12)
    with pytest.raises(ValueError, match="learning_rate must be positive"):
        MomentumSteps(0.0)


def test_momentum_of_the_classifier_alone_ends_at_the_machine_and_leaves_the_mixture():
    bags, y = labelled_bags(20, 20)
    settings = {"optimiser": "momentum", "trained": "classifier", "penalty": 0.1}
    settings |= {"learning_rate": 0.1, "batch_size": 20, "n_epochs": 300}
    machine = network(n_epochs=0, penalty=0.1).fit(bags, y)
    model = network(classifier="zero", **settings).fit(bags, y)
    np.testing.assert_array_equal(model.mixture_.means_, machine.mixture_.means_)
    np.testing.assert_allclose(model.coef_, machine.coef_, atol=1e-4)
    passed = fisher_layer.forward(model._scaled(bags), model._coordinates)
    np.testing.assert_array_equal(passed.vectors, machine.transform(bags))
