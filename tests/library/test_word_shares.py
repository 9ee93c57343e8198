"""Shares of words of letters, and the rows that hold sequences."""

import numpy as np
import pytest

from workflow_lib.inputs.word_shares import WordShares
from workflow_lib.items.kinds.letters import letter_rows, sequences_in


def rows_and_classes():
    """Return sequences of 5 to 12 letters whose second class has more of the first letter."""
    random = np.random.default_rng(0)
    labels = np.arange(40) % 2
    texts = [
        "".join(random.choice(list("ACGT"), random.integers(5, 13), p=share))
        for share in np.where(labels[:, None], [0.6, 0.2, 0.1, 0.1], 0.25)
    ]
    return letter_rows(texts, "ACGT"), labels


def test_rows_hold_sequences_of_any_length():
    rows = letter_rows(["ACN", "T"], "ACGT")
    np.testing.assert_array_equal(rows, [[0, 1, -1], [3, -2, -2]])
    assert [sequence.tolist() for sequence in sequences_in(rows)] == [[0, 1, -1], [3]]
    for wrong in ([[0.5, 1]], [[-3, 1]], [[-2, -2]], [[-2, 1]]):
        with pytest.raises(ValueError, match="Row|row"):
            sequences_in(np.array(wrong, dtype=float))


def test_words_are_counted_per_word_of_known_letters():
    rows = letter_rows(["AACNA", "CA", "T"], "ACGT")
    learner = WordShares(word_length=2, n_symbols=4).fit(rows)
    counts = learner.columns(rows)
    np.testing.assert_allclose(counts[0, [0, 1, 4]], [0.5, 0.5, 0.0])
    np.testing.assert_allclose(counts[1, [0, 1, 4]], [0.0, 0.0, 1.0])
    # A sequence shorter than a word has none.
    assert not counts[2].any()
    with pytest.raises(ValueError, match="n_symbols=2"):
        WordShares(2, n_symbols=2).fit(rows)
