"""The kinds of figures: every module of this package is a kind, as `base` describes it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from workflow_lib.report.figures.base import FigureModule, read_module

_CONTRACT = ("__init__", "base", "registry")
_ONE_OF_EACH = ("first_input_models", "first_predictions", "regressions")
_ALL_OF_EACH = ("all_input_models", "all_regressions", "predictions", "share_predictions")


@cache
def figure_modules() -> dict[str, FigureModule]:
    """Return what the module of every kind declares, without importing any."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    return {path.stem: read_module(path) for path in paths if path.stem not in _CONTRACT}


def draw(kind: str, files: Mapping[str, Any], settings: Mapping[str, Any]):
    """Return the figure of a kind, with the settings that it takes.

    `files` map names in `workflow_lib.report.figures.base.ARTIFACTS` to a path or a list of paths;
    what the figure does not read is ignored, and an artifact without files is an empty list. The
    files of a method lie in a folder of its name, those of several splits in the order of the
    splits.
    """
    read = {name: _arranged(name, files[name]) for name in figure_modules()[kind].artifacts}
    module = importlib.import_module(f"workflow_lib.report.figures.{kind}")
    return module.draw(**read, **settings)


def _arranged(name: str, paths: Any) -> Any:
    """Return the files of an artifact as `workflow_lib.report.figures.base` describes them."""
    if name in _ONE_OF_EACH:
        return {Path(path).parent.name: path for path in paths}
    if name in _ALL_OF_EACH:
        found: dict[str, list] = {}
        for path in paths:
            found.setdefault(Path(path).parent.name, []).append(path)
        return found
    return paths or None
