"""The contract of item kinds: what the rows of a dataset hold, and how they are stored.

A kind is a module of this package, or of the folder ``item_kinds`` of a paper; its name is that of
the kind, which readers return from ``kind_of_inputs`` and methods state in ``items``. It has

``pack``
    which returns the entries of a "dataset" artifact that hold items: either ``inputs``, a row of
    numbers of one length for each, with ``items``, which has the ``kind`` and what else `unpack`
    needs; or an entry of its own, `ENTRY`;
``unpack(data, rows=None)``
    which returns the items in some rows (None: all) of the tree of an artifact with these
    entries, and raises ValueError where a row is no item of the kind;

and may have

``check(data)``
    which raises ValueError where the entries are damaged, for kinds of which `unpack` need not
    or cannot find that out;
``ARE_NUMBERS``
    whether ``inputs`` are rows of numbers, which methods for vectors take as they are. By default
    they are not, and such methods are refused before anything runs;
``IS_STATED``
    whether methods state the kind, True by default;
``ENTRY``
    the entry that marks its datasets, where these have no group ``items``;
``STREAMED``
    large arrays of a dataset, as paths in its artifact, of which a fit reads its own rows.

What is written in capitals is a literal. These are read from the source, because every command
needs them. A sample in ``tests/library/item_samples.py``, or in ``samples/items.py`` of the tests
of a paper, is all that the tests of every kind need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from workflow_lib.core.plugins import ITEM_KINDS

if TYPE_CHECKING:
    import numpy as np

NUMBERS = "numbers"
"""The kind of most datasets: rows of numbers, terms or images."""


@dataclass(frozen=True)
class ItemKind:
    """What the module of a kind declares."""

    name: str
    are_numbers: bool = False
    is_stated: bool = True
    entry: str | None = None
    streamed: tuple[str, ...] = ()


@cache
def item_kinds() -> dict[str, ItemKind]:
    """Return what the module of every kind declares, by its name, without importing any.

    Raises UserError if `pack` or `unpack` is missing.
    """
    page = "workflow_lib/items/kinds/base.py"
    return ITEM_KINDS.declarations(ItemKind, ("pack", "unpack"), page)


def kind_of(data: Mapping[str, Any]) -> str:
    """Return the kind of the items in the tree of a "dataset" artifact."""
    if "items" in data:
        return data["items"]["kind"]
    return next((name for name, kind in item_kinds().items() if kind.entry in data), NUMBERS)


def items_of(data: Mapping[str, Any], rows: np.ndarray | None = None) -> Any:
    """Return the items in some rows (None: all) of the tree of a "dataset" artifact.

    Raises ValueError if there is no such kind, or a row is no item of it.
    """
    return ITEM_KINDS.load(kind_of(data)).unpack(data, rows)


def items_in(inputs: np.ndarray, items: Mapping[str, Any]) -> Any:
    """Return the items in rows (n, q) that are described by the group ``items`` of a dataset."""
    return items_of({"inputs": inputs, "items": items})


def check_items(data: Mapping[str, Any]) -> None:
    """Raise ValueError where the tree of a "dataset" artifact holds no items of its kind."""
    module = ITEM_KINDS.load(kind_of(data))
    getattr(module, "check", module.unpack)(data)
