"""The Fisher vector network: gradients by differences, frozen parts, invariants, bad input."""

from functools import partial

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from small_data import numerical_jacobian
from test_fisher_vectors import mean_scores

from workflow_lib import FisherVectorNetwork, GaussianMixtureModel
from workflow_lib.models.mixtures.mixture_gradient import Coordinates
from workflow_lib.papers.palasek import fisher_layer


def labelled_bags(n_bags=40, n_labelled=12, n_rows=30):
    """Return bags of three clusters, whose shares depend on the class, and y with -1."""
    random = np.random.default_rng(0)
    centres, shares = np.array([[0, 0], [4, 0], [0, 4]]), [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]]
    y = np.arange(n_bags) % 2
    bags = [
        centres[random.choice(3, n_rows, p=shares[label])] + random.normal(size=(n_rows, 2))
        for label in y
    ]
    return bags, np.where(np.arange(n_bags) < n_labelled, y, -1)


def network(**settings):
    return FisherVectorNetwork(**{"n_components": 3, "n_epochs": 2} | settings)


def differences(function, values):
    """Return the gradient of a function of an array by differences."""
    found = numerical_jacobian(lambda flat: function(flat.reshape(values.shape)), values.ravel())
    return found.reshape(values.shape)


@pytest.mark.parametrize("length", [False, True])
@pytest.mark.parametrize("root", [False, True])
def test_gradients_of_the_layer_equal_differences(root, length):
    random = np.random.default_rng(1)
    bags = [random.normal(size=(size, 4)) for size in (5, 1, 9)]
    alpha, means = random.normal(size=3), random.normal(size=(3, 4))
    coordinates = Coordinates(alpha, means, random.uniform(0.5, 1.5, (3, 4)))
    directions = random.normal(size=(3, 3 + 2 * 12))
    passed = fisher_layer.forward(bags, coordinates, root, length)
    found = fisher_layer.backward(passed, coordinates, directions, root, length)
    for name in Coordinates._fields:

        def value(values, name=name):
            moved = coordinates._replace(**{name: values})
            return (fisher_layer.forward(bags, moved, root, length).vectors * directions).sum()

        expected = differences(value, getattr(coordinates, name))
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-6)
    again = fisher_layer.backward(passed, coordinates, directions, root, length, of_rows=True)
    assert all((again[name] == found[name]).all() for name in found)

    def value_of_rows(rows):
        moved = np.split(rows, passed.bounds[1:-1])
        return (fisher_layer.forward(moved, coordinates, root, length).vectors * directions).sum()

    expected = differences(value_of_rows, np.concatenate(bags))
    np.testing.assert_allclose(again["rows"], expected, rtol=1e-6, atol=1e-6)


def test_gradients_of_the_hybrid_cost_equal_differences():
    bags, y = labelled_bags(10, 6)
    model = network(n_epochs=1, unlabelled_weight=0.3, learning_rate=1e-2).fit(bags, y)
    found = model._cost_and_gradients(model._scaled(bags), y, np.ones(len(y)), None)[2]

    def cost_with(name, values):
        kept = model._coordinates, model.coef_, model.intercept_
        if name in Coordinates._fields:
            model._coordinates = model._coordinates._replace(**{name: values})
        else:
            setattr(model, f"{name}_", values)
        cost = model.objective(bags, y)
        model._coordinates, model.coef_, model.intercept_ = kept
        return cost

    weights = {"coef": model.coef_, "intercept": model.intercept_}
    for name, values in (model._coordinates._asdict() | weights).items():
        expected = differences(partial(cost_with, name), values)
        np.testing.assert_allclose(found[name], expected, rtol=1e-5, atol=1e-7)


