"""What figures and tables read of an experiment: files, by the patterns in ``READS`` of a module.

A pattern is the path of a result in which names in braces stand for parts: those in `NAMES`. With
one of `EACH` it stands for one file of each, such as
``results/{experiment}/split-{split}/{method}/predictions.h5`` for the predictions of all splits and
methods.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from string import Formatter
from typing import Any

from workflow_lib.core.errors import UserError

ONE = ("experiment", "dataset", "mixture")
"""The experiment, its dataset, and the model whose components are shown, which some lack."""

OTHERS = ("family", "version", "wrong_share")
"""Experiments of the run: those on the same task with the same methods; those on versions of the
dataset, whose splits have the same rows; and those that differ in their share of wrong labels
alone, smallest first. The experiment itself is among them."""

FOLDERS = ("method", "shown_method", "membership_method", "input_model")
"""The methods of the experiment; those that a figure names, or all where it names none; those that
predict memberships of classes; and the generative models of inputs of the shown methods. Each is
the folder of its files."""

EACH = (*OTHERS, *FOLDERS, "split")
NAMES = (*ONE, *EACH)
"""All names, those that change least from file to file first."""


def paths_of(pattern: str, values: Mapping[str, Callable[[], Iterable]]) -> str | list[str]:
    """Return the path of a pattern, a list where it stands for several or for none.

    `values` are functions that return what the names stand for. Raises UserError where the pattern
    has a name that stands for nothing.
    """
    if unknown := sorted(set(_names_in(pattern)) - set(NAMES)):
        raise UserError(
            location=f"READS of a figure or table, {pattern}",
            found=", ".join(f"{{{name}}}" for name in unknown),
            expected=f"patterns with some of {', '.join(f'{{{name}}}' for name in NAMES)}",
            remedy="use only these names in braces",
        )
    used = [name for name in NAMES if name in _names_in(pattern)]
    found = [
        pattern.format(**dict(zip(used, each, strict=True)))
        for each in product(*(values[name]() for name in used))
    ]
    return found[0] if found and not set(used) & set(EACH) else found


def arranged(pattern: str, paths: Any) -> Any:
    """Return the paths of a pattern as a module is given them.

    That is a path, or None where there is none; a list of those of each split or experiment; or,
    with one of `FOLDERS`, a mapping of the names of the folders to either.
    """
    used = set(_names_in(pattern))
    if not used & set(FOLDERS):
        return paths or None
    if not used & {*OTHERS, "split"}:
        return {Path(path).parent.name: path for path in paths}
    found: dict[str, list] = {}
    for path in paths:
        found.setdefault(Path(path).parent.name, []).append(path)
    return found


def _names_in(pattern: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(pattern) if name]
