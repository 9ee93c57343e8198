"""Untrusted pickles, read without `pickle`: plain values are built, nothing is ever called.

A pickle is a program for a small machine with a stack and a memo. The machine here has the
instructions that build containers, texts, bytes and numbers, of all protocols from 0 to 5. It has
none that import, create or call other objects, and refuses a pickle with such an instruction,
naming it.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_lib.errors import UserError

LARGEST_FILE = 1 << 25
"""Bytes of the largest pickle that is read."""

LARGEST_WHOLE_NUMBER = 1 << 10
"""Bytes of the largest whole number."""

MOST_VALUES = 5_000_000
"""Values that a pickle may hold, repeated references counted each time. A pickle of a hundred bytes
can exceed the memory by containers that refer to each other twice."""

DEEPEST = 50
"""Levels of nested containers."""

LARGEST_KEY = 1 << 60
"""Largest number that may be a key: larger numbers can be chosen to have equal hashes."""

PROTOCOL = 5

_MARK = object()

_REFUSED = {
    b"R": "REDUCE",
    b"b": "BUILD",
    b"i": "INST",
    b"o": "OBJ",
    b"\x81": "NEWOBJ",
    b"\x92": "NEWOBJ_EX",
    b"\x82": "EXT1",
    b"\x83": "EXT2",
    b"\x84": "EXT4",
    b"P": "PERSID",
    b"Q": "BINPERSID",
    b"\x97": "NEXT_BUFFER",
    b"\x98": "READONLY_BUFFER",
}


def read_plain_pickle(path: Path) -> Any:
    """Return the object in the pickle `path`, made of Python's own containers, texts and numbers.

    Pickles of Python 2 are read too, their texts as Latin-1. Keys and members of sets are texts,
    bytes or numbers.

    Raises
    ------
    UserError
        When the file cannot be read, is damaged or not a pickle, holds other than plain values, or
        exceeds MOST_VALUES or DEEPEST.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise _Refused(f"it has more than {LARGEST_FILE} bytes")
        value = _Machine(path.read_bytes()).run()
        _check_extent(value)
        return value
    except OSError as error:
        found = f"the file cannot be read ({error.strerror})"
    except (_Refused, ValueError, TypeError, AttributeError, LookupError) as error:
        # Instructions in an invalid order raise these errors.
        found = f"the file is damaged, not a pickle, or not plain ({error or type(error).__name__})"
    raise UserError(
        place=str(path),
        found=found,
        expected="a pickle of dictionaries, texts and numbers only, since any other could run "
        "arbitrary code",
        remedy="download the file again, or write its contents to a CSV file on a computer where "
        "you trust it",
    )


class _Refused(Exception):
    """Why a pickle is not read."""


class _Machine:
    """The state of the machine that runs the instructions of a pickle."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.position = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Run the instructions up to STOP, and return the only value left."""
        while (code := self.take(1)) != b".":
            instruction = _INSTRUCTIONS.get(code)
            if instruction is None:
                name = _REFUSED.get(code)
                raise _Refused(f"it asks for {name}" if name else f"{code!r} is not an instruction")
            instruction(self)
        if len(self.stack) != 1:
            raise _Refused(f"{len(self.stack)} values are left at its end")
        return self.pop()

    # The file

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        taken = self.content[self.position : self.position + size]
        if size < 0 or len(taken) < size:
            raise _Refused("it ends too early")
        self.position += size
        return taken

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> bytes:
        end = self.content.find(b"\n", self.position)
        if end < 0:
            raise _Refused("it ends too early")
        text = self.take(end - self.position)
        self.position += 1
        return text

    def counted(self, size_of_size: int, signed: bool = False) -> bytes:
        """Return bytes that are preceded by their number."""
        return self.take(self.number(size_of_size, signed))

    def check_frame(self, size: int) -> None:
        """Refuse a frame that is longer than the rest of the file."""
        if size > len(self.content) - self.position:
            raise _Refused("it ends too early")

    # The stack

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise _Refused("there is a mark instead of a value")
        return value

    def pop_to_mark(self) -> list[Any]:
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def top(self, kind: type) -> Any:
        """Return the value on top, which must be of a kind."""
        if type(self.stack[-1]) is not kind:
            raise _Refused(f"there is no {kind.__name__} to put a value into")
        return self.stack[-1]

    # The instructions

    def append(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def add(self, values: list[Any]) -> None:
        self.top(set).update(map(_as_key, values))

    def set_items(self, values: list[Any]) -> None:
        self.top(dict).update(_pairs(values))

    def remember(self, place: int) -> None:
        self.memo[place] = self.pop()
        self.push(self.memo[place])

    def refuse_class(self, module: Any, name: Any) -> None:
        # A class or function that a pickle names would be called, and may be os.system.
        if not (isinstance(module, str) and isinstance(name, str)):
            raise _Refused("it asks for a class without a name")
        raise _Refused(f"it asks for {module[:80]}.{name[:80]}")


def _check_extent(value: Any) -> None:
    """Refuse too many values, and containers that are nested too deep or in themselves."""
    containers, n_values = [(value, 1)], 1
    while containers:
        container, depth = containers.pop()
        if isinstance(container, dict):
            container = container.values()
        elif not isinstance(container, (list, tuple, set, frozenset)):
            continue
        n_values += len(container)
        if n_values > MOST_VALUES or depth > DEEPEST:
            raise _Refused(f"it holds more than {MOST_VALUES} values, or containers {DEEPEST} deep")
        containers += [(inner, depth + 1) for inner in container if not _is_single(inner)]


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, bool, int, float))


