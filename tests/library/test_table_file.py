"""Tables of the user are read from every kind of file, or the message says what to fix."""

import csv
import datetime
import decimal
import gzip
import io
import sys
import unicodedata
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
from each_case import each_case

from workflow_lib.core import archives
from workflow_lib.core.errors import UserError
from workflow_lib.tabular import tables
from workflow_lib.tabular.table_file import Table, read_table, text_rows

TEXT = 'name,width,"a, b",note\nfirst, 1.5 ,NA,x\nsecond,-2e3,?,"y ""z"""\nthird,,0,\n'


def written(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path: Path, **options) -> str:
    with pytest.raises(UserError) as caught:
        read_table(path, **options)
    assert str(caught.value).startswith(str(path))
    assert caught.value.found and caught.value.expected and caught.value.remedy
    return str(caught.value)


# Values


def test_cells_are_stripped_and_missing_ones_are_known(tmp_path):
    table = read_table(written(tmp_path, TEXT))
    assert table.names == ["name", "width", "a, b", "note"]
    assert table.n_rows == 3
    np.testing.assert_array_equal(table.lines, [2, 3, 4])
    assert table.lines.dtype == np.int64
    assert table.strings("name").tolist() == ["first", "second", "third"]
    assert table.strings("note").tolist() == ["x", 'y "z"', ""]
    np.testing.assert_array_equal(table.numbers("width"), [1.5, -2000.0, np.nan])
    np.testing.assert_array_equal(table.numbers("a, b"), [np.nan, np.nan, 0.0])
    assert [table.is_numeric(name) for name in table.names] == [False, True, True, False]


def test_numbers_are_bit_equal_to_those_that_were_written(tmp_path):
    values = np.random.default_rng(0).normal(size=(30, 4)) * 10.0 ** np.arange(-200, 200, 100)
    frame = pandas.DataFrame(values, columns=list("abcd"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(
        np.column_stack([table.numbers(name) for name in table.names]), values
    )


@pytest.mark.parametrize(
    "cells",
    [
        ["-0", "1"],
        ["007", "1.50"],
        ["99999999999999999999", "-9007199254740993"],
        ["-999.0", ""],
        ["4.9e-324", "0.1000000000000000055511151231257827"],
        [" 5 ", "\t6"],
    ],
)
def test_numbers_are_those_of_python_and_their_texts_are_kept(tmp_path, cells):
    content = "\n".join(["x,other", *(f"{cell},a" for cell in cells), "3,"])
    table = read_table(written(tmp_path, content), missing_values=("-999",))
    expected = np.array([float(cell or "nan") for cell in cells] + [3.0])
    assert table.numbers("x").tobytes() == expected.tobytes()
    assert table.strings("x").tolist() == [cell.strip() for cell in cells] + ["3"]


def test_texts_that_pandas_takes_for_something_else_are_kept(tmp_path):
    table = read_table(written(tmp_path, "a,b\nTrue,NAN\nfalse,1\n"))
    assert table.strings("a").tolist() == ["True", "false"]
    assert table.strings("b").tolist() == ["NAN", "1"]
    assert not table.is_numeric("a") and not table.is_numeric("b")


def test_lines_that_end_as_on_old_systems_may_be_blank(tmp_path):
    table = read_table(written(tmp_path, "a,b\r\r\r1,x\r\r2,y\r\r"))
    assert table.numbers("a").tolist() == [1.0, 2.0]
    assert table.lines.tolist() == [4, 6]


def test_keys_are_different_and_a_complete_matrix_has_no_gap(tmp_path):
    table = read_table(written(tmp_path, "id,x\na,1\nb,\n\na,3\n"))
    with pytest.raises(UserError, match="line 5, column 'id': the sample 'a' is repeated"):
        table.keys("id", "sample")
    assert table.selected([0, 1]).keys("id", "sample") == ["a", "b"]
    np.testing.assert_array_equal(table.matrix(["x"]), [[1], [np.nan], [3]])
    with pytest.raises(UserError, match="line 3, column 'x': the value is missing"):
        table.matrix(["x"], complete=True)


@each_case("text", ["2024-01-05", "1_000", "inf", "1e999", "0x1f", "NAN", "1 2", "x"])
def test_what_is_no_finite_number_is_named_with_its_line(tmp_path, text):
    table = read_table(written(tmp_path, f"a;b\n1;2\n\n3;{text}\n4;x\n"))
    assert not table.is_numeric("b") and table.is_numeric("a")
    with pytest.raises(UserError) as caught:
        table.numbers("b")
    assert caught.value.location.endswith("table.csv, line 4, column 'b'")
    assert f"'{text}' is not a finite number" in caught.value.found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3,5", "write 3.5; or"),
        ("1,234.5", "write 1234.5; or"),
        ("<0.5", "a limit is not a measured value"),
        (">= 7", "a limit is not a measured value"),
        ("1,234", "write 1234 or 1.234; or"),
        ("12%", "write 12; or"),
        ("n.d.", "list it in missing_values"),
    ],
)
def test_the_remedy_fits_what_is_wrong_with_a_number(tmp_path, text, words):
    table = read_table(written(tmp_path, f"a;b\n{text};1\n"))
    with pytest.raises(UserError) as caught:
        table.numbers("a")
    assert words in caught.value.remedy


