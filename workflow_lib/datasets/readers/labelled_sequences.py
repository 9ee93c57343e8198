"""Reader of sequences of letters with classes: lines of a class, a name and a sequence.

It is the form of the sequences of DNA in the repository of the University of California, Irvine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import check_sources, read_text, wrong_source

REPEATED = "the sequence of an earlier row of its class"
TWO_CLASSES = "a sequence with two classes"
TOO_SHORT = "fewer known letters in a row than a word has"


class Options(Settings):
    """Options of the reader ``labelled_sequences``."""

    inputs: Literal["words", "letters"] = "words"
    """`words`: counts of the words of `word_length` successive letters, of which `inputs.scale`
    makes TF-IDF or Fisher scores. A word is a transition of a Markov chain from its first letters
    to its last. `letters`: the letters themselves, for methods whose feature_learner or
    score_space takes sequences."""

    word_length: Annotated[int, Strict(), Field(ge=1)] = 3
    """Letters of a word. The number of words grows with the power of it."""

    letters: Annotated[str, Field(min_length=2, pattern="^[A-Z]+$")] = "ACGT"
    """The known letters; small letters are the same. Words with other letters, such as N for any
    base, are not counted."""


def kind_of_inputs(options: Options) -> str:
    """Return ``letters`` or, of words, ``transitions``."""
    return "letters" if options.inputs == "letters" else "transitions"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per different sequence; `seed` is not used.

    The source is a text file whose lines are a class, a name and a sequence, with commas between
    them. ``inputs``: the counts of words, sparse, with ``term_states``, the first letters of each
    word as a number; or the rows of `workflow_lib.features.item_rows`. ``classes``: see
    `workflow_lib.datasets.class_tables.class_dataset_tree`; the class vectors are the unit vectors.
    Repeated sequences, which would be in training and test rows, are left out but the first, all of
    a sequence with two classes, and those without a word; they are counted by reason in
    ``exclusions`` of ``report``.

    Raises
    ------
    UserError
        Naming the file and the line: a line without three parts, without a class or a sequence, or
        with another sign than a letter in the sequence.
    """
    import numpy as np

    from workflow_lib.datasets.class_tables import class_dataset_tree
    from workflow_lib.features.item_rows import letter_rows

    check_sources(sources, "labelled_sequences", "the file of the sequences")
    rows = list(_rows(sources[0]))
    classes_of: dict[str, set[str]] = {}
    for label, _, sequence in rows:
        classes_of.setdefault(sequence, set()).add(label)
    excluded = Counter(dict.fromkeys((REPEATED, TWO_CLASSES, TOO_SHORT), 0))
    kept: dict[str, tuple[str, str, list[str]]] = {}
    for label, name, sequence in rows:
        words = _words(sequence, options)
        if len(classes_of[sequence]) > 1:
            excluded[TWO_CLASSES] += 1
        elif sequence in kept:
            excluded[REPEATED] += 1
        elif not words:
            excluded[TOO_SHORT] += 1
        else:
            kept[sequence] = label, name, words
    if not kept:
        raise wrong_source(
            str(sources[0]), "no sequence can be used", "sequences of known letters with a class"
        )
    class_names = sorted({label for label, _, _ in kept.values()})
    inputs: Any
    more: dict[str, Any] = {}
    if options.inputs == "letters":
        inputs = letter_rows(list(kept), options.letters)
        names = [f"letter_{place + 1}" for place in range(inputs.shape[1])]
        more["items"] = {"kind": "letters", "n_symbols": len(options.letters)}
    else:
        inputs, names = _counts([words for _, _, words in kept.values()])
        beginnings = [word[:-1] for word in names]
        more["term_states"] = np.unique(beginnings, return_inverse=True)[1].astype(np.int64)
    return class_dataset_tree(
        inputs,
        np.array([class_names.index(label) for label, _, _ in kept.values()]),
        np.eye(len(class_names)),
        class_names,
        names,
        class_names,
        [name for _, name, _ in kept.values()],
        place=str(sources[0]),
        rows_read=len(rows),
        report={"exclusions": dict(excluded)},
        **more,
    )


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the class, the name and the sequence, in capital letters, of each line."""
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        place, parts = f"{path}, line {number}", [part.strip() for part in line.split(",")]
        if len(parts) != 3 or not parts[0] or not parts[2]:
            raise wrong_source(
                place, f"'{line[:60]}'", "a class, a name and a sequence, with commas between them"
            )
        label, name, sequence = parts
        if not (sequence.isascii() and sequence.isalpha()):
            raise wrong_source(
                place, f"the sequence '{sequence[:60]}'", "a sequence of letters from A to Z"
            )
        yield label, name, sequence.upper()


def _words(sequence: str, options: Options) -> list[str]:
    """Return the words of known letters in a sequence."""
    length, known = options.word_length, set(options.letters)
    words = (sequence[start : start + length] for start in range(len(sequence) - length + 1))
    return [word for word in words if known.issuperset(word)]


def _counts(words: Sequence[list[str]]):
    """Return the counts (n, q) of words, and the q words, sorted."""
    import numpy as np
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=list, dtype=np.float64)
    counts = csr_array(vectorizer.fit_transform(words))
    return counts, vectorizer.get_feature_names_out().tolist()
