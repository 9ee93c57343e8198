"""JSON: read from users and servers, with errors that say how to fix it; in files and artifacts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.whole_files import write_text


class JsonFault(ValueError):
    """Why a text is not read as JSON, in words."""


def parsed_json(text: str) -> Any:
    """Return the value that a text of JSON describes.

    Raises JsonFault for text that is not JSON, naming the line; for an object with a repeated name,
    for whole numbers of thousands of digits, and for lists that are nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise JsonFault(f"line {error.lineno} is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise JsonFault("its lists or objects are nested too deep") from error
    except JsonFault:
        raise
    except ValueError as error:
        raise JsonFault(f"it holds a number of too many digits ({error})") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    content = dict(pairs)
    if len(content) < len(pairs):
        raise JsonFault(f"the entry '{next(n for n in names if names.count(n) > 1)}' is repeated")
    return content


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON with sorted names, whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def json_bytes(value: Any) -> np.ndarray:
    """Return `value` as JSON in an array of bytes, the form in which artifacts hold long texts."""
    return np.frombuffer(json.dumps(value, ensure_ascii=False).encode(), dtype=np.uint8)


def from_json_bytes(array: np.ndarray) -> Any:
    """Return the value that `json_bytes` turned into the array."""
    return json.loads(array.tobytes())
