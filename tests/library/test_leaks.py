"""Columns that reveal an output are found in any unit, and others are not reported."""

import numpy as np
import pytest
from scipy.stats import pearsonr, rankdata, spearmanr

from workflow_lib.table.leaks import (
    MIN_COMMON_ROWS,
    average_ranks,
    correlations,
    level_leaks,
    numeric_leaks,
    rank_correlation,
)


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def with_gaps(values, generator, share=0.2):
    return np.where(generator.random(values.shape) < share, np.nan, values)


def test_correlations_are_pearsons_over_common_rows(generator):
    first = with_gaps(generator.normal(size=(40, 3)) * [1, 1e6, 1e-6] + [0, 5e6, 1], generator)
    second = with_gaps(generator.normal(size=(40, 2)) + first[:, :2] / [1, 1e6], generator)
    found = correlations(first, second)
    for i in range(3):
        for j in range(2):
            common = ~(np.isnan(first[:, i]) | np.isnan(second[:, j]))
            expected = pearsonr(first[common, i], second[common, j]).statistic
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_correlations_of_huge_numbers_do_not_overflow(generator):
    values = generator.normal(size=(30, 1))
    assert correlations(values * 1e300, values * 1e-300)[0, 0] == pytest.approx(1.0)


def test_constant_columns_and_columns_with_few_common_rows_have_no_correlation(generator):
    values = generator.normal(size=(30, 1))
    assert correlations(np.full((30, 1), 0.1), values)[0, 0] == 0.0
    rare = np.full((30, 1), np.nan)
    rare[: MIN_COMMON_ROWS - 1] = values[: MIN_COMMON_ROWS - 1]
    assert correlations(rare, values)[0, 0] == 0.0
    rare[MIN_COMMON_ROWS - 1] = values[MIN_COMMON_ROWS - 1]
    assert correlations(rare, values)[0, 0] == pytest.approx(1.0)


def test_ranks_are_those_of_scipy(generator):
    values = generator.integers(0, 5, size=30).astype(float)
    np.testing.assert_array_equal(average_ranks(values[:, None])[:, 0], rankdata(values))
    values[3] = np.nan
    ranks = average_ranks(values[:, None])[:, 0]
    assert np.isnan(ranks[3])
    np.testing.assert_array_equal(np.delete(ranks, 3), rankdata(np.delete(values, 3)))


def test_rank_correlation_is_spearmans_over_common_rows(generator):
    first = with_gaps(generator.integers(0, 9, size=50).astype(float), generator)
    second = with_gaps(first + generator.normal(size=50), generator)
    common = ~(np.isnan(first) | np.isnan(second))
    expected = spearmanr(first[common], second[common]).statistic
    assert rank_correlation(first, second) == pytest.approx(expected, abs=1e-12)


def kinds(leaks):
    return {(leak.column, leak.output): leak.kind for leak in leaks}


def test_copies_in_other_units_near_copies_and_monotone_columns_are_reported(generator):
    y = generator.normal(size=(80, 2))
    columns = {
        "copy": 1000 * y[:, 0] + 3,
        "negative": -y[:, 1],
        "near": y[:, 0] + 0.02 * generator.normal(size=80),
        "monotone": np.exp(4 * y[:, 1]),
        "related": y[:, 0] + 0.2 * generator.normal(size=80),
        "unrelated": generator.normal(size=80),
    }
    found = numeric_leaks(np.column_stack(list(columns.values())), y, list(columns), ["a", "b"])
    assert kinds(found) == {
        ("copy", "a"): "equal",
        ("negative", "b"): "equal",
        ("near", "a"): "correlation",
        ("monotone", "b"): "rank correlation",
    }
    strengths = {leak.column: leak.strength for leak in found}
    assert strengths["negative"] == pytest.approx(-1.0)


def test_a_huge_value_that_two_columns_share_is_not_taken_for_a_copy(generator):
    y, x = generator.normal(size=(2, 60, 1))
    y[7] = x[7] = 1e6
    (leak,) = numeric_leaks(x, y, ["x"], ["y"])
    assert leak.kind == "correlation"


def test_missing_values_hide_no_copy(generator):
    y = with_gaps(generator.normal(size=(80, 1)), generator, 0.4)
    x = np.column_stack([with_gaps(y[:, 0] * 5, generator, 0.4), np.exp(4 * y[:, 0])])
    found = numeric_leaks(x, y, ["copy", "monotone"], ["y"])
    assert kinds(found) == {("copy", "y"): "equal", ("monotone", "y"): "rank correlation"}


def test_many_columns_are_searched_in_blocks(generator):
    y = generator.normal(size=(30, 1))
    x = generator.normal(size=(30, 600))
    x[:, 555] = y[:, 0]
    (leak,) = numeric_leaks(x, y, [f"x{column}" for column in range(600)], ["y"])
    assert (leak.column, leak.kind) == ("x555", "equal")


def test_levels_that_fix_an_output_are_reported(generator):
    plate = np.array([f"plate {row // 6}" for row in range(60)], dtype=object)
    of_plate = generator.normal(size=10)[np.arange(60) // 6]
    outputs = np.column_stack([of_plate, of_plate + 1e-2 * generator.normal(size=60)])
    (leak,) = level_leaks({"plate": plate}, outputs, ["fixed", "varying"])
    assert (leak.column, leak.output, leak.kind) == ("plate", "fixed", "levels")
    assert leak.strength == pytest.approx(1.0)


def test_levels_of_few_rows_fix_everything_by_chance_and_are_not_reported(generator):
    pairs = np.array([str(row // 2) for row in range(60)], dtype=object)
    outputs = np.repeat(generator.normal(size=30), 2)[:, None]
    assert level_leaks({"pair": pairs}, outputs, ["y"]) == []


def test_missing_outputs_do_not_count_as_levels(generator):
    plate = np.array([str(row // 6) for row in range(60)], dtype=object)
    outputs = generator.normal(size=10)[np.arange(60) // 6][:, None]
    outputs[::4] = np.nan
    assert len(level_leaks({"plate": plate}, outputs, ["y"])) == 1
