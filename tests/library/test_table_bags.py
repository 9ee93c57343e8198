"""Bags of counts in a user table: from the request to predictions for new bags."""

import json

import numpy as np
import pytest
from reader_samples import excluded, refusal
from saved_model_samples import Final
from small_assay import config_with_methods

from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.data.table_encoding import TableEncoding
from workflow_lib.run.loading import load_configuration
from workflow_lib.table.new_table import run
from workflow_lib.tabular.table_file import read_table

WORDS = ["w1", "w2", "w3", "w4"]


def bags(n_rows=30):
    """Return different counts (n_rows, 4); even rows have more of the first two words."""
    random = np.random.default_rng(0)
    shares = [[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]]
    counts = [random.multinomial(12 + row, shares[row % 2]) for row in range(n_rows)]
    return np.array(counts)


def line(name, label, counts):
    return ",".join([name, label, *map(str, counts)])


def lines_of_table():
    rows = [line(f"r{row}", "ab"[row % 2], counts) for row, counts in enumerate(bags())]
    further = [
        line("again", "a", bags()[0]),
        line("one", "a", [1, 0, 0, 0]),
        line("two", "b", [1, 0, 0, 0]),
        line("empty", "a", [0, 0, 0, 0]),
        line("no class", "", [1, 2, 3, 4]),
        line("no bag", "a", ["", "", "", ""]),
    ]
    return [",".join(["id", "kind", *WORDS]), *rows, *further]


def written(folder, lines=None, name="bags.csv"):
    path = folder / name
    path.write_text("\n".join(lines or lines_of_table()) + "\n")
    return str(path)


def options_of(file, **options):
    columns = {"classes": "kind", "bags": True, "numbers": ["w*"], "row_name": "id"}
    return {"file": file, **columns, **options}


def read(file, **options):
    return read_dataset("table", options_of(file, **options), [], 0)


def test_rows_are_those_of_bags_that_can_be_used(tmp_path):
    tree = read(written(tmp_path))
    assert json.loads(tree["names"]["rows"]) == [f"r{row}" for row in range(30)]
    np.testing.assert_array_equal(tree["inputs"], bags())
    assert tree["items"] == {"kind": "counts", "n_words": 4}
    assert kind_of_inputs("table", options_of("bags.csv")) == "counts"
    assert excluded(tree) == {
        "the bag of an earlier row of its class": 1,
        "a bag with two classes": 2,
        "a bag without a word": 1,
    }
    assert tree["report"]["rows_read"] == 36 and tree["report"]["rows_dropped"] == 6


@pytest.mark.parametrize(
    ("count", "message"),
    [
        ("-1", "line 32, column 'w2': the count -1. Expected how often the word occurs, a whole"),
        ("0.5", "line 32, column 'w2': the count 0.5. Expected how often"),
        ("", "line 32, column 'w2': no count. Expected how often"),
    ],
)
def test_a_cell_that_is_no_count_is_named(tmp_path, count, message):
    wrong = line("wrong", "a", [1, count, 0, 0])
    rows = [*lines_of_table()[:31], wrong]
    assert message in refusal(read, written(tmp_path, rows))
    table = read_table(written(tmp_path))
    encoding = TableEncoding.fit(table, WORDS, bags=True)
    new = read_table(written(tmp_path, rows, "new.csv"))
    assert f"new.csv, {message}" in refusal(TableEncoding.from_tree(encoding.tree()).encode, new)


def test_a_new_bag_without_a_word_is_refused(tmp_path):
    encoding = TableEncoding.fit(read_table(written(tmp_path)), WORDS, bags=True)
    new = read_table(written(tmp_path, [",".join(WORDS), "1,2,0,0", "0,0,0,0"], "new.csv"))
    assert "new.csv, line 3: no word: all counts are 0. Expected" in refusal(encoding.encode, new)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": ["id"], "row_name": None}, "bags together with categories. Expected no"),
        ({"missing_indicators": ["w1"]}, "bags together with missing_indicators. Expected no"),
        ({"classes": None, "outputs": ["w1"]}, "bags without classes. Expected bags only"),
        ({"numbers": []}, "bags without numbers. Expected bags only"),
    ],
)
def test_contradictory_options_are_refused(tmp_path, options, message):
    assert message in refusal(read, written(tmp_path), **options)


@pytest.mark.parametrize("words", ["w*", "*"])
def test_new_makes_a_run_with_methods_of_bags(tmp_path, capsys, words):
    config = config_with_methods(tmp_path / "config")
    request = {"name": "bags", "data": written(tmp_path), "classes": "kind", "bags": words}
    run(request | {"exclude": "id"}, config)
    printed = capsys.readouterr().out
    assert "predicted from bags of 4 words: 'w1', 'w2', 'w3', 'w4'" in printed
    assert "left out of all counts: 2 (a bag with two classes)" in printed
    configuration = load_configuration(config, {"experiments": ["bags"]})
    assert {"word-histogram", "m-rf-classes"} <= set(configuration.methods_of("bags"))
    tree = read_dataset("table", configuration.datasets["bags"].options, [], 0)
    np.testing.assert_array_equal(tree["inputs"], bags())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sequence": "id"}, "counts of words are the only inputs of their methods"),
        ({"classes": "", "outputs": "w1"}, "methods of bags predict classes"),
        ({"bags": "k*"}, "every column that it matches has another role"),
    ],
)
def test_contradictory_requests_are_refused(tmp_path, change, message):
    request = {"name": "bags", "data": written(tmp_path), "classes": "kind", "bags": "w*"}
    assert message in refusal(run, request | change, tmp_path)


def test_saved_methods_repeat_their_predictions_for_bags(tmp_path):
    tree = read(written(tmp_path))
    final = Final(tmp_path, tree, scale="none", kernel="linear", metric="accuracy")
    final.machine_of_features("words", "workflow_lib.inputs.bag_shares.WordHistogram", {})
    model = final.saved("words")
    found = model.predict({name: counts for name, counts in zip(WORDS, bags().T)})
    np.testing.assert_allclose(found.class_scores, final.predictions("words"), atol=1e-12)
