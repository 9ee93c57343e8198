"""Kernel ridge regression with a prior of the outputs: what it learns from outputs alone."""

import numpy as np
import pytest
from test_methods_contract import data_for, run

from workflow_lib.methods.posterior_ridge import Fitted, Method, Prior
from workflow_lib.models.posterior import GaussianPosterior

NAME = "posterior_ridge"


@pytest.fixture(scope="module")
def data():
    return data_for(NAME)


@pytest.fixture(scope="module")
def items(data, tmp_path_factory):
    return run(NAME, tmp_path_factory.mktemp("items"), data)


def test_every_number_of_unpaired_outputs_is_a_study_and_the_largest_the_result(data, items):
    assert sorted(map(int, data.split["unpaired_sizes"])) == [6, 15]
    for size in (20, 30):
        name = f"n-{size}_w-0_C-selected"
        studied = {count: items[f"{name}_unpaired_size={count}"] for count in (0, 6, 15)}
        assert [int(item["unpaired_size"]) for item in studied.values()] == [0, 6, 15]
        np.testing.assert_array_equal(studied[15]["test_targets"], items[name]["test_targets"])


def test_unpaired_outputs_are_used_and_their_inputs_are_not(tmp_path, data, items):
    rows = data.split["unpaired"][:6]
    name = "n-20_w-0_C-selected_unpaired_size="
    of_inputs = run(NAME, tmp_path / "inputs", data.changed(rows, "X", "lagged_values"))
    np.testing.assert_array_equal(
        of_inputs[f"{name}15"]["test_targets"], items[f"{name}15"]["test_targets"]
    )
    of_outputs = run(NAME, tmp_path / "outputs", data.changed(rows, "Y"))
    np.testing.assert_array_equal(
        of_outputs[f"{name}0"]["test_targets"], items[f"{name}0"]["test_targets"]
    )
    assert of_outputs[f"{name}6"]["heldout_outputs"].shape == (20, 3)
    differs = of_outputs[f"{name}6"]["score"] != items[f"{name}6"]["score"]
    assert (
        differs or items[f"{name}6"]["noise_factor"] == of_outputs[f"{name}6"]["noise_factor"] == 0
    )


def test_the_score_is_never_worse_than_that_of_kernel_ridge(tmp_path, data, items):
    ridge = run("kernel_ridge", tmp_path, data)
    for size in (20, 30):
        name = f"n-{size}_w-0_C-selected"
        assert items[name]["score"] <= ridge[name]["score"] + 1e-12
        if items[name]["noise_factor"] == 0:
            np.testing.assert_allclose(items[name]["test_targets"], ridge[name]["test_targets"])


class Ridge:
    """A fitted ridge that predicts what it is given."""

    def predict(self, rows):
        return rows

    def to_arrays(self):
        return {"dual_coefficients": np.zeros((1, 2)), "intercept": np.zeros(2), "kernel": "linear"}


def test_predictions_are_posterior_means_in_units_of_the_outputs():
    random = np.random.default_rng(0)
    outputs = random.normal(size=(40, 2)) @ [[1.0, 300.0], [0.5, -200.0]] + [5.0, 1000.0]

    class Data:
        folds = np.zeros(40, dtype=int)
        unpaired_outputs = outputs[30:]

    Data.outputs = outputs[:30]
    method = Method("linear", [], [1.0], True, "arrmse", {}, 0)
    prior = method._fitted(Prior("gaussian", None), Data, None)
    mean, covariance = outputs.mean(axis=0), np.cov(outputs.T, bias=True)
    noise = 0.3 * np.diag(covariance)
    predicted = random.normal(size=(5, 2)) * [1.0, 100.0] + mean
    found = Fitted(Ridge(), prior, noise).predict(predicted)
    expected = GaussianPosterior(np.ones(1), mean[None], covariance[None], "full", noise).means(
        predicted
    )
    # The covariance is shrunk a little.
    np.testing.assert_allclose(found, expected, atol=0.05 * np.sqrt(np.diag(covariance)).max())
    np.testing.assert_allclose(Fitted(Ridge(), None, noise).predict(predicted), predicted)


@pytest.mark.parametrize(
    "prior", [Prior("gaussian", None), Prior("mixture", 4), Prior("kernel", 0.3)]
)
def test_names_of_priors_read_back(prior):
    assert Prior.from_name(prior.name) == prior