def test_marks_of_missing_values_are_the_callers_choice(tmp_path):
    path = written(tmp_path, "a,b\n-999,n.d.\n1,NA\n,2\n")
    table = read_table(path, missing_values=("-999", "n.d."))
    np.testing.assert_array_equal(table.numbers("a"), [np.nan, 1.0, np.nan])
    assert table.strings("b").tolist() == ["", "NA", "2"]
    typed = Table.from_columns({"a": [-999, 1, 5]}, "here", missing_values=("-999",))
    np.testing.assert_array_equal(typed.numbers("a"), [np.nan, 1.0, 5.0])
    assert typed.strings("a").tolist() == ["", "1", "5"]


# Forms of text


@each_case("delimiter", [",", ";", "\t", "|"])
@each_case("end", ["\n", "\r\n", "\r"])
def test_delimiters_are_found_and_line_ends_do_not_matter(tmp_path, delimiter, end):
    rows = [["x 1", "y"], ["1", "p, q; r"], ["", "two\nlines"], ["3", "s|t\tu"]]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    content = b"\xef\xbb\xbf" + text.getvalue().encode()
    table = read_table(written(tmp_path, content, "t.TSV"))
    assert table.names == ["x 1", "y"]
    assert table.strings("y").tolist() == [row[1] for row in rows[1:]]
    # The third row ends one line after it begins.
    np.testing.assert_array_equal(table.lines, [2, 3, 5])
    assert read_table(tmp_path / "t.TSV", delimiter=delimiter).names == table.names


def test_compressed_text_is_read_as_text(tmp_path):
    path = written(tmp_path, gzip.compress(TEXT.encode()), "t.csv.gz")
    assert read_table(path).strings("name").tolist() == ["first", "second", "third"]
    assert "cannot be read" in refused(written(tmp_path, TEXT, "plain.csv.gz"))
    assert "cannot be read" in refused(
        written(tmp_path, gzip.compress(TEXT.encode())[:-12], "short.csv.gz")
    )


@pytest.mark.parametrize(
    "text", ["a,b,\n1,2,\n3,4,\n", "a,b\n1,2,\n3,4\n", "a,b,,\n1,2,,\n3,4\n,,,\n"]
)
def test_delimiters_at_the_end_of_lines_are_passed_over(tmp_path, text):
    table = read_table(written(tmp_path, text))
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table.numbers("b"), [2.0, 4.0])


def test_cells_may_be_longer_than_python_allows_by_itself(tmp_path):
    # Python's own limit; another test may have raised it for the whole process.
    before = csv.field_size_limit(131072)
    try:
        long = "word " * 131072
        table = read_table(written(tmp_path, f'a,b\n1,"{long}"\n'))
        assert table.strings("b")[0] == long.strip()
        assert csv.field_size_limit() == 131072
    finally:
        csv.field_size_limit(before)


