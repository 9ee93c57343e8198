"""Ranges are proposed where the table shows them, written with the reason, and read again."""

import json

import numpy as np
import pytest
import yaml
from each_case import each_case
from small_assay import assay_columns, config_with_methods

from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import read_dataset
from workflow_lib.table.proposal_text import dataset_text
from workflow_lib.table.proposed_ranges import in_words, proposed_ranges
from workflow_lib.table.table_proposal import propose
from workflow_lib.tabular.table_file import Table

GENERATOR = np.random.default_rng(0)
SKEWED = GENERATOR.lognormal(size=60)
COUNTS = GENERATOR.poisson(3.0, 60).astype(float)
SHARES = np.clip(GENERATOR.normal(0.6, 0.3, 60), 0.0, 1.0)
SCALED = (SKEWED - SKEWED.min()) / np.ptp(SKEWED)
RARE = np.where(np.arange(60) < 3, 1.0, 0.0)


@each_case(
    ("name", "values", "limits"),
    [
        ("y", SKEWED, {"least": 0}),
        ("y", COUNTS, {"least": 0, "whole": True}),
        ("y", SHARES, {"least": 0, "largest": 1}),
        ("y", np.rint(100 * SHARES) + 0.0, {"least": 0, "largest": 100, "whole": True}),
        ("y", (COUNTS > 2).astype(float), {"least": 0, "largest": 1, "whole": True}),
        # A column that was scaled to [0, 1] has one row at 1, and rare events are counts.
        ("y", SCALED, {"least": 0}),
        ("y", RARE, {"least": 0, "whole": True}),
        # The name adds what the values alone do not show.
        ("cover, %", 80 * SCALED, {"least": 0, "largest": 100}),
        ("Market_Share", 0.9 * SCALED, {"least": 0, "largest": 1}),
        ("shareholders", 0.9 * SCALED, {"least": 0}),
        # There is no range for negative values, values far from 0, and values of few rows.
        ("share", SKEWED - 0.5, {}),
        ("temperature", 300.5 + SKEWED, {}),
        ("y", SKEWED[:29], {}),
        ("y", COUNTS[:12], {"whole": True}),
        ("y", COUNTS[:9], {}),
    ],
)
def test_a_range_follows_from_many_rows(name, values, limits):
    table = Table.from_columns({name: values.tolist()}, "small.csv")
    assert proposed_ranges(table, [name]) == ({name: limits} if limits else {})


def test_missing_values_give_no_range():
    column = [*SKEWED[:29].tolist(), *[None] * 50]
    assert proposed_ranges(Table.from_columns({"y": column}, "small.csv"), ["y"]) == {}


def test_reasons_are_sentences():
    assert in_words({"least": 0}, 40) == "none of 40 values is negative"
    assert in_words({"whole": True}, 40) == "all 40 are whole numbers"
    words = in_words({"least": 0, "largest": 1, "whole": True}, 40)
    assert words == "none of 40 values is outside of 0 to 1, all are whole numbers"


def test_what_is_written_is_read_again(tmp_path):
    columns = assay_columns() | {"y1": COUNTS.tolist(), "y2": SKEWED.tolist()}
    path = tmp_path / "assay.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    table = Table.from_columns(columns, "assay.csv")
    request = {"name": "assay", "data": str(path), "outputs": "y*"}
    proposal = propose(request, table, config_with_methods(tmp_path / "config"))
    text = dataset_text(proposal)
    assert "    # none of 60 values is negative\n    y2: {least: 0}\n" in text
    options = yaml.safe_load(text)["options"]
    assert options["ranges"] == {"y1": {"least": 0, "whole": True}, "y2": {"least": 0}}
    names = read_dataset("table", options, [], 0)["names"]
    assert json.loads(names["ranges"]) == [{"least": 0.0, "whole": True}, {"least": 0.0}, {}]


def test_many_outputs_of_one_range_are_named_by_a_pattern(tmp_path):
    generator = np.random.default_rng(1)
    columns = {"x": generator.normal(size=60).tolist()}
    columns |= {f"count_{index}": generator.poisson(4.0, 60).tolist() for index in range(70)}
    table = Table.from_columns(columns, "wide.csv")
    request = {"name": "wide", "data": "wide.csv", "outputs": "count_*"}
    proposal = propose(request, table, config_with_methods(tmp_path / "config"))
    ranges = yaml.safe_load(dataset_text(proposal))["options"]["ranges"]
    assert ranges == {"count_*": {"least": 0, "whole": True}}


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        (
            {"y1": {"least": 3}},
            r"line 2, column 'y1': the value 0. Expected a number from 3 to inf",
        ),
        ({"y*": {"largest": 5}}, r"column 'y1': the value 6. Expected a number from -inf to 5"),
        ({"y2": {"whole": True}}, r"column 'y2': the value 0.5. Expected a whole number"),
        ({"y1": {"least": 3, "largest": 3}}, r"ranges.y1: least 3, largest 3"),
        ({"x": {"least": 0}}, r"ranges.x: 'x' is not an output"),
        ({"z": {"least": 0}}, r"there is no column 'z'"),
    ],
)
def test_a_range_that_is_wrong_is_reported(tmp_path, ranges, message):
    path = tmp_path / "small.csv"
    rows = [f"{row},{row % 7},{row % 3 + 0.5}" for row in range(14)]
    path.write_text("\n".join(["x,y1,y2", *rows]))
    options = {"file": str(path), "outputs": ["y*"], "numbers": ["x"], "ranges": ranges}
    with pytest.raises(UserError, match=message):
        read_dataset("table", options, [], 0)
