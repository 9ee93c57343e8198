"""Cells as people write them: numbers, truth values, letters, dates, missing values."""

import datetime
import json
import unicodedata

import numpy as np
import pandas
import pytest
import yaml
from saved_model_samples import Final, small_table, table_dataset
from small_assay import config_with_methods, write_table

from workflow_lib import load_model
from workflow_lib.core.errors import UserError
from workflow_lib.data.class_losses import read_costs, read_tree
from workflow_lib.data.column_kinds import ROW_NAME, column_kinds
from workflow_lib.data.reading import read_dataset
from workflow_lib.table.new_table import run
from workflow_lib.table.proposed_formats import proposed_formats
from workflow_lib.tabular.cell_texts import known_indices, one_spelling
from workflow_lib.tabular.dates import DAY_FIRST, MONTH_FIRST, has_short_year, is_date, moment
from workflow_lib.tabular.row_roles import row_times
from workflow_lib.tabular.user_table import Table

POINTS, COMMAS = ["0.5", "1.25", "2.75"], ["0,5", "1,25", "2,75"]
"""Columns that show the decimal mark of a table."""

# The cells of a column, the format in which they are read, and their numbers.
READ = [
    (["2'020", "16'300", "302"], "1'234.5", [2020, 16300, 302]),
    (["2’020.5", "302.25"], "1'234.5", [2020.5, 302.25]),
    (["302.00", "1,730.00"], "1,234.5", [302, 1730]),
    (["12,34,567", "1,234"], "1,234.5", [1234567, 1234]),
    (["1.234.567,89", "0,5"], "1.234,5", [1234567.89, 0.5]),
    (["1 234,5", "7"], "1 234,5", [1234.5, 7]),
    (["1\u00a0234", "12\u202f345"], "1 234.5", [1234, 12345]),
    (["12_345", "17"], "1_234.5", [12345, 17]),
    (["3,14", "-0,5"], "1234,5", [3.14, -0.5]),
    (["1234,567", "0,572"], "1234,5", [1234.567, 0.572]),
    (["\u22120.5", "\u20131.5", "2"], "1234.5", [-0.5, -1.5, 2]),
    (["(0.51)", "3"], "1234.5", [-0.51, 3]),
    (["3.400D-02", "-5.1d+00", "1.5"], "1234.5", [0.034, -5.1, 1.5]),
    (["$1,200.50", "$3", "($4)"], "$1,234.5", [1200.5, 3, -4]),
    (["-$3", "$4"], "$1234.5", [-3, 4]),
    (["EUR 12.50", "EUR 1"], "EUR 1234.5", [12.5, 1]),
    (["1.200,50 €", "3 €"], "1.234,5 €", [1200.5, 3]),
    (["12%", "0.5 %"], "1234.5 %", [12, 0.5]),
    (["5 mg/L", "6.5mg/L"], "1234.5 mg/L", [5, 6.5]),
    (["20 °C", "−3 °C"], "1234.5 °C", [20, -3]),
]

# Cells that are no numbers for certain, and a part of the warning.
WARNED = [
    (["2,020", "16,300"], "'2,020' may be 2020 or 2.02"),
    (["1.5 mg", "2.5 g"], "in several ways or units"),
    (["1.5 mg", "2.5"], "in several ways or units"),
    (["(1.5)", "(2.5)"], "in several ways or units"),
    (["(1.5)", "-2.5"], "in several ways or units"),
    (["1.5", "2.5", "<0.05", ">= 100"], "a limit is not a measured value"),
    (["1", "2", "<1"], "a limit is not a measured value"),
    (["1,5", "2,5", "n.d."], 'missing="n.d."'),
    (["0.1", "0.2", "0.3", "0.4", "#ERR"], r"missing='\#ERR'"),
    (["1", "2", "b.d.l.", "<LOD"], "2 of its 4 values are numbers, but not 'b.d.l.' in row 3"),
    (["0.1", "0.2", "0.3", "0.4", "bad", "bad", "bad"], 'missing="bad"'),
]

# Cells that are names or categories without a warning.
NAMES = [
    ["12a", "13b"],
    ["C12", "C13"],
    ["101A", "002A"],
    ["1D5", "2D5"],
    ["5-10", "10-15"],
    ["0_1", "0_2"],
    ["2024_01", "2024_02"],
    ["10:30", "11:30"],
    ["1.2.3", "1.2.4"],
    ["1", "2", "X"],
    ["red", "1"],
]


def table_of(**columns):
    return Table.from_columns(columns, "here")


def test_numbers_are_read_where_all_cells_have_one_reading():
    for cells, example, expected in READ:
        found = proposed_formats(table_of(x=cells), ())
        assert found.formats == {"x": example} and not found.warnings, cells
        assert "'x': '" in found.notes[0]
        read = table_of(x=[*cells, ""]).with_formats(found.formats)
        np.testing.assert_array_equal(read.numbers("x"), [*expected, np.nan], str(cells))
        # Of new rows, too, whose cells may be fewer, or usual numbers of any type.
        for new in (cells[:1], expected, list(map(str, expected)), np.array(expected, float)):
            again = table_of(x=new).with_formats(found.formats).selected([0])
            assert again.numbers("x")[0] == expected[0], (cells, new)


