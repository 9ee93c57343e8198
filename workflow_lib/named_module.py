"""A module of a package of this library, found by a name that stands in a file."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def named_module(package: str, name: str) -> ModuleType:
    """Return the module `name` of a package of this library.

    Names come from files of other people, too: nothing is imported before the name is that of a
    source file in the folder of the package.

    Raises
    ------
    ValueError
        If the package has no such module.
    """
    folder = Path(__file__).parents[1].joinpath(*package.split("."))
    if not _NAME.fullmatch(str(name)) or not (folder / f"{name}.py").is_file():
        raise ValueError(f"{name!r} is no module of {package}.")
    return importlib.import_module(f"{package}.{name}")
