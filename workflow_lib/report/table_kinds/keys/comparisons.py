"""The keys of a table of kind `comparisons`."""

from collections.abc import Collection
from typing import Any

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Name, Text


class Comparison(Settings):
    """A question that a table of kind `comparisons` answers."""

    question: Text
    """The question, such as `Do unlabelled rows help?`: yes, if `method` is better."""

    method: Name
    """A method of the experiment, taken with its most weak rows."""

    against: Name
    """The method that it is compared with, with its most weak rows; the same method: without."""


class Keys(Settings):
    """Keys of a table of comparisons."""

    comparisons: tuple[Comparison, ...] = ()
    """Questions that a table of kind `comparisons` answers, with both tests."""


def named_methods(table: Any) -> set[str]:
    """Return the methods that the keys of a table name."""
    return {each for pair in table.comparisons for each in (pair.method, pair.against)}


def limited_to(table: Any, methods: Collection[str]) -> dict[str, Any] | None:
    """Return the keys of a table without those of other methods, None where none is left."""
    kept = [pair for pair in table.comparisons if {pair.method, pair.against} <= set(methods)]
    return {"comparisons": tuple(kept)} if kept or not table.comparisons else None
