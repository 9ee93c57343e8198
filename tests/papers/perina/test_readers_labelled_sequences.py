"""Sequences with classes: words are counted, repeated and doubtful sequences left out."""

import json

import numpy as np
import pytest
from reader_samples import acquired, catalogue, excluded, refusal, stored_terms

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.reading import read_dataset
from workflow_lib.items.sparse_inputs import inputs_of

LINES = """EI,  first,   AACAA
IE,second,ccgNGA

N,third,ACGT
N,again,ACGT
EI,doubtful,GGGG
IE,doubtful 2,GGGG
N,short,ANA
"""


def write_lines(folder, text=LINES):
    path = folder / "lines.data"
    path.write_text(text)
    return path


def read(path, **options):
    return read_dataset("labelled_sequences", {"word_length": 2} | options, [path], 0)


def test_words_are_counted_and_have_the_state_of_their_first_letters(tmp_path):
    path = tmp_path / "dataset.h5"
    write_artifact(path, read(write_lines(tmp_path)), "dataset")
    tree = read_artifact(path, "dataset")
    terms = stored_terms(tree)
    assert terms == ["AA", "AC", "CA", "CC", "CG", "GA", "GT"]
    counts = inputs_of(tree).toarray()
    np.testing.assert_array_equal(counts[0], [2, 1, 1, 0, 0, 0, 0])
    # A word with an unknown base is not counted.
    np.testing.assert_array_equal(counts[1], [0, 0, 0, 1, 1, 1, 0])
    states = tree["term_states"]
    assert [states[i] == states[j] for i, j in ((0, 1), (1, 2), (2, 4), (5, 6))] == [1, 0, 1, 1]
    assert json.loads(tree["names"]["classes"]) == ["EI", "IE", "N"]
    assert tree["classes"]["labels"].tolist() == [0, 1, 2]


def test_sequences_that_are_left_out_are_counted(tmp_path):
    tree = read(write_lines(tmp_path))
    assert json.loads(tree["names"]["rows"]) == ["first", "second", "third"]
    assert excluded(tree) == {
        "the sequence of an earlier row of its class": 1,
        "a sequence with two classes": 2,
        "too few known letters in a row": 1,
    }
    assert tree["report"]["rows_read"] == 7


def test_letters_are_rows_of_numbers(tmp_path):
    tree = read(write_lines(tmp_path), inputs="letters")
    rows = [[0, 0, 1, 0, 0, -2], [1, 1, 2, -1, 2, 0], [0, 1, 2, 3, -2, -2]]
    np.testing.assert_array_equal(tree["inputs"], rows)
    assert "term_states" not in tree


@pytest.mark.parametrize("line", ["EI,only two", ",name,ACGT", "EI,name,", "EI,name,AC GT-"])
def test_a_line_that_cannot_be_read_is_named(tmp_path, line):
    assert "lines.data, line 1" in refusal(read, write_lines(tmp_path, f"{line}\n{LINES}"))


def test_a_file_without_a_usable_sequence_is_refused(tmp_path):
    assert "no sequence can be used" in refusal(read, write_lines(tmp_path), word_length=9)


@pytest.mark.parametrize(
    ("name", "counts"), [("splice", [679, 672, 1653]), ("promoters", [53, 53])]
)
def test_the_real_sequences(mirror, tmp_path, name, counts):
    paths = acquired(name, mirror, tmp_path)
    tree = read_dataset("labelled_sequences", catalogue(name)["options"], paths, 0)
    assert np.bincount(tree["classes"]["labels"]).tolist() == counts
    assert len(tree["outputs"]) == sum(counts)
    if name == "promoters":
        assert tree["inputs"].shape == (106, 57) and tree["inputs"].min() == 0
