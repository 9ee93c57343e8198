"""Files of instruments, offices and other programs: what is read, passed over, and refused."""

import contextlib
import datetime
import re

import h5py
import numpy as np
import pandas
import pytest
from each_case import each_case

from workflow_lib.core import archives
from workflow_lib.core.errors import UserError
from workflow_lib.data.column_kinds import CATEGORY, EMPTY, column_kinds
from workflow_lib.run.requests import decoded, encoded, result_name, typed_values
from workflow_lib.table.table_request import checked_request, requested_columns
from workflow_lib.tabular.table_file import read_table
from workflow_lib.tabular.typed_columns import MATLAB
from workflow_lib.tabular.user_table import Table

ROWS = "x1,x2,y\n0.5,1.5,2\n0.25,3,4\n7,8,9\n"
PAIRS = "".join(f"key {n},value {n}\n" for n in range(30))
COMMA = "Operator: Smith, John\nx1;x2;y\n0.5;1;2\n1,5;3;4\n"
SPECTRUM = "Instrument,X\nname,1100,1102,y\na,0.5,0.6,3\nb,0.4,0.5,4\n"
UNITS = f"x1,x2,y\nmm,s,%\n{ROWS[8:]}"
QUOTES = 'x, "a, b", y\n1, "c, d", 2\n2, "e", 3\n'
READ = {
    "as usual": (ROWS, "x1 x2 y", 2, []),
    "padded preamble": (f"Instrument,ABC 200,\n,,\n{ROWS}", "x1 x2 y", 4, ["1 line before"]),
    "title": (f"Results of run 7\n\n{ROWS}", "x1 x2 y", 4, ["1 line before"]),
    "title with a comma": (COMMA, "x1 x2 y", 3, ["1 line before"]),
    "longer preamble than table": (f"{PAIRS}{ROWS}", "x1 x2 y", 32, ["30 lines before"]),
    "preamble with numbers": (f"A,B\nGain,3\nSpeed,300\n{ROWS}", "x1 x2 y", 5, ["3 lines before"]),
    "preamble of a spectrum": (SPECTRUM, "name 1100 1102 y", 3, ["1 line before"]),
    "one new row": (f"Instrument,ABC 200\n{ROWS[:18]}", "x1 x2 y", 3, ["1 line before"]),
    "comments": (f"# by, hand\n% noon\n{ROWS}# end\n", "x1 x2 y", 4, ["2 lines", "1 line with"]),
    "comment as wide as the table": (f"# temperature, rate, yield\n{ROWS}", "x1 x2 y", 3, []),
    "comment within": ("a,b\n1,2\n# break\n3,4\n", "a b", [2, 4], ["1 line with comments"]),
    "header with a mark": ("#x1,x2,y\n0.5,1,2\n1,2,3\n", "#x1 x2 y", 2, []),
    "rows with a mark": ("id,x\n#1,2\n#2,3\n", "id x", 2, []),
    "cells with a mark": ('a,b\n1,"two\n# lines"\n2,three\n', "a b", [2, 4], []),
    "footer": (f"{ROWS},,\nSource: the office,,\n", "x1 x2 y", 2, ["1 line after"]),
    "units": (UNITS, "x1 x2 y", 3, ["line 2, which has no numbers (units?)"]),
    "no units": ("x,y,z\nn.d.,a,3\n1,b,4\n2,c,5\n", "x y z", 2, []),
    "row of limits": ("x,y\n<0.1,<0.2\n1,2\n", "x y", 2, []),
    "missing row": ("x,y\nNA,NA\n1,2\n", "x y", 2, []),
    "sep": ("sep=;\r\n" + ROWS.replace(",", ";"), "x1 x2 y", 3, ["names the delimiter"]),
    "sep and preamble": ('"sep=,"\nA,B\n' + ROWS, "x1 x2 y", 4, ["delimiter", "1 line"]),
    "header of R": ('"x"\t"y"\n"1"\t0.5\t2\n"2"\t1\t3\n', "row x y", 2, ["'row'"]),
    "names of R, spaces": ('"x" "y"\n"a" 0.5 2\n"b" 1 3\n', "row x y", 2, ["'row'"]),
    "row numbers of pandas": (",x,y\n0,1,2\n1,3,4\n", "row x y", 2, ["no name"]),
    "row is taken": ('"",row,y\na,1,2\nb,3,4\n', "row name|row|y", 2, ["'row name'"]),
    "spaces before quotes": (QUOTES, "x|a, b|y", 2, []),
}
"""By name: the text, the names, the line of the first row (or of all), words of the notes."""


@each_case("name", READ)
@each_case("end", ["\n", "\r\n", "\r"])
def test_tables_are_read_without_what_surrounds_them(tmp_path, name, end):
    text, names, lines, words = READ[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.replace("\r\n", "\n").replace("\n", end).encode())
    table = read_table(path)
    assert table.names == names.split("|" if "|" in names else " ")
    lines = np.atleast_1d(lines).tolist()
    assert table.lines[: len(lines)].tolist() == lines
    assert len(words) <= len(table.notes)
    for word, note in zip(words, table.notes):
        assert word in note