def test_a_number_of_two_readings_follows_the_other_columns_or_the_user():
    for cells, other, chosen, example, value in (
        (["2,020", "302"], POINTS, None, "1,234.5", 2020),
        (["2,020", "302"], COMMAS, None, "1234,5", 2.02),
        (["2.020", "302"], COMMAS, None, "1.234,5", 2020),
        (["2,020", "302"], POINTS, ",", "1234,5", 2.02),
        (["2,020", "302"], ["1", "2"], ".", "1,234.5", 2020),
        (["\u22122.020", "1.500"], ["1", "2"], None, "1234.5", -2.02),
    ):
        table = table_of(x=cells, other=other[:2])
        found = proposed_formats(table, (), chosen)
        assert found.formats["x"] == example, (cells, other)
        assert table.with_formats(found.formats).numbers("x")[0] == value
        # A decision that the table does not force is a warning.
        assert len(found.warnings) == (chosen is None and other != ["1", "2"])
    plain = table_of(x=["2.020", "302"], other=POINTS[:2])
    assert not proposed_formats(plain, ()).formats


def test_what_cannot_be_read_is_a_warning_and_never_names_the_rows():
    for cells, words in WARNED:
        table = table_of(x=cells)
        assert "x" not in proposed_formats(table, ()).formats, cells
        kind = column_kinds(table)["x"]
        assert words in kind.warning and kind.kind != ROW_NAME, (cells, kind)
    for cells in NAMES:
        assert not proposed_formats(table_of(x=cells), ()).formats, cells
        assert not column_kinds(table_of(x=cells * 3))["x"].warning, cells


def test_numbers_in_another_format_and_wrong_formats_are_refused():
    with pytest.raises(UserError, match="as '1.234,5'"):
        table_of(x=["7", "3 mg", "1,5"]).with_formats({"x": "1.234,5"}).numbers("x")
    with pytest.raises(UserError, match="number_formats.x"):
        table_of(x=["1"]).with_formats({"x": "1,5"})


def test_one_value_has_one_spelling():
    composed, decomposed = "Fé", unicodedata.normalize("NFD", "Fé")
    for texts, expected in (
        (["TRUE", "True", "true", "no"], ["TRUE", "TRUE", "TRUE", "no"]),
        (["1.0", "1", "2"], ["1.0", "1.0", "2"]),
        (["1", "1.0", "A", "2.00"], ["1", "1", "A", "2.00"]),
        (["0.5", "0.50", "5e-1"], ["0.5", "0.5", "0.5"]),
        (["007", "7", "7.0"], ["007", "7", "7"]),
        (["1.10", "1.1", "rc"], ["1.10", "1.1", "rc"]),
        (["9007199254740993", "9007199254740992"], ["9007199254740993", "9007199254740992"]),
        (["", "-0.0", "0"], ["", "-0.0", "-0.0"]),
    ):
        assert one_spelling(np.array(texts, dtype=object)).tolist() == expected
    assert table_of(x=np.float32([0.1, 0.2])).strings("x").tolist() == ["0.1", "0.2"]
    known = ["TRUE", "1", "007", "x"]
    assert known_indices(["true", "1.0", "7", "X", ""], known).tolist() == [0, 1, 2, -1, -1]
    assert set(table_of(x=[decomposed, composed]).strings("x")) == {composed}


def test_files_about_classes_may_spell_them_in_another_way(tmp_path):
    costs = write_table(
        tmp_path / "c.csv", {"class": ["True", "1.0"], "1.0": [2, 0], "True": [0, 3]}
    )
    np.testing.assert_array_equal(read_costs(costs, ["1", "TRUE"]), [[0, 3], [2, 0]])
    tree = write_table(tmp_path / "t.csv", {"parent": ["all", "all"], "child": ["true", "NA"]})
    assert read_tree(tree, ["NA", "TRUE"]) == {"TRUE": "all", "NA": "all"}


def test_whole_numbers_that_are_too_large_stay_different_names():
    ids = [str(2**53 + row) for row in range(6)]
    assert column_kinds(table_of(x=list(map(int, ids))))["x"].kind == ROW_NAME
    repeated = column_kinds(table_of(x=[*ids, ids[0]]))["x"]
    assert "some of its 6 different values are equal" in repeated.warning
    assert table_of(x=list(map(int, ids))).strings("x").tolist() == ids


