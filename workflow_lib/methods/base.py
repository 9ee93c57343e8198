"""The contract of a method: what its module holds, and what is known of it before it is loaded.

A method is a module of this package with four members:

``REGRESSORS``
    the values of ``regressor`` in a method's YAML file that it serves;
``TASKS``
    the values of ``task`` of the datasets that it works on;
``NEEDS``
    what its jobs need, as fields of `workflow_lib.config.job_needs.Stage`;
``run``
    which selects, fits and predicts for every training size of a split. Its parameters are the
    paths that it reads (some of `ARTIFACTS`), those of the "regression" artifact and the seconds
    that it writes (`RESULTS`), and its settings.

A fifth, ``Parameters``, is the class of the keys of the YAML file, where these are the method's own
(`workflow_lib.config.method_file.MethodFile`). What the file must hold otherwise follows from the
other four (`workflow_lib.config.capabilities`). The first three are literals. They and the names of
the parameters are read from the source, because to load what the methods fit with takes seconds,
and every command asks for them.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

from workflow_lib.errors import UserError

ARTIFACTS = (
    *("dataset", "split", "features", "models", "embeddings", "weak_labels", "alignments"),
    *("regressions", "predictions", "member_timings"),
)
RESULTS = ("output", "timings")


class MethodModule(NamedTuple):
    """What the module of a method declares."""

    name: str
    regressors: tuple[str, ...]
    tasks: tuple[str, ...]
    needs: dict[str, float]
    artifacts: tuple[str, ...]
    """Those of `ARTIFACTS` that `run` reads."""

    settings: tuple[str, ...]
    """The other parameters of `run`."""

    has_keys: bool = False
    """Whether the keys of the YAML file are its own, in a class `Parameters`."""


def read_module(path: Path) -> MethodModule:
    """Return what the module of a method declares, from its source.

    Raises
    ------
    UserError
        If one of the four members is missing.
    """
    found = {}
    for statement in ast.parse(path.read_bytes(), str(path)).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.FunctionDef):
            found[statement.name] = [argument.arg for argument in statement.args.args]
        elif isinstance(statement, ast.ClassDef):
            found[statement.name] = statement
    missing = [name for name in ("REGRESSORS", "TASKS", "NEEDS", "run") if name not in found]
    if missing:
        raise UserError(
            place=str(path),
            found=f"a module without {', '.join(missing)}",
            expected="REGRESSORS, TASKS, NEEDS and run, as every method has them",
            remedy="add what is missing as docs/add-a-method.md shows, or move the file elsewhere",
        )
    return MethodModule(
        path.stem,
        ast.literal_eval(found["REGRESSORS"]),
        ast.literal_eval(found["TASKS"]),
        ast.literal_eval(found["NEEDS"]),
        tuple(name for name in found["run"] if name in ARTIFACTS),
        tuple(name for name in found["run"] if name not in ARTIFACTS + RESULTS),
        "Parameters" in found,
    )
