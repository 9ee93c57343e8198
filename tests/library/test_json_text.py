"""Every text of JSON is read or refused with a message."""

import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import JsonFault, parsed_json
from workflow_lib.data.class_texts import read_class_texts
from workflow_lib.inputs.word_vectors import read_word_vectors


def test_json_is_read():
    assert parsed_json('{"a": [1, 2.5, null]}') == {"a": [1, 2.5, None]}
    with pytest.raises(JsonFault, match="the entry 'a' is repeated"):
        parsed_json('{"b": {"a": 1, "a": 2}}')


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n[", "line 2 is not JSON"),
        ("", "line 1 is not JSON"),
        ("[" * 100_000, "too deep"),
        ('{"a":' * 100_000, "too deep"),
        ("9" * 5000, "too many digits"),
    ],
)
def test_unusable_texts_are_refused_with_a_message(tmp_path, text, words):
    with pytest.raises(JsonFault, match=words):
        parsed_json(text)
    path = tmp_path / "file.json"
    path.write_text(text or " ")
    for read in (read_word_vectors, read_class_texts):
        with pytest.raises(UserError, match="file.json"):
            read(path, ["ant"])


def test_a_number_that_no_float_can_hold_is_refused(tmp_path):
    path = tmp_path / "file.json"
    path.write_text('{"words": ["a"], "vectors": [[1, 1%s]]}' % ("0" * 400))
    with pytest.raises(UserError, match="is not a finite number"):
        read_word_vectors(path, ["a"])
