"""Columns of a table move with all that is encoded from them and all that correlates with them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from workflow_lib.data.table_encoding import EncodedRows, TableEncoding
from workflow_lib.table.input_groups import (
    MAX_GROUPS,
    MAX_WINDOWS,
    column_groups,
    correlated_groups,
    exchanged,
    rows_at,
    stacked,
)
from workflow_lib.tabular.table_file import Table

N = 30

COLUMNS = {
    "heat": [str(value) if value % 7 else "" for value in range(N)],
    "depth": [f"{value * value % 11}.5" for value in range(N)],
    "colour": [("red", "blue", "", "green")[value % 4] for value in range(N)],
    "product": [f"steel {value % 5}mm bolt" for value in range(N)],
    "note": [f"word{value % 3} and other{value % 4} things" for value in range(N)],
}

ENCODINGS = {
    "dense": {
        "numbers": ["heat", "depth"],
        "categories": ["colour"],
        "strings": ["product"],
        "missing_indicators": ["heat"],
    },
    "with a text": {
        "numbers": ["heat", "depth"],
        "categories": ["colour"],
        "text": "note",
        "missing_indicators": ["heat"],
    },
}


def dense_rows(values) -> EncodedRows:
    values = np.asarray(values, dtype=float)
    return EncodedRows(values, [], None, [], [""] * len(values))


def single_columns(names):
    return column_groups({name: ([index], []) for index, name in enumerate(names)})


def columns_of(grouping):
    return [group.columns for group in grouping.groups]


@pytest.mark.parametrize("kind", ENCODINGS)
def test_exchanging_a_column_is_the_encoding_of_the_exchanged_column(kind):
    table = Table.from_columns(COLUMNS, "table")
    encoding = TableEncoding.fit(table, **ENCODINGS[kind])
    rows, order = encoding.encode(table), np.random.default_rng(0).permutation(N)
    groups = column_groups(encoding.positions())
    assert [group.name for group in groups] == encoding.columns
    for group in groups:
        changed = {**COLUMNS, group.name: [COLUMNS[group.name][row] for row in order]}
        expected = encoding.encode(Table.from_columns(changed, "table"))
        found = exchanged(rows, rows_at(rows, order), group)
        for ours, theirs in (
            (found.inputs, expected.inputs),
            (found.lagged_values, expected.lagged_values),
        ):
            dense = [getattr(each, "toarray", lambda each=each: each)() for each in (ours, theirs)]
            np.testing.assert_array_equal(*dense)


@pytest.mark.parametrize("kind", ENCODINGS)
def test_rows_are_stacked_in_order(kind):
    table = Table.from_columns(COLUMNS, "table")
    rows = TableEncoding.fit(table, **ENCODINGS[kind]).encode(table)
    found = stacked([rows_at(rows, np.arange(10)), rows_at(rows, np.arange(10, N))])
    for ours, theirs in ((found.inputs, rows.inputs), (found.lagged_values, rows.lagged_values)):
        dense = [getattr(each, "toarray", lambda each=each: each)() for each in (ours, theirs)]
        np.testing.assert_array_equal(*dense)


def test_numbers_are_grouped_by_their_rank_correlation():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 200))
    values = np.column_stack([first, second, np.exp(3 * first), -second + 0.1 * first])
    assert abs(spearmanr(values[:, 1], values[:, 3])[0]) > 0.7
    grouping = correlated_groups(single_columns("abcd"), dense_rows(values))
    assert columns_of(grouping) == [("a", "c"), ("b", "d")]
    assert grouping.groups[0].name == "a and c" and grouping.limit == 0.7
    alone = correlated_groups(single_columns("abcd"), dense_rows(values), 1.1)
    assert columns_of(alone) == [("a",), ("b",), ("c",), ("d",)]


def test_a_category_is_grouped_with_one_that_has_the_same_levels():
    generator = np.random.default_rng(1)
    level = generator.integers(3, size=200)
    values = np.column_stack(
        [np.eye(3)[level], np.eye(3)[(level + 1) % 3], generator.normal(size=200)]
    )
    columns = column_groups({"a": ([0, 1, 2], []), "b": ([3, 4, 5], []), "c": ([6], [])})
    assert columns_of(correlated_groups(columns, dense_rows(values))) == [("a", "b"), ("c",)]


def test_missing_and_constant_values_are_no_obstacle():
    generator = np.random.default_rng(2)
    values = generator.normal(size=(50, 4))
    values[:, 1] = values[:, 0]
    values[::3, 1], values[:, 2], values[:, 3] = np.nan, 1.0, np.nan
    grouping = correlated_groups(single_columns("abcd"), dense_rows(values))
    assert ("a", "b") in columns_of(grouping) and ("c",) in columns_of(grouping)


def test_channels_are_grouped_in_windows():
    generator = np.random.default_rng(3)
    grid = np.linspace(0, 1, 60)
    peaks = np.exp(-(((grid - np.array([[0.2], [0.7]])) / 0.1) ** 2))
    values = generator.random((100, 2)) @ peaks + 0.001 * generator.normal(size=(100, 60))
    names = [f"nm {1000 + 2 * channel}" for channel in range(60)]
    grouping = correlated_groups(single_columns(names), dense_rows(values))
    assert 2 <= len(grouping.groups) <= MAX_WINDOWS and grouping.window_limit <= 0.7
    assert [name for group in grouping.groups for name in group.columns] == names
    widest = sorted(grouping.groups, key=lambda group: len(group.columns))[-2:]
    assert {12, 42} == {index for index in (12, 42) for group in widest if index in group.inputs}
    assert all(group.name == f"{group.columns[0]} to {group.columns[-1]}" for group in widest)


def test_numbered_columns_without_correlation_are_no_channels():
    values = np.random.default_rng(4).normal(size=(300, 20))
    names = [f"x{index}" for index in range(20)]
    assert len(correlated_groups(single_columns(names), dense_rows(values)).groups) == 20


def test_very_many_columns_make_no_more_groups_than_allowed():
    values = np.random.default_rng(5).normal(size=(40, 3500))
    names = [f"{'abc'[index % 3]}{index * 7919 % 3500}" for index in range(3500)]
    grouping = correlated_groups(single_columns(names), dense_rows(values))
    assert len(grouping.groups) <= MAX_GROUPS and grouping.limit < 0.7
    assert sorted(name for group in grouping.groups for name in group.columns) == sorted(names)
