"""Finds plug-ins: the methods, figures, readers and others, each of which is one module.

A plug-in is a module or a package in a folder of its kind: the home of the kind, such as
``workflow_lib/methods``, or that of a paper, such as ``workflow_lib/papers/NAME/methods``. Its file
name is its name, and no list names it. What commands need to know of it, its declarations, is read
from its source, because loading it may take seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from workflow_lib.core.errors import UserError, unknown_name

PACKAGE = Path(__file__).parents[1]

REASONS = {"REQUIRES": "BECAUSE", "NEEDS_METHOD": "METHOD_IN_WORDS"}
"""Members with what an experiment must satisfy, each with the one that tells the user why."""

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Plugins:
    """The plug-ins of one kind."""

    kind: str
    """What one of them is called in messages."""

    home: str
    """The folder of the kind, below that of the package."""

    in_papers: str
    """The folder of the kind, below that of a paper."""

    others: tuple[str, ...] = ()
    """Names in these folders that are no plug-ins, besides those that begin with ``_``."""

    is_stated: bool = True
    """Whether the rule of a job states which of them it loads. If not, the job depends on the code
    of all."""

    package: Path = PACKAGE
    """The folder of the package."""

    @cached_property
    def paths(self) -> dict[str, Path]:
        """The source file of each, by its name in the order of names; none is imported.

        Raises UserError if two have the same name.
        """
        found: dict[str, Path] = {}
        in_papers = sorted(self.package.glob(f"papers/*/{self.in_papers}"))
        for folder in (self.package / self.home, *in_papers):
            for path in (*folder.glob("[!_]*.py"), *folder.glob("[!_]*/__init__.py")):
                name = path.parent.name if path.name == "__init__.py" else path.stem
                if name in self.others:
                    continue
                if name in found:
                    raise UserError(
                        location=str(path),
                        found=f"the {self.kind} '{name}', which {found[name]} is, too",
                        expected=f"one file for each {self.kind}",
                        remedy="rename one of the files, or remove it",
                    )
                found[name] = path
        return dict(sorted(found.items()))

    @cached_property
    def modules(self) -> dict[str, str]:
        """The dotted name of the module of each, below the package."""
        modules = {}
        for name, path in self.paths.items():
            module = path.parent if path.name == "__init__.py" else path.with_suffix("")
            modules[name] = ".".join(module.relative_to(self.package).parts)
        return modules

    def load(self, name: str) -> ModuleType:
        """Return the module of a plug-in.

        Names come from files of other people, too: nothing is imported but what is found.

        Raises ValueError if there is none of this name.
        """
        if name not in self.modules:
            raise ValueError(str(unknown_name(self.home, self.kind, str(name), self.modules)))
        return import_module(f"{PACKAGE.name}.{self.modules[name]}")

    def declarations(
        self, kind: type[Kind], members: Sequence[str], page: str, names: Mapping[str, str] = {}
    ) -> dict[str, Kind]:
        """Return what the module of each declares, by its name, from its source.

        Raises UserError if a module lacks one of `members`, or of `REASONS`.

        Parameters
        ----------
        kind : class
            A dataclass or named tuple. Its first field is the name of the plug-in. Each other one
            is a member: the value of a literal, the annotated names of a class, or the parameters
            of a function that every call must give. Members that a module lacks have the defaults
            of `kind`.
        members : sequence of str
            What every module must have.
        page : str
            The page of the documentation that shows how to add one.
        names : mapping, default={}
            The members of the fields that are not named like theirs in lower case.
        """
        _, *fields = kind.__annotations__
        sought = {field: names.get(field, field.upper()) for field in fields}
        declarations = {}
        for name, path in self.paths.items():
            found = declared(path)
            needed = [*members, *(reason for key, reason in REASONS.items() if key in found)]
            if missing := [member for member in needed if member not in found]:
                raise UserError(
                    location=str(path),
                    found=f"a module without {', '.join(missing)}",
                    expected=f"{', '.join(needed[:-1])} and {needed[-1]}, as every {self.kind} has",
                    remedy=f"add what is missing as {page} shows, or move the file elsewhere",
                )
            values = {field: _value(found[key]) for field, key in sought.items() if key in found}
            declarations[name] = kind(name, **values)
        return declarations


METHODS = Plugins("method", "methods", "methods", others=("contract", "input_steps", "keys"))
METHOD_KEYS = Plugins("method with keys", "methods/keys", "methods/keys")
INPUT_STEPS = Plugins("step before a method", "methods/input_steps", "input_steps")
READERS = Plugins("reader", "data/readers", "readers")
FIGURES = Plugins("kind of figure", "report/figures", "figures", others=("base",))
TABLE_KINDS = Plugins("kind of table", "report/table_kinds", "table_kinds", others=("base", "keys"))
TABLE_KEYS = Plugins("kind of table with keys", "report/table_kinds/keys", "table_kinds/keys")
OUTPUT_MODELS = Plugins(
    "kind of model", "models/kinds", "output_models", others=("base", "found"), is_stated=False
)
SCORE_SPACES = Plugins(
    "kind of model of inputs",
    "inputs/score_spaces",
    "score_spaces",
    others=("base", "found"),
    is_stated=False,
)
MEASURES = Plugins("measure", "measures", "measures", others=("base", "metrics"), is_stated=False)
ITEM_KINDS = Plugins("item kind", "items/kinds", "item_kinds", others=("base",), is_stated=False)
TASKS = Plugins("task", "tasks", "tasks", others=("base", "found"), is_stated=False)
STAGES = Plugins("stage", "protocol/stages", "stages")
ENCODERS = Plugins("encoder", "inputs/encoders", "encoders", is_stated=False)


def declared(path: Path) -> dict[str, ast.AST]:
    """Return what a module binds by assignments, classes, functions and ``from`` imports.

    That is the value of an assignment, or else the node, by the name; no code is run.
    """
    found: dict[str, ast.AST] = {}
    for statement in ast.parse(path.read_bytes(), str(path)).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.ClassDef | ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.ImportFrom):
            found |= {alias.asname or alias.name: alias for alias in statement.names}
    return found


def _value(node: ast.AST) -> Any:
    """Return the value of a literal, the annotated names of a class, or needed parameters."""
    if isinstance(node, ast.ClassDef):
        return tuple(each.target.id for each in node.body if isinstance(each, ast.AnnAssign))
    if isinstance(node, ast.FunctionDef):
        needed = node.args.args[: len(node.args.args) - len(node.args.defaults)]
        by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return (*(each.arg for each in needed), *(each.arg for each, usual in by_name if not usual))
    return ast.literal_eval(node)


def arguments_of(path: str) -> list[str]:
    """Return the names of the arguments of a class of this library, from its source.

    `path` is the class, with its module.
    """
    _, *folders, name = path.split(".")
    own = declared(PACKAGE.joinpath(*folders).with_suffix(".py"))[name]
    made = next(each for each in own.body if getattr(each, "name", None) == "__init__")
    return [argument.arg for argument in made.args.args[1:]]
