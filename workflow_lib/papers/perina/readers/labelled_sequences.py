"""Reader of sequences of letters with classes: lines of a class, a name and a sequence.

It is the form of the sequences of DNA in the repository of the University of California, Irvine.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import check_sources


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
    word as a number; or the rows of `workflow_lib.items.kinds.letters`. ``classes``: see
    `workflow_lib.data.class_tables.class_dataset_tree`; the class vectors are the unit vectors.
    Repeated sequences, which would be in training and test rows, are left out but the first, all of
    a sequence with two classes, and those without a word; they are counted by reason in
    ``exclusions`` of ``report``.

    Raises UserError as `workflow_lib.data.sequence_records.records_of_lines`.
    """
    import numpy as np

    from workflow_lib.data.sequence_records import (
        letter_dataset,
        records_dataset,
        records_of_lines,
        usable_records,
    )

    check_sources(sources, "labelled_sequences", "the file of the sequences")
    location, records = str(sources[0]), list(records_of_lines(sources[0]))
    kept, excluded = usable_records(records, options.letters, options.word_length, location)
    stated = location, len(records), {"exclusions": excluded}
    if options.inputs == "letters":
        return letter_dataset(kept, options.letters, *stated)
    from scipy.sparse import csr_array
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(analyzer=list, dtype=np.float64)
    words = [_words(record.sequence, options) for record in kept]
    inputs = csr_array(vectorizer.fit_transform(words))
    names = vectorizer.get_feature_names_out().tolist()
    beginnings = [word[:-1] for word in names]
    states = np.unique(beginnings, return_inverse=True)[1].astype(np.int64)
    return records_dataset(kept, inputs, names, *stated, term_states=states)


def _words(sequence: str, options: Options) -> list[str]:
    """Return the words of known letters in a sequence."""
    length, known = options.word_length, set(options.letters)
    words = (sequence[start : start + length] for start in range(len(sequence) - length + 1))
    return [word for word in words if known.issuperset(word)]