REFUSED = {
    "short header of numbers": ("x,y\n3,5,2\n4,5,1\n", "line 2: 3 cells"),
    "last row cut off": ("x,y,z\na,2,3\nb\n", "line 3: 1 cells"),
    "numbers after an empty line": ("x,y,z\n1,2,3\n\n4,5\n", "line 4: 2 cells"),
    "text after the table": ("x,y\n1,2\nTotal\n", "lines before the header and after the table"),
    "long row": ("a,b\np,q\nr,s,t\nu,v\n", "line 3: 3 cells"),
    "two tables": ("a,b\n1,2\n3,4\nx,y,z\n1,2,3\n4,5,6\n", "line 4: 3 cells"),
    "open quote": ('x,y\n1,"2\n3,4\n', "a quote opens"),
    "first column of fractions": (",x\n0.5,1\n0.7,2\n", "the column has no name"),
}


@each_case("name", REFUSED)
def test_what_may_be_damaged_is_refused(tmp_path, name):
    text, words = REFUSED[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_table(path)
    assert words in str(caught.value)


# Workbooks


def book_of(path, sheets: dict[str, list[list]], change=None):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    if change:
        change(book)
    book.save(path)
    return path


DAY = datetime.datetime(2024, 2, 3)
CELLS = [["id", "x", "when", "good"], ["a b", 1, DAY, True], ["c\nd", 2.5, DAY, None]]


def test_a_workbook_is_read_like_text(tmp_path):
    moment = datetime.datetime(2024, 2, 3, 4, 5)
    rows = [["Instrument", "ABC"], [], *CELLS, ["e", None, moment, False], ["f", "#DIV/0!"]]
    table = read_table(book_of(tmp_path / "t.xlsx", {"only": rows}))
    assert table.names == ["id", "x", "when", "good"]
    assert table.strings("id").tolist() == ["a b", "c d", "e", "f"]
    assert table.strings("when").tolist() == ["2024-02-03", "2024-02-03", "2024-02-03T04:05:00", ""]
    assert table.strings("good").tolist() == ["True", "", "False", ""]
    assert table.numbers("x").tolist()[:2] == [1, 2.5]
    assert table.notes == ["1 line before the header, line 3, passed over"]
    assert table.where(0, "x").endswith("t.xlsx, row 4, column 'x'")


def hide(book):
    book["first"].sheet_state = "hidden"


@pytest.mark.parametrize(
    ("sheets", "options", "change", "names", "words"),
    [
        (["first", "second"], {}, None, "x0", ["the sheet 'first' is read; others: 'second'"]),
        (["first", "second"], {"sheet": "second"}, None, "x1", []),
        (["first", "second"], {}, hide, "x1", []),
        (["first", "second"], {"sheet": "first"}, hide, "x0", []),
        (["other"], {"sheet": "first", "keep_empty": True}, None, "x0", []),
    ],
)
def test_a_sheet_is_chosen_and_what_is_assumed_is_said(
    tmp_path, sheets, options, change, names, words
):
    cells = {
        name: [["id", f"x{n}", "y"], ["a", 1, 2], ["b", 2, 3]] for n, name in enumerate(sheets)
    }
    table = read_table(book_of(tmp_path / "t.xlsx", cells, change), **options)
    assert table.names[1] == names
    assert len(table.notes) == len(words)
    for word, note in zip(words, table.notes):
        assert word in note


def far_away(book):
    book["only"]["XFD1048576"] = 1


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (None, {"sheet": "onyl"}, "write sheet=only"),
        (far_away, {}, "cells up to the last one"),
        (lambda book: book["only"].delete_rows(1, 9), {}, "no sheet has a filled cell"),
    ],
)
def test_a_workbook_without_a_table_is_refused(tmp_path, change, options, words):
    path = book_of(tmp_path / "t.xlsx", {"only": CELLS}, change)
    with pytest.raises(UserError) as caught:
        read_table(path, **options)
    assert words in str(caught.value)


