"""The kinds of generative models there are: the modules of this package that `base` describes."""

from functools import cache
from typing import NamedTuple

from workflow_lib.core.plugins import OUTPUT_MODELS

MEMBERS = ("BLOCKS", "PREIMAGES", "COVARIANCES", "COUNT_KEY", "TASKS")
MEMBERS += ("Model", "new", "to_arrays", "from_arrays", "scores")


class OutputModelKind(NamedTuple):
    """What the module of a kind declares."""

    name: str
    blocks: dict[str, tuple[str, ...]]
    preimages: tuple[str, ...]
    covariances: tuple[str, ...]
    count_key: str | None
    tasks: tuple[str, ...]


@cache
def model_kinds() -> dict[str, OutputModelKind]:
    """Return what every kind declares, by its name, without loading any."""
    return OUTPUT_MODELS.declarations(OutputModelKind, MEMBERS, "docs/add-a-model.md")