def test_lines_of_delimiters_alone_are_blank(tmp_path):
    assert "every line is blank" in refused(written(tmp_path, ",,\n,\n"), delimiter=",")


def test_a_delimiter_that_is_none_is_refused(tmp_path):
    for delimiter in ("", "ab", '"', "\n"):
        assert "cannot separate cells" in refused(written(tmp_path, TEXT), delimiter=delimiter)


def test_ten_thousand_columns_are_read(tmp_path):
    values = np.arange(30_000.0).reshape(3, 10_000)
    lines = [",".join(f"x{column}" for column in range(10_000))]
    lines += [",".join(map(str, row)) for row in values.tolist()]
    table = read_table(written(tmp_path, "\n".join(lines)))
    names = table.matching(["x*"], "numbers")
    assert len(names) == 10_000
    np.testing.assert_array_equal(np.column_stack([table.numbers(n) for n in names]), values)
    with pytest.raises(UserError) as caught:
        table.numbers("x12.4")
    assert len(str(caught.value)) < 1000


def test_rows_of_text_without_a_header_are_given_as_they_are(tmp_path):
    lines, rows = text_rows(written(tmp_path, "1, 2\n\n3\n"))
    assert (lines, rows) == ([1, 3], [["1", "2"], ["3"]])


# Faults of text


@each_case(
    ("content", "words"),
    [
        ("", ["the file is empty"]),
        ("\n \n", ["the file is empty"]),
        ("a,b\n", ["0 rows"]),
        ("a,b, a\n1,2,3\n", ["line 1", "columns 1 and 3 are both named 'a'"]),
        ("a,,c\n1,2,3\n", ["line 1, column 2", "no name"]),
        (",a\n0.5,1\n", ["line 1, column 1", "no name", "index=False"]),
        ("a,b\n1,2\n1,2,3\n", ["line 3", "3 cells", "2 cells"]),
        ("a,b\n1,2\n\n1\n", ["line 4", "1 cells", "2 cells"]),
        (b"a,b\n1,2\n1,\xe9\n", ["line 3", "not UTF-8"]),
        (b"a,b\r1,2\r1,\xe9\r", ["line 3", "not UTF-8"]),
        (b"a,b\n1,\x002\n", ["line 2", "NUL"]),
        ("a,b\n1,2\n", ["UTF-16"]),
        ("a,b\n1,2\na,b\n3,4\n", ["line 3", "header", "repeated"]),
        ('a,b\n1,2\n"x,2\n3,4\n', ["line 3", "is not closed"]),
        ('a,b\n"x"y,2\n', ["line 2", "cannot be split"]),
        (b"PK\x03\x04rest", ["ZIP archive or a workbook"]),
        (b"\xd0\xcf\x11\xe0rest", [".xls"]),
        (b"PAR1 and so on PAR1", ["Parquet", "rename"]),
        (b"\x89HDF\r\n\x1a\nrest", ["HDF5", "rename"]),
        (gzip.compress(b"a,b", mtime=0), ["gzip", ".csv.gz"]),
        ("\n<!DOCTYPE html><html>", ["HTML", "download the table itself"]),
    ],
)
def test_faults_of_text_are_named(tmp_path, content, words):
    if "UTF-16" in words:
        content = content.encode("utf-16")
    message = refused(written(tmp_path, content))
    assert all(word in message for word in words), message


def test_a_column_may_be_named_as_a_parquet_file_begins(tmp_path):
    assert read_table(written(tmp_path, "PAR1,b\n1,2\n")).names == ["PAR1", "b"]


def test_files_that_are_not_there_are_reported_from_those_with_a_similar_name(tmp_path):
    written(tmp_path, TEXT, "assay.csv")
    assert "assay.csv'" in refused(tmp_path / "asay.csv")
    assert "there is no folder" in refused(tmp_path / "no" / "assay.csv")
    assert "a folder" in refused(tmp_path)


