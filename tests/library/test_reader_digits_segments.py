"""Digits as classes whose vectors are the segments of a display."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from workflow_lib.data.reading import read_dataset
from workflow_lib.items.kinds.base import items_in

# The usual codes in hexadecimal, with the segments g f e d c b a as the bits 6 to 0.
CODES = [0x3F, 0x06, 0x5B, 0x4F, 0x66, 0x6D, 0x7D, 0x07, 0x7F, 0x6F]


@pytest.fixture(scope="module")
def tree() -> dict:
    return read_dataset("digits_segments", {}, [], seed=0)


def test_the_class_of_an_image_is_its_digit(tree):
    digits = load_digits()
    np.testing.assert_array_equal(tree["inputs"] * 16, digits.data)
    names = json.loads(tree["names"]["classes"])
    assert [int(names[label]) for label in tree["classes"]["labels"]] == digits.target.tolist()
    np.testing.assert_array_equal(
        tree["outputs"], tree["classes"]["vectors"][tree["classes"]["labels"]]
    )
    assert json.loads(tree["names"]["rows"])[:2] == ["image_0000", "image_0001"]
    assert len(json.loads(tree["names"]["inputs"])) == 64
    assert tree["report"]["rows_dropped"] == 0


def test_class_vectors_are_the_codes_of_a_display(tree):
    assert json.loads(tree["names"]["outputs"]) == [f"segment_{letter}" for letter in "abcdefg"]
    expected = [[code >> bit & 1 for bit in range(7)] for code in CODES]
    np.testing.assert_array_equal(tree["classes"]["vectors"], expected)


def test_thumbnails_are_the_images_in_grey(tree):
    thumbnails = tree["images"]["thumbnails"]
    assert (thumbnails.shape, thumbnails.dtype) == ((1797, 8, 8, 3), np.uint8)
    assert thumbnails.min() == 0 and thumbnails.max() == 255
    for channel in range(3):
        difference = thumbnails[..., channel] / 255 - load_digits().images / 16
        assert np.abs(difference).max() <= 0.5 / 255 + 1e-12


@pytest.mark.parametrize(("inputs", "kind"), [("rows", "vectors"), ("ink", "counts")])
def test_images_are_sequences_of_rows_or_bags_of_ink(inputs, kind):
    tree = read_dataset("digits_segments", {"inputs": inputs}, [], 0)
    assert tree["items"]["kind"] == kind
    found = np.reshape(items_in(tree["inputs"], tree["items"]), (1797, 8, 8))
    largest = 16 if inputs == "ink" else 1
    np.testing.assert_array_equal(found, load_digits().images / 16 * largest)
    assert len(json.loads(tree["names"]["inputs"])) == tree["inputs"].shape[1]
