"""FASTA files with classes: what is a record, what is left out and counted, what is refused."""

import json

import numpy as np
import pytest
from each_case import each_case
from reader_samples import acquired, catalogue, excluded, refusal

from workflow_lib.data.reading import read_dataset
from workflow_lib.items.kinds.base import items_in

TRAIN = """>a first one
ACDE
fgx

>a second
MKV
>b third
ACDEFG
>b the sequence of the third
ACDEFG
>a doubtful
KKKK
>b doubtful
KKKK
>a one letter
M
>b tested
WYWY
"""
TEST = """>b tested
WYWY
>a same
CCC
>a again the same
CCC
"""


def write_files(folder, train=TRAIN, test=TEST):
    paths = folder / "train.fasta", folder / "test.fasta"
    for path, text in zip(paths, (train, test)):
        path.write_text(text)
    return paths


def read(*paths, **options):
    return read_dataset("fasta", options, list(paths), 0)


def read_both(folder, **options):
    return read(*write_files(folder), roles=["training", "test"], **options)


def test_records_are_rows_of_letters_with_roles(tmp_path):
    tree = read_both(tmp_path)
    names = json.loads(tree["names"]["rows"])
    assert names == [
        *("a first one", "a second", "b third"),
        *("b tested", "a same", "a again the same"),
    ]
    assert tree["fixed"]["role"].tolist() == [0, 0, 0, 1, 1, 1]
    assert tree["classes"]["labels"].tolist() == [0, 0, 1, 1, 0, 0]
    assert tree["items"] == {"kind": "letters", "n_symbols": 20}
    # The letter X of the second line is unknown.
    sequences = items_in(tree["inputs"], tree["items"])
    assert [sequence.tolist() for sequence in sequences[:2]] == [
        [0, 1, 2, 3, 4, 5, -1],
        [10, 8, 17],
    ]
    assert tree["report"]["unknown_letters"] == 1


def test_what_is_left_out_is_counted(tmp_path):
    tree = read_both(tmp_path)
    assert excluded(tree) == {
        "the sequence of an earlier row of its class": 1,
        "a sequence with two classes": 2,
        "too few known letters in a row": 1,
        "the sequence of a test row": 1,
    }
    assert tree["report"]["rows_read"] == 11
    alone = read(write_files(tmp_path)[0], least_letters=1)
    assert "fixed" not in alone and len(alone["inputs"]) == 5


def test_the_class_may_be_anywhere_in_the_header_and_have_another_name(tmp_path):
    train, _ = write_files(tmp_path, ">x|1.2\nACD\n>y|1.3\nEFG\n>z|2.1\nHIK\n>z|2.1\nLMN\n")
    options = {"class_pattern": r"\|(\d)\.", "class_names": {"1": "family"}}
    tree = read(train, **options)
    assert json.loads(tree["names"]["classes"]) == ["2", "family"]
    assert tree["classes"]["labels"].tolist() == [1, 1, 0, 0]
    # Names that are equal join classes.
    joined = read(train, class_pattern=r"\|(.*)", class_names={"1.2": "one", "1.3": "one"})
    assert json.loads(joined["names"]["classes"]) == ["2.1", "one"]


def test_headers_that_are_classes_do_not_name_rows(tmp_path):
    train, _ = write_files(tmp_path, ">0\nACD\n>1\nEFG\n>1\nHIK\n")
    assert json.loads(read(train)["names"]["rows"])[1] == "train.fasta, line 3"


@each_case(
    ("text", "message"),
    [
        (
            "ACD\n>a\nACD\n",
            "train.fasta, line 1: 'ACD'. Expected a header, which begins with '>', first",
        ),
        (
            ">a x\n>b\nACD\n",
            "train.fasta, line 1: no sequence under the header '>a x'. Expected lines of letters",
        ),
        (
            ">a\nACD\n>b\n",
            "train.fasta, line 3: no sequence under the header '>b'. Expected lines of letters",
        ),
        (
            ">a\nACD\n>\nEFG\n",
            "train.fasta, line 3: no class in the header '>'. Expected a class that the option "
            r"class_pattern finds: ^(\S+)",
        ),
        (
            ">a\nACD\n>b\nEF-G*\n",
            "train.fasta, line 3: the sequence 'EF-G*'. Expected a sequence of letters from A to Z",
        ),
        (
            ">p1\nACD\n>p2\nEFG\n>p3\nHIK\n>p4\nLMN\n",
            "train.fasta: each of the 4 sequences has a class of its own: 'p1', 'p2', 'p3' and 1 "
            "more. Expected headers that name the class of each sequence. To fix it: set the "
            "option class_pattern to what finds the class in a header, or write the classes into "
            "the headers",
        ),
        (
            ">a\nACD\n>a\nEFG\n",
            "train.fasta: 1 classes can be used (a). Expected at least 2 classes",
        ),
        (">a\nXXX\n>a\nBBB\n>b\nM\n", "train.fasta: no sequence can be used"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, text, message):
    assert message in refusal(read, write_files(tmp_path, text)[0])


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (">c\nWWW\n", "no training sequence of the class 'c'. Expected test sequences, and"),
        (">a\nW\n", "no test sequence that can be used. Expected test sequences, and"),
    ],
)
def test_a_test_set_that_cannot_be_predicted_is_refused(tmp_path, test, message):
    paths = write_files(tmp_path, test=test)
    assert message in refusal(read, *paths, roles=["training", "test"])


def test_a_class_that_does_not_exist_is_refused(tmp_path):
    found = refusal(read, write_files(tmp_path)[0], class_names={"c": "family"})
    assert "option class_names: there is no class named 'c'. Expected one of: a, b" in found


@pytest.mark.parametrize(
    ("task", "counts"), [("1-1", [[1182, 1118], [1227, 8]]), ("3-33", [[1207, 401], [1231, 7]])]
)
def test_the_real_proteins(mirror, tmp_path, task, counts):
    name = f"scop-{task}"
    options = catalogue("scop-1-1")["options"]
    tree = read_dataset("fasta", options, acquired(name, mirror, tmp_path), 0)
    labels, roles = tree["classes"]["labels"], tree["fixed"]["role"]
    # Of the classes, the homologous family is the first.
    assert [np.bincount(labels[roles == role])[::-1].tolist() for role in (0, 1)] == counts
