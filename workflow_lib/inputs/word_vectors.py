"""Word vectors such as GloVe (Pennington, Socher & Manning 2014), read from a file.

Three forms are read:

a text file
    with a line per word: the word and its numbers, separated by single spaces, in UTF-8, as GloVe
    is published. A word may itself hold spaces, as some of ``glove.840B.300d.txt`` do, but not the
    first;
a zip archive
    of such text files, as ``glove.6B.zip``, which holds ``glove.6B.50d.txt`` and others;
JSON
    ``{"words": [...], "vectors": [[...], ...]}``.

Text is read line by line, and only the requested words are kept: the largest files have millions of
words.
"""

import codecs
import io
import json
import zipfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from workflow_lib.core.archives import opened_zip, readable
from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import JsonFault, parsed_json
from workflow_lib.tabular.tables import (
    FETCH_AGAIN,
    lines_of,
    listed,
    numbers_of,
    utf8_text,
    wrong_source,
)

DIMENSION = 50
"""Length of the word vectors that Djerrab et al. (2018) use. Of an archive of several files that is
read whose name ends with ``.50d.txt``."""

_JSON_KEYS = ("words", "vectors")
_FORM = "a word and its numbers, separated by single spaces"


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors."""

    words: dict[str, int]
    """The row of every word, in the order of the file."""

    vectors: np.ndarray
    """Array (m, d): the vectors, float64, not scaled."""


def read_word_vectors(path: str | Path, wanted: Collection[str]) -> WordVectors:
    """Return the wanted words and their vectors in the file `path`; of a repeated word the first.

    Raises UserError naming the file, and the line where there is one: for a file that is missing,
    empty, damaged, not UTF-8 or without words; a line with more or fewer numbers than the first; a
    value that is not a finite number; an archive without the requested file.

    Parameters
    ----------
    path : path
        A text file, a zip archive (by its content) or JSON (by its suffix ``.json``).
    wanted : collection of str
        The words to keep, spelt as in the file (GloVe's are in lower case). Words that are not in
        the file are left out. In the lines of other words only the form is checked, not every
        number.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(
            location=str(path),
            found="there is no such file",
            expected="a file of word vectors",
            remedy="place it there, for example from https://nlp.stanford.edu/projects/glove/",
        )
    wanted = frozenset(wanted)
    if path.suffix.lower() == ".json":
        return _collected(_json_rows(path), wanted, str(path))
    if zipfile.is_zipfile(path) or path.suffix.lower() == ".zip":
        return _read_archive(path, wanted)
    with open(path, "rb") as file:
        return _read_lines(file, wanted, str(path))


def _collected(
    rows: Iterable[tuple[str, list[float] | int]], wanted: frozenset[str], location: str
) -> WordVectors:
    """Return the vectors of the wanted words; other rows may hold only the length of the vector."""
    words: dict[str, int] = {}
    vectors = []
    dimension = None
    for word, numbers in rows:
        if dimension is None:
            dimension = numbers if isinstance(numbers, int) else len(numbers)
        if word not in words and word in wanted:
            words[word] = len(vectors)
            # Arrays take a quarter of the memory of lists.
            vectors.append(np.array(numbers, dtype=np.float64))
    if dimension is None:
        raise wrong_source(location, "there are no words in it", f"lines of {_FORM}")
    return WordVectors(words, np.array(vectors, dtype=np.float64).reshape(len(words), dimension))


# Text


def _read_lines(file: BinaryIO, wanted: frozenset[str], location: str) -> WordVectors:
    return _collected(_text_rows(lines_of(file, location), wanted, location), wanted, location)


def _text_rows(
    lines: Iterable[bytes], wanted: frozenset[str], location: str
) -> Iterator[tuple[str, list[float] | int]]:
    """Yield every word with its numbers, or only with their count if the word is not wanted."""
    dimension = None
    for number, line in enumerate(lines, start=1):
        # Other white space may be part of a word.
        line = line.rstrip(b"\r\n ")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line:
            continue
        line_location = f"{location}, line {number}"
        if dimension is None:
            dimension = _first_dimension(line, line_location)
        word, *texts = line.rsplit(b" ", dimension)
        if len(texts) < dimension or _ends_with_number(word):
            raise wrong_source(
                line_location,
                f"numbers: {line.count(b' ')}",
                f"{dimension} numbers after the word, as in the lines before",
            )
        name = utf8_text(word, line_location, "save the file again as UTF-8", has_lines=False)
        yield name, _numbers(texts, line_location) if name in wanted else dimension


def _first_dimension(line: bytes, location: str) -> int:
    texts = line.split(b" ")[1:]
    if len(texts) < 2:
        raise UserError(
            location=location,
            found=f"numbers: {len(texts)}",
            expected=f"{_FORM}, at least two of them",
            remedy="remove a header such as that of word2vec, or replace the file",
        )
    return len(_numbers(texts, location))


def _ends_with_number(word: bytes) -> bool:
    head, _, last = word.rpartition(b" ")
    try:
        float(last)
    except ValueError:
        return False
    return bool(head)


def _numbers(texts: list[bytes], location: str) -> np.ndarray:
    return numbers_of([text.decode("ascii", "replace") for text in texts], location, FETCH_AGAIN)


# Archives


def _read_archive(path: Path, wanted: frozenset[str]) -> WordVectors:
    remedy = "replace the file by the full one"
    with readable(path, "a zip archive of word vectors", remedy), opened_zip(path) as archive:
        member = _member(path, archive.namelist())
        with archive.open(member) as file:
            return _read_lines(io.BufferedReader(file), wanted, f"{path}, member {member}")


def _member(path: Path, names: list[str]) -> str:
    """Return the name of the member to read: the only text file, or that of `DIMENSION`."""
    texts = [
        name
        for name in names
        if name.lower().endswith(".txt") and not name.rpartition("/")[2].startswith(".")
    ]
    chosen = texts if len(texts) == 1 else [n for n in texts if n.endswith(f".{DIMENSION}d.txt")]
    if len(chosen) != 1:
        raise UserError(
            location=str(path),
            found=f"the archive holds {listed(names) or 'nothing'}",
            expected=f"one text file whose name ends with .{DIMENSION}d.txt",
            remedy="use an archive such as glove.6B.zip, or the intended text file",
        )
    return chosen[0]


# JSON


def _json_rows(path: Path) -> Iterator[tuple[str, list[float]]]:
    text = utf8_text(path.read_bytes(), str(path), "save the file again as UTF-8")
    form = '{"words": [...], "vectors": [[...], ...]}, with equally long lists'
    try:
        content = parsed_json(text)
    except JsonFault as error:
        raise wrong_source(str(path), f"{error}", form) from error
    lists = [content.get(key) if isinstance(content, dict) else None for key in _JSON_KEYS]
    if not all(isinstance(values, list) for values in lists) or len(lists[0]) != len(lists[1]):
        lengths = [str(len(values)) if isinstance(values, list) else "no" for values in lists]
        raise wrong_source(str(path), f"{lengths[0]} words and {lengths[1]} vectors", form)
    dimension = None
    for number, (word, vector) in enumerate(zip(*lists), start=1):
        location = f"{path}, word {number}"
        if not isinstance(word, str) or not isinstance(vector, list):
            raise wrong_source(
                location,
                f"{json.dumps(word)} with {json.dumps(vector)[:40]}",
                "a word in quotes and a list of numbers",
            )
        dimension = len(vector) if dimension is None else dimension
        faults = [f"'{value}' is not a finite number" for value in vector if not _is_finite(value)]
        if len(vector) != dimension or dimension < 2:
            faults.insert(0, f"numbers: {len(vector)}")
        if faults:
            raise wrong_source(
                f"{location} ('{word}')", faults[0], f"{max(dimension, 2)} numbers for every word"
            )
        yield word, vector


def _is_finite(value: Any) -> bool:
    try:
        return type(value) in (int, float) and float(value) - float(value) == 0
    except OverflowError:
        return False
