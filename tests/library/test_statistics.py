"""The statistics equal scipy's and hand computations, and say where there is no test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from workflow_lib.experiments.statistics import (
    corrected_resampled_t_test,
    mean_and_deviation,
    paired_t_test,
)

FIRST = [0.90, 0.85, 0.97, 0.88, 0.93]
SECOND = [0.92, 0.91, 0.95, 0.95, 0.99]


def test_mean_and_deviation_by_hand():
    mean, deviation = mean_and_deviation([1.0, 2.0, 6.0])
    assert mean == 3.0
    assert deviation == pytest.approx(math.sqrt((4 + 1 + 9) / 2))


def test_deviation_of_one_value_is_undefined():
    mean, deviation = mean_and_deviation([0.7])
    assert mean == 0.7
    assert math.isnan(deviation)


def test_mean_of_no_value_is_undefined():
    assert all(math.isnan(number) for number in mean_and_deviation([]))


def test_paired_t_test_equals_scipy():
    expected = stats.ttest_rel(FIRST, SECOND)
    test = paired_t_test(FIRST, SECOND)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-12)
    assert test.n_splits == 5
    assert test.n_nonzero == 5


def test_effect_is_the_mean_in_units_of_the_spread():
    test = paired_t_test([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert test.mean_difference == pytest.approx(2.0)
    assert test.effect == pytest.approx(2.0)
    assert test.statistic == pytest.approx(2.0 * math.sqrt(3))


def test_corrected_test_by_hand():
    # d = 1, 2, 3: m = 2, s^2 = 1, J = 3; factor 1/3 + 40/60 = 1, so t = 2 with 2 degrees of
    # freedom, whose two-sided p value is 1 - t / sqrt(t^2 + 2).
    test = corrected_resampled_t_test([1.0, 2.0, 3.0], [0.0] * 3, n_train=60, n_test=40)
    assert test.statistic == pytest.approx(2.0)
    assert test.p_value == pytest.approx(1.0 - 2.0 / math.sqrt(6.0))


def test_corrected_test_is_more_cautious_with_more_test_rows():
    p_values = [
        corrected_resampled_t_test(FIRST, SECOND, n_train=50, n_test=n_test).p_value
        for n_test in (1, 50, 500)
    ]
    assert paired_t_test(FIRST, SECOND).p_value < p_values[0] < p_values[1] < p_values[2]


def test_equal_scores_have_p_one():
    for test in (
        paired_t_test(FIRST, FIRST),
        corrected_resampled_t_test(FIRST, FIRST, n_train=20, n_test=10),
    ):
        assert test.p_value == 1.0
        assert test.n_nonzero == 0
        assert test.effect == 0.0
        assert test.note == "all differences are zero"


def test_differences_of_rounding_count_as_zero():
    # One sign throughout: without the tolerance the test would be sure of a difference.
    shifted = np.array(FIRST) * (1 + 1e-13)
    assert paired_t_test(shifted, FIRST).p_value == 1.0


def test_equal_nonzero_differences_have_p_zero():
    test = paired_t_test([1.5, 2.5, 3.5], [2.0, 3.0, 4.0])
    assert test.p_value == 0.0
    assert test.statistic == -math.inf
    assert test.effect == -math.inf
    assert test.note == "all differences are equal and not zero"


def test_some_zero_differences_are_counted():
    assert paired_t_test([1.0, 2.0, 3.0], [1.0, 2.5, 3.0]).n_nonzero == 1


def test_one_split_gives_no_test():
    test = paired_t_test([0.8], [0.9])
    assert math.isnan(test.p_value)
    assert math.isnan(test.effect)
    assert test.mean_difference == pytest.approx(-0.1)
    assert test.note == "n = 1"


@pytest.mark.parametrize("second", [[], [1.0], [1.0, 2.0, 3.0]])
def test_unpaired_scores_are_refused(second):
    with pytest.raises(ValueError, match="paired scores"):
        paired_t_test([1.0, 2.0] if second else [], second)


@pytest.mark.parametrize("sizes", [(0, 10), (10, 0)])
def test_numbers_of_rows_must_be_positive(sizes):
    with pytest.raises(ValueError, match="positive"):
        corrected_resampled_t_test(FIRST, SECOND, *sizes)


def test_p_values_under_the_null_are_uniform():
    random = np.random.default_rng(7)
    p_values = [paired_t_test(*random.normal(1.0, 0.1, size=(2, 6))).p_value for _ in range(2000)]
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