def test_unknown_endings_are_refused_with_those_that_are_known(tmp_path):
    message = refused(written(tmp_path, b"PK\x03\x04", "t.ods"))
    assert "'.ods'" in message and ".parquet" in message and "CSV UTF-8" in message
    assert "no ending" in refused(written(tmp_path, TEXT, "table"))


@pytest.mark.parametrize("name", ["t.parquet", "t.h5", "t.hdf5"])
def test_text_is_not_taken_for_a_binary_table(tmp_path, name):
    assert f"ends in '.{name[2:]}'" in refused(written(tmp_path, TEXT, name))


# Columns by name


def table_of(*names: str) -> Table:
    return Table.from_columns({name: [1, 2] for name in names}, "here")


def test_an_exact_name_goes_before_a_pattern_and_the_order_is_that_of_the_file():
    table = table_of("y[1]", "x2", "y1", "x1", "X1", "*")
    assert table.matching(["x*", "y[1]"], "outputs") == ["y[1]", "x2", "x1"]
    assert table.matching(["y[12]"], "outputs") == ["y1"]
    assert table.matching(["*"], "outputs") == ["*"]
    assert table.matching(["?1", "x1", "x1"], "outputs") == ["y1", "x1", "X1"]


@pytest.mark.parametrize("pattern", ["widht", "width*x", "", "Width"])
def test_a_pattern_that_means_nothing_is_refused(pattern):
    with pytest.raises(UserError) as caught:
        table_of("width", "height").matching(["height", pattern], "numbers")
    assert caught.value.location == "here, option numbers"
    assert f"'{pattern}'" in caught.value.found
    if pattern in ("widht", "Width"):
        assert caught.value.remedy == "write 'width'"


