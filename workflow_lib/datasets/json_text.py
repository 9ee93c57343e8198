"""JSON from outside of the workflow, with errors that say how the file can be fixed."""

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
        What makes an object of its names and values, as ``object_pairs_hook`` of `json.loads`.

    Raises
    ------
    JsonFault
        For what is no JSON, naming the line; for whole numbers of thousands of digits, and for
        lists within lists that are too deep, which no reader wants.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise JsonFault(f"line {error.lineno} is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise JsonFault("its lists or objects lie too deep within each other") from error
    except ValueError as error:
        raise JsonFault(f"it holds a number of too many digits ({error})") from error
