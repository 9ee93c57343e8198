"""What is known of a class before the module that holds it is imported, which runs its code."""

from __future__ import annotations

import ast
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from workflow_lib.core.former_names import current_module
from workflow_lib.core.optional_packages import EXTRAS, install_command

Fault = tuple[str, str, str]

_DYNAMIC = {"*", "__getattr__", "globals"}
"""Names in a source that may bind any other name."""


def fault_before_import(path: str) -> Fault | None:
    """Return why a dotted path names no class, as far as is known without importing its module.

    Its modules are looked for as by an import, but none is run: not the packages above it either.
    A module of Python itself has no estimators. The source must bind the name, and not to a
    function; where a source binds names in other ways, or there is none, the import will tell.

    Returns
    -------
    tuple of found, expected and remedy, or None
    """
    module, _, name = path.rpartition(".")
    module = current_module(module)
    package = path.partition(".")[0]
    if package in sys.stdlib_module_names:
        return _no_estimator(path, f"the module {package} belongs to Python itself")
    if sys.modules.get(module):
        return None
    missing, spec = _found(module)
    if missing == package:
        remedy = (
            f"run {install_command(package)}"
            if package in EXTRAS
            else f"install the package {package}, or fix the name"
        )
        return _fault(path, f"there is no package {package}", remedy)
    if missing:
        return _fault(path, f"there is no module {missing}", "fix the name")
    if spec is None or not spec.has_location or not str(spec.origin).endswith(".py"):
        return None
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        return _fault(path, f"the source of {module} cannot be read ({error})", "fix the module")
    kinds = _bound(tree)
    if name not in kinds and not _DYNAMIC & kinds.keys():
        return _fault(path, f"the module {module} has no {name}", "fix the name")
    if kinds.get(name) in (ast.FunctionDef, ast.AsyncFunctionDef):
        return _no_estimator(path, "it is a function")
    return None


def _no_estimator(path: str, reason: str) -> Fault:
    found = f"'{path}' is no scikit-learn estimator ({reason})"
    return found, "a class with the interface of scikit-learn", "name such a class"


def _fault(path: str, reason: str, remedy: str) -> Fault:
    return (
        f"'{path}' cannot be imported ({reason})",
        "a class that Python can import, with its module",
        remedy,
    )


def _found(module: str) -> tuple[str, ModuleSpec | None]:
    """Return the first part of a dotted module that does not exist, "" if all do, and its spec."""
    name, spec, places = "", None, None
    for part in module.split("."):
        is_below, name = bool(name), f"{name}.{part}" if name else part
        if is_below and places is None:
            return name, None
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        specs = (find(name, places) for find in finders if find)
        spec = next((each for each in specs if each is not None), None)
        # Python imports no module in the place of which there is None.
        if spec is None or sys.modules.get(name, spec) is None:
            return name, None
        places = spec.submodule_search_locations
    return "", spec


def _bound(tree: ast.Module) -> dict[str, type]:
    """Return the names that a source binds or that `_DYNAMIC` holds, with the kinds of nodes."""
    kinds: dict[str, type] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            # A method may have the name of a class.
            is_known = node not in tree.body and node.name in kinds
            kinds[node.name] = kinds[node.name] if is_known else type(node)
        elif isinstance(node, ast.alias):
            kinds[node.asname or node.name.partition(".")[0]] = ast.alias
        elif isinstance(node, ast.Name):
            kinds.setdefault(node.id, ast.Name)
    return kinds
