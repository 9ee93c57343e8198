"""Sequences in a user table: from the request to predictions for new sequences."""

import json

import numpy as np
import pytest
from reader_samples import excluded, refusal
from saved_model_samples import Final
from small_assay import config_with_methods

from workflow_lib.data.reading import read_dataset
from workflow_lib.data.table_encoding import TableEncoding
from workflow_lib.data.table_sequences import proposed_letters
from workflow_lib.items.kinds.letters import letter_rows
from workflow_lib.run.loading import load_configuration
from workflow_lib.table.new_table import run
from workflow_lib.tabular.table_file import read_table
from workflow_lib.uncertainty.novelty import nearest_by_letters


def sequences(n_rows=30):
    """Return different sequences of DNA of 5 to 12 letters."""
    random = np.random.default_rng(0)
    return ["".join(random.choice(list("ACGT"), 5 + row % 8)) for row in range(n_rows)]


def lines_of_table():
    rows = [f"r{row},{'ab'[row % 2]},{dna}" for row, dna in enumerate(sequences())]
    further = ["again,a," + sequences()[0], "one,a,TTTTTTTT", "two,b,tttttttt", "short,a,NAN"]
    return ["id,kind,dna", *rows, *further, "no class,,ACGT", "no sequence,a,"]


def written(folder, lines=None, name="dna.csv"):
    path = folder / name
    path.write_text("\n".join(lines or lines_of_table()) + "\n")
    return str(path)


def read(file, **options):
    columns = {"classes": "kind", "sequence": "dna", "row_name": "id"}
    return read_dataset("table", {"file": file, **columns, **options}, [], 0)


def test_rows_are_those_of_sequences_that_can_be_used(tmp_path):
    tree = read(written(tmp_path))
    assert json.loads(tree["names"]["rows"]) == [f"r{row}" for row in range(30)]
    np.testing.assert_array_equal(tree["inputs"], letter_rows(sequences(), "ACGT"))
    assert tree["items"] == {"kind": "letters", "n_symbols": 4}
    assert excluded(tree) == {
        "the sequence of an earlier row of its class": 1,
        "a sequence with two classes": 2,
        "too few known letters in a row": 1,
    }
    assert tree["report"]["rows_read"] == 36 and tree["report"]["rows_dropped"] == 6


def test_new_sequences_are_encoded_as_the_known_ones_with_notes(tmp_path):
    table = read_table(written(tmp_path))
    fitted = TableEncoding.fit(table.selected(np.arange(30)), sequence="dna", letters="ACGT")
    encoding = TableEncoding.from_tree(fitted.tree())
    assert encoding.columns == ["dna"] and encoding.longest == 12
    new = read_table(written(tmp_path, ["dna", "acgt", "ACNX", "ACGT" * 4], "new.csv"))
    found = encoding.encode(new)
    np.testing.assert_array_equal(found.inputs[1], [0, 1, -1, -1, *[-2] * 8])
    np.testing.assert_array_equal(found.inputs[2], [0, 1, 2, 3] * 3)
    assert found.notes == ["", "dna: unknown letters: 2", "dna: its last 4 letters are not used"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("AC-GT", "new.csv, line 3, column 'dna': the sequence 'AC-GT'. Expected a sequence of"),
        ("", "new.csv, line 3, column 'dna': no sequence. Expected a sequence of letters in every"),
    ],
)
def test_a_cell_that_is_no_sequence_is_named(tmp_path, cell, message):
    encoding = TableEncoding.fit(read_table(written(tmp_path)), sequence="dna", letters="ACGT")
    new = read_table(written(tmp_path, ["id,dna", "a,ACGT", f"b,{cell}"], "new.csv"))
    assert message in refusal(encoding.encode, new)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["id"], "row_name": None}, "sequence together with categories. Expected"),
        ({"classes": None, "outputs": ["id"]}, "sequence without classes. Expected sequence only"),
        ({"letters": "XZ"}, "no sequence can be used. Expected sequences of known letters"),
    ],
)
def test_contradictory_options_are_refused(tmp_path, options, message):
    assert message in refusal(read, written(tmp_path), **options)


