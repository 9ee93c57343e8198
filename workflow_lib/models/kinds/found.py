"""The kinds of generative models there are: the modules of this package that `base` describes."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

from workflow_lib.core.plugins import OUTPUT_MODELS, check_members, declared, plugin_name

LITERALS = ("BLOCKS", "PREIMAGES", "COVARIANCES", "COUNT_KEY", "TASKS")
FUNCTIONS = ("new", "to_arrays", "from_arrays", "scores")


class OutputModelKind(NamedTuple):
    """What the module of a kind declares."""

    name: str
    blocks: dict[str, tuple[str, ...]]
    preimages: tuple[str, ...]
    covariances: tuple[str, ...]
    count_key: str | None
    tasks: tuple[str, ...]


def read_kind(path: Path) -> OutputModelKind:
    """Return what the module of a kind declares, from its source.

    Raises UserError if something is missing.
    """
    found, needed = declared(path), (*LITERALS, "Model", *FUNCTIONS)
    every = f"{', '.join(needed[:-1])} and {needed[-1]}, as every kind of models has them"
    check_members(path, found, needed, every, "docs/add-a-model.md")
    return OutputModelKind(plugin_name(path), *(ast.literal_eval(found[name]) for name in LITERALS))


@cache
def model_kinds() -> dict[str, OutputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    return {name: read_kind(path) for name, path in OUTPUT_MODELS.paths.items()}


def kind_of(model: object) -> str:
    """Return the kind of a model: that of its class, or of the nearest base of it that is one.

    Raises TypeError if it is of no kind.
    """
    kinds = {OUTPUT_MODELS.load(kind).Model: kind for kind in OUTPUT_MODELS.paths}
    for each in type(model).__mro__:
        if each in kinds:
            return kinds[each]
    raise TypeError(
        f"{type(model).__name__} is no generative model of outputs; the kinds are "
        f"{', '.join(kinds.values())}."
    )
