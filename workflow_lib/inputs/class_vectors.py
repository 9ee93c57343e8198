"""Class vectors: a point for every class, such that similar classes are near each other.

Djerrab et al. (2018, section 6.5) describe a class by the mean of the word vectors of a text about
it, weighted by TF-IDF (`text_vectors`). Alternatives are the word vectors of its name
(`name_vectors`), latent semantic analysis of the texts alone, which needs no word vectors
(`lsa_vectors`), and attributes rated by people (Akata et al. 2016). All have unit length, so that
distances between classes depend on their directions only; a class without any information has a
row of NaN (`unit_rows`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.items.word_counts import words_of

if TYPE_CHECKING:
    from workflow_lib.inputs.word_vectors import WordVectors

STOP_WORDS = frozenset(
    """
    about above across after again against all along also although always am among an and any are
    around as at away be because been before behind being below beneath beside between beyond both
    but by can could did do does doing done down during each either else ever every few for from
    further had has have having he her here hers him his how however if in into is it its itself
    just least less like made many may me might more most much must my near neither never no nor not
    of off often on once one only onto or other others our out over own per quite rather same she
    should since so some such than that the their them then there these they this those though
    through thus to too toward towards under until up upon us usually very was we well were what
    when where whether which while who whom whose why will with within without would yet you your
    """.split()
)
"""Function words: articles, pronouns, prepositions, conjunctions, auxiliary verbs and adverbs of
degree. Texts repeat them so often that their small weights add up to most of the mean."""

MIN_SINGULAR_VALUE = 1e-10
"""Relative to the largest; a smaller singular value is a rounding error."""

_SHORTEST_SINGULAR = 3


# Names


def name_words(name: str) -> list[str]:
    """Return the words of the name of a class.

    In lower case; ``_``, ``-``, ``+``, spaces and full stops separate words; digits at the end of
    a word are dropped, and so are words of digits only. Words that are written together are not
    split, whatever their capitals: ``"sea_horse2"`` gives ``["sea", "horse"]`` and
    ``"WindsorChair"`` gives ``["windsorchair"]``.
    """
    words = (word.rstrip("0123456789") for word in re.split(r"[\s_.+-]+", name.lower()))
    return [word for word in words if word]


def word_forms(word: str) -> list[str]:
    """Return the forms under which `word` is searched, in this order.

    The word itself and, for a possible plural, the singular without ``-s``, without ``-es``, and
    with ``-y`` for ``-ies``. A word in ``-ss``, ``-us`` or ``-is`` is no plural, and no singular
    has fewer than three letters.
    """
    forms = [word]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms.append(word[:-1])
        if word.endswith("es"):
            forms.append(word[:-2])
        if word.endswith("ies"):
            forms.append(word[:-3] + "y")
    return [word, *(form for form in forms[1:] if len(form) >= _SHORTEST_SINGULAR)]


def name_vectors(class_names: Sequence[str], word_vectors: WordVectors) -> np.ndarray:
    """Return the mean of the word vectors of the words of each name, scaled to unit length.

    Every word must have a vector in one of its `word_forms`; otherwise the class has none. The
    remaining words of a name would be ambiguous: without its first word ``cougar_face`` is the
    same class as ``Faces``, and ``windsor_chair`` the same as ``chair``.

    `word_vectors` are of words in lower case. Returns an array (K, d): unit length; NaN for a class
    without a vector.
    """
    known = word_vectors.words
    means = np.full((len(class_names), word_vectors.vectors.shape[1]), np.nan)
    for row, name in enumerate(class_names):
        rows = [
            next((known[form] for form in word_forms(word) if form in known), None)
            for word in name_words(name)
        ]
        if rows and None not in rows:
            means[row] = word_vectors.vectors[rows].mean(axis=0)
    return unit_rows(means)


def wanted_name_words(class_names: Sequence[str]) -> set[str]:
    """Return every form of every word of the names: the words to read from a file of vectors."""
    return {form for name in class_names for word in name_words(name) for form in word_forms(word)}


# Texts


def weighted_terms(texts: Sequence[str], sublinear: bool = False) -> tuple[np.ndarray, list[str]]:
    """Return the TF-IDF matrix (K, q) of K texts and its q words, sorted.

    Words are those of `workflow_lib.items.word_counts.words_of` without `STOP_WORDS`. The weight
    of a word that occurs c times in a text and in k of the K texts is

        c (ln((1 + K) / (1 + k)) + 1),

    the smooth weights of scikit-learn's ``TfidfVectorizer`` (Salton & Buckley 1988); with
    `sublinear`, 1 + ln c instead of c. A word of a single text keeps its weight: it is often the
    name of the class.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if not any(map(_informative_words, texts)):
        return np.zeros((len(texts), 0)), []
    vectorizer = TfidfVectorizer(analyzer=_informative_words, norm=None, sublinear_tf=sublinear)
    weights = vectorizer.fit_transform(texts).toarray()
    return weights, vectorizer.get_feature_names_out().tolist()