def test_damaged_workbooks_and_bombs_end_in_one_message(tmp_path, monkeypatch):
    whole = book_of(tmp_path / "t.xlsx", {"only": CELLS}).read_bytes()
    path = tmp_path / "damaged.xlsx"
    for at in range(30, len(whole), 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        with contextlib.suppress(UserError):
            read_table(path)
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(archives, "MAX_RATIO", 1)
    with pytest.raises(UserError, match="would become more than"):
        read_table(tmp_path / "t.xlsx")


# Other files


def test_categories_of_files_are_categories(tmp_path):
    numbers = [1, 2, 1, 2] * 5
    frame = pandas.DataFrame({"x": numbers, "level": pandas.Categorical(numbers)})
    pytest.importorskip("pyarrow")
    frame.to_parquet(tmp_path / "t.parquet")
    levels = h5py.enum_dtype({"low": 1, "high": 2}, basetype="i4")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["x"] = numbers
        file.create_dataset("level", data=numbers, dtype=levels)
    (tmp_path / "t.arff").write_text(
        "@relation r\n@attribute x numeric\n@attribute level {1, 2}\n@data\n1,2\n?,1\n"
    )
    for name, first in (("t.parquet", "1"), ("t.h5", "low"), ("t.arff", "2")):
        table = read_table(tmp_path / name)
        kinds = column_kinds(table)
        assert table.strings("level")[0] == first
        assert kinds["level"].kind == CATEGORY != kinds["x"].kind
    assert table.strings("x").tolist() == ["1", ""] and table.where(0).endswith("line 5")


def test_vectors_of_matlab_are_columns(tmp_path):
    path = tmp_path / "t.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["x"] = np.array([[1.0, 2.0, 3.0]])
        file["y"] = np.array([[1.0], [2.0], [3.0]])
        file["matrix"] = np.ones((2, 3))
        file.create_dataset("word", data=np.array([[65, 66, 67]], dtype="u2"))
        file["word"].attrs["MATLAB_class"] = np.bytes_("char")
    content = bytearray(path.read_bytes())
    content[: len(MATLAB)] = MATLAB
    path.write_bytes(content)
    table = read_table(path)
    assert table.numbers("x").tolist() == table.numbers("y").tolist() == [1, 2, 3]
    for name, words in (("matrix", "an array of 2 axes"), ("word", "characters of MATLAB")):
        with pytest.raises(UserError, match=words):
            table.strings(name)
    path.write_bytes(b"MATLAB 5.0 MAT-file, made here")
    with pytest.raises(UserError, match="a file of MATLAB before version 7.3"):
        read_table(path)


def test_a_column_that_cannot_be_read_is_refused_when_it_is_used():
    times = [datetime.timedelta(1), datetime.timedelta(2)]
    table = Table.from_columns({"x": [1, 2], "took": times}, "here")
    assert table.selected([1]).numbers("x").tolist() == [2]
    assert column_kinds(table)["took"].kind == EMPTY
    with pytest.raises(UserError, match="column 'took', row 1: a value of the type timedelta"):
        table.selected([1]).strings("took")


# The command line


@each_case(
    ("typed", "value"),
    [
        ("outputs=Sugar #2", {"outputs": "Sugar #2"}),
        ("outputs=1158.80", {"outputs": "1158.80"}),
        ("outputs=a=b", {"outputs": "a=b"}),
        ("delimiter=|", {"delimiter": "|"}),
        ("missing=\\#DIV/0!", {"missing": "#DIV/0!"}),
        ("data='my table.csv'", {"data": "my table.csv"}),
        ("rows=007", {"rows": "007"}),
        ("outputs=", {}),
        ("seed=3", {}),
    ],
)
def test_values_are_texts_as_they_are_typed(typed, value):
    assert typed_values([typed]) == value
    sent = encoded([typed])
    assert decoded(sent) == [typed]
    assert re.fullmatch(r"[A-Za-z0-9_=./%~-]*", sent[0])


@pytest.mark.parametrize(
    ("arguments", "command", "words"),
    [
        (["outputs=a", "outputs=b"], [], "outputs is given 2 times"),
        ([], ["new", "--config", "a=1", "-C", "b=2"], "--config is given 2 times"),
    ],
)
def test_keys_that_are_given_twice_are_refused(arguments, command, words):
    with pytest.raises(UserError, match=words):
        typed_values(arguments, command)


@each_case(
    ("typed", "names"),
    [
        ("[Ca]", ["[Ca]"]),
        ("[Ca],[Mg", ["[Ca]", "[Mg"]),
        ("[y1, y2]", ["y1", "y2"]),
        ("'y1'", ["y1"]),
        ('"a, b",y2', ["a, b", "y2"]),
        ("a, b", ["a, b"]),
        ("y*", ["y1", "y2"]),
        ("[y]1", ["y1"]),
    ],
)
def test_columns_are_found_by_names_as_they_are_typed(typed, names):
    table = Table.from_columns(dict.fromkeys(["[Ca]", "[Mg", "y1", "y2", "a, b"], [1.0]), "t.csv")
    request = checked_request({"name": "t", "data": "t.csv", "outputs": typed})
    assert sorted(requested_columns(request, table).outputs) == sorted(names)


def test_every_file_of_new_rows_has_a_result_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = ["rows.csv", "rows.xlsx", "b1/rows.csv", "b2/rows.csv", "../rows.csv", "../b/rows.csv"]
    results = [result_name(file) for file in files]
    assert results[:3] == ["rows", "rows.xlsx", "b1/rows"] and len(set(results)) == len(files)
    assert result_name(tmp_path / "b1" / ".." / "rows.csv") == "rows"
