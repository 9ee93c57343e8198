"""Untrusted pickles, read without `pickle`: plain values are built, nothing is ever called.

A pickle is a program for a small machine with a stack and a memo. `pickletools` splits it into
instructions, which runs none of them. The machine here has those that build containers, texts,
bytes and numbers, of all protocols from 0 to 5. It has none that import, create or call other
objects, and refuses a pickle with such an instruction, naming it.
"""

from __future__ import annotations

import pickletools
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError

MAX_FILE = 1 << 25
"""Bytes of the largest pickle that is read."""

MAX_WHOLE_NUMBER = 1 << 10
"""Bytes of the largest whole number."""

MAX_VALUES = 5_000_000
"""Values that a pickle may hold, repeated references counted each time. A pickle of a hundred bytes
can exceed the memory by containers that refer to each other twice."""

MAX_DEPTH = 50
"""Levels of nested containers."""

MAX_KEY = 1 << 60
"""Largest number that may be a key: larger numbers can be chosen to have equal hashes."""

PROTOCOL = 5

_MARK = object()

_NEW = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_DICT": dict,
    "EMPTY_SET": set,
    "MARK": lambda: _MARK,
}
"""What instructions without an argument push."""

_ARGUMENTS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
"""Instructions that push their argument."""

_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def read_plain_pickle(path: Path) -> Any:
    """Return the object in the pickle `path`, made of Python's own containers, texts and numbers.

    Pickles of Python 2 are read too, if their texts are ASCII or, in protocols 1 and 2, Latin-1.
    Keys and members of sets are texts, bytes or numbers.

    Raises UserError when the file cannot be read, is damaged or not a pickle, holds other than
    plain values, or exceeds MAX_VALUES or MAX_DEPTH.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise _Refused(f"it has more than {MAX_FILE} bytes")
        value = _value_of(path.read_bytes())
        _check_extent(value)
        return value
    except OSError as error:
        found = f"the file cannot be read ({error.strerror})"
    except (_Refused, ValueError, TypeError, AttributeError, LookupError) as error:
        # Instructions in an invalid order raise these errors.
        found = f"the file is damaged, not a pickle, or not plain ({error or type(error).__name__})"
    raise UserError(
        location=str(path),
        found=found,
        expected="a pickle of dictionaries, texts and numbers only, since any other could run "
        "arbitrary code",
        remedy="download the file again, or write its contents to a CSV file on a computer where "
        "you trust it",
    )


class _Refused(Exception):
    """Why a pickle is not read."""


def _value_of(content: bytes) -> Any:
    """Run the instructions of a pickle, and return the only value left."""
    machine = _Machine()
    for opcode, argument, position in pickletools.genops(content):
        if opcode.name == "FRAME" and argument > len(content) - position - 9:
            raise _Refused("it ends too early")
        machine.run(opcode.name, argument)
    if len(machine.stack) != 1:
        raise _Refused(f"{len(machine.stack)} values are left at its end")
    return machine.pop()


class _Machine:
    """The state of the machine that runs the instructions of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, name: str, argument: Any) -> None:
        """Run an instruction; refuse those that import, create or call."""
        match name:
            case _ if name in _ARGUMENTS:
                self.stack.append(_plain(argument))
            case _ if name in _NEW:
                self.stack.append(_NEW[name]())
            case _ if name in _TUPLES:
                self.stack.append(tuple([self.pop() for _ in range(_TUPLES[name])][::-1]))
            case "TUPLE":
                self.stack.append(tuple(self.pop_to_mark()))
            case "LIST":
                self.stack.append(self.pop_to_mark())
            case "DICT":
                self.stack.append(_pairs(self.pop_to_mark()))
            case "FROZENSET":
                self.stack.append(frozenset(map(_as_key, self.pop_to_mark())))
            case "APPEND" | "APPENDS":
                values = [self.pop()] if name == "APPEND" else self.pop_to_mark()
                self.top(list).extend(values)
            case "SETITEM" | "SETITEMS":
                pair = name == "SETITEM"
                values = [self.pop(), self.pop()][::-1] if pair else self.pop_to_mark()
                self.top(dict).update(_pairs(values))
            case "ADDITEMS":
                values = self.pop_to_mark()
                self.top(set).update(map(_as_key, values))
            case "POP":
                self.stack.pop()
            case "POP_MARK":
                self.pop_to_mark()
            case "DUP":
                self.stack.append(self.stack[-1])
            case "PUT" | "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
                index = len(self.memo) if name == "MEMOIZE" else argument
                self.memo[index] = self.pop()
                self.stack.append(self.memo[index])
            case "GET" | "BINGET" | "LONG_BINGET":
                self.stack.append(self.memo[argument])
            case "PROTO":
                if argument > PROTOCOL:
                    raise _Refused(f"its protocol is {argument}")
            case "GLOBAL":
                # A class or function that a pickle names would be called, and may be os.system.
                raise _Refused(f"it asks for {argument.replace(' ', '.', 1)[:160]}")
            case "STACK_GLOBAL":
                texts = [self.pop(), self.pop()][::-1]
                named = all(isinstance(text, str) for text in texts)
                requested = (
                    ".".join(text[:80] for text in texts) if named else "a class without a name"
                )
                raise _Refused(f"it asks for {requested}")
            case "FRAME" | "STOP":
                pass
            case _:
                raise _Refused(f"it asks for {name}")

    def pop(self) -> Any:
        """Remove and return the value on top."""
        value = self.stack.pop()
        if value is _MARK:
            raise _Refused("there is a mark instead of a value")
        return value

    def pop_to_mark(self) -> list[Any]:
        """Remove and return the values above the last mark, and remove the mark."""
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def top(self, kind: type) -> Any:
        """Return the value on top, which must be of a kind."""
        if type(self.stack[-1]) is not kind:
            raise _Refused(f"there is no {kind.__name__} to put a value into")
        return self.stack[-1]


