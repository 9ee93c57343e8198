"""Files of instruments, offices and other programs: what is read, passed over, and refused."""

from __future__ import annotations

import pytest

from workflow_lib.datasets.table_file import read_table
from workflow_lib.errors import UserError

ROWS = "x1,x2,y\n0.5,1.5,2\n0.25,3,4\n7,8,9\n"
READ = {
    "as usual": (ROWS, "x1 x2 y", [2, 3, 4], []),
    "preamble": (f"Instrument,ABC 200\nDate,2024-02-03\n{ROWS}", "x1 x2 y", [4, 5, 6], ["2 lines"]),
    "padded preamble": (
        f"Instrument,ABC 200,\n,,\n{ROWS}",
        "x1 x2 y",
        [4, 5, 6],
        ["1 line before"],
    ),
    "title": (f"Results of run 7\n\n{ROWS}", "x1 x2 y", [4, 5, 6], ["1 line before"]),
    "title with a comma": (
        "Operator: Smith, John\nx1;x2;y\n0.5;1;2\n1,5;3;4\n",
        "x1 x2 y",
        [3, 4],
        ["1 line before"],
    ),
    "longer preamble than table": (
        "".join(f"key {n},value {n}\n" for n in range(30)) + ROWS,
        "x1 x2 y",
        [32, 33, 34],
        ["30 lines before the header, line 31"],
    ),
    "preamble with numbers": (
        f"Instrument,ABC\nGain,3\nSpeed,300\n{ROWS}",
        "x1 x2 y",
        [5, 6, 7],
        ["3 lines before"],
    ),
    "preamble of a spectrum": (
        "Instrument,X\nname,1100,1102,y\na,0.5,0.6,3\nb,0.4,0.5,4\n",
        "name 1100 1102 y",
        [3, 4],
        ["1 line before"],
    ),
    "one new row": (f"Instrument,ABC 200\n{ROWS[:18]}", "x1 x2 y", [3], ["1 line before"]),
    "comments": (
        f"# made by, hand\n% at noon\n{ROWS}# end\n",
        "x1 x2 y",
        [4, 5, 6],
        ["2 lines", "1 line with"],
    ),
    "comment as wide as the table": (
        f"# temperature, rate, yield\n{ROWS}",
        "x1 x2 y",
        [3, 4, 5],
        [],
    ),
    "comment within": ("a,b\n1,2\n# break\n3,4\n", "a b", [2, 4], ["1 line with comments"]),
    "header with a mark": ("#x1,x2,y\n0.5,1,2\n1,2,3\n", "#x1 x2 y", [2, 3], []),
    "rows with a mark": ("id,x\n#1,2\n#2,3\n", "id x", [2, 3], []),
    "cells with a mark": ('a,b\n1,"two\n# lines"\n2,three\n', "a b", [2, 4], []),
    "footer": (f"{ROWS}\nSource: the office of 2024\n", "x1 x2 y", [2, 3, 4], ["1 line after"]),
    "padded footer": (f"{ROWS},,\nSource: the office,,\n", "x1 x2 y", [2, 3, 4], ["1 line after"]),
    "units": (
        f"x1,x2,y\nmm,s,%\n{ROWS[8:]}",
        "x1 x2 y",
        [3, 4, 5],
        ["line 2, which has no numbers (units?)"],
    ),
    "no units": ("x,y,z\nn.d.,a,3\n1,b,4\n2,c,5\n", "x y z", [2, 3, 4], []),
    "missing row": ("x,y\nNA,NA\n1,2\n", "x y", [2, 3], []),
    "sep": ("sep=;\r\n" + ROWS.replace(",", ";"), "x1 x2 y", [3, 4, 5], ["names the delimiter"]),
    "sep in quotes": ('"sep=\t"\n' + ROWS.replace(",", "\t"), "x1 x2 y", [3, 4, 5], ["delimiter"]),
    "sep and preamble": ("sep=,\nA,B\n" + ROWS, "x1 x2 y", [4, 5, 6], ["delimiter", "1 line"]),
    "header of R": ('"x"\t"y"\n"1"\t0.5\t2\n"2"\t1\t3\n', "row x y", [2, 3], ["'row'"]),
    "names of R, spaces": ('"x" "y"\n"a" 0.5 2\n"b" 1 3\n', "row x y", [2, 3], ["'row'"]),
    "row numbers of pandas": (",x,y\n0,1,2\n1,3,4\n", "row x y", [2, 3], ["no name"]),
    "row is taken": ('"",row,y\na,1,2\nb,3,4\n', "row name|row|y", [2, 3], ["'row name'"]),
    "spaces before quotes": ('x, "a, b", y\n1, "c, d", 2\n2, "e", 3\n', "x|a, b|y", [2, 3], []),
}
"""By the name of the case: the text, the names, the lines of the rows, and words of the notes."""


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_tables_are_read_without_what_surrounds_them(tmp_path, name, end):
    text, names, lines, words = READ[name]
    path = tmp_path / "t.csv"
    path.write_bytes(text.replace("\r\n", "\n").replace("\n", end).encode())
    table = read_table(path)
    assert table.names == names.split("|" if "|" in names else " ")
    assert table.lines.tolist() == lines
    assert len(words) <= len(table.notes)
    for word, note in zip(words, table.notes):
        assert word in note


REFUSED = {
    "short header of numbers": ("x,y\n3,5,2\n4,5,1\n", "line 2: 3 cells"),
    "short last row": ("x,y,z\n1,2,3\n4,5\n", "line 3: 2 cells"),
    "last row cut off": ("x,y,z\na,2,3\nb\n", "line 3: 1 cells"),
    "numbers after an empty line": ("x,y,z\n1,2,3\n\n4,5\n", "line 4: 2 cells"),
    "text after the table": ("x,y\n1,2\nTotal\n", "lines before the header and after the table"),
    "long row": ("a,b\np,q\nr,s,t\nu,v\n", "line 3: 3 cells"),
    "two tables": ("a,b\n1,2\n3,4\nx,y,z\n1,2,3\n4,5,6\n", "line 4: 3 cells"),
    "open quote": ('x,y\n1,"2\n3,4\n', "a quote opens"),
    "first column of fractions": (",x\n0.5,1\n0.7,2\n", "the column has no name"),
    "first column of repeated numbers": (",x\n1,1\n1,2\n", "the column has no name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_be_damaged_is_refused(tmp_path, name):
    text, words = REFUSED[name]
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_table(path)
    assert words in str(caught.value)
