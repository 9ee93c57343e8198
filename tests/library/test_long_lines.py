"""Lines that are too long are named, and all others are read unchanged."""

import io

import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.tabular import long_lines
from workflow_lib.tabular.long_lines import lines_of, refuse_long_lines


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(long_lines, "MAX_LINE_LENGTH", 10)


def test_lines_are_read_with_their_ends():
    content = b"one\n\ntwo\r\nlast"
    assert list(lines_of(io.BytesIO(content), "f")) == [b"one\n", b"\n", b"two\r\n", b"last"]


def test_a_line_that_is_too_long_is_named():
    lines = lines_of(io.BytesIO(b"one\n" + b"x" * 11), "f")
    assert next(lines) == b"one\n"
    with pytest.raises(UserError, match="f, line 2: the line has more than 10 bytes"):
        next(lines)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_text_is_refused_by_its_longest_line(end):
    refuse_long_lines(b"", "f")
    refuse_long_lines(end.join([b"x" * 9] * 50), "f")
    for number in (1, 2, 30, 50):
        lines = [b"x" * 9] * 50
        lines[number - 1] = b"x" * 12
        with pytest.raises(UserError, match=f"f, line {number}: "):
            refuse_long_lines(end.join(lines), "f")