def test_empty_rows_are_kept_where_each_row_counts(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(",\na,b\n1,2\n,\n\n3,4\n,\n")
    assert read_table(path).lines.tolist() == [3, 6]
    table = read_table(path, keep_empty=True)
    assert table.lines.tolist() == [3, 4, 6]
    np.testing.assert_array_equal(table.numbers("b"), [2, np.nan, 4])
    path.write_text('note\nwet\n""\n\ndry\n""\n')
    assert read_table(path).strings("note").tolist() == ["wet", "dry"]
    assert read_table(path, keep_empty=True).strings("note").tolist() == ["wet", "", "dry", ""]


def test_letters_with_marks_are_one_letter_in_whichever_way_they_are_written():
    composed, decomposed = (
        unicodedata.normalize(form, "Gr\u00f6\u00dfe") for form in ("NFC", "NFD")
    )
    assert composed != decomposed
    for name, other in ((composed, decomposed), (decomposed, composed)):
        table = table_of(name)
        assert table.names == [composed]
        assert table.matching([other], "numbers") == [composed]
        assert table.numbers(other).shape == (table.n_rows,)


def test_a_name_in_other_letters_is_the_nearest():
    with pytest.raises(UserError, match="write 'y1'"):
        table_of("X1", "y1").matching(["Y1"], "outputs")


def test_values_of_an_unknown_column_name_the_nearest():
    for ask in (Table.strings, Table.numbers, Table.is_numeric):
        with pytest.raises(UserError, match="write 'width'"):
            ask(table_of("width", "height"), "widht")


def test_selected_rows_keep_their_lines_and_the_table_stays(tmp_path):
    table = read_table(written(tmp_path, TEXT))
    for rows in ([2, 0], np.array([2, 0])):
        part = table.selected(rows)
        assert part.strings("name").tolist() == ["third", "first"]
        assert part.where(0, "name").endswith("line 4, column 'name'")
    assert table.selected([False, True, False]).lines.tolist() == [3]
    assert table.selected(np.zeros(3, dtype=bool)).n_rows == 0
    table.strings("name")[:] = "changed"
    table.numbers("width")[:] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        table.lines[0] = 9
    assert table.strings("name")[0] == "first" and table.numbers("width")[0] == 1.5


# Typed columns


def test_columns_of_pandas_are_as_those_of_the_csv_file_it_writes(tmp_path):
    frame = pandas.DataFrame(
        {
            "whole": [1, 2, 3],
            "number": [1.5, np.nan, 0.1],
            "text": [" a", None, "b"],
            "flag": [True, False, True],
            "kind": pandas.Categorical(["u", None, "v"]),
            "day": pandas.to_datetime(["2020-02-01", None, "2021-12-31"]),
            "mixed": [1, "x", None],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    typed, text = Table.from_columns(frame, "the frame"), read_table(tmp_path / "t.csv")
    assert typed.names == text.names
    for name in typed.names:
        assert typed.strings(name).tolist() == text.strings(name).tolist()
        assert typed.is_numeric(name) == text.is_numeric(name)
    for name in ("whole", "number"):
        np.testing.assert_array_equal(typed.numbers(name), text.numbers(name))
    assert typed.lines.tolist() == [1, 2, 3]


def test_infinite_numbers_are_no_numbers():
    table = Table.from_columns({"a": [1.0, np.inf]}, "here")
    assert not table.is_numeric("a")
    with pytest.raises(UserError, match="here, row 2, column 'a': 'inf' is not a finite number"):
        table.numbers("a")


def test_dates_and_decimal_numbers_become_texts():
    table = Table.from_columns(
        {
            "date": [datetime.date(2024, 1, 2), None],
            "moment": np.array(["2024-01-02T03:04:05", "NaT"], dtype="datetime64[s]"),
            "decimal": [decimal.Decimal("1.50"), float("nan")],
            "bytes": [b" \xc3\xa9 ", pandas.NA],
        },
        "here",
    )
    assert table.strings("date").tolist() == ["2024-01-02", ""]
    moment = table.strings("moment")[0]
    assert datetime.datetime.fromisoformat(moment) == datetime.datetime(2024, 1, 2, 3, 4, 5)
    np.testing.assert_array_equal(table.numbers("decimal"), [1.5, np.nan])
    assert table.strings("bytes").tolist() == ["é", ""]


@each_case(
    ("columns", "words"),
    [
        ({}, "no column"),
        ({"a": []}, "0 rows"),
        ({"a": [1], "b": [1, 2]}, "1 values in the column 'a' and 2 in the column 'b'"),
        ({"a": [[1, 2], [3, 4]]}, "lists within lists"),
        ({"a": [[1], [2, 3]]}, "lists within lists"),
        ({"a": [1, object()]}, "row 2: a value of the type object"),
        ({"a": [b"\xff"]}, "row 1: bytes that are not UTF-8"),
        ({"": [1]}, "column 1: the column has no name"),
        ({"a": [1], " a": [1]}, "columns 1 and 2 are both named 'a'"),
        ({"a\0": [1]}, "NUL"),
    ],
)
def test_columns_that_are_no_table_are_refused(columns, words):
    with pytest.raises(UserError) as caught:
        Table.from_columns(columns, "here")
    assert words in str(caught.value)


# HDF5


def test_one_dimensional_datasets_are_columns(tmp_path):
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["number"] = [1.5, np.nan, -3.0]
        file["whole"] = np.array([1, 2, 3], dtype=np.uint8)
        file["text"] = ["é", "NA", " c "]
        file["fixed"] = np.array([b"a", b"", b"bc"])
        file["flag"] = [True, False, True]
    table = read_table(tmp_path / "t.h5")
    assert sorted(table.names) == ["fixed", "flag", "number", "text", "whole"]
    np.testing.assert_array_equal(table.numbers("number"), [1.5, np.nan, -3.0])
    assert table.strings("text").tolist() == ["é", "", "c"]
    assert table.strings("fixed").tolist() == ["a", "", "bc"]
    assert table.strings("whole").tolist() == ["1", "2", "3"]
    assert table.strings("flag").tolist() == ["True", "False", "True"]
    assert table.where(1) == f"{tmp_path / 't.h5'}, row 2"


def test_a_two_dimensional_dataset_names_its_columns(tmp_path):
    with h5py.File(tmp_path / "t.hdf5", "w") as file:
        file["table"] = np.arange(6.0).reshape(3, 2)
        file["table"].attrs["columns"] = ["p", "q"]
    table = read_table(tmp_path / "t.hdf5")
    assert table.names == ["p", "q"]
    np.testing.assert_array_equal(table.numbers("q"), [1.0, 3.0, 5.0])


def virtual(file):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "number", (3,))
    file.create_virtual_dataset("a", layout)


def larger_than_memory(file):
    file.create_dataset("a", (2**50,), dtype="f8", chunks=(1000,))


def external_storage(file):
    file.create_dataset("a", (3,), dtype="u1", external=[("other.h5", 0, 3)])


def repeated_columns(file):
    file["a"] = np.zeros((2, 2))
    file["a"].attrs["columns"] = ["p", "p"]


def nul(file):
    file.create_dataset("a", data=["x\0y", "z"], dtype=h5py.string_dtype(length=3))


COMPOUND = np.array([(1, 2.0)], dtype=[("x", int), ("y", float)])


@each_case(
    ("write", "words"),
    [
        ({"a": h5py.ExternalLink("other.h5", "number")}, "a link"),
        ({"a": h5py.SoftLink("/b")}, "a link"),
        (external_storage, "stored in another file"),
        (virtual, "stored in another file"),
        (lambda file: file.create_group("a"), "a group"),
        (
            lambda file: file.create_dataset("a", data=[file.ref], dtype=h5py.ref_dtype),
            "of the type object",
        ),
        (
            lambda file: file.create_dataset("a", (2,), dtype=h5py.vlen_dtype(float)),
            "of the type object",
        ),
        ({"a": COMPOUND}, "of the type"),
        ({"a": 1.0}, "of 0 axes"),
        (larger_than_memory, "a stated size of 9007199254740992 bytes"),
        ({"a": np.zeros((2, 3))}, "3 columns with 0 names"),
        (repeated_columns, "both named 'p'"),
        ({"a": [1, 2], "b": [1]}, "2 values in the column 'a' and 1"),
        ({"a": np.array([b"\xff", b"a"])}, "can't decode"),
        (nul, "a text with a NUL character"),
        ({}, "no column"),
    ],
)
def test_hdf5_that_is_no_plain_table_is_refused(tmp_path, write, words):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["number"] = [1.0, 2.0, 3.0]
    with h5py.File(tmp_path / "t.h5", "w") as file:
        for name, values in write.items() if isinstance(write, dict) else ():
            file[name] = values
        if callable(write):
            write(file)
    assert words in refused(tmp_path / "t.h5")


def test_damaged_hdf5_is_refused(tmp_path):
    assert "damaged" in refused(written(tmp_path, b"\x89HDF\r\n\x1a\n" + b"x" * 90, "t.h5"))


# Limits


def test_a_compressed_table_that_would_become_too_large_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, gzip.compress(TEXT.encode() + b"\n" * 100_000), "t.csv.gz")
    read_table(path)
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 50_000)
    assert "more than 50000 bytes" in refused(path)


