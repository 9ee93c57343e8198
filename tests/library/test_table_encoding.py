"""Columns of a table become the expected inputs, in the same way for later rows."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.table_encoding import N_BITS, STRING_COLUMNS, TableEncoding
from workflow_lib.inputs.column_origins import channel_groups
from workflow_lib.tabular.table_file import Table, read_table

COLUMNS = {
    "width": [1.5, None, 3.0, -2.0],
    "depth": [1, 2, 3, 4],
    "colour": ["red", "blue", "", "red"],
    "state": ["on", "off", "on", "on"],
    "product": ["screw M4", "screw M5", "", "oak board"],
    "notes": ["Good and stable, good", "bad, stable", "", "good; unique!"],
    "molecule": ["CCO", "c1ccccc1", "CCO", "CC(=O)O"],
}
KINDS = {
    "numbers": ["width", "depth"],
    "categories": ["colour", "state"],
    "strings": ["product"],
    "text": "notes",
    "smiles": "molecule",
}


def table_of(**columns) -> Table:
    return Table.from_columns(columns or COLUMNS, "here")


def fitted(*kinds: str) -> TableEncoding:
    return TableEncoding.fit(table_of(), **{kind: KINDS[kind] for kind in kinds})


# Dense columns


def test_numbers_stay_as_they_are_and_missing_ones_are_nan():
    rows = fitted("numbers").encode(table_of())
    np.testing.assert_array_equal(rows.inputs, [[1.5, 1], [np.nan, 2], [3.0, 3], [-2.0, 4]])
    assert rows.inputs.dtype == np.float64
    assert rows.names == ["width", "depth"]
    assert (rows.lagged_values, rows.lagged_names, rows.notes) == (None, [], [""] * 4)


def test_a_missing_number_is_an_input_of_its_own_where_that_is_asked_for():
    encoding = TableEncoding.fit(
        table_of(), ["width", "depth"], ["state"], missing_indicators=["width"]
    )
    assert encoding.columns == ["width", "depth", "state"]
    np.testing.assert_array_equal(encoding.origins.properties, [0, 1, 2, 3, 3])
    again = TableEncoding.from_tree(encoding.tree())
    assert again == encoding
    rows = again.encode(table_of(width=[None, 5.0], depth=[1, 2], state=["on", "off"]))
    assert rows.names[:3] == ["width", "depth", "width is missing"]
    np.testing.assert_array_equal(rows.inputs[:, 1:3], [[1, 1], [2, 0]])


def test_levels_have_a_column_each_and_a_missing_one_if_any_is_missing():
    rows = fitted("categories").encode(table_of())
    assert rows.names == ["colour=blue", "colour=red", "colour=(missing)", "state=off", "state=on"]
    expected = [[0, 1, 0, 0, 1], [1, 0, 0, 1, 0], [0, 0, 1, 0, 1], [0, 1, 0, 0, 1]]
    np.testing.assert_array_equal(rows.inputs, expected)
    # Each row has one level of each category.
    np.testing.assert_array_equal(rows.inputs.sum(axis=1), 2)


def test_levels_that_were_never_seen_are_zero_and_noted():
    later = table_of(colour=["mauve", "red", ""], state=["on", None, "off"], other=[1, 2, 3])
    rows = fitted("categories").encode(later)
    np.testing.assert_array_equal(rows.inputs, [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0]])
    assert rows.notes == ["colour: 'mauve' was never seen", "state: was never missing before", ""]
    both = table_of(colour=["mauve"], state=["?"])
    assert fitted("categories").encode(both).notes[0].count("; ") == 1


def test_a_level_that_is_a_number_is_the_same_however_it_is_written(tmp_path):
    (tmp_path / "t.csv").write_text("grade\n1\n2.0\n3\n")
    encoding = TableEncoding.fit(read_table(tmp_path / "t.csv"), categories=["grade"])
    rows = encoding.encode(table_of(grade=[1.0, 2.0, np.nan, 4.0]))
    np.testing.assert_array_equal(rows.inputs, [[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert [bool(note) for note in rows.notes] == [False, False, True, True]
    # Where two levels are one number, it is unclear which is meant.
    unclear = TableEncoding.fit(table_of(grade=["007", "07", "A"]), categories=["grade"])
    assert unclear.encode(table_of(grade=["7"])).inputs.sum() == 0
    assert unclear.encode(table_of(grade=["07"])).inputs.sum() == 1


def test_strings_resemble_each_other_by_their_letters_and_need_no_fit():
    rows = fitted("strings").encode(table_of())
    assert rows.inputs.shape == (4, STRING_COLUMNS)
    products = rows.inputs @ rows.inputs.T
    np.testing.assert_allclose(np.diag(products), [1, 1, 0, 1])
    assert products[0, 1] > 0.5 > abs(products[0, 3])
    # A row does not depend on the others.
    encoding = TableEncoding.fit(table_of(product=["x"]), strings=["product"])
    alone = encoding.encode(table_of(product=["screw M5"]))
    np.testing.assert_array_equal(alone.inputs[0], rows.inputs[1])


def test_columns_are_in_the_order_of_their_kinds():
    encoding = fitted("strings", "categories", "numbers")
    rows = encoding.encode(table_of())
    parts = [fitted(kind).encode(table_of()) for kind in ("numbers", "categories", "strings")]
    np.testing.assert_array_equal(rows.inputs, np.hstack([part.inputs for part in parts]))
    assert rows.names == sum([part.names for part in parts], [])
    assert encoding.columns == ["width", "depth", "colour", "state", "product"]


# Words and molecules


def test_texts_are_counts_of_the_words_in_two_rows_or_more():
    rows = fitted("text").encode(table_of())
    assert rows.names == ["good", "stable"]
    np.testing.assert_array_equal(rows.inputs.toarray(), [[2, 1], [0, 1], [0, 0], [1, 0]])
    assert rows.lagged_values is None
    later = fitted("text").encode(table_of(notes=["GOOD unseen", "unseen", None]))
    np.testing.assert_array_equal(later.inputs.toarray(), [[1, 0], [0, 0], [0, 0]])
    assert later.notes == ["", "notes: none of its words is known", "notes: no text"]


def test_the_most_frequent_words_are_kept(monkeypatch):
    monkeypatch.setattr("workflow_lib.data.table_encoding.MAX_TERMS", 2)
    texts = ["often often often middle rare", "often middle rare middle", "middle often"]
    assert TableEncoding.fit(table_of(notes=texts), text="notes").terms == ("middle", "often")


@pytest.mark.parametrize("texts", [["one", "two"], ["", ""], ["1 2", "1 2"], ["a b", "a b"]])
def test_texts_that_share_no_word_are_refused(texts):
    with pytest.raises(UserError, match="no word occurs in 2 rows or more"):
        TableEncoding.fit(table_of(notes=texts), text="notes")


def test_molecules_alone_are_the_bits_of_their_fingerprint():
    chem = pytest.importorskip("rdkit.Chem")
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=N_BITS)
    rows = fitted("smiles").encode(table_of())
    expected = [
        list(generator.GetFingerprint(chem.MolFromSmiles(text))) for text in COLUMNS["molecule"]
    ]
    np.testing.assert_array_equal(rows.inputs, expected)
    assert rows.lagged_values is None and len(rows.names) == N_BITS


def test_columns_other_than_counts_are_kept_separate():
    pytest.importorskip("rdkit")
    dense = fitted("numbers", "categories", "strings").encode(table_of())
    words = fitted("text").encode(table_of())
    bits = fitted("smiles").encode(table_of())
    everything = fitted("numbers", "categories", "strings", "text", "smiles").encode(table_of())
    both = np.hstack([words.inputs.toarray(), bits.inputs])
    np.testing.assert_array_equal(everything.inputs.toarray(), both)
    assert everything.names == words.names + bits.names
    np.testing.assert_array_equal(everything.lagged_values, dense.inputs)
    assert everything.lagged_names == dense.names
    mixed = fitted("smiles", "numbers").encode(table_of())
    np.testing.assert_array_equal(mixed.inputs.toarray(), bits.inputs)
    assert mixed.lagged_names == ["width", "depth"]
    assert fitted("smiles", "text").encode(table_of()).lagged_values is None


@pytest.mark.parametrize(
    ("smiles", "words"), [("C(C", "'C(C' is not a molecule"), ("", "no SMILES")]
)
def test_what_is_no_molecule_is_named_with_its_line(tmp_path, smiles, words):
    pytest.importorskip("rdkit")
    (tmp_path / "t.csv").write_text(f"mol,x\nCC,1\n{smiles},2\n")
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(UserError) as caught:
        TableEncoding.fit(table, smiles="mol").encode(table)
    assert caught.value.location.endswith("t.csv, line 3, column 'mol'")
    assert words in caught.value.found


# Storage, and later rows


@pytest.mark.parametrize(
    "kinds", [(), ("numbers",), ("categories", "strings"), ("text", "smiles", "numbers"), ("text",)]
)
def test_a_stored_encoding_encodes_the_same(tmp_path, kinds):
    pytest.importorskip("rdkit")
    encoding = fitted(*kinds)
    write_artifact(tmp_path / "e.h5", {"encoding": encoding.tree()}, "dataset")
    back = TableEncoding.from_tree(read_artifact(tmp_path / "e.h5", "dataset")["encoding"])
    assert back == encoding
    first, second = encoding.encode(table_of()), back.encode(table_of())
    assert (first.names, first.notes) == (second.names, second.notes)
    if encoding.is_sparse:
        first, second = first.inputs.toarray(), second.inputs.toarray()
    else:
        first, second = first.inputs, second.inputs
    np.testing.assert_array_equal(first, second)
    assert first.shape[0] == 4


def test_rows_are_encoded_one_by_one_as_together():
    kinds = ("numbers", "categories", "strings", "text")
    encoding = fitted(*kinds)
    together = encoding.encode(table_of())
    for row in range(4):
        alone = encoding.encode(table_of().selected([row]))
        np.testing.assert_array_equal(alone.inputs.toarray(), together.inputs.toarray()[[row]])
        np.testing.assert_array_equal(alone.lagged_values, together.lagged_values[[row]])


def test_the_order_of_columns_does_not_matter_and_a_missing_one_is_named():
    turned = Table.from_columns(dict(reversed(COLUMNS.items())), "rows.csv")
    encoding = fitted("numbers", "categories")
    np.testing.assert_array_equal(
        encoding.encode(turned).inputs, encoding.encode(table_of()).inputs
    )
    wrong = dict(COLUMNS)
    wrong["widht"] = wrong.pop("width")
    with pytest.raises(UserError) as caught:
        encoding.encode(Table.from_columns(wrong, "rows.csv"))
    assert caught.value.location == "rows.csv"
    assert caught.value.remedy == "write 'widht'"


def test_numbers_categories_names_and_channels_are_groups():
    n = 30
    columns = {f"nm {wave}": [str(wave)] * n for wave in range(1100, 1088, -1)}
    columns |= {"age": ["3"] * n, "x1": ["1"] * n, "x2": ["2"] * n}
    columns |= {"sex": ["f", "m"] * 15, "kind": ["a", "b", "c"] * 10}
    columns |= {"town": [f"town {row}" for row in range(n)], "note": ["some words"] * n}
    numbers = [name for name in columns if name[:2] in ("nm", "ag", "x1", "x2")]
    table = Table.from_columns(columns, "made")
    origins = TableEncoding.fit(
        table, numbers, ["sex", "kind", "town"], ["note"], None, None, ["age"]
    ).origins
    of_numbers = [2] * 12 + [0] * 4
    np.testing.assert_array_equal(
        origins.groups, of_numbers + [1] * 5 + [3] * n + [4] * STRING_COLUMNS
    )
    weights = origins.weights(np.ones(len(origins.groups), dtype=bool), equal_groups=True)
    totals = np.bincount(origins.groups, weights**2)
    np.testing.assert_allclose(totals, totals[0])
    np.testing.assert_allclose(np.bincount(origins.properties, weights**2)[:12], totals[0] / 12)
    more = origins.followed_by([2, 3])
    np.testing.assert_array_equal(more.groups[-5:], [5, 5, 6, 6, 6])
    assert len(np.unique(more.properties)) == len(np.unique(origins.properties)) + 2
    assert not TableEncoding.fit(table, ["age", "x1", "x2"]).origins.has_groups


def test_channels_are_at_least_ten_numbers_in_order_with_one_name():
    assert channel_groups(["1" * 20_000 + "a"] * 3 + ["age"], 1) == [0] * 4
    names = [f"a{k}" for k in range(10)] + [f"b{k}" for k in range(9)] + ["a10", "a9"]
    assert channel_groups(names, 5) == [5] * 10 + [0] * 11
    up_and_down = [f"{k} nm" for k in (*range(10), *range(8, -1, -1))]
    assert channel_groups(up_and_down, 1) == [1] * 10 + [0] * 9
