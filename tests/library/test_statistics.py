"""The statistics equal scipy's and hand computations, and say where there is no test."""

import math

import numpy as np
import pytest
from each_case import each_case
from scipy import stats

from workflow_lib.protocol.statistics import (
    average_ranks,
    corrected_resampled_t_test,
    effect_sizes,
    friedman_test,
    hedges_correction,
    indistinguishable_groups,
    mean_and_deviation,
    nemenyi_critical_difference,
    paired_t_test,
    ranks_by_dataset,
)

FIRST = [0.90, 0.85, 0.97, 0.88, 0.93]
SECOND = [0.92, 0.91, 0.95, 0.95, 0.99]

# Areas under the ROC curve of four forms of C4.5 on 14 datasets: table 6 of Demsar (2006). Of the
# last but one it prints 0.975 twice, with the ranks 2 and 3.
DEMSAR = 1.0 - np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


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


def test_equal_nonzero_differences_have_no_p_value():
    # Two splits that lose the same test row are no certain proof, as p = 0 would say.
    for test in (
        paired_t_test([1.5, 2.5, 3.5], [2.0, 3.0, 4.0]),
        corrected_resampled_t_test([1.5, 2.5], [2.0, 3.0], n_train=20, n_test=10),
    ):
        assert math.isnan(test.p_value)
        assert math.isnan(test.statistic)
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


@each_case("freedom", range(2, 60, 3))
def test_hedges_factor_is_near_its_usual_approximation(freedom):
    assert hedges_correction(freedom) == pytest.approx(1 - 3 / (4 * freedom - 1), abs=0.009)


@pytest.mark.parametrize(("freedom", "factor"), [(2, math.pi**-0.5), (4, (2 / math.pi) ** 0.5)])
def test_hedges_factor_by_hand(freedom, factor):
    # Gamma(1) = Gamma(2) = 1, Gamma(1/2) = sqrt(pi) and Gamma(3/2) = sqrt(pi) / 2.
    assert hedges_correction(freedom) == pytest.approx(factor)


def test_hedges_factor_needs_degrees_of_freedom():
    assert hedges_correction(1) == 0.0
    with pytest.raises(ValueError, match="positive"):
        hedges_correction(0)


def test_corrected_effects_are_unbiased():
    # Two methods of mean difference 0.8 deviations, in five independent splits each.
    draws = np.random.default_rng(3).normal(size=(8000, 2, 5))
    draws[:, 0] += 0.8
    found = [effect_sizes(*scores) for scores in draws]
    assert np.mean([effect.of_scores for effect in found]) == pytest.approx(0.8, abs=0.03)
    # The difference of two has the deviation sqrt(2).
    expected = 0.8 / math.sqrt(2)
    assert np.mean([effect.of_differences for effect in found]) == pytest.approx(expected, abs=0.03)


def test_effects_are_the_uncorrected_ones_times_the_factor():
    found, test = effect_sizes(FIRST, SECOND), paired_t_test(FIRST, SECOND)
    assert found.of_differences == pytest.approx(hedges_correction(4) * test.effect)
    pooled = math.sqrt((np.var(FIRST, ddof=1) + np.var(SECOND, ddof=1)) / 2)
    expected = (1 - 3 / (4 * 10 - 9)) * np.mean(np.subtract(FIRST, SECOND)) / pooled
    assert found.of_scores == pytest.approx(expected, rel=0.01)
    back = effect_sizes(SECOND, FIRST)
    assert (back.of_differences, back.of_scores) == (-found.of_differences, -found.of_scores)


def test_effects_of_no_difference_no_spread_and_few_splits():
    none = effect_sizes(FIRST, np.array(FIRST) * (1 + 1e-13))
    assert (none.of_differences, none.of_scores) == (0.0, 0.0)
    steady = effect_sizes([1.5, 2.5, 3.5], [2.0, 3.0, 4.0])
    assert steady.of_differences == -math.inf
    assert steady.of_scores == pytest.approx(-0.5 * hedges_correction(4))
    constant = effect_sizes([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])
    assert (constant.of_differences, constant.of_scores) == (math.inf, math.inf)
    effect = effect_sizes([0.8], [0.9])
    assert math.isnan(effect.of_differences) and math.isnan(effect.of_scores)
    two = effect_sizes([0.8, 0.9], [0.9, 1.2])
    assert math.isnan(two.of_differences)
    assert math.isfinite(two.of_scores)


def test_ranks_equal_scipy_with_and_without_ties():
    errors = np.random.default_rng(5).integers(1, 5, size=(30, 6)).astype(float)
    np.testing.assert_array_equal(ranks_by_dataset(errors), stats.rankdata(errors, axis=1))
    np.testing.assert_array_equal(average_ranks(errors), stats.rankdata(errors, axis=1).mean(0))


def test_errors_that_differ_by_rounding_share_a_rank():
    errors = [[0.5, 0.5 * (1 + 1e-13), 0.4], [0.3, 0.2, 0.2 * (1 - 1e-13)]]
    expected = [[2.5, 2.5, 1.0], [3.0, 1.5, 1.5]]
    np.testing.assert_array_equal(ranks_by_dataset(np.array(errors)), expected)


@pytest.mark.parametrize("errors", [[[1.0]], [1.0, 2.0], np.empty((0, 3)), [[1.0, math.nan]]])
def test_ranks_need_a_full_table(errors):
    with pytest.raises(ValueError, match="ranks need"):
        ranks_by_dataset(np.array(errors))


