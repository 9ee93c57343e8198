"""Word vectors are read from every form, and a fault names the file and the line."""

import json
import zipfile

import numpy as np
import pytest
from each_case import each_case
from reader_samples import refusal

from workflow_lib.inputs.word_vectors import read_word_vectors

WORDS = ["the", "dog", "café", "nan", "3.5"]
VECTORS = np.array([[0.1, -2.0, 3e-5], [1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, 0, 1]], dtype=float)
LINES = "".join(
    f"{word} {' '.join(map(repr, row))}\n" for word, row in zip(WORDS, VECTORS.tolist())
)


def write(folder, content, name="vectors.txt"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def write_zip(folder, members):
    path = folder / "vectors.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def write_json(folder, content):
    return write(folder, json.dumps(content), "vectors.json")


def read(path, wanted=(*WORDS, "a", "b", "c", ". . .", "x\u00a0y\u0085z", "Dog")):
    return read_word_vectors(path, wanted)


def message_of(path, **arguments) -> str:
    return refusal(read, path, **arguments)


def in_every_form(folder):
    return [
        write(folder, LINES),
        write(
            folder, b"\xef\xbb\xbf" + LINES.replace("\n", " \r\n").encode() + b"\r\n", "crlf.txt"
        ),
        write_zip(folder, {"glove.3d.txt": LINES}),
        write_json(folder, {"words": WORDS, "vectors": VECTORS.tolist()}),
    ]


def test_every_form_gives_the_same_words_and_numbers(tmp_path):
    for path in in_every_form(tmp_path):
        found = read(path)
        assert found.words == {word: row for row, word in enumerate(WORDS)}
        np.testing.assert_array_equal(found.vectors, VECTORS)
        assert found.vectors.dtype == np.float64


def test_only_wanted_words_are_kept_in_the_order_of_the_file(tmp_path):
    for path in in_every_form(tmp_path):
        found = read(path, wanted=["nan", "café", "unheard"])
        assert found.words == {"café": 0, "nan": 1}
        np.testing.assert_array_equal(found.vectors, VECTORS[[2, 3]])
        without = read(path, wanted=["unheard"])
        assert without.words == {} and without.vectors.shape == (0, 3)


def test_of_a_word_that_occurs_twice_the_first_is_kept(tmp_path):
    found = read(write(tmp_path, "dog 1 2\nDog 3 4\ndog 5 6\n"))
    assert found.words == {"dog": 0, "Dog": 1}
    np.testing.assert_array_equal(found.vectors, [[1, 2], [3, 4]])


def test_a_word_may_hold_spaces_and_white_space_that_is_no_space(tmp_path):
    found = read(write(tmp_path, "a 1 2\n. . . 3 4\nx\u00a0y\u0085z 5 6\n"))
    assert list(found.words) == ["a", ". . .", "x\u00a0y\u0085z"]
    np.testing.assert_array_equal(found.vectors, [[1, 2], [3, 4], [5, 6]])


@each_case(
    ("content", "words"),
    [
        ("a 1 2 3\nb 1 2\n", ["line 2", "numbers: 2", "3 numbers"]),
        ("a 1 2\n\nb 1 2 3\n", ["line 3", "numbers: 3", "2 numbers"]),
        ("a 1 2\nb\n", ["line 2", "numbers: 0"]),
        ("a 1 two\n", ["line 1", "'two' is not a finite number"]),
        ("a 1 2\nb nan 2\n", ["line 2", "'nan' is not a finite number"]),
        ("a 1 2\nb 1 -inf\n", ["line 2", "'-inf'"]),
        ("a 1 2\nb 1_0 2\n", ["line 2", "'1_0'"]),
        ("a 1 2\nb 1  2\n", ["line 2"]),
        ("a\t1\t2\n", ["line 1", "numbers: 0"]),
        ("400000 50\nthe 1 2\n", ["line 1", "numbers: 1", "header"]),
        (b"a 1 2\nb 1 2\ncaf\xe9 1 2\n", ["line 3", "not UTF-8"]),
        ("", ["there are no words"]),
        (" \n\n", ["there are no words"]),
    ],
)
def test_a_fault_in_text_names_its_line(tmp_path, content, words):
    path = write(tmp_path, content)
    message = message_of(path)
    assert str(path) in message
    for word in words:
        assert word in message


def test_lines_of_other_words_must_have_the_form_too(tmp_path):
    assert "line 3" in message_of(write(tmp_path, "a 1 2\nb 3 4\nc 5"), wanted=["a"])
    assert "line 1" in message_of(write(tmp_path, "a 1 x\nb 3 4\n"), wanted=["b"])


class TestArchives:
    def test_the_member_of_the_dimension_is_read(self, tmp_path):
        members = {"d/glove.6B.50d.txt": "a 1 2\n", "d/glove.6B.150d.txt": LINES, "x.pdf": "-"}
        assert read(write_zip(tmp_path, members)).words == {"a": 0}
        del members["d/glove.6B.50d.txt"]
        members["d/glove.6B.250d.txt"] = LINES
        assert "ends with .50d.txt" in message_of(write_zip(tmp_path, members))

    def test_hidden_copies_do_not_count_and_a_fault_names_the_member_and_the_line(self, tmp_path):
        path = write_zip(tmp_path, {"w.txt": "a 1 2\nb 1\n", "__MACOSX/._w.txt": "x"})
        assert "vectors.zip, member w.txt, line 2" in message_of(path)

    def test_archives_without_text_damaged_and_missing_ones_are_refused(self, tmp_path):
        assert str(tmp_path / "none.txt") in message_of(tmp_path / "none.txt")
        assert "the archive holds nothing" in message_of(write_zip(tmp_path, {}))
        whole = write_zip(tmp_path, {"w.txt": LINES * 100}).read_bytes()
        assert "cannot be read" in message_of(write(tmp_path, whole[: len(whole) // 2], "w.zip"))
        altered = bytearray(whole)
        altered[60:64] = bytes(255 - byte for byte in altered[60:64])
        assert "cannot be read" in message_of(write(tmp_path, bytes(altered), "w.zip"))


class TestJson:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            ({"words": ["a"]}, ["1 words and no vectors"]),
            ({"words": ["a"], "vectors": []}, ["1 words and 0 vectors"]),
            (["a"], ["no words and no vectors"]),
            ({"words": [], "vectors": []}, ["there are no words"]),
            ({"words": ["a", "b"], "vectors": [[1, 2], [1]]}, ["word 2 ('b')", "numbers: 1"]),
            ({"words": ["a"], "vectors": [[1, None]]}, ["word 1 ('a')", "'None'"]),
            ({"words": ["a"], "vectors": [[1, float("nan")]]}, ["word 1", "'nan'"]),
            ({"words": ["a"], "vectors": [[1, True]]}, ["word 1", "'True'"]),
            ({"words": [1], "vectors": [[1, 2]]}, ["word 1", "a word in quotes"]),
            ({"words": ["a"], "vectors": [3]}, ["word 1", "a list of numbers"]),
        ],
    )
    def test_a_fault_names_the_word(self, tmp_path, content, words):
        message = message_of(write_json(tmp_path, content))
        for word in ["vectors.json", *words]:
            assert word in message

    def test_what_is_no_json_names_the_line(self, tmp_path):
        assert "line 2" in message_of(write(tmp_path, '{"words":\n[}', "w.json"))
        assert "not UTF-8" in message_of(write(tmp_path, b'{"w": "\xe9"}', "w.json"))
