"""The methods: every module of this package that follows the contract in `base`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from workflow_lib.methods.base import MethodModule, read_module
from workflow_lib.named_module import named_module

if TYPE_CHECKING:
    from workflow_lib.methods.base import Fitted, Method

LEARNER, LEARNED_FEATURES = "feature_learner", "learned_features"
"""The key of a method with a learner of features, and the module that only such methods load."""

SCORES, STORED_SCORES = "score_space", "stored_scores"
"""The key of a method on scores of generative models, and the module for these methods alone."""

NO_METHODS = (
    *("__init__", "base", "changed_inputs", LEARNED_FEATURES, STORED_SCORES),
    *("registry", "saved_method"),
)
"""Modules of this package that hold no method."""


LIGHT = {*sys.stdlib_module_names, "pydantic"}
CONFIGURATION = ("workflow_lib.config.", "workflow_lib.errors", "workflow_lib.named_class")
"""Modules that the class of the keys of a method may import."""


@cache
def method_modules() -> dict[str, MethodModule]:
    """Return what the module of every regressor declares, without importing any."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    modules = [read_module(path) for path in paths if path.stem not in NO_METHODS]
    return {regressor: module for module in modules for regressor in module.regressors}


def parameters_of(regressor: str) -> type:
    """Return the class of the keys of a regressor's YAML files.

    It is made from the source of the module above ``Method``, of which imports of this library
    count only where they are of its configuration: every command needs these classes, and loading
    what the method fits with would take seconds.
    """
    return _keys_of_module(method_modules()[regressor].name)


@cache
def _keys_of_module(module: str) -> type:
    name = f"{__package__}.keys_of_{module}"
    spec = spec_from_loader(name, _LoaderOfKeys(name, f"{Path(__file__).parent}/{module}.py"))
    keys = module_from_spec(spec)
    # pydantic looks there for the names in annotations.
    sys.modules[name] = keys
    spec.loader.exec_module(keys)
    return keys.Parameters


class _LoaderOfKeys(SourceFileLoader):
    """Loads the part of a module above ``Method``, without imports that take long."""

    def get_filename(self, name: str | None = None) -> str:
        # Another name than that of the whole module, where pydantic would look for descriptions.
        return f"{self.path} (keys)"

    def get_source(self, fullname: str) -> str:
        return Path(self.path).read_text(encoding="utf-8")

    def get_code(self, fullname: str):
        tree = ast.parse(self.get_source(fullname), self.get_filename())
        names = [getattr(statement, "name", "") for statement in tree.body]
        above = tree.body[: names.index("Method")]
        tree.body = [statement for statement in above if _is_light(statement)]
        return self.source_to_code(tree, self.get_filename())


def _is_light(statement: ast.stmt) -> bool:
    """Return whether a statement imports nothing that takes long to load."""
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        modules = [statement.module or ""]
    else:
        return True
    return all(
        module.partition(".")[0] in LIGHT or module.startswith(CONFIGURATION) for module in modules
    )


def method_of(module: str, settings: Mapping[str, Any]) -> Method:
    """Return the method of a module, on learned features or on scores where its settings say so.

    Parameters
    ----------
    module : str
    settings : mapping
        Fields of its ``Method``; and `LEARNER` with the arguments of
        `workflow_lib.methods.learned_features.OnLearnedFeatures` besides the method, or `SCORES`
        with those of `workflow_lib.methods.stored_scores.OnStoredScores`.
    """
    own = {name: value for name, value in settings.items() if name not in (LEARNER, SCORES)}
    method = load(module).Method(**own)
    if LEARNER in settings:
        return load(LEARNED_FEATURES).OnLearnedFeatures(method, **settings[LEARNER])
    if SCORES in settings:
        return load(STORED_SCORES).OnStoredScores(method, **settings[SCORES])
    return method


def saved_fit(module: str, arrays: Mapping[str, Any]) -> Fitted:
    """Return the fitted method of a module that its `to_arrays` described."""
    fitted = load(module).Fitted
    if LEARNER in arrays:
        return load(LEARNED_FEATURES).Fitted.from_arrays(arrays, fitted)
    if SCORES in arrays:
        return load(STORED_SCORES).Fitted.from_arrays(arrays, fitted)
    return fitted.from_arrays(arrays)


def load(module: str) -> ModuleType:
    """Return a module of this package by its name."""
    return named_module("workflow_lib.methods", module)
