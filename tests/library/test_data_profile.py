"""The facts about a table are those counted by hand."""

import json

import numpy as np
import pytest
from each_case import each_case
from scipy.stats import spearmanr

from workflow_lib.core.errors import UserError
from workflow_lib.table.data_profile import (
    MAX_SHARE,
    MAX_SIZE,
    MAX_SIZES,
    MIN_FOLD_ROWS,
    USUAL_SIZES,
    data_profile,
    n_test_rows,
    row_groups,
    training_sizes,
)
from workflow_lib.tabular.table_file import Table


def table_of(**columns):
    return Table.from_columns(columns, "table.csv")


@pytest.fixture
def columns():
    generator = np.random.default_rng(1)
    x = generator.normal(size=(60, 3))
    return {
        "id": [f"S{row}" for row in range(60)],
        "x1": x[:, 0].tolist(),
        "x2": ["" if row % 6 == 0 else repr(value) for row, value in enumerate(x[:, 1].tolist())],
        "colour": ["red", "green", "blue"] * 20,
        "fixed": [1] * 60,
        "void": [""] * 60,
        "y1": x[:, 2].tolist(),
        "y2": (x[:, 2] + generator.normal(size=60)).tolist(),
    }


OPTIONS = {"outputs": ["y*"], "numbers": ["x?"], "categories": ["colour"], "row_name": "id"}


def test_columns_are_reported_by_kind(columns):
    facts = data_profile(table_of(**columns), OPTIONS)
    assert (facts["file"], facts["rows"], facts["columns"]) == ("table.csv", 60, 8)
    assert facts["kinds"]["number"] == ["x1", "x2", "y1", "y2"]
    assert facts["kinds"]["category"] == ["colour"]
    assert facts["constant"] == ["fixed"]
    assert facts["empty"] == ["void"]
    assert facts["row_names"] == ["id"]
    assert facts["missing"] == {"x2": 10 / 60, "void": 1.0}


def test_facts_are_json_without_nan(columns):
    columns["y1"][3] = float("nan")
    facts = data_profile(table_of(**columns), OPTIONS)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_a_clean_table_has_nothing_suspicious(columns):
    facts = data_profile(table_of(**columns), OPTIONS)
    assert facts["leaks"] == []
    assert facts["row_order"] == []
    assert facts["duplicate_rows"] == facts["contradictions"] == 0


def test_rows_are_labelled_weak_or_unlabelled(columns):
    y1, y2 = list(columns["y1"]), list(columns["y2"])
    for row in range(10):
        y1[row] = y2[row] = float("nan")
    y1[20] = y2[30] = y2[31] = float("nan")
    groups = ["" if row % 2 else "a" for row in range(60)]
    table = table_of(**{**columns, "y1": y1, "y2": y2, "group": groups})
    facts = data_profile(table, OPTIONS | {"same_group": "group"})
    assert facts["rows_labelled"] == 50
    assert facts["rows_weak"] == 5
    assert facts["rows_unlabelled"] == 5
    assert facts["rows_partly_labelled"] == 3
    assert facts["n_test"] == 10
    assert facts["training_sizes"] == [10, 20, 40]


def test_repeated_rows_and_contradictions_are_counted(columns):
    repeated = {name: list(values) + list(values[:2]) for name, values in columns.items()}
    facts = data_profile(table_of(**repeated), OPTIONS)
    assert facts["duplicate_rows"] == 2
    assert facts["contradictions"] == 0
    repeated["y1"][60] = 5.0
    facts = data_profile(table_of(**repeated), OPTIONS)
    assert facts["duplicate_rows"] == 1
    # Both rows with these inputs are in the contradiction.
    assert facts["contradictions"] == 2


def test_two_zeros_and_two_ways_to_write_a_number_are_equal():
    table = table_of(x=["0.0", "-0.0", "1e0", "1.00", "", "NA", "2"], c=list("aabbccd"))
    assert row_groups(table, ["x", "c"]).tolist() == [0, 0, 1, 1, 2, 2, 3]


