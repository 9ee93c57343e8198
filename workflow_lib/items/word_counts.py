"""Word counts: a sparse matrix with one row per text and one column per word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNKNOWN = "<UNK>"
"""Mark of some corpora for a word that was not recognised."""

_WORD = re.compile(r"\b[^\W\d_]{2,}\b")


def words_of(text: str) -> list[str]:
    """Return the words of `text` in lower case: whole words of two or more letters, no UNKNOWN."""
    return _WORD.findall(text.replace(UNKNOWN, " ").lower())


def word_counts(texts: Iterable[str]) -> tuple[csr_array, list[str]]:
    """Return the counts (n, q) of the words of n texts, and the q words, sorted.

    Rare words are kept too: which words are useful depends on the training rows.
    """
    import numpy as np
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=words_of, dtype=np.float64)
    counts = csr_array(vectorizer.fit_transform(texts))
    return counts, vectorizer.get_feature_names_out().tolist()