def test_a_fasta_file_is_a_table(tmp_path):
    text = [">a first", "ACGT", "ac", "", ">b", "GGG"]
    table = read_table(written(tmp_path, text, "dna.fasta"))
    assert table.names == ["class", "header", "sequence"]
    assert table.strings("sequence").tolist() == ["ACGTac", "GGG"]
    assert table.strings("class").tolist() == ["a", "b"] and table.lines.tolist() == [1, 5]
    assert table.where(1, "sequence") == f"{tmp_path}/dna.fasta, line 5, column 'sequence'"
    wrong = refusal(read_table, written(tmp_path, ["ACGT", ">a", "A"], "wrong.fa"))
    assert "wrong.fa, line 1: 'ACGT'. Expected a header" in wrong


def test_letters_are_those_of_the_smallest_usual_alphabet():
    assert proposed_letters(["ACGT", "acgtn" * 9]) == "ACDEFGHIKLMNPQRSTVWY"
    assert proposed_letters(["ACGT" * 9, "acgtn"]) == "ACGT"
    assert proposed_letters(["ACGU"]) == "ACGU"
    assert proposed_letters(["MKVX" * 5, "WYACDEF" * 20]) == "ACDEFGHIKLMNPQRSTVWY"
    assert proposed_letters(["XXZ", "B"]) == "BXZ"


@pytest.mark.parametrize("kind", ["csv", "fasta"])
def test_new_makes_a_run_with_methods_of_sequences(tmp_path, capsys, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    config = config_with_methods(tmp_path / "config")
    request = {"name": "dna", "data": "dna.csv", "classes": "kind", "sequence": "dna"}
    written(tmp_path)
    if kind == "fasta":
        records = [row.split(",") for row in lines_of_table()[1:31]]
        written(tmp_path, [f">{label} {name}\n{dna}" for name, label, dna in records], "dna.fa")
        request |= {"data": "dna.fa", "classes": "class", "sequence": "sequence"}
    run(request, config)
    printed = capsys.readouterr().out
    assert (
        f"predicted from the sequences '{request['sequence']}', of the letters ACGT, 5 to 12 long"
        in printed
    )
    is_table = kind == "csv"
    assert ("left out of all counts: 2 (a sequence with two classes)" in printed) == is_table
    configuration = load_configuration(config, {"experiments": ["dna"]})
    methods = configuration.methods_of("dna")
    assert {"spectrum", "sequence-length"} < set(methods)
    dataset = configuration.datasets["dna"]
    tree = read_dataset("table", dataset.options, [], 0)
    assert len(tree["inputs"]) == 30
    assert max(configuration.experiments["dna"].training_sizes) == 24


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": "id"}, "either a class is predicted, or numbers"),
        ({"text": "id"}, "sequences are the only inputs of their methods"),
        ({"classes": "", "outputs": "id"}, "methods of sequences predict classes"),
    ],
)
def test_contradictory_requests_are_refused(tmp_path, change, message):
    request = {"name": "dna", "data": written(tmp_path), "classes": "kind", "sequence": "dna"}
    assert message in refusal(run, request | change, tmp_path)


def test_saved_methods_repeat_their_predictions_for_sequences(tmp_path):
    tree = read(written(tmp_path))
    final = Final(tmp_path, tree, scale="none", kernel="linear", metric="accuracy")
    final.estimator("bayes", "workflow_lib.solvers.position_naive_bayes.PositionNaiveBayes")
    shares = "workflow_lib.inputs.word_shares.WordShares"
    final.machine_of_features("words", shares, {"word_length": [1, 2]})
    for name in final.methods:
        model = final.saved(name)
        found = model.predict({"dna": [text.lower() for text in sequences()]})
        np.testing.assert_allclose(found.class_scores, final.predictions(name), atol=1e-12)
        np.testing.assert_array_equal(found.novelty, 0.0)
        new = model.predict({"dna": [sequences()[0][:-1] + "N", "ACGT" * 4]})
        assert new.notes == ["dna: unknown letters: 1", "dna: its last 4 letters are not used"]
        assert 0 < new.novelty[0] < new.novelty[1]


def test_the_nearest_sequence_differs_in_the_fewest_positions():
    rows = letter_rows(["ACGT", "ACG", "TTTTT"], "ACGT")
    np.testing.assert_array_equal(nearest_by_letters(rows, rows), [0, 0, 0])
    np.testing.assert_array_equal(nearest_by_letters(rows, rows, np.arange(3)), [1, 1, 4])
