"""The kinds of generative models of inputs: modules of papers, as `base` says."""

from functools import cache
from types import ModuleType
from typing import NamedTuple

from workflow_lib.core.plugins import SCORE_SPACES


class InputModelKind(NamedTuple):
    """What the module of a kind declares."""

    name: str

    model: str
    """The class of the models, with its module."""

    items: tuple[str, ...]
    """The kinds of items that it takes (`workflow_lib.items.kinds`)."""


@cache
def input_model_kinds() -> dict[str, InputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    page = "workflow_lib/inputs/score_spaces/base.py"
    return SCORE_SPACES.declarations(InputModelKind, ("MODEL", "ITEMS"), page)


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
