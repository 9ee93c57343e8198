"""Find the reader of a dataset by its name, check its options, and read the dataset.

A reader is a module in ``workflow_lib/data/readers`` with two members:

``Options``
    its settings, a `workflow_lib.core.settings.Settings`;
``read(options, sources, seed)``
    which returns the tree of a "dataset" artifact (see `workflow_lib.tabular.tables`). A reader
    of image features takes a fourth argument, the paths of their artifacts by kind.

A reader whose rows are no numbers also has

``kind_of_inputs(options)``
    which returns the kind of its items, a name in `workflow_lib.items.kinds`; without it they are
    ``numbers``.

The file name of the module is the name of the reader: a new file there is a new reader
(`workflow_lib.core.plugins`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.plugins import READERS
from workflow_lib.items.kinds.base import NUMBERS, check_items, item_kinds, kind_of

if TYPE_CHECKING:
    from workflow_lib.core.settings import Settings


def options_model(reader: str) -> type[Settings]:
    """Return the class of the options of the reader named `reader`."""
    return READERS.load(reader).Options


def kind_of_inputs(reader: str, options: Mapping[str, Any]) -> str:
    """Return the kind of the inputs that a reader gives with some options; see this module.

    Options that are refused give ``numbers``: what is wrong with them is reported elsewhere.
    """
    if reader not in READERS.paths:
        return NUMBERS
    try:
        kind_of = getattr(READERS.load(reader), "kind_of_inputs", None)
        kind = kind_of(checked_options(reader, options)) if kind_of else NUMBERS
    except UserError:
        return NUMBERS
    if kind not in item_kinds():
        location = f"kind_of_inputs of the reader '{reader}'"
        raise ValueError(str(unknown_name(location, "item kind", str(kind), item_kinds())))
    return kind


def checked_options(reader: str, options: Mapping[str, Any]) -> Settings:
    """Return `options` as the typed options of the reader named `reader`.

    Raises UserError naming every key that is unknown, missing or has a wrong value.
    """
    from pydantic import ValidationError

    model = options_model(reader)
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise UserError(
            location=f"options of the reader '{reader}'",
            found="; ".join(faults),
            expected=f"options among: {', '.join(model.model_fields) or '(none)'}",
            remedy="fix the options of the dataset",
        ) from error


def read_dataset(
    reader: str,
    options: Mapping[str, Any],
    sources: Sequence[Path],
    seed: int,
    features: Mapping[str, Path] | None = None,
) -> dict[str, Any]:
    """Read a dataset and return the tree of its "dataset" artifact.

    Returns a dict: ``inputs`` (n, q) float64, where NaN marks a missing value; ``outputs`` (n, d)
    float64; ``names`` and ``report`` (see `workflow_lib.tabular.tables.dataset_tree`).

    The `options` of the `reader`, one of the names of `READERS`, are as in the configuration of the
    dataset, and so are the `sources`, its files in order; there are none for synthetic data and for
    data included in a library. Readers of random data draw by the `seed`, and those of images take
    the artifacts of their `features`, by kind.

    Raises UserError for options or data that the reader refuses, or items that are not of their
    kind.
    """
    typed = checked_options(reader, options)
    arguments = [typed, [Path(source) for source in sources], seed]
    if features:
        arguments.append({kind: Path(path) for kind, path in features.items()})
    tree = READERS.load(reader).read(*arguments)
    try:
        check_items(tree)
    except ValueError as error:
        raise UserError(
            location=f"the dataset of the reader '{reader}'",
            found=str(error).rstrip("."),
            expected=f"items of the kind '{kind_of(tree)}'",
            remedy="correct the data, or the options of the dataset",
        ) from error
    return tree
