"""The kind of a column follows from its cells, and from its name where they allow two kinds."""

import pytest
from each_case import each_case

from workflow_lib.data.column_kinds import (
    KINDS,
    MAX_LEVELS,
    MAX_NAME_LENGTH,
    column_kinds,
    first_invalid_smiles,
    looks_like_row_id,
    n_words,
)
from workflow_lib.tabular.table_file import Table

ROWS = 60


def kind_of(values, name="column"):
    return column_kinds(Table.from_columns({name: values}, "table"))[name]


CASES = [
    ("x", [0.5 * row for row in range(ROWS)], "number"),
    ("x", ["1e-3", "", "NA"] * 20 + ["2"], "number"),
    ("doses", [1, 2, 3] * 20, "number"),
    ("flag", [0, 1] * 30, "number"),
    ("x", [7] * ROWS, "constant"),
    ("x", ["7", ""] * 30, "constant"),
    ("x", ["same"] * ROWS, "constant"),
    # A text that is missing in some rows distinguishes these from the others.
    ("x", ["yes", ""] * 30, "category"),
    ("x", [""] * ROWS, "empty"),
    ("colour", ["red", "green"] * 30, "category"),
    ("colour", ["red", "green", "blue"] * 3, "strings"),
    ("city", [f"place {row // 2}" for row in range(ROWS)], "strings"),
    ("notes", [f"the {row // 2} is hardly wet at all" for row in range(ROWS)], "text"),
    ("day", [f"2024-05-{1 + row % 28:02d}" for row in range(ROWS)], "date"),
    ("day", [f"2024-05-{1 + row % 28:02d} 12:30:00" for row in range(ROWS)], "date"),
    ("day", [f"{1 + row % 28}/05/2024" for row in range(ROWS)], "date"),
    ("day", [f"{1 + row % 28}.5.2024" for row in range(ROWS)], "date"),
    # Mixed separators are no date, and a number is none either.
    ("day", [f"2024-05/{1 + row % 28:02d}" for row in range(ROWS)], "strings"),
    ("day", [f"202405{1 + row % 28:02d}" for row in range(ROWS)], "number"),
    ("who", [f"S-{row}" for row in range(ROWS)], "row name"),
    ("sequence", [f"{row:03d}" + "ACDEF" * 8 for row in range(ROWS)], "strings"),
    ("sequence_id", [f"{row:03d}" + "ACDEF" * 8 for row in range(ROWS)], "row name"),
    ("x", list(range(ROWS)), "row name"),
    ("x", list(range(5, 5 + ROWS)), "row name"),
    # A different whole number a row is a measurement unless it counts, or is named so.
    ("x", [(7 * row) % 61 for row in range(ROWS)], "number"),
    ("patient_id", [(7 * row) % 61 for row in range(ROWS)], "row name"),
    ("smiles", ["CCO", "c1ccccc1"] * 30, "smiles"),
    ("SMILES", ["CC(=O)O"] + [f"C{'C' * row}[N+](=O)[O-]" for row in range(59)], "smiles"),
    ("smiles", ["a happy face", "a sad one"] * 30, "category"),
    ("Canonical SMILES", [f"C{'C' * row}O" for row in range(ROWS)], "smiles"),
    ("drug_smiles", [f"C{'C' * row}O" for row in range(ROWS)], "smiles"),
    ("unsmilesome", [f"C{'C' * row}O" for row in range(ROWS)], "strings"),
    # Structures are recognised without a name; names of samples and formulas are no structures.
    ("structure", ["CCO", "c1ccccc1"] * 30, "smiles"),
    ("structure", [f"C{'C' * row}(=O)O" for row in range(ROWS)], "smiles"),
    ("structure", [f"C{row}" for row in range(ROWS)], "row name"),
    ("formula", ["C2H6O", "CO2", "N2O"] * 20, "category"),
    ("sequence", ["CCNPSF" * (1 + row) for row in range(ROWS)], "strings"),
    ("structure", ["C(=O)O", "carbon"] * 30, "category"),
]


@each_case(("name", "values", "kind"), CASES)
def test_the_kind_follows_from_the_cells(name, values, kind):
    assert kind_of(values, name).kind == kind


def test_every_kind_is_reached():
    # The table above would hide a kind that no column can have.
    assert {kind for _, _, kind in CASES} == set(KINDS)


def test_a_category_has_few_levels_with_several_rows_each():
    few = [f"l{row % MAX_LEVELS}" for row in range(400)]
    assert kind_of(few).kind == "category"
    assert kind_of(few[:100]).kind == "strings"
    assert kind_of([f"l{row % (MAX_LEVELS + 1)}" for row in range(400)]).kind == "strings"


def test_names_are_short():
    assert kind_of([f"{row:030d}x"[-MAX_NAME_LENGTH:] for row in range(ROWS)]).kind == "row name"
    assert kind_of([f"{row:040d}x" for row in range(ROWS)]).kind == "strings"


def test_missing_and_different_values_are_counted():
    for values in (["1", "2", "", "2", "NA"], ["a", "b", "", "b", "NA"]):
        found = kind_of(values)
        assert (found.n_missing, found.n_distinct) == (2, 2)


def test_few_whole_numbers_stay_numbers_and_that_is_reported():
    assert kind_of([1, 2, 3] * 20).note == "3 different whole numbers, taken as numbers"
    assert kind_of([0.1, 2, 3] * 20).note == ""


@pytest.mark.parametrize(
    ("first", "end", "number"), [("0,5", ",5", "0.5"), ("0%", "%", "0"), ("0 mg", " mg", "0")]
)
def test_numbers_in_another_format_are_reported(first, end, number):
    found = kind_of([f"{row}{end}" for row in range(ROWS)])
    assert found.kind == "strings"
    assert f"such as '{first}', and are taken for texts; write {number}" in found.warning


@each_case(
    ("names", "are_identifiers"),
    [
        ("id,ID,sample_id,Sample ID,sampleId,row,Unnamed: 0,name,No.", True),
        ("acid,solid,lipid,fluid,grid,x1,notes,Nox", False),
    ],
)
def test_names_of_identifiers_are_recognised(names, are_identifiers):
    assert {looks_like_row_id(name) for name in names.split(",")} == {are_identifiers}


def test_words_are_counted_and_the_first_text_that_is_no_smiles_is_found():
    assert n_words(["one two", "", "three four five six"]) == 3.0
    assert n_words(["", ""]) == 0.0
    assert first_invalid_smiles(["CCO", "", "C C", "é"]) == 2
    assert first_invalid_smiles(["CCO", ""]) is None
