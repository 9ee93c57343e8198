"""Relative errors: definitions, constant coordinates, units."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import r2_score
from small_data import clustered_outputs

from workflow_lib.metrics import (
    average_relative_error,
    norm_relative_error,
    pooled_relative_error,
    reference_errors,
    relative_error,
    root_sum_relative_error,
    squared_error_sums,
    training_mean_errors,
)


def test_definitions_by_hand():
    truth = np.array([[1.0, 10.0], [3.0, 30.0]])
    predictions = np.array([[1.0, 20.0], [2.0, 30.0]])
    errors = squared_error_sums(truth, predictions)
    np.testing.assert_array_equal(errors, [1.0, 100.0])
    reference = np.array([4.0, 100.0])
    assert average_relative_error(errors, reference) == pytest.approx((0.5 + 1.0) / 2)
    assert pooled_relative_error(errors, reference) == pytest.approx(np.sqrt(101 / 104))
    assert root_sum_relative_error(errors, reference) == pytest.approx(np.sqrt(0.25 + 1.0))
    assert norm_relative_error(errors, truth) == pytest.approx(np.sqrt(101 / (1 + 9 + 100 + 900)))


def test_the_error_relative_to_the_norm_counts_observed_outputs_only():
    truth = np.array([[3.0, np.nan], [np.nan, 4.0]])
    errors = squared_error_sums(truth, np.array([[2.0, 9.0], [9.0, 2.0]]))
    assert norm_relative_error(errors, truth) == pytest.approx(np.sqrt(5 / 25))
    assert norm_relative_error(np.array([errors, 4 * errors]), truth)[1] == pytest.approx(
        2 * np.sqrt(5 / 25)
    )
    # It depends on the zero of the outputs, and is 1 for predicting it.
    assert norm_relative_error(squared_error_sums(truth, 0.0), truth) == 1.0
    assert norm_relative_error(errors, truth + 100) < 0.03
    assert np.isnan(norm_relative_error(errors, np.zeros((2, 2))))


def test_metrics_by_name():
    errors, reference = np.array([1.0, 100.0]), np.array([4.0, 100.0])
    assert relative_error(errors, reference, "arrmse") == average_relative_error(errors, reference)
    assert relative_error(errors, reference, "rrmse") == pooled_relative_error(errors, reference)
    with pytest.raises(KeyError):
        relative_error(errors, reference, "mse")


def test_relation_to_the_coefficient_of_determination():
    truth = clustered_outputs(30)
    predictions = truth + np.random.default_rng(0).normal(size=truth.shape)
    reference = squared_error_sums(truth, truth.mean(axis=0))
    r2 = r2_score(truth, predictions, multioutput="raw_values")
    expected = np.sqrt(1 - r2).mean()
    errors = squared_error_sums(truth, predictions)
    assert average_relative_error(errors, reference) == pytest.approx(expected, rel=1e-12)


def test_leading_axes_are_kept():
    errors = np.random.default_rng(0).random((2, 5, 3))
    reference = np.array([1.0, 2.0, 3.0])
    for metric in (average_relative_error, pooled_relative_error, root_sum_relative_error):
        together = metric(errors, reference)
        assert together.shape == (2, 5)
        assert together[1, 3] == pytest.approx(float(metric(errors[1, 3], reference)))


def test_predicting_the_training_mean_has_error_one():
    train, test = clustered_outputs(20), clustered_outputs(10, seed=1)
    reference = training_mean_errors(test, train)
    errors = squared_error_sums(test, train.mean(axis=0))
    assert average_relative_error(errors, reference) == pytest.approx(1.0)
    assert pooled_relative_error(errors, reference) == pytest.approx(1.0)
    assert root_sum_relative_error(errors, reference) == pytest.approx(np.sqrt(3.0))


def test_constant_coordinates_are_left_out_of_the_average():
    errors, reference = np.array([1.0, 5.0, 4.0]), np.array([4.0, 0.0, 4.0])
    assert average_relative_error(errors, reference) == pytest.approx(0.75)
    assert np.isnan(average_relative_error(errors, np.zeros(3)))
    assert root_sum_relative_error(errors, reference) == pytest.approx(np.sqrt(1.25))
    assert np.isnan(root_sum_relative_error(errors, np.zeros(3)))
    assert np.isnan(pooled_relative_error(errors, np.zeros(3)))
    assert np.isnan(average_relative_error(np.ones((2, 3)), np.zeros(3))).all()


def test_reference_errors_sum_over_the_folds():
    outputs, folds = clustered_outputs(9), np.arange(9) % 3
    expected = np.zeros(3)
    for fold in range(3):
        mean = outputs[folds != fold].mean(axis=0)
        expected += ((outputs[folds == fold] - mean) ** 2).sum(axis=0)
    np.testing.assert_allclose(reference_errors(outputs, folds), expected, rtol=1e-13)


@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e12])
def test_constants_are_recognised_in_any_unit_and_small_numbers_are_not_constants(unit):
    # The mean of many equal numbers is not always that number.
    outputs = unit * np.column_stack([np.full(30, 0.1), clustered_outputs(30)[:, 0]])
    folds = np.arange(30) % 7
    for reference in (reference_errors(outputs, folds), training_mean_errors(outputs, outputs)):
        assert reference[0] == 0
        assert reference[1] > 0


def test_constant_outputs_of_many_rows_have_no_relative_error():
    outputs = np.full((5000, 1), 0.1)
    assert training_mean_errors(outputs[:10], outputs) == 0
    assert reference_errors(outputs, np.arange(5000) % 5) == 0


@pytest.mark.parametrize("n_folds", [2, 5, 12])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_reference_errors_are_those_of_the_training_means(n_folds, offset):
    generator = np.random.default_rng(0)
    outputs = generator.normal(size=(12, 3)) + offset
    folds = generator.permutation(np.arange(12) % n_folds)
    expected = sum(
        ((outputs[row] - outputs[folds != folds[row]].mean(axis=0)) ** 2) for row in range(12)
    )
    np.testing.assert_allclose(reference_errors(outputs, folds), expected, rtol=1e-8)
    # A missing output takes the other way; the other coordinates do not notice.
    outputs[4, 0] = np.nan
    np.testing.assert_allclose(reference_errors(outputs, folds)[1:], expected[1:], rtol=1e-8)
