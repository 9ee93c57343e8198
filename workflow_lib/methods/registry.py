"""The methods there are: every module of this package is one, as `base` describes it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workflow_lib.methods.base import ARTIFACTS, MethodModule, read_module

_CONTRACT = ("__init__", "base", "registry")


@cache
def method_modules() -> dict[str, MethodModule]:
    """Return what the module of every regressor declares, without importing any."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    modules = [read_module(path) for path in paths if path.stem not in _CONTRACT]
    return {regressor: module for module in modules for regressor in module.regressors}


def parameters_of(regressor: str) -> type | None:
    """Return the class of the keys of a regressor's YAML files, where these are its own."""
    declared = method_modules().get(regressor)
    if declared is None or not declared.has_keys:
        return None
    return importlib.import_module(f"workflow_lib.methods.{declared.name}").Parameters


def run(
    module: str,
    artifacts: Mapping[str, Path | None],
    settings: Mapping[str, Any],
    output: Path,
    timings: Path,
) -> None:
    """Run the method in a module of this package.

    Parameters
    ----------
    module : str
        Its name in this package.
    artifacts : mapping of str to path or None
        The paths of those that the method reads; other names count for nothing.
    settings : mapping of str
        The settings that it takes.
    output, timings : path
        Where it writes the "regression" artifact, and the seconds of each item as JSON.
    """
    read = {name: path for name, path in artifacts.items() if path and name in ARTIFACTS}
    method = importlib.import_module(f"workflow_lib.methods.{module}")
    method.run(**read, **settings, output=output, timings=timings)
