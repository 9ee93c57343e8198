"""Sums of squared errors of training means, and relative errors of many predictions at once."""

import numpy as np
import pytest
from small_data import clustered_outputs

from workflow_lib.measures.metrics import (
    average_relative_error,
    norm_relative_error,
    pooled_relative_error,
    reference_errors,
    root_sum_relative_error,
    training_mean_errors,
)


def test_leading_axes_are_kept():
    errors = np.random.default_rng(0).random((2, 5, 3))
    reference = np.array([1.0, 2.0, 3.0])
    for metric in (average_relative_error, pooled_relative_error, root_sum_relative_error):
        together = metric(errors, reference)
        assert together.shape == (2, 5)
        assert together[1, 3] == pytest.approx(float(metric(errors[1, 3], reference)))
        constant = metric(errors, np.zeros(3))
        assert constant.shape == (2, 5) and np.isnan(constant).all()
    together = norm_relative_error(errors, np.ones((4, 3)))
    alone = norm_relative_error(errors[1, 3], np.ones((4, 3)))
    assert together[1, 3] == pytest.approx(float(alone))


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
    # A missing output needs another computation, which does not affect the other coordinates.
    outputs[4, 0] = np.nan
    np.testing.assert_allclose(reference_errors(outputs, folds)[1:], expected[1:], rtol=1e-8)
