"""Requests are read as they are typed, and contradictions are refused with a remedy."""

import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.table.table_request import (
    CONTRADICTIONS,
    RESERVED_NAMES,
    checked_request,
    requested_columns,
)
from workflow_lib.tabular.table_file import Table

REQUEST = {"name": "assay", "data": "assay.csv", "outputs": "y1"}


@pytest.fixture
def table():
    names = ["x1", "x2", "a, b", "c[1]", "notes", "batch", "y1", "y2"]
    return Table.from_columns({name: [1.0, 2.0] for name in names}, "assay.csv")


def columns_of(table, **request):
    return requested_columns(checked_request({**REQUEST, **request}), table)


def test_a_request_is_stripped_and_what_is_empty_is_left_out():
    checked = checked_request({**REQUEST, "outputs": " y1 , y2 ", "text": "", "exclude": None})
    assert checked == {"name": "assay", "data": "assay.csv", "outputs": "y1 , y2"}


@pytest.mark.parametrize(
    ("value", "found"), [("tab", "\t"), ("\t", "\t"), ("\\t", "\t"), (";", ";")]
)
def test_a_delimiter_is_a_character_or_its_name(value, found):
    checked = checked_request({**REQUEST, "delimiter": value})
    assert checked["delimiter"] == found
    assert checked_request(checked) == checked


def test_methods_splits_and_marks_are_read():
    options = {"methods": " m-krr , m-rf,", "splits": "3", "missing": "-999,unknown"}
    checked = checked_request({**REQUEST, **options})
    assert checked["methods"] == ["m-krr", "m-rf"]
    assert (checked["splits"], checked["missing"]) == (3, ["-999", "unknown"])
    assert checked_request(checked) == checked


@pytest.mark.parametrize("value", ["true", True, "Yes", "false", False, "no", ""])
def test_series_may_be_given_in_several_ways_and_no_series_is_no_key(value):
    found = checked_request({**REQUEST, "series": value}).get("series")
    assert found is (True if value in ("true", True, "Yes") else None)


@each_case(
    ("change", "message"),
    [
        ({"output": "y1"}, "no key named 'output'.*write 'outputs'"),
        ({"name": ""}, "the key name is missing"),
        ({"data": ""}, "the key data is missing"),
        ({"outputs": ""}, "nothing to predict"),
        ({"name": "My Assay!"}, "'My Assay!' cannot be a name.*write name=my-assay"),
        ({"name": "-x"}, "cannot be a name"),
        ({"splits": "0"}, "key splits: '0'.*whole number from 1"),
        ({"splits": "many"}, "key splits: 'many'"),
        ({"delimiter": "::"}, "key delimiter: '::'.*tab, comma"),
        ({"series": "maybe"}, "key series: 'maybe'"),
        ({"text": ["a", "b"]}, "key text: a list of 2"),
        ({"gram": "nowhere.csv"}, "key gram: there is no file 'nowhere.csv'"),
        ({"class_vectors": "nowhere.csv"}, "class_vectors without classes"),
        ({"class_costs": "nowhere.csv"}, "class_costs without classes"),
    ],
)
def test_faults_are_reported_with_a_remedy(change, message):
    with pytest.raises(UserError, match=message):
        checked_request({**REQUEST, **change})


@pytest.mark.parametrize("name", RESERVED_NAMES)
def test_folders_of_results_are_no_names(name):
    with pytest.raises(UserError, match=f"results/{name} is a folder"):
        checked_request({**REQUEST, "name": name})


@each_case(("first", "second", "reason"), CONTRADICTIONS)
def test_contradictions_are_refused(first, second, reason, tmp_path):
    file = tmp_path / "file.csv"
    file.write_text("a\n1\n")
    values = {"series": "true", "gram": str(file), "encode": "x1=target"}
    request = {key: values.get(key, "x1") for key in (first, second)}
    common = {"name": "assay", "data": "assay.csv"}
    if "bag" in request and "outputs" not in request:
        common["classes"] = "kind"
    elif "classes" not in request:
        common["outputs"] = "y1"
    with pytest.raises(UserError, match=f"both {first} and {second}.*{reason}"):
        checked_request(common | request)


def test_lists_hold_names_and_patterns(table):
    assert columns_of(table, outputs="y*").outputs == ["y1", "y2"]
    assert columns_of(table, outputs=["y2", "y1"]).outputs == ["y1", "y2"]
    assert columns_of(table, inputs="x1, notes").inputs == ["x1", "notes"]
    assert columns_of(table).inputs is None
    assert columns_of(table, inputs="x*").insisted == set()


def test_a_name_may_hold_a_comma_or_a_bracket(table):
    requested = columns_of(table, inputs="x1,a, b,c[1]")
    assert requested.inputs == ["x1", "a, b", "c[1]"]
    assert requested.insisted == {"x1", "a, b", "c[1]"}


def test_a_number_on_the_command_line_may_be_a_column():
    table = Table.from_columns({"1": [1.0, 2.0], "x": [1.0, 3.0]}, "assay.csv")
    assert columns_of(table, outputs=1).outputs == ["1"]


def test_an_output_named_in_full_is_no_input_of_a_pattern(table):
    requested = columns_of(table, outputs="y1", inputs="*")
    assert requested.inputs == ["x1", "x2", "a, b", "c[1]", "notes", "batch", "y2"]


def test_a_column_named_in_full_is_no_output_of_a_pattern(table):
    assert columns_of(table, outputs="y*", group="y2").outputs == ["y1"]
    with pytest.raises(UserError, match="every column that it matches"):
        columns_of(table, outputs="bat*", group="batch")


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "y1"},
        {"exclude": "y1"},
        {"categories": "y1"},
        {"group": "y1"},
        {"text": "notes", "group": "notes"},
        {"group": "batch", "same_group": "batch"},
        {"text": "notes", "exclude": "notes"},
        {"inputs": "batch", "group": "batch"},
        {"inputs": "x1", "exclude": "x1"},
    ],
)
def test_a_column_is_one_thing(table, change):
    with pytest.raises(UserError, match="is named for .* and "):
        columns_of(table, **change)


def test_a_category_or_text_is_an_input_as_well(table):
    requested = columns_of(table, inputs="x1,notes", text="notes", categories="x1")
    assert requested.inputs == ["x1", "notes"]
    assert requested.categories == ["x1"]


@pytest.mark.parametrize("key", ["outputs", "inputs", "text", "group"])
def test_an_unknown_column_is_reported_with_the_nearest(table, key):
    with pytest.raises(UserError, match="there is no column 'nots'.*notes"):
        columns_of(table, **{key: "nots"})