def test_the_ranks_and_the_critical_difference_of_demsar():
    ranks = average_ranks(DEMSAR)
    np.testing.assert_allclose(ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    assert nemenyi_critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert nemenyi_critical_difference(4, 14, risk=0.10) == pytest.approx(1.12, abs=5e-3)


def test_friedman_on_the_data_of_demsar():
    found = friedman_test(DEMSAR)
    expected = stats.friedmanchisquare(*DEMSAR.T)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    # The paper's 9.28 and 3.69 are without the correction for ties.
    ranks = stats.rankdata(DEMSAR, axis=1)
    untied = 1 - sum((row**3 - row).sum() for row in map(_tie_sizes, ranks)) / (14 * 4 * 15)
    statistic = found.statistic * untied
    assert statistic == pytest.approx(9.28, abs=0.01)
    assert 13 * statistic / (14 * 3 - statistic) == pytest.approx(3.69, abs=0.01)
    assert found.f_statistic == pytest.approx(13 * found.statistic / (42 - found.statistic))
    assert found.f_p_value == pytest.approx(stats.f.sf(found.f_statistic, 3, 39))


def _tie_sizes(ranks):
    return np.unique(ranks, return_counts=True)[1]


@pytest.mark.parametrize("shape", [(2, 3), (4, 3), (9, 15)])
def test_friedman_equals_scipy(shape):
    errors = np.random.default_rng(11).integers(1, 8, size=shape).astype(float)
    found, expected = friedman_test(errors), stats.friedmanchisquare(*errors.T)
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)


def test_friedman_of_two_methods_is_the_sign_test_of_large_samples():
    # 7 wins against 2: the squared standardised number of wins, (7 - 2)^2 / 9.
    errors = np.array([[1.0, 2.0]] * 7 + [[2.0, 1.0]] * 2)
    found = friedman_test(errors)
    assert found.statistic == pytest.approx(25 / 9)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(5 / 3))


def test_friedman_of_ties_alone_and_of_full_agreement():
    tied = friedman_test(np.full((4, 3), 0.7))
    assert (tied.statistic, tied.p_value, tied.f_p_value) == (0.0, 1.0, 1.0)
    assert tied.note == "all methods are tied"
    agreed = friedman_test(np.array([[1.0, 2.0, 3.0]] * 4))
    assert agreed.statistic == pytest.approx(8.0)
    assert (agreed.f_statistic, agreed.f_p_value) == (math.inf, 0.0)
    assert agreed.note == "all datasets give the same ranks"
    with pytest.raises(ValueError, match="2 datasets"):
        friedman_test(np.array([[1.0, 2.0, 3.0]]))


def test_friedman_p_values_under_the_null_keep_the_risk():
    random = np.random.default_rng(13)
    tests = [friedman_test(random.normal(size=(12, 4))) for _ in range(1000)]
    assert np.mean([test.p_value < 0.05 for test in tests]) < 0.06
    assert np.mean([test.f_p_value < 0.05 for test in tests]) == pytest.approx(0.05, abs=0.015)


def test_quantiles_of_nemenyi_are_those_printed_by_demsar():
    # Table 5a of Demsar (2006), at the risk 0.05 for 2 to 10 methods.
    printed = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    found = [nemenyi_critical_difference(k, 10) / math.sqrt(k * (k + 1) / 60) for k in range(2, 11)]
    np.testing.assert_allclose(found, printed, atol=1.1e-3)


def test_two_datasets_cannot_distinguish_three_methods():
    assert nemenyi_critical_difference(3, 2) > 2


def test_nemenyi_distinguishes_equal_methods_no_more_often_than_its_risk():
    random = np.random.default_rng(17)
    critical = nemenyi_critical_difference(4, 20)
    ranges = [np.ptp(average_ranks(random.normal(size=(20, 4)))) for _ in range(1000)]
    assert 0.02 < np.mean(np.array(ranges) >= critical) < 0.065


@pytest.mark.parametrize("sizes", [(1, 5), (3, 0)])
def test_a_critical_difference_needs_methods_and_datasets(sizes):
    with pytest.raises(ValueError, match="critical difference needs"):
        nemenyi_critical_difference(*sizes)


def _groups_by_force(ranks, critical):
    """Return the largest sets of methods of which the first and the last are close."""
    order = np.argsort(ranks, kind="stable")
    close = {
        tuple(order[i:j].tolist())
        for i in range(len(order))
        for j in range(i + 2, len(order) + 1)
        if ranks[order[j - 1]] - ranks[order[i]] < critical
    }
    return {group for group in close if not any(set(group) < set(other) for other in close)}


@each_case("seed", range(8))
def test_groups_are_the_largest_ones_of_close_methods(seed):
    ranks = np.random.default_rng(seed).integers(2, 20, size=9) / 2
    for critical in (0.5, 1.0, 2.3, 20.0):
        found = indistinguishable_groups(ranks, critical)
        assert len(set(found)) == len(found)
        assert set(found) == _groups_by_force(ranks, critical)


def test_groups_overlap_and_a_method_alone_is_none():
    assert indistinguishable_groups([1.0, 1.8, 2.6, 4.6], 1.0) == [(0, 1), (1, 2)]
    assert indistinguishable_groups([1.0, 2.0, 3.0], 1.0) == []
    assert indistinguishable_groups([2.0, 1.0, 2.0], 3.0) == [(1, 0, 2)]
