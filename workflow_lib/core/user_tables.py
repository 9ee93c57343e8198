"""Which datasets are tables of the user's own; their results include an answer and a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def is_own_table(sources: Sequence, options: Mapping[str, Any]) -> bool:
    """Return whether a dataset is read from the user's file, not from one of its `sources`."""
    return not sources and bool(options.get("file"))
