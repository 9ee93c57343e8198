"""JSON from users and servers, with errors that say how it can be fixed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


class JsonFault(ValueError):
    """Why a text is not read as JSON, in words."""


def parsed_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value that a text of JSON describes.

    Parameters
    ----------
    text : str
    pairs : callable, default=None
        Makes an object from its names and values, as ``object_pairs_hook`` of `json.loads`.

    Raises
    ------
    JsonFault
        For text that is not JSON, naming the line; for whole numbers of thousands of digits, and
        for lists that are nested too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise JsonFault(f"line {error.lineno} is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise JsonFault("its lists or objects are nested too deep") from error
    except ValueError as error:
        raise JsonFault(f"it holds a number of too many digits ({error})") from error
