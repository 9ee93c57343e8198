"""The module of this package that holds the terms of a model, loaded by name."""

from __future__ import annotations

import importlib
from types import ModuleType

LOADS_ALL_OF = "workflow_lib.embeddings.score_spaces"
"""The package whose modules are loaded by name (`workflow_lib.imports`)."""


def load(kind: str) -> ModuleType:
    """Return the module of a kind."""
    return importlib.import_module(f"{LOADS_ALL_OF}.{kind}")


def terms_module(model) -> ModuleType:
    """Return the module of a model's kind.

    Raises
    ------
    TypeError
        If its class names no module of this package.
    """
    kind = getattr(type(model), "score_terms", None)
    if kind is None:
        raise TypeError(
            f"{type(model).__name__} has no score space: its class has no attribute score_terms."
        )
    return load(kind)
