"""The methods there are: every module of this package is one, as `base` describes it."""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from types import ModuleType

from workflow_lib.methods.base import MethodModule, read_module

NO_METHODS = ("__init__", "base", "registry", "saved_method")
"""Modules of this package that hold no method."""


@cache
def method_modules() -> dict[str, MethodModule]:
    """Return what the module of every regressor declares, without importing any."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    modules = [read_module(path) for path in paths if path.stem not in NO_METHODS]
    return {regressor: module for module in modules for regressor in module.regressors}


def parameters_of(regressor: str) -> type:
    """Return the class of the keys of a regressor's YAML files."""
    return load(method_modules()[regressor].name).Parameters


def load(module: str) -> ModuleType:
    """Return a module of this package by its name."""
    return importlib.import_module(f"workflow_lib.methods.{module}")