def test_the_untrained_network_is_a_linear_machine_on_fisher_vectors():
    bags, y = labelled_bags()
    mixture = GaussianMixtureModel(3, "diag").fit(np.concatenate(bags))
    model = network(model=mixture, n_epochs=0, root=False, length=False).fit(bags, y)
    vectors = model.transform(bags)
    expected = [mean_scores(mixture, bag) for bag in bags]
    np.testing.assert_allclose(vectors[:, 3:], expected, rtol=1e-9, atol=1e-12)
    shares = [mixture.responsibilities(bag).mean(axis=0) for bag in bags]
    weights = mixture.weights_
    np.testing.assert_allclose(vectors[:, :3], (shares - weights) / np.sqrt(weights), atol=1e-12)
    roots = np.sign(vectors) * np.sqrt(np.abs(vectors))
    improved = network(model=mixture, n_epochs=0).fit(bags, y).transform(bags)
    lengths = np.linalg.norm(roots, axis=1, keepdims=True)
    np.testing.assert_allclose(improved, roots / lengths, atol=1e-6)
    known = y != -1
    machine = LinearSVC(C=1 / (model.penalty * known.sum()), tol=1e-9, max_iter=10**6)
    machine.fit(vectors[known], y[known])
    scores = model.decision_function(bags)
    np.testing.assert_allclose(scores[:, 1], machine.decision_function(vectors), atol=1e-4)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-4)
    # It is the minimum of the cost of the linear layer.
    gradients = model._cost_and_gradients(model._scaled(bags), y, np.ones(len(y)), None)[2]
    np.testing.assert_allclose(gradients["coef"], 0.0, atol=1e-5)
    np.testing.assert_allclose(gradients["intercept"], 0.0, atol=1e-5)


def test_weights_of_bags_are_those_of_repeated_bags():
    bags, y = labelled_bags(12, 12)
    mixture = GaussianMixtureModel(3, "diag").fit(np.concatenate(bags))
    weights = np.where(np.arange(12) < 5, 3.0, 1.0)
    settings = {"model": mixture, "n_epochs": 0}
    weighted = network(**settings).fit(bags, y, weights)
    again = np.repeat(np.arange(12), weights.astype(int))
    repeated = network(**settings).fit([bags[bag] for bag in again], y[again])
    np.testing.assert_allclose(
        weighted.decision_function(bags), repeated.decision_function(bags), atol=1e-5
    )
    found = weighted._cost_and_gradients(weighted._scaled(bags), y, weights, None)[2]
    more = weighted._scaled([bags[bag] for bag in again])
    expected = weighted._cost_and_gradients(more, y[again], np.ones(len(again)), None)[2]
    for name in ("coef", "intercept"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-12)
    with pytest.raises(ValueError, match="sample_weight must be 12 positive numbers"):
        network().fit(bags, y, np.zeros(12))


def test_unlabelled_bags_without_weight_and_ascents_change_no_bit():
    bags, y = labelled_bags()
    settings = {"start_bags": "labelled", "unlabelled_weight": 0.0, "learning_rate": 1e-3}
    alone = network(**settings).fit([b for b, label in zip(bags, y) if label != -1], y[y != -1])
    both = network(**settings).fit(bags, y)
    np.testing.assert_array_equal(both.decision_function(bags), alone.decision_function(bags))
    for more in ({"m_steps": 1}, {"unlabelled_weight": 0.1}):
        changed = network(**settings | more).fit(bags, y)
        assert (changed.decision_function(bags) != alone.decision_function(bags)).any()


@pytest.mark.parametrize("batches", ["halves", "mixed"])
def test_controls_drop_unlabelled_bags_and_refit_the_machine(batches):
    bags, y = labelled_bags()
    settings = {"batches": batches, "m_steps": 2, "learning_rate": 1e-3, "batch_size": 6}
    trained = network(**settings).fit(bags, y)
    updates = {"used": 2 * (7 if batches == "mixed" else 2)}
    updates["replaced"] = updates["used"]
    # Whatever the unlabelled bags hold.
    others = [bag * 0.0 if label == -1 else bag for bag, label in zip(bags, y)]
    for control in ("dropped", "replaced"):
        changed = network(in_batches=control, **settings).fit(bags, y)
        assert (changed.mixture_.means_ != trained.mixture_.means_).any()
        same = network(in_batches=control, start_bags="labelled", **settings)
        first, second = (same.fit(each, y).coef_ for each in (bags, others))
        np.testing.assert_array_equal(first, second)
        found = changed.history_[-1]["updates"]
        assert found == updates.get(control, found) <= updates["used"]
    assert trained.history_[-1]["updates"] == updates["used"]
    refitted = network(refit=True, **settings).fit(bags, y)
    np.testing.assert_array_equal(refitted.mixture_.means_, trained.mixture_.means_)
    gradients = refitted._cost_and_gradients(refitted._scaled(bags), y, np.ones(len(y)), None)[2]
    np.testing.assert_allclose(gradients["coef"], 0.0, atol=1e-5)


