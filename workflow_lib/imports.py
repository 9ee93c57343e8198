"""Source files that a module of the library needs: its import closure, read from the source.

Each job has a digest of these files as a parameter, so that an edit re-runs exactly the jobs it can
affect.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = "workflow_lib"

METHODS, CONFIG = f"{PACKAGE}.methods.", f"{PACKAGE}.config"
"""What the modules of methods import to describe the keys of their YAML files is left out of
closures: what they read reaches a job as its parameters."""

LOADS_ALL_OF = "LOADS_ALL_OF"
"""Name of the literal by which a module says that it loads all modules of a package by name."""

READS_ALL_OF = "READS_ALL_OF"
"""Name of the literal by which a module says that it reads all files of a folder next to it."""


def import_closure(root: Path | str, modules: Iterable[str]) -> list[str]:
    """Return the files of `modules` and of all library modules that they import, sorted.

    Imports inside functions count too, as do the modules of a package that `LOADS_ALL_OF` names
    and the files of a folder that `READS_ALL_OF` names; imports for types alone
    (``if TYPE_CHECKING``) do not. Only modules of this package are followed.

    Parameters
    ----------
    root : path
        The folder that holds the package.
    modules : iterable of str
        Dotted names, for example ``workflow_lib.experiments.regression``.

    Returns
    -------
    list of str
        Paths below (and beginning with) `root`.

    Raises
    ------
    FileNotFoundError
        If a module has no source file.
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

    Raises
    ------
    FileNotFoundError
        If a module or one of the other files is missing.
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
    content = source.read_bytes()
    for node in ast.parse(content, str(source)).body if READS_ALL_OF.encode() in content else ():
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == READS_ALL_OF:
            folder = source.with_name(ast.literal_eval(node.value))
            return tuple(str(path) for path in sorted(folder.rglob("*")) if path.is_file())
    return ()


@cache
def _is_module(root: str, module: str) -> bool:
    try:
        _source_file(root, module)
    except FileNotFoundError:
        return False
    return True


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements within a node, but no expressions, which would take most of the time."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        if block == "body" and _is_for_types_alone(node):
            continue
        for statement in getattr(node, block, ()):
            yield statement
            yield from _statements(statement)


def _is_for_types_alone(node: ast.AST) -> bool:
    """Return whether the body of a statement is never run: ``if TYPE_CHECKING``."""
    condition = node.test if isinstance(node, ast.If) else None
    return isinstance(condition, ast.Name) and condition.id == "TYPE_CHECKING"


@cache
def _imported_modules(root: str, module: str) -> tuple[str, ...]:
    source = _source_file(root, module)
    found = set()
    for node in _statements(ast.parse(source.read_bytes(), str(source))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == LOADS_ALL_OF:
            package = ast.literal_eval(node.value)
            files = Path(root, *package.split(".")).glob("*.py")
            names = [f"{package}.{file.stem}" for file in files if file.stem != "__init__"]
        else:
            continue
        found.update(name for name in names if name.split(".")[0] == PACKAGE)
    if module.startswith(METHODS):
        found = {name for name in found if not name.startswith(CONFIG)}
    modules = {name for name in found if _is_module(root, name)}
    # Importing a.b.c runs the __init__ of a and of a.b first.
    for name in [module, *modules]:
        parts = name.split(".")
        modules.update(".".join(parts[:length]) for length in range(1, len(parts)))
    return tuple(sorted(modules - {module}))