def test_leaks_of_unused_columns_are_reported_too(columns):
    columns["copy"] = [3 * value for value in columns["y1"]]
    (leak,) = data_profile(table_of(**columns), OPTIONS)["leaks"]
    assert (leak["column"], leak["output"], leak["kind"]) == ("copy", "y1", "equal")
    assert not leak["used"]
    used = OPTIONS | {"numbers": ["x?", "copy"]}
    assert data_profile(table_of(**columns), used)["leaks"][0]["used"]


def test_a_column_that_stands_for_the_class_is_reported(columns):
    codes = {"red": 7, "green": 1, "blue": 4}
    columns["code"] = [codes[colour] for colour in columns["colour"]]
    columns["initial"] = [colour[0] for colour in columns["colour"]]
    options = {"classes": "colour", "numbers": ["x1", "code"], "categories": ["initial"]}
    facts = data_profile(table_of(**columns), options)
    assert sorted(leak["column"] for leak in facts["leaks"]) == ["code", "initial"]
    assert facts["classes"] == {"blue": 20, "green": 20, "red": 20}
    assert "training_sizes" not in facts


def test_a_table_sorted_by_an_output_is_reported(columns):
    values = np.array(columns["y1"])
    columns["y1"] = values[np.argsort(values + np.random.default_rng(0).normal(size=60))].tolist()
    (facts,) = data_profile(table_of(**columns), OPTIONS)["row_order"]
    assert facts["output"] == "y1"
    assert facts["correlation"] == pytest.approx(spearmanr(np.arange(60), columns["y1"]).statistic)


def test_correlations_of_outputs_are_those_of_numpy(columns):
    found = data_profile(table_of(**columns), OPTIONS)["output_correlations"]
    expected = np.corrcoef(columns["y1"], columns["y2"])
    np.testing.assert_allclose(found["matrix"], expected)
    (pair,) = found["largest"]
    assert pair == {"first": "y1", "second": "y2", "correlation": pytest.approx(expected[0, 1])}


def test_outputs_are_summed_up_also_when_huge(columns):
    columns["y1"] = [value * 1e307 for value in columns["y1"]]
    facts = data_profile(table_of(**columns), OPTIONS)["outputs"]["y1"]
    scaled = np.array(columns["y1"]) / 1e307
    assert facts["n_known"] == 60
    assert facts["mean"] / 1e307 == pytest.approx(scaled.mean())
    assert facts["deviation"] / 1e307 == pytest.approx(scaled.std())
    assert facts["largest"] == max(columns["y1"])


def test_an_output_that_is_no_number_is_refused(columns):
    with pytest.raises(UserError, match="is not a finite number"):
        data_profile(table_of(**columns), {"outputs": ["colour"], "numbers": ["x1"]})


@each_case("pool", [1, 4, 5, 6, 11, 40, 160, 4000, 4001, 100_000])
def test_training_sizes_grow_up_to_the_whole_pool(pool):
    sizes = training_sizes(pool)
    if pool < MIN_FOLD_ROWS:
        assert sizes == []
        return
    assert sizes[-1] == min(pool, MAX_SIZE)
    assert sizes == sorted(set(sizes))
    assert set(sizes[:-1]) <= set(USUAL_SIZES)
    assert len(sizes) <= MAX_SIZES + 1
    below = [size for size in USUAL_SIZES if size <= MAX_SHARE * sizes[-1]]
    assert sizes[:-1] == below[-MAX_SIZES:]


def test_sizes_of_a_learning_curve_are_apart():
    assert training_sizes(51) == [10, 20, 51]
    assert training_sizes(64) == [20, 50, 64]


def test_at_least_five_rows_are_test_rows():
    assert [n_test_rows(count) for count in (10, 25, 30, 500)] == [5, 5, 6, 100]
