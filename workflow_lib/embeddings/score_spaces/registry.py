"""The kinds of generative models of inputs: every module of this package, as `base` says."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from workflow_lib.named_module import named_module

LOADS_ALL_OF = "workflow_lib.embeddings.score_spaces"
"""The package whose modules are loaded by name (`workflow_lib.imports`)."""

LITERALS = ("MODEL", "ITEMS")


class InputModelKind(NamedTuple):
    """What the module of a kind declares."""

    model: str
    """The class of the models, with its module."""

    items: tuple[str, ...]
    """The kinds of items that it takes (`workflow_lib.features.item_rows`)."""

    arguments: tuple[str, ...]
    """The names of the arguments of the class."""


@cache
def input_model_kinds() -> dict[str, InputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    kinds = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found = {
            statement.targets[0].id: statement.value
            for statement in ast.parse(path.read_bytes(), str(path)).body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
        if found.keys() >= set(LITERALS):
            model, items = (ast.literal_eval(found[name]) for name in LITERALS)
            kinds[path.stem] = InputModelKind(model, items, _arguments_of(model))
    return kinds


def _arguments_of(model: str) -> tuple[str, ...]:
    """Return the names of the arguments of a class of this library, from its source."""
    _, *folders, name = model.split(".")
    path = Path(__file__).parents[2].joinpath(*folders).with_suffix(".py")
    body = ast.parse(path.read_bytes(), str(path)).body
    own = next(each for each in body if getattr(each, "name", None) == name)
    made = next(each for each in own.body if getattr(each, "name", None) == "__init__")
    return tuple(argument.arg for argument in made.args.args[1:])


def load(kind: str) -> ModuleType:
    """Return the module of a kind."""
    return named_module(LOADS_ALL_OF, kind)


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
