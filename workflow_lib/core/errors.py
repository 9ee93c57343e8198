"""Errors that a user can fix, with messages that say how."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_PART_LENGTH = 1500
"""Characters of a part of a message; the middle of a longer part is left out."""


class UserError(Exception):
    """A fault in a file, a setting or the data that the user can fix.

    Parameters
    ----------
    location : str
        The file, key or row at fault, for example ``config/config.yaml, key seed``.
    found : str
        What is there.
    expected : str, default=""
        What should be there; left out of the message when empty.
    remedy : str, default=""
        What to do about it; left out of the message when empty.
    """

    def __init__(self, location: str, found: str, expected: str = "", remedy: str = "") -> None:
        self.location = location
        self.found = found
        self.expected = expected
        self.remedy = remedy
        super().__init__(location, found, expected, remedy)

    def __str__(self) -> str:
        message = f"{readable(self.location)}: {readable(self.found)}."
        if self.expected:
            message += f" Expected {readable(self.expected)}."
        if self.remedy:
            message += f" To fix it: {readable(self.remedy)}."
        return message


class ArgumentError(UserError, ValueError):
    """A fault in an argument of an estimator, also a ValueError, as scikit-learn expects."""


def readable(text: str) -> str:
    """Return a text of limited length with control and invisible characters escaped.

    Messages quote files, and files may hold anything: characters that move the cursor, invisible
    characters, a million letters in one cell.
    """
    if len(text) > MAX_PART_LENGTH:
        half = MAX_PART_LENGTH // 2
        text = f"{text[:half]} [...] {text[-half:]}"
    return "".join(
        letter
        if letter.isprintable() or letter == "\n"
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def key_location(location: str, key: str) -> str:
    """Return how messages name a key: after a file, or within a block of keys of a file."""
    return f"{location}.{key}" if ", key " in location else f"{location}, key {key}"


def nearest_name(name: str, valid: Iterable[str]) -> str | None:
    """Return the name in `valid` that resembles `name` most, or None when none does."""
    matches = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.6)
    return matches[0] if matches else None


def correction(name: str, valid: Iterable[str], otherwise: str = "") -> str:
    """Return the remedy for a wrong name: the one in `valid` that resembles it, or `otherwise`."""
    nearest = nearest_name(name, valid)
    return f"write '{nearest}'" if nearest else otherwise


def unknown_name(location: str, kind: str, name: str, valid: Iterable[str]) -> UserError:
    """Return the error for a reference to a `kind` (dataset, method, ...) that does not exist."""
    names = sorted(valid)
    return UserError(
        location=location,
        found=f"there is no {kind} named '{name}'",
        expected=f"one of: {', '.join(names) or '(none defined)'}",
        remedy=correction(name, names, f"choose one of the listed {kind}s"),
    )
