"""Texts become numbers in the order of the alphabet."""

from __future__ import annotations

import numpy as np

from workflow_lib.datasets.text_codes import text_codes


def test_equal_texts_have_equal_numbers():
    codes, names = text_codes(["b", "a", "", "b"])
    assert codes.tolist() == [2, 1, 0, 2] and codes.dtype == np.int64
    assert names == ["", "a", "b"]


def test_no_text_has_no_number():
    codes, names = text_codes(np.empty(0, dtype=object))
    assert codes.shape == (0,) and names == []


def test_a_long_text_is_stored_once():
    # As an array of texts, these would take four terabytes.
    codes, _ = text_codes(["x" * 1_000_000, *map(str, range(1_000_000))])
    assert len(codes) == 1_000_001