def test_a_line_that_is_too_long_is_named_and_others_are_read_with_their_ends(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(tables, "MAX_LINE_LENGTH", 10)
    content = b"one\n\ntwo\r\nlast"
    assert list(tables.lines_of(io.BytesIO(content), "f")) == [b"one\n", b"\n", b"two\r\n", b"last"]
    lines = tables.lines_of(io.BytesIO(b"one\n" + b"x" * 11), "f")
    assert next(lines) == b"one\n"
    with pytest.raises(UserError, match="f, line 2: the line has more than 10 bytes"):
        next(lines)
    message = refused(written(tmp_path, "a,b\n1,2\n" + "3," * 600))
    assert "line 3: the line has more than 10 bytes" in message


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_text_is_refused_by_its_longest_line(monkeypatch, end):
    monkeypatch.setattr(tables, "MAX_LINE_LENGTH", 10)
    tables.refuse_long_lines(b"", "f")
    tables.refuse_long_lines(end.join([b"x" * 9] * 50), "f")
    for number in (1, 2, 30, 50):
        lines = [b"x" * 9] * 50
        lines[number - 1] = b"x" * 12
        with pytest.raises(UserError, match=f"f, line {number}: "):
            tables.refuse_long_lines(end.join(lines), "f")


def test_many_columns_without_a_name_are_passed_over_or_named(tmp_path):
    # Each is read once; reading each again for every other would take hours.
    commas = "," * 400_000
    table = read_table(written(tmp_path, f"a,b{commas}\n1,2{commas}\n3,4\n"))
    assert table.names == ["a", "b"] and table.numbers("b").tolist() == [2.0, 4.0]
    message = refused(written(tmp_path, f"a,b{commas}\n1,2{commas}5\n"))
    assert "column 3: the column has no name" in message


@pytest.mark.parametrize(
    ("header", "row", "names"),
    [
        ("a,b,", "1,2,", ["a", "b"]),
        ("a,b,,", "1,2", ["a", "b"]),
        ("a,,", "1", ["a"]),
        ("a,b,", "1,2,3", "column 3: the column has no name"),
        ("a,,b,", "1,,2,", "column 2: the column has no name"),
        ("a,", "1,,3", "3 cells. Expected 1 cells"),
    ],
)
def test_columns_at_the_end_without_name_and_cells_are_none(tmp_path, header, row, names):
    path = written(tmp_path, f"{header}\n{row}\n")
    if isinstance(names, str):
        assert names in refused(path)
    else:
        assert read_table(path).names == names


# Parquet


def test_parquet_with_damaged_texts_is_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"text": ["damaged text"], "number": [1]})
    parquet.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    content = (tmp_path / "t.parquet").read_bytes()
    assert b"damaged text" in content
    message = refused(written(tmp_path, content.replace(b"damaged ", b"damage\xff "), "t.parquet"))
    assert "the file is damaged" in message


