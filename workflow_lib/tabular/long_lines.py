"""Lines of a text of limited length.

A line is split into its values at once, which takes many times its size in memory.
"""

from collections.abc import Iterator
from typing import BinaryIO

from workflow_lib.core.errors import UserError

MAX_LINE_LENGTH = 1 << 24
"""Bytes of a line: a million numbers of sixteen digits."""


def lines_of(file: BinaryIO, location: str) -> Iterator[bytes]:
    """Yield the lines of a file with their ends.

    Raises UserError naming the first line that is too long.
    """
    number = 1
    while line := file.readline(MAX_LINE_LENGTH + 1):
        if len(line) > MAX_LINE_LENGTH:
            raise _too_long(location, number)
        yield line
        number += 1


def refuse_long_lines(content: bytes, location: str) -> None:
    """Raise the `UserError` of `lines_of` for a text with a line that is too long."""
    start, number = 0, 1
    while len(content) - start > MAX_LINE_LENGTH:
        window = start, start + MAX_LINE_LENGTH + 1
        end = max(content.rfind(b"\n", *window), content.rfind(b"\r", *window))
        number += max(content.count(b"\n", *window), content.count(b"\r", *window))
        if end < 0:
            raise _too_long(location, number)
        start = end + 1


def _too_long(location: str, number: int) -> UserError:
    return UserError(
        location=f"{location}, line {number}",
        found=f"the line has more than {MAX_LINE_LENGTH} bytes",
        expected="shorter lines, one per row",
        remedy="check whether the file is damaged or not a table in the expected form",
    )
