"""Halves of sequences: where they are, how they are cropped, and which belong together."""

import json

import numpy as np
import pytest
from reader_samples import acquired, catalogue, excluded, refusal

from workflow_lib.data.reading import read_dataset
from workflow_lib.items.kinds.base import items_in

LINES = """EI,first,ACGTTTGGCC
IE,second,CCCCTGAAAA
N,third,ACACACGTGT
EI,as first,ACGTTTAATA
EI,first again,ACGTTTGGCC
"""
OPTIONS = {"halves": {"EI": ["exon", "intron"], "IE": ["intron", "exon"]}}
OPTIONS |= {"length": 4, "distance": 1}


def write_lines(folder, text=LINES):
    path = folder / "lines.data"
    path.write_text(text)
    return path


def read(path, seed=0, **options):
    return read_dataset("sequence_halves", OPTIONS | options, [path], seed)


def texts(tree):
    return ["".join("ACGT"[i] for i in row) for row in items_in(tree["inputs"], tree["items"])]


def test_halves_have_the_class_of_their_side_and_share_the_group_of_their_sequence(tmp_path):
    tree = read(write_lines(tmp_path))
    assert texts(tree) == ["ACGT", "GGCC", "CCCC", "AAAA", "AATA"]
    classes = json.loads(tree["names"]["classes"])
    assert [classes[label] for label in tree["classes"]["labels"]] == [
        *("exon", "intron", "intron", "exon", "intron")
    ]
    # The fourth sequence shares its left half with the first.
    groups = tree["groups"]["sequence"]
    assert groups[0] == groups[1] == groups[4] != groups[2] == groups[3]
    assert excluded(tree) == {
        "the sequence of an earlier row of its class": 3,
        "the sequence has a class without halves": 2,
    }
    assert tree["report"]["rows_read"] == 10


def test_halves_may_be_cropped(tmp_path):
    path = write_lines(tmp_path)
    whole = texts(read(path, least_letters=1, distance=0, length=5))
    kinds = set()
    for seed in range(20):
        tree = read(path, seed, least_letters=1, distance=0, length=5, shortest=2)
        found = texts(tree)
        assert all(any(part in half for half in whole) for part in found)
        assert all(2 <= len(part) <= 5 for part in found)
        kinds |= {(len(part), half.find(part)) for part in found for half in whole}
        again = read(path, seed, least_letters=1, distance=0, length=5, shortest=2)
        np.testing.assert_array_equal(again["inputs"], tree["inputs"])
    assert {(2, 0), (2, 3), (5, 0)} < kinds


def test_a_sequence_that_is_too_short_for_its_halves_is_named(tmp_path):
    assert refusal(read, write_lines(tmp_path), length=5).startswith(
        f"{tmp_path}/lines.data, sequence 'first': 10 letters. Expected at least 12: halves of 5 "
        "letters, 1 from the middle."
    )


@pytest.mark.parametrize("name", ["exon-intron", "exon-intron-6", "exon-intron-cropped"])
def test_the_real_junctions(mirror, tmp_path, name):
    settings = catalogue("exon-intron")["options"] | catalogue(name).get("options", {})
    tree = read_dataset("sequence_halves", settings, acquired("exon-intron", mirror, tmp_path), 0)
    assert len(tree["inputs"]) > 2500 and tree["inputs"].shape[1] == 24
    assert (tree["inputs"][:, -1].min() == -2) == (name == "exon-intron-cropped")
    groups, labels = tree["groups"]["sequence"], tree["classes"]["labels"]
    assert len(np.unique(groups)) > 1000
    assert 0.48 < labels.mean() < 0.52
