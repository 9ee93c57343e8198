"""Faults of the configuration, with their keys and YAML files."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from workflow_lib.core.errors import UserError, correction, key_location, nearest_name
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import NAME, PATTERNS_IN_WORDS, possible_name

MAX_REPORTED = 10

EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a block of keys",
    "finite_number": "a finite number",
    "float_type": "a number",
    "greater_than": "a number greater than {gt}",
    "greater_than_equal": "a number from {ge}",
    "int_type": "a whole number",
    "less_than": "a number less than {lt}",
    "less_than_equal": "a number up to {le}",
    "list_type": "a list, for example [first, second]",
    "literal_error": "{expected}",
    "model_type": "a block of keys",
    "string_too_long": "a text of at most {max_length} characters",
    "string_too_short": "a text that is not empty",
    "string_type": "a text",
    "too_short": "a list of at least {min_length}",
    "tuple_type": "a list, for example [first, second]",
}


class ConfigurationError(UserError):
    """Several faults of the configuration, reported together.

    Parameters
    ----------
    errors : sequence of UserError
        The faults; the message shows the first ten, one per line.
    """

    def __init__(self, errors: Sequence[UserError]) -> None:
        self.errors = list(errors)
        super().__init__(location="the configuration", found=f"it has {len(self.errors)} errors")

    def __str__(self) -> str:
        lines = [f"The configuration has {len(self.errors)} errors:"]
        lines += [f"- {error}" for error in self.errors[:MAX_REPORTED]]
        if len(self.errors) > MAX_REPORTED:
            lines.append(f"... and {len(self.errors) - MAX_REPORTED} more.")
        return "\n".join(lines)


def raise_errors(errors: Sequence[UserError]) -> None:
    """Raise a single error as such and several as a ConfigurationError; none is no error."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigurationError(errors)


def written(value: Any) -> str:
    """Return `value` as YAML writes it on one line, shortened to 60 characters."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def key_path(location: Iterable[str | int]) -> str:
    """Return a location as a person reads it: ``grid.alpha[2]`` for ("grid", "alpha", 2)."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def settings_errors(
    error: ValidationError,
    model: type[Settings],
    data: Any,
    file: str,
    prefix: tuple[str, ...] = (),
) -> list[UserError]:
    """Return the errors that pydantic found as `UserError`.

    Parameters
    ----------
    error : pydantic.ValidationError
        Raised by ``model.model_validate(data)``.
    model : class
        The settings class.
    data : object
        The data that were checked.
    file : str
        The file, or the run's configuration.
    prefix : tuple of str, default=()
        Keys that lead to `data` inside the file.

    Returns
    -------
    list of UserError
        One per key at fault, in the order of the keys of the class.
    """
    faults: dict[tuple, list[dict]] = {}
    for detail in error.errors(include_url=False):
        faults.setdefault(_location_in(data, detail), []).append(detail)
    errors = []
    for location, details in faults.items():
        # A key with alternatives (a word or a list) is reported once per alternative; the
        # intended alternative is the one with the deepest location.
        if any(other[: len(location)] == location != other for other in faults):
            continue
        path = key_path((*prefix, *location))
        where = key_location(file, path) if path else file
        errors.append(_translated(details, model, location, where))
    return errors


def _location_in(data: Any, detail: dict) -> tuple[str | int, ...]:
    """Return the part of a fault's location that is in the data (no names of alternatives)."""
    location: list[str | int] = []
    parts = detail["loc"]
    for number, part in enumerate(parts):
        # pydantic reports a key that is not text, such as null, as text that is not in the data.
        is_named = detail["type"] in ("missing", "invalid_key") and number == len(parts) - 1
        if is_named:
            location.append(part)
        elif isinstance(data, dict) and part in data:
            location.append(part)
            data = data[part]
        elif isinstance(data, list | tuple) and isinstance(part, int):
            location.append(part)
            data = data[part]
    return tuple(location)


def _translated(details: list[dict], model: type[Settings], location: tuple, where: str):
    first = details[0]
    if first["type"] == "missing":
        return UserError(where, "the key is missing", remedy="add it, with a value")
    if first["type"] in ("extra_forbidden", "invalid_key"):
        valid = list(_model_at(model, location[:-1]).model_fields)
        others = model.others_with(location)
        elsewhere = (
            f"; it is a key of methods with regressor: {', '.join(others)}" if others else ""
        )
        return UserError(
            where,
            f"there is no such key{elsewhere}",
            expected=f"one of: {', '.join(valid)}",
            remedy=correction(str(location[-1]), valid, "remove it"),
        )
    expected = " or ".join(dict.fromkeys(_expected(detail) for detail in details))
    nearest = None
    if isinstance(first["input"], str):
        nearest = nearest_name(first["input"], re.findall(r"'([^']+)'", expected))
        if first.get("ctx", {}).get("pattern") == NAME:
            nearest = possible_name(first["input"])
    return UserError(
        where,
        f"found {written(first['input'])}",
        expected=expected,
        remedy=f"write '{nearest}'" if nearest else "",
    )


def _expected(detail: dict) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "setting":
        return detail["msg"]
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"]
        return PATTERNS_IN_WORDS.get(pattern, f"a text that matches {pattern}")
    if kind in EXPECTED:
        return EXPECTED[kind].format(**context)
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return message[:1].lower() + message[1:]


def _model_at(model: type[Settings], location: tuple) -> type[Settings]:
    """Return the settings class of the block at `location` inside `model`."""
    for part in location:
        if part in model.model_fields:
            model = _settings_class(model.model_fields[part].annotation) or model
    return model


def _settings_class(annotation: Any) -> type[Settings] | None:
    """Return the first settings class inside a type annotation such as ``tuple[X, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    for argument in typing.get_args(annotation):
        if found := _settings_class(argument):
            return found
    return None