def _plain(value: Any) -> Any:
    """Return the argument of an instruction; refuse long numbers and texts that are not UTF-8."""
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, int) and value.bit_length() > 8 * MAX_WHOLE_NUMBER:
        raise _Refused(f"a number has {value.bit_length() // 8 + 1} bytes")
    return value


def _too_much() -> _Refused:
    return _Refused(f"it holds more than {MAX_VALUES} values, or containers {MAX_DEPTH} deep")


def _check_extent(value: Any) -> None:
    """Refuse too many values, and containers that are nested too deep or in themselves."""
    if _extent(value, 1, {})[0] > MAX_VALUES:
        raise _too_much()


def _extent(value: Any, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many values a value holds, with itself, and how many containers deep it is. A
    container that stands in many places counts in each, but is looked at once: `known` has the
    result by its identity."""
    if not isinstance(value, (dict, list, tuple, set, frozenset)):
        return 1, 0
    if depth > MAX_DEPTH:
        raise _too_much()
    if id(value) not in known:
        inside = value.values() if isinstance(value, dict) else value
        parts = [_extent(inner, depth + 1, known) for inner in inside if not _is_single(inner)]
        n_values = 1 + len(value) - len(parts) + sum(n for n, _ in parts)
        known[id(value)] = n_values, 1 + max((height for _, height in parts), default=0)
    n_values, height = known[id(value)]
    if depth + height - 1 > MAX_DEPTH:
        raise _too_much()
    return n_values, height


def _is_single(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, bool, int, float))


def _as_key(value: Any) -> Any:
    """Return `value`; raise when it may not be a key."""
    is_large = isinstance(value, (int, float)) and not abs(value) < MAX_KEY
    if is_large or not _is_single(value):
        raise _Refused(f"a {'large number' if is_large else type(value).__name__} is a key")
    return value


def _pairs(values: list[Any]) -> dict[Any, Any]:
    return {_as_key(key): value for key, value in zip(values[::2], values[1::2], strict=True)}
