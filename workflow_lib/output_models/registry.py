"""The kinds of generative models there are: every module of this package, as `base` says."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from workflow_lib.named_module import named_module
from workflow_lib.output_models.base import OutputModelKind, read_kind

LOADS_ALL_OF = "workflow_lib.output_models"
"""The package whose modules are loaded by name (`workflow_lib.imports`)."""

NO_KINDS = ("__init__", "base", "registry")
"""Modules of this package that are no kind."""


@cache
def model_kinds() -> dict[str, OutputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    return {path.stem: read_kind(path) for path in paths if path.stem not in NO_KINDS}


def load(kind: str) -> ModuleType:
    """Return the module of a kind."""
    return named_module(LOADS_ALL_OF, kind)


def kind_of(model: object) -> str:
    """Return the kind of a model.

    Raises
    ------
    TypeError
        If it is of no kind.
    """
    classes = {kind: load(kind).Model for kind in model_kinds()}
    for kind, model_class in classes.items():
        if type(model) is model_class:
            return kind
    for kind, model_class in classes.items():
        if isinstance(model, model_class):
            return kind
    raise TypeError(
        f"{type(model).__name__} is no generative model of outputs; the kinds are "
        f"{', '.join(model_kinds())}."
    )