def test_dates_are_read_in_the_forms_that_people_write():
    day = datetime.datetime(2024, 5, 31)
    iso = ["2024/05/31", "2024.5.31", "20240531", "31-May-2024", "31. May 2024", "May 31, 2024"]
    slashed, american = ["31/05/2024", "31.05.2024"], ["5/31/2024", "5/31/2024 12:00 AM"]
    for order, texts in ((None, iso), (DAY_FIRST, slashed), (MONTH_FIRST, american)):
        for text in texts:
            assert moment(text, order) == day, text
            assert text == "20240531" or is_date(text)
    assert moment("2024-05-31T12:00Z", None).hour == 12
    assert moment("31/05/2024 1:30 pm", DAY_FIRST) == day.replace(hour=13, minute=30)
    for text in ("31/05/2024", "30.02.2024", "12-14-2024", "2024-13-01", "May 2024"):
        assert moment(text, MONTH_FIRST) is None or text == "12-14-2024", text
    assert all(map(has_short_year, ("31/05/24", "31.05.24", "31-May-24")))
    assert not has_short_year("1.2.24")


def test_an_unclear_order_of_day_and_month_is_asked_for():
    clear, unclear = table_of(day=["1/02/2024", "13/02/2024"]), table_of(day=["1/02/2024"] * 2)
    np.testing.assert_array_equal(np.diff(row_times(clear, "day")), [12])
    assert row_times(unclear, "day", MONTH_FIRST)[0] == datetime.date(2024, 1, 2).toordinal()
    for table, order, words in (
        (unclear, None, "say date_order=day-first or date_order=month-first"),
        (table_of(day=["1/13/2024", "13/1/2024"]), None, "in different orders"),
        (clear, MONTH_FIRST, "'13/02/2024' is not a time that is month-first"),
        (table_of(day=["31/05/24"]), None, "write years with four digits"),
    ):
        with pytest.raises(UserError, match=words):
            row_times(table, "day", order)
    note = column_kinds(table_of(day=["1/02/2024", "2/02/2024"]))["day"].note
    assert "date_order=day-first or" in note


def new(folder, capsys, columns, **request):
    """Run `new` on a table in the folder; return its output and the options of the dataset."""
    config = config_with_methods(folder / "config")
    request |= {"name": "case", "data": str(write_table(folder / "t.csv", columns))}
    run(request, config)
    text = (config / "tables" / "datasets" / "case.yaml").read_text(encoding="utf-8")
    return capsys.readouterr().out, yaml.safe_load(text)["options"]


def test_new_writes_how_cells_are_read_and_the_reader_follows(tmp_path, capsys):
    rows = range(24)
    generator = np.random.default_rng(0)
    columns = {
        "x1": [f"{1000 * (row % 7) + 1234:,}.{row:02} mg" for row in rows],
        "area": ["NA" if row % 3 else "TRUE" for row in rows],
        "day": [f"{1 + row % 12}/02/2024" for row in rows],
        "y1": [f"{value:.4f}".replace(".", ",") for value in generator.normal(size=24)],
    }
    request = {"outputs": "y1", "time": "day", "date_order": "day-first", "not_missing": "NA"}
    said, options = new(tmp_path, capsys, columns, **request)
    assert options["number_formats"] == {"x1": "1,234.5 mg", "y1": "1234,5"}
    assert options["date_order"] == "day-first" and "NA" not in options["missing_values"]
    assert "'1,234.00 mg' is 1234" in said
    tree = read_dataset("table", options, [], 0)
    assert tree["inputs"][1, 0] == 2234.01
    assert tree["order"]["time"][1] - tree["order"]["time"][0] == 1
    assert json.loads(tree["names"]["inputs"])[1:] == ["area=NA", "area=TRUE"]


def test_names_that_count_as_missing_are_reported(tmp_path, capsys):
    columns = {
        "x": list(range(0, 60, 2)),
        "kind": ["NA", "EU", "AS"] * 10,
        "dose": ["None", "low", "high"] * 10,
    }
    said, _ = new(tmp_path, capsys, columns, classes="kind")
    assert "WARNING: Column 'kind': 'NA' in 10 rows counts as missing" in said
    assert "Note: Column 'dose': 'None' in" in said and "not_missing=None" in said


def test_a_saved_model_reads_files_and_frames_alike(tmp_path):
    columns = small_table() | {"flag": ["TRUE", "FALSE", "FALSE", "TRUE"] * 30}
    columns = {name: values[:40] for name, values in columns.items()}
    roles = {"numbers": ["dose, mg", "weight"], "categories": ["flag"]}
    final = Final(tmp_path, table_dataset(columns, **roles))
    final.ridge("ridge", kind=None)
    final.saved("ridge", options={"number_formats": {"weight": "1.234,5"}})
    model = load_model(final.path("model"))
    plain = {"dose, mg": [0.5, 1.0], "weight": [1234.5, 0.25], "flag": ["TRUE", "FALSE"]}
    expected = model.predict(plain)
    written = plain | {"weight": ["1.234,5", "0,25"], "flag": ["True", "false"]}
    file = write_table(tmp_path / "new.csv", written)
    for rows in (file, pandas.read_csv(file), pandas.DataFrame(plain | {"flag": [True, False]})):
        found = model.predict(rows)
        np.testing.assert_array_equal(found.outputs, expected.outputs)
        assert found.notes == expected.notes == ["", ""]