def text_vectors(texts: Sequence[str], word_vectors: WordVectors) -> np.ndarray:
    """Return the mean word vector of each text, weighted by TF-IDF and scaled to unit length.

    Class k with the weights w_kt of `weighted_terms` has the direction of sum_t w_kt v_t over the
    words t that have a vector v_t (Djerrab et al. 2018, section 6.5).

    Returns an array (K, d): unit length; NaN for a text without any word that has a vector.
    """
    weights, words = weighted_terms(texts)
    known = [column for column, word in enumerate(words) if word in word_vectors.words]
    rows = [word_vectors.words[words[column]] for column in known]
    return unit_rows(weights[:, known] @ word_vectors.vectors[rows])


def wanted_text_words(texts: Sequence[str]) -> set[str]:
    """Return the words of the texts without `STOP_WORDS`: those to read from a file of vectors.

    These are the words with a weight in `text_vectors`.
    """
    return {word for text in texts for word in _informative_words(text)}


def text_report(texts: Sequence[str], word_vectors: WordVectors | None = None) -> dict[str, Any]:
    """Return counts of words in the texts, and of those that have a word vector.

    Returns a dict: ``texts``; ``texts_without_words``; ``words`` (different ones, without
    `STOP_WORDS`); ``shared_words`` (of these, those in at least two texts: only they relate texts
    to each other where there are no word vectors); ``tokens`` (words with their repetitions). With
    `word_vectors` also ``known_words``, and ``known_tokens``: the share of the tokens that have a
    vector, between 0 and 1, NaN when there are none.
    """
    counted = [Counter(_informative_words(text)) for text in texts]
    tokens: Counter[str] = sum(counted, Counter())
    n_texts_with = Counter(word for counter in counted for word in counter)
    report: dict[str, Any] = {
        "texts": len(counted),
        "texts_without_words": sum(not counter for counter in counted),
        "words": len(tokens),
        "shared_words": sum(count > 1 for count in n_texts_with.values()),
        "tokens": tokens.total(),
    }
    if word_vectors is not None:
        known = [word for word in tokens if word in word_vectors.words]
        report["known_words"] = len(known)
        n_known = sum(tokens[word] for word in known)
        report["known_tokens"] = n_known / tokens.total() if tokens else float("nan")
    return report


def lsa_vectors(texts: Sequence[str], dimension: int = 50) -> np.ndarray:
    """Return the coordinates of each text by latent semantic analysis, scaled to unit length.

    The rows of the matrix of `weighted_terms` are scaled to unit length; with its singular value
    decomposition U S V' the coordinates are the first columns of U S (Deerwester et al. 1990).
    The signs are such that the largest entry of each column of V is positive; of tied entries, the
    first in alphabetical order. The counts are sublinear: a description repeats the name of its
    class, which relates it to no other text.

    Returns an array (K, at most `dimension`): unit length; NaN for a text without any word. The
    default is the length of the word vectors that the coordinates replace. K texts have at most K
    coordinates, which determine all distances of the TF-IDF matrix; where there are fewer than
    `dimension`, all are returned.
    """
    weights, _ = weighted_terms(texts, sublinear=True)
    rows = unit_rows(weights)
    with_words = np.flatnonzero(weights.any(axis=1))
    if not with_words.size:
        return np.full((len(texts), 1), np.nan)
    left, singular_values, right = np.linalg.svd(rows[with_words], full_matrices=False)
    kept = singular_values > MIN_SINGULAR_VALUE * singular_values[0]
    n_kept = min(dimension, int(kept.sum()))
    sizes = np.abs(right[:n_kept])
    # The first of those that are equally large up to rounding: words that co-occur tie.
    largest = (sizes > 0.999999 * sizes.max(axis=1, keepdims=True)).argmax(axis=1)
    signs = np.sign(right[np.arange(n_kept), largest])
    coordinates = np.full((len(texts), n_kept), np.nan)
    coordinates[with_words] = left[:, :n_kept] * (singular_values[:n_kept] * signs)
    return unit_rows(coordinates)


def _informative_words(text: str) -> list[str]:
    return [word for word in words_of(text) if word not in STOP_WORDS]


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """Return the rows with unit length; NaN instead of a row of zeros."""
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, np.nan)
