"""Classes that files name: estimators in YAML files, with their arguments, and in saved models."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NamedTuple

from workflow_lib.core.errors import UserError, correction
from workflow_lib.core.optional_packages import EXTRAS, install_command

DOTTED = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+$"
"""The name of a class, with its module."""

PLAIN = (str, int, float, type(None), date)
"""What YAML holds besides blocks and lists."""

Point = dict[str, Any]
Fault = tuple[str, str, str, str]

OF_THREADS = frozenset(
    ("n_jobs", "nthread", "nthreads", "n_threads", "num_thread", "num_threads", "thread_count")
    + ("num_workers", "n_workers", "max_workers", "workers")
)
"""Arguments that are numbers of threads or processes."""

OF_PARTS = ("steps", "transformer_list", "transformers", "estimators")
"""Arguments of scikit-learn's combinations that hold estimators, each after its name."""


class NamedClass(NamedTuple):
    """A class, its fixed arguments, the grid points of the others, and the keys that hold them."""

    key: str
    """Key that names the class."""

    path: str
    """The class, with its module."""

    interface: tuple[str, ...]
    """Methods that it must have."""

    kind: str
    """What it must be, such as ``a regressor or a classifier``."""

    settings: Mapping[str, Any]
    points: Sequence[Point]

    before: str = ""
    """Before the keys ``settings`` and ``grid``."""

    names: Mapping[str, str] = {}
    """The keys of the grid of arguments that have another name there."""

    def faults(self) -> list[Fault]:
        """Return what is wrong with the class and its arguments: key, found, expected, remedy."""
        before = [*self._not_allowed(), *self._before_import()]
        if before:
            return before
        try:
            found = imported_class(self.path)
        # The code of a module may fail in any way.
        except Exception as error:
            return [
                (
                    self.key,
                    f"'{self.path}' cannot be imported ({error})",
                    "a class that Python can import, with its module",
                    "fix the name, or install what the module needs",
                )
            ]
        if not inspect.isclass(found) or not all(hasattr(found, name) for name in self.interface):
            return [
                (
                    self.key,
                    f"'{self.path}' is no scikit-learn estimator",
                    f"a class with the methods {', '.join(self.interface)}",
                    f"name {self.kind}",
                )
            ]
        faults = [*self._unknown_arguments(found), *self._repeated_arguments()]
        return faults or self._refused_values(found)

    def library_modules(self) -> list[str]:
        """Return the modules of this library that the class and its settings name.

        Without the package; the settings name those of the classes that the class combines.
        """
        paths = [self.path, *_texts_in(dict(self.settings))]
        modules = [current_module(path.rpartition(".")[0]).partition(".") for path in paths]
        return [rest for package, _, rest in modules if package == "workflow_lib" and rest]

    def _before_import(self) -> Iterator[Fault]:
        """Yield what is wrong with the class, or with those that it combines, without an import."""
        if fault := fault_before_import(self.path):
            yield (self.key, *fault)
        elif self.path.startswith("workflow_lib."):
            for text in filter(re.compile(DOTTED).fullmatch, _texts_in(dict(self.settings))):
                if fault := fault_before_import(text):
                    yield (f"{self.before}settings", *fault)

    def _not_allowed(self) -> Iterator[Fault]:
        """Yield the arguments that are no plain data, and those that the workflow sets itself."""
        grids = [(f"{self.before}grid", point) for point in self.points]
        for key, arguments in [(f"{self.before}settings", self.settings), *grids]:
            for name, value in _values_in(dict(arguments)):
                argument = name.rpartition("__")[2]
                where = f"{key}.{self.names.get(name, name)}" if name else key
                # Without a number, scikit-learn takes one thread, and others all.
                one = (1, None) if self.path.startswith("sklearn.") else (1,)
                fault = None
                if not isinstance(value, PLAIN):
                    fault = "is no plain data", "what YAML holds", "write such a value"
                elif argument in OF_THREADS and (value is True or value not in one):
                    expected = "1: each job has one, and --cores is the number of jobs at a time"
                    fault = "threads or processes", expected, f"remove {argument}"
                elif argument == "memory" and value is not None:
                    found = "is a folder of pickles, which run code when they are read"
                    fault = found, "null", f"remove {argument}"
                if fault:
                    yield (where, f"{value!r} {fault[0]}", *fault[1:])
                    return

    def _unknown_arguments(self, found: type) -> Iterator[Fault]:
        known = argument_names(found)
        written = {f"{self.before}settings.{name}": name for name in self.settings}
        written |= {
            f"{self.before}grid.{self.names.get(name, name)}": name for name in self.points[0]
        }
        for key, name in written.items():
            if known is not None and name.partition("__")[0] not in known:
                yield (
                    key,
                    f"{self.path} has no argument '{name}'",
                    f"one of: {', '.join(sorted(known))}",
                    correction(name, known, "remove it"),
                )

    def _repeated_arguments(self) -> Iterator[Fault]:
        for name in sorted(set(self.settings) & set(self.points[0])):
            yield (
                f"{self.before}settings.{name}",
                "the argument stands in settings and in grid",
                "each argument in one of the two",
                f"remove it from settings, or from grid to keep {self.settings[name]!r}",
            )

    def _refused_values(self, found: type) -> list[Fault]:
        for point in self.points:
            try:
                _check_parts(dict(self.settings) | point)
                estimator = new_estimator(found, self.settings, point, 0)
                # What scikit-learn does when it fits; other packages check in their own way.
                if hasattr(estimator, "_parameter_constraints"):
                    estimator._validate_params()
            except UserError as error:
                return [(f"{self.before}settings", error.found, error.expected, error.remedy)]
            except Exception as error:
                name = next((name for name in point if f"'{name}'" in str(error)), None)
                key = f"{self.before}grid.{name}" if name else f"{self.before}settings"
                called = written_point(self.settings | point)
                return [
                    (
                        key,
                        f"{self.path} refuses {called}: {error}",
                        "values that the class accepts",
                        f"change {key}",
                    )
                ]
        return []


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts_in(part)