def _as_key(value: Any) -> Any:
    """Return `value`; raise when it may not be a key."""
    is_large = isinstance(value, (int, float)) and not abs(value) < LARGEST_KEY
    if is_large or not _is_single(value):
        raise _Refused(f"a {'large number' if is_large else type(value).__name__} is a key")
    return value


def _quoted(text: bytes) -> str:
    """Return the text that Python 2 wrote between quotes."""
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
        raise _Refused("a text has no quotes")
    return codecs.escape_decode(text[1:-1])[0].decode("latin-1")


def _unicode(text: bytes) -> str:
    """Return the text in the form of protocol 0, which can encode invalid characters."""
    found = text.decode("raw-unicode-escape")
    found.encode("utf-8")
    return found


def _whole_number(content: bytes) -> int:
    if len(content) > LARGEST_WHOLE_NUMBER:
        raise _Refused(f"a number has {len(content)} bytes")
    return int.from_bytes(content, "little", signed=True)


def _number_or_boolean(text: bytes) -> int:
    return {b"00": False, b"01": True}[text] if text in (b"00", b"01") else int(text)


def _protocol(machine: _Machine) -> None:
    found = machine.number(1)
    if found > PROTOCOL:
        raise _Refused(f"its protocol is {found}")


def _pairs(values: list[Any]) -> dict[Any, Any]:
    return {_as_key(key): value for key, value in zip(values[::2], values[1::2], strict=True)}


def _tuple_of(size: int) -> Callable[[_Machine], None]:
    return lambda m: m.push(tuple([m.pop() for _ in range(size)][::-1]))


_INSTRUCTIONS: dict[bytes, Callable[[_Machine], Any]] = {
    # Values
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"I": lambda m: m.push(_number_or_boolean(m.line())),
    b"K": lambda m: m.push(m.number(1)),
    b"M": lambda m: m.push(m.number(2)),
    b"J": lambda m: m.push(m.number(4, signed=True)),
    b"L": lambda m: m.push(int(m.line().removesuffix(b"L"))),
    b"\x8a": lambda m: m.push(_whole_number(m.counted(1))),
    b"\x8b": lambda m: m.push(_whole_number(m.counted(4, True))),
    b"F": lambda m: m.push(float(m.line())),
    b"G": lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
    # Texts of Python 2, then texts and bytes
    b"S": lambda m: m.push(_quoted(m.line())),
    b"T": lambda m: m.push(m.counted(4, True).decode("latin-1")),
    b"U": lambda m: m.push(m.counted(1).decode("latin-1")),
    b"V": lambda m: m.push(_unicode(m.line())),
    b"X": lambda m: m.push(m.counted(4).decode("utf-8")),
    b"\x8c": lambda m: m.push(m.counted(1).decode("utf-8")),
    b"\x8d": lambda m: m.push(m.counted(8).decode("utf-8")),
    b"B": lambda m: m.push(m.counted(4)),
    b"C": lambda m: m.push(m.counted(1)),
    b"\x8e": lambda m: m.push(m.counted(8)),
    b"\x96": lambda m: m.push(bytearray(m.counted(8))),
    # Containers
    b"]": lambda m: m.push([]),
    b"l": lambda m: m.push(m.pop_to_mark()),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.pop_to_mark()),
    b")": lambda m: m.push(()),
    b"t": lambda m: m.push(tuple(m.pop_to_mark())),
    b"\x85": _tuple_of(1),
    b"\x86": _tuple_of(2),
    b"\x87": _tuple_of(3),
    b"}": lambda m: m.push({}),
    b"d": lambda m: m.push(_pairs(m.pop_to_mark())),
    b"s": lambda m: m.set_items([m.pop(), m.pop()][::-1]),
    b"u": lambda m: m.set_items(m.pop_to_mark()),
    b"\x8f": lambda m: m.push(set()),
    b"\x90": lambda m: m.add(m.pop_to_mark()),
    b"\x91": lambda m: m.push(frozenset(map(_as_key, m.pop_to_mark()))),
    # Stack, memo and framing
    b"(": lambda m: m.push(_MARK),
    b"0": lambda m: m.stack.pop(),
    b"1": lambda m: m.pop_to_mark(),
    b"2": lambda m: m.push(m.stack[-1]),
    b"p": lambda m: m.remember(int(m.line())),
    b"q": lambda m: m.remember(m.number(1)),
    b"r": lambda m: m.remember(m.number(4)),
    b"\x94": lambda m: m.remember(len(m.memo)),
    b"g": lambda m: m.push(m.memo[int(m.line())]),
    b"h": lambda m: m.push(m.memo[m.number(1)]),
    b"j": lambda m: m.push(m.memo[m.number(4)]),
    b"\x80": _protocol,
    b"\x95": lambda m: m.check_frame(m.number(8)),
    # Classes and functions, which are refused, naming them
    b"c": lambda m: m.refuse_class(m.line().decode("latin-1"), m.line().decode("latin-1")),
    b"\x93": lambda m: m.refuse_class(*[m.pop(), m.pop()][::-1]),
}