@pytest.mark.parametrize("batches", ["halves", "mixed"])
def test_training_lowers_the_cost_and_is_reproducible(batches):
    bags, y = labelled_bags()
    settings = {"batches": batches, "learning_rate": 1e-3, "m_steps": 2, "n_epochs": 20}
    before = network(n_epochs=0).fit(bags, y)
    model = network(**settings).fit(bags, y)
    assert model.objective(bags, y) < before.objective(bags, y)
    assert model.history_[-1]["loss"] < model.history_[0]["loss"]
    truth = np.arange(len(y)) % 2
    assert (model.predict(bags) == truth).mean() > 0.9
    again = network(**settings).fit(bags, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.mixture_.means_, model.mixture_.means_)
    total = model.mixture_.score_samples(np.concatenate(bags)).mean()
    assert model.history_[-1]["log_likelihood"] == pytest.approx(total, abs=0.1)


def test_the_start_of_the_paper_and_single_steps():
    bags, y = labelled_bags()
    paper = {"start": "k_means", "start_bags": "labelled", "classifier": "zero"}
    model = network(**paper).partial_fit(bags[:4], y[:4]).partial_fit(bags[20:24], y[20:24])
    assert len(model.history_) == 2 and np.isnan(model.history_[1]["loss"])
    assert model.predict(bags).shape == (40,)


def test_bad_input_is_refused():
    bags, y = labelled_bags()
    with pytest.raises(
        ValueError, match=r"Bag 1 must be rows of numbers; found the shape \(0, 2\)"
    ):
        network().fit([bags[0], np.empty((0, 2))], [0, 1])
    with pytest.raises(ValueError, match="Bag 1 has 1 columns; expected 2"):
        network().fit([bags[0], bags[1][:, :1]], [0, 1])
    with pytest.raises(ValueError, match="Bag 0 holds NaN"):
        network().fit([bags[0] * np.nan, bags[1]], [0, 1])
    with pytest.raises(ValueError, match="labelled bags of two classes; found 1"):
        network().fit(bags[:2], [0, -1])
    with pytest.raises(ValueError, match="y must have one class for each of 2 bags"):
        network().fit(bags[:2], [0])
    with pytest.raises(ValueError, match=r"The classes \[2\] are not among \[0, 1\]"):
        network().partial_fit(bags[:2], [0, 1]).partial_fit(bags[:2], [0, 2])
    with pytest.raises(ValueError, match="learning_rate=1e[+]300 or m_step_rate=0.01 is too large"):
        network(learning_rate=1e300).fit(bags, y)
    for settings in ({"penalty": 0.0}, {"batch_size": 0}, {"start": "best"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            network(**settings).fit(bags, y)
    # A bag of one row is a bag.
    assert network(n_epochs=1).fit([bag[:1] for bag in bags], y).predict(bags).shape == (40,)


def test_few_rows_and_constant_columns_are_no_obstacle():
    random = np.random.default_rng(0)
    single = [random.normal(4.0 * (bag % 2), 1.0, (1, 2)) for bag in range(6)]
    y = np.arange(6) % 2
    with pytest.warns(UserWarning, match="only 6 distinct"):
        few = network(n_components=16).fit(single, y)
    assert (few.predict(single) == y).all() and len(few.mixture_.weights_) == 6
    constant = [
        np.hstack([np.repeat(bag, 4, axis=0) + random.normal(size=(4, 2)), np.ones((4, 1))])
        for bag in single
    ]
    assert (network(n_components=2).fit(constant, y).predict(constant) == y).all()
