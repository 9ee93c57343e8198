"""Source files that a module of the library needs: its import closure, read from the source.

Each job has a digest of these files as a parameter, so that an edit re-runs exactly the jobs it can
affect.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from workflow_lib.core import plugins

PACKAGE = "workflow_lib"

READS_ALL_OF = "READS_ALL_OF"
"""Name of the literal by which a module says that it reads all files of a folder next to it."""

IMPORT = re.compile(
    r"(?:^|[:;])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+(\([^)]*\)|(?:\\\n|[^\n;])*)",
    re.MULTILINE,
)
"""Imports in a source, with the module after ``from`` and the names. Each command searches hundreds
of sources, for which a syntax tree takes about a second. Examples in docstrings count too."""

FOR_TYPES_ALONE = re.compile(
    r"^([ \t]*)if TYPE_CHECKING:\n(?:\1[ \t]+.*\n|[ \t]*\n)+", re.MULTILINE
)
"""Blocks that are never run."""


def import_closure(root: Path | str, modules: Iterable[str]) -> list[str]:
    """Return the files of `modules` and of all library modules that they import, sorted.

    Imports inside functions count too, as do the files of a folder that `READS_ALL_OF` names, and
    where a kind of plug-ins is imported that no rule states (`workflow_lib.core.plugins`), all of
    these; imports for types alone (``if TYPE_CHECKING``) do not. Only modules of this package are
    followed.

    Returns a list of str: paths below (and beginning with) `root`.

    Raises FileNotFoundError if a module has no source file.

    Parameters
    ----------
    root : path
        The folder that holds the package.
    modules : iterable of str
        Dotted names, for example ``workflow_lib.protocol.regression``.
    """
    root = str(root)
    open_modules, seen = list(modules), set()
    while open_modules:
        module = open_modules.pop()
        if module in seen:
            continue
        seen.add(module)
        open_modules.extend(_imported_modules(root, module))
    sources = [_source_file(root, module) for module in seen]
    return sorted(
        {*map(str, sources), *(file for source in sources for file in _files_read(source))}
    )


def code_digest(root: Path | str, modules: Iterable[str], others: Mapping[str, Path | str]) -> str:
    """Return a digest of the import closure of `modules`, and of other files by their names.

    It depends on the contents of the files and on their paths below `root`, neither on `root`
    itself nor on any date. The files are read once in a process.

    Raises FileNotFoundError if a module or one of the other files is missing.
    """
    files = {str(Path(path).relative_to(root)): path for path in import_closure(root, modules)}
    lines = [
        f"{_file_digest(str(path))}  {name}\n" for name, path in (files | dict(others)).items()
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@cache
def _file_digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@cache
def _source_file(root: str, module: str) -> Path:
    base = Path(root, *module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"the module {module} has no source file below {root}")


@cache
def _files_read(source: Path) -> tuple[str, ...]:
    """Return the files of the folder that a module names with `READS_ALL_OF`."""
    found = re.search(rf'^{READS_ALL_OF} = "(.*)"$', source.read_text("utf-8"), re.MULTILINE)
    paths = sorted(source.with_name(found[1]).rglob("*")) if found else []
    return tuple(str(path) for path in paths if path.is_file())


@cache
def _is_module(root: str, module: str) -> bool:
    try:
        _source_file(root, module)
    except FileNotFoundError:
        return False
    return True


def imported_names(text: str) -> set[str]:
    """Return the dotted names of this package that a source imports, wherever in the source."""
    found = set()
    for package, names in IMPORT.findall(FOR_TYPES_ALONE.sub("", text)):
        names = re.sub(r"#.*|[()\\]", "", names).split(",")
        # The first word, for `a as b`.
        named = [name.split()[0] for name in names if name.strip()]
        found |= {package, *(f"{package}.{name}" for name in named)} if package else set(named)
    return {name for name in found if name.split(".")[0] == PACKAGE}


def _loaded_unstated(root: str, names: Iterable[str]) -> list[str]:
    """Return the modules of the kinds of plug-ins, of these names, that no rule states."""
    kinds = [getattr(plugins, name, None) for name in names]
    return [
        f"{PACKAGE}.{module}"
        for kind in kinds
        if isinstance(kind, plugins.Plugins) and not kind.is_stated
        for module in replace(kind, package=Path(root, PACKAGE)).modules.values()
    ]


@cache
def _imported_modules(root: str, module: str) -> tuple[str, ...]:
    text = _source_file(root, module).read_text(encoding="utf-8")
    found = imported_names(text)
    if plugins.__name__ in found:
        kinds = [
            name.rpartition(".")[2] for name in found if name.startswith(f"{plugins.__name__}.")
        ]
        found.update(_loaded_unstated(root, kinds))
    modules = {name for name in found if _is_module(root, name)}
    # Importing a.b.c runs the __init__ of a and of a.b first.
    for name in [module, *modules]:
        parts = name.split(".")
        modules.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return tuple(sorted(modules - {module}))
