"""Shapley values are those of their definition, of linear methods exactly."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.table import shapley
from workflow_lib.table.input_groups import column_groups
from workflow_lib.table.shapley import shapley_values

GENERATOR = np.random.default_rng(0)
WEIGHTS = GENERATOR.normal(size=(5, 2))
ROWS, BACKGROUND = GENERATOR.normal(size=(3, 5)), GENERATOR.normal(size=(12, 5))


def linear(inputs):
    return inputs @ WEIGHTS + 1.5


def interacting(inputs):
    return np.column_stack(
        [inputs[:, 0] * inputs[:, 1] + inputs[:, 2], np.tanh(inputs).prod(axis=1)]
    )


def encoded(inputs):
    return EncodedRows(np.asarray(inputs, dtype=float), [], None, [], [""] * len(inputs))


def values_of(function, groups, n_background=12, rows=ROWS, background=BACKGROUND, seed=0):
    found = column_groups({str(index): (indices, []) for index, indices in enumerate(groups)})
    return shapley_values(
        lambda rows: function(rows.inputs),
        encoded(rows),
        encoded(background),
        found,
        n_background,
        seed,
    )


def by_all_orders(function, groups):
    """Return the Shapley values by the definition: the mean over all orders of the groups."""
    orders = list(permutations(range(len(groups))))
    values = np.zeros((len(ROWS), len(groups), function(ROWS).shape[1]))
    for row, inputs in enumerate(ROWS):
        for order in orders:
            current = BACKGROUND.copy()
            before = function(current).mean(axis=0)
            for group in order:
                current[:, groups[group]] = inputs[groups[group]]
                after = function(current).mean(axis=0)
                values[row, group] += (after - before) / len(orders)
                before = after
    return values


SINGLE = [[0], [1], [2], [3], [4]]


@pytest.mark.parametrize("groups", [SINGLE, [[0, 3], [1], [2, 4]]])
def test_few_inputs_have_the_values_of_the_definition(groups):
    found, mean = values_of(interacting, groups)
    np.testing.assert_allclose(found, by_all_orders(interacting, groups), atol=1e-12)
    np.testing.assert_allclose(mean, interacting(BACKGROUND).mean(axis=0))


@pytest.mark.parametrize("n_background", [2, 12])
def test_a_linear_method_has_exact_values_against_all_rows(n_background):
    found, mean = values_of(linear, SINGLE, n_background)
    expected = (ROWS - BACKGROUND.mean(axis=0))[:, :, None] * WEIGHTS
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(mean, linear(BACKGROUND).mean(axis=0))


def test_drawn_orders_agree_with_all_of_them(monkeypatch):
    monkeypatch.setattr(shapley, "MAX_OF_ALL_SUBSETS", 0)
    many = [values_of(interacting, SINGLE, seed=seed)[0] for seed in range(300)]
    error = np.std(many, axis=0) / np.sqrt(len(many))
    difference = np.abs(np.mean(many, axis=0) - by_all_orders(interacting, SINGLE))
    assert (difference <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("most", [0, 6])
@pytest.mark.parametrize("n_background", [5, 12])
def test_values_sum_to_the_prediction_minus_the_mean(monkeypatch, most, n_background):
    monkeypatch.setattr(shapley, "MAX_OF_ALL_SUBSETS", most)
    found, mean = values_of(interacting, SINGLE, n_background)
    np.testing.assert_allclose(found.sum(axis=1), interacting(ROWS) - mean, atol=1e-12)


def test_batches_change_nothing(monkeypatch):
    monkeypatch.setattr(shapley, "MAX_OF_ALL_SUBSETS", 0)
    expected, _ = values_of(interacting, SINGLE)
    monkeypatch.setattr(shapley, "BATCH_NUMBERS", 1)
    np.testing.assert_allclose(values_of(interacting, SINGLE)[0], expected, atol=1e-13)


def test_values_are_those_of_the_package_shap():
    shap = pytest.importorskip("shap")
    explainer = shap.KernelExplainer(interacting, BACKGROUND)
    theirs = explainer.shap_values(ROWS, nsamples=2**5, silent=True)
    ours, _ = values_of(interacting, SINGLE)
    np.testing.assert_allclose(
        np.stack(theirs, axis=-1) if isinstance(theirs, list) else theirs, ours, atol=1e-6
    )