def _values_in(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what blocks and lists of arguments hold, each with the name of its argument."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _values_in(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _values_in(part, name)
    else:
        yield name, value


def _check_parts(arguments: Mapping[str, Any]) -> None:
    """Raise a ValueError where a combination of estimators holds anything else: YAML has none."""
    for name in OF_PARTS:
        parts = arguments.get(name)
        for part in parts if isinstance(parts, list | tuple) else ():
            found = part[1] if isinstance(part, list | tuple) and len(part) > 1 else part
            if found not in ("passthrough", "drop"):
                raise ValueError(
                    f"'{name}' must hold estimators, which YAML has none of, and {found!r} is none "
                    "(name the last one in estimator, and a transformer in feature_learner)"
                )


def imported_class(path: str):
    """Return what a dotted path names, such as ``sklearn.linear_model.Ridge``.

    Former names of modules of this library are known (`current_module`).

    Raises ImportError if the module cannot be imported, or has nothing of that name.
    """
    module, _, name = path.rpartition(".")
    module = current_module(module)
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ImportError(f"the module {module} has no {name}")
    return getattr(found, name)


def argument_names(found: type) -> set[str] | None:
    """Return the names of the arguments of a class; None where it takes any."""
    parameters = inspect.signature(found.__init__).parameters.values()
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {parameter.name for parameter in parameters} - {"self"}


def new_estimator(found: type, settings: Mapping, point: Mapping, seed: int):
    """Return an estimator with settings, those of a grid point, a seed and one thread."""
    arguments = dict(settings) | dict(point)
    plain = {name: value for name, value in arguments.items() if "__" not in name}
    nested = {name: value for name, value in arguments.items() if "__" in name}
    estimator = found(**plain)
    known = dict.fromkeys(inspect.signature(found.__init__).parameters) | estimator.get_params()
    # One thread is what scikit-learn takes where nothing is given.
    given = set(plain) | ({"n_jobs"} if found.__module__.startswith("sklearn.") else set())
    usual = {"random_state": seed % 2**32, "n_jobs": 1, "thread_count": 1}
    usual = {name: value for name, value in usual.items() if name in known and name not in given}
    return estimator.set_params(**usual, **nested)


def combinations(grid: Mapping[str, Sequence]) -> list[Point]:
    """Return every combination of the values of arguments."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def written_point(point: Mapping) -> str:
    """Return arguments as Python writes them in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in point.items()) or "no arguments"


