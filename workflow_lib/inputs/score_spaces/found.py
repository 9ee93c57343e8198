"""The kinds of generative models of inputs: modules of papers, as `base` says."""

import ast
from functools import cache
from types import ModuleType
from typing import NamedTuple

from workflow_lib.core.plugins import PACKAGE, SCORE_SPACES, check_members, declared

LITERALS = ("MODEL", "ITEMS")
CONTRACT = "workflow_lib/inputs/score_spaces/base.py"


class InputModelKind(NamedTuple):
    """What the module of a kind declares."""

    model: str
    """The class of the models, with its module."""

    items: tuple[str, ...]
    """The kinds of items that it takes (`workflow_lib.items.kinds`)."""

    arguments: tuple[str, ...]
    """The names of the arguments of the class."""


@cache
def input_model_kinds() -> dict[str, InputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    kinds = {}
    for name, path in SCORE_SPACES.paths.items():
        found = declared(path)
        check_members(path, found, LITERALS, "MODEL and ITEMS, as every kind has them", CONTRACT)
        model, items = (ast.literal_eval(found[literal]) for literal in LITERALS)
        kinds[name] = InputModelKind(model, items, _arguments_of(model))
    return kinds


def _arguments_of(model: str) -> tuple[str, ...]:
    """Return the names of the arguments of a class of this library, from its source."""
    _, *folders, name = model.split(".")
    own = declared(PACKAGE.joinpath(*folders).with_suffix(".py"))[name]
    made = next(each for each in own.body if getattr(each, "name", None) == "__init__")
    return tuple(argument.arg for argument in made.args.args[1:])


def terms_module(model) -> ModuleType:
    """Return the module of a model's kind.

    Raises TypeError if its class names no kind.
    """
    kind = getattr(type(model), "score_terms", None)
    if kind is None:
        raise TypeError(
            f"{type(model).__name__} has no score space: its class has no attribute score_terms."
        )
    return SCORE_SPACES.load(kind)