def test_parquet_of_more_cells_than_its_size_allows_is_refused(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"zero": np.zeros(100_000)}), tmp_path / "t.parquet")
    read_table(tmp_path / "t.parquet")
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(archives, "MAX_RATIO", 2)
    assert "100000 cells" in refused(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("package", "content", "name", "extra"),
    [
        ("pyarrow", b"PAR1....PAR1", "t.parquet", "parquet"),
        ("openpyxl", b"PK\x03\x04", "t.xlsx", "excel"),
    ],
)
def test_a_file_asks_for_the_package_that_reads_it(
    tmp_path, monkeypatch, package, content, name, extra
):
    monkeypatch.setitem(sys.modules, package, None)
    message = refused(written(tmp_path, content, name))
    assert f"{package} cannot be imported" in message and f"pip install '.[{extra}]'" in message


def test_parquet_columns_are_those_that_were_written(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "whole": [1, None, 3],
        "number": [1.5, None, float("nan")],
        "text": ["a", None, " b"],
        "day": [datetime.date(2020, 1, 2), None, None],
        "decimal": [decimal.Decimal("1.50"), None, None],
        "level": arrow.array(["u", "v", "u"]).dictionary_encode(),
        "flag": [True, None, False],
        "__index_level_0__": [7, 8, 9],
    }
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.names == list(columns)[:-1]
    assert table.strings("whole").tolist() == ["1", "", "3"]
    np.testing.assert_array_equal(table.numbers("number"), [1.5, np.nan, np.nan])
    assert table.strings("text").tolist() == ["a", "", "b"]
    assert table.strings("day").tolist() == ["2020-01-02", "", ""]
    np.testing.assert_array_equal(table.numbers("decimal"), [1.5, np.nan, np.nan])
    assert table.strings("level").tolist() == ["u", "v", "u"]
    assert table.strings("flag").tolist() == ["True", "", "False"]
    parquet.write_table(arrow.table({"a": [[1], [2]]}), tmp_path / "lists.parquet")
    assert "lists within lists" in refused(tmp_path / "lists.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    assert "damaged" in refused(written(tmp_path, content[:-200] + b"PAR1", "cut.parquet"))
