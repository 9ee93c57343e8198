"""Counting words: from texts to a sparse matrix with one row a text and one column a word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNKNOWN = "<UNK>"
"""What some corpora write in place of a word that was not understood."""

_WORD = re.compile(r"\b[^\W\d_]{2,}\b")


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case: whole words of two or more letters, no UNKNOWN."""
    return _WORD.findall(text.replace(UNKNOWN, " ").lower())


def word_counts(texts: Iterable[str]) -> tuple[csr_array, list[str]]:
    """Return the counts (n, q) of the words of n texts, and the q words, sorted.

    Every word is kept, however rare: which ones can be learned from depends on the training rows.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=words_of, dtype=np.float64)
    counts = csr_array(vectorizer.fit_transform(texts))
    return counts, vectorizer.get_feature_names_out().tolist()