_DYNAMIC = {"*", "__getattr__", "globals"}
"""Names in a source that may bind any other name."""


def fault_before_import(path: str) -> tuple[str, str, str] | None:
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


def _no_estimator(path: str, reason: str) -> tuple[str, str, str]:
    found = f"'{path}' is no scikit-learn estimator ({reason})"
    return found, "a class with the interface of scikit-learn", "name such a class"


def _fault(path: str, reason: str, remedy: str) -> tuple[str, str, str]:
    return (
        f"'{path}' cannot be imported ({reason})",
        "a class that Python can import, with its module",
        remedy,
    )


def _found(module: str) -> tuple[str, ModuleSpec | None]:
    """Return the first part of a dotted module that does not exist, "" if all do, and its spec."""
    name, spec, locations = "", None, None
    for part in module.split("."):
        is_below, name = bool(name), f"{name}.{part}" if name else part
        if is_below and locations is None:
            return name, None
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        specs = (find(name, locations) for find in finders if find)
        spec = next((each for each in specs if each is not None), None)
        # Python imports no module for which `sys.modules` holds None.
        if spec is None or sys.modules.get(name, spec) is None:
            return name, None
        locations = spec.submodule_search_locations
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


_FORMER_MODULES = {
    "baselines.iokr": "solvers.iokr",
    "baselines.position_naive_bayes": "solvers.position_naive_bayes",
    "embeddings.averaged_kernels": "papers.blaschko.averaged_kernels",
    "embeddings.bag_shares": "inputs.bag_shares",
    "embeddings.fisher": "models.fisher",
    "embeddings.forward": "models.forward",
    "embeddings.identity": "models.identity",
    "embeddings.mixture": "models.mixtures.scores",
    "embeddings.neighbour_graphs": "papers.blaschko.neighbour_graphs",
    "embeddings.numbers_beside": "papers.blaschko.extra_features",
    "embeddings.score_space": "papers.perina.score_space",
    "embeddings.scores": "models.scores",
    "embeddings.sequence_length": "inputs.sequence_length",
    "embeddings.standardised": "inputs.standardised",
    "embeddings.state_space": "models.state_spaces.scores",
    "embeddings.weisfeiler_lehman": "papers.blaschko.weisfeiler_lehman",
    "embeddings.weisfeiler_lehman_pyramid": "papers.blaschko.weisfeiler_lehman_pyramid",
    "embeddings.word_shares": "inputs.word_shares",
    "features.tangent_space": "inputs.tangent_space",
    "fisher_network": "papers.palasek.fisher_network",
    "generative.covariance": "models.covariance",
    "generative.gaussian": "models.mixtures.gaussian",
    "generative.hidden_markov": "papers.perina.hidden_markov.model",
    "generative.mixture": "models.mixtures.mixture",
    "generative.online_mixture": "models.mixtures.online_mixture",
    "generative.state_space": "models.state_spaces.state_space",
    "generative.topic_model": "papers.perina.topic_model",
    "ofer": "estimators.output_fisher",
    "parameters": "core.parameters",
    "regression.gaussian_process": "solvers.gaussian_process",
    "regression.kernel_ridge": "solvers.kernel_ridge",
    "regression.pretrained": "solvers.pretrained",
}
"""Former names of modules with classes that YAML files and saved models name."""


def current_module(module: str) -> str:
    """Return the present name of a module, which may be given by a former one.

    Examples
    --------
    >>> current_module("workflow_lib.features.tangent_space")
    'workflow_lib.inputs.tangent_space'
    """
    package, _, rest = module.partition(".")
    if package != "workflow_lib" or rest not in _FORMER_MODULES:
        return module
    return f"{package}.{_FORMER_MODULES[rest]}"
