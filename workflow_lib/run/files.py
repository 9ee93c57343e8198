"""The YAML files below config/: their names and their checked contents."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workflow_lib.core.errors import UserError, nearest_name, unknown_name
from workflow_lib.core.plugins import READERS
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import LONGEST_NAME, NAME, PATTERNS_IN_WORDS
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, MethodFile, parameters_of
from workflow_lib.run.input_model import InputModelSettings
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentSettings,
    ModelSettings,
)
from workflow_lib.run.problems import settings_errors, written

SETTINGS_OF_KIND: dict[str, type[Settings]] = {
    "dataset": DatasetSettings,
    "model": ModelSettings,
    "input_model": InputModelSettings,
    "method": MethodFile,
    "experiment": ExperimentSettings,
}
"""The class of each kind of file; the files of a kind are in the folder named by its plural."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, which also refuses repeated keys and reads 1e-6 as a number."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        # A tag such as !!set may claim that a single value is a block; the base class refuses it.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' is written twice", key_node.start_mark
                )
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node, deep=False):
        try:
            return super().construct_object(node, deep=deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # For example 2024-13-01, which has the form of a date.
            raise yaml.constructor.ConstructorError(
                None, None, f"YAML has no such value ({error})", node.start_mark
            ) from error


MOST_LEVELS = 50
"""Of nested blocks in a file; thousands overflow the stack of the parser."""

MOST_VALUES = 100_000
"""In a file, with its aliases expanded; ten lines of aliases of aliases can expand to billions."""


# YAML 1.1 reads 1e-6 as text because it has no decimal point.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def shown(path: Path) -> str:
    """Return `path` as messages show it: relative to the working folder when it lies below it."""
    absolute = os.path.abspath(path)
    working = os.getcwd()
    if absolute.startswith(working + os.sep):
        return Path(os.path.relpath(absolute, working)).as_posix()
    return Path(absolute).as_posix()


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the block of keys in a YAML file; an empty block for an empty file.

    Raises
    ------
    UserError
        When the file cannot be read, is not YAML (with the line), has a key twice, or holds
        something other than a block of keys.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _check_extent(text)
        content = yaml.load(text, Loader=_Loader)
    except OSError as error:
        raise UserError(shown(path), f"it cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(shown(path), "it is not UTF-8 text", remedy="save it as UTF-8") from error
    except ValueError as error:
        raise UserError(shown(path), f"it is the name of no file ({error})") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{shown(path)}, line {mark.line + 1}" if mark else shown(path)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        raise UserError(
            place,
            problem,
            expected="correct YAML",
            remedy="fix this line or the one before it: brackets, quotes and the space at the "
            "beginning of the line",
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(
            shown(path),
            f"found a {'list' if isinstance(content, list) else 'single value'}",
            expected="a block of keys, one 'key: value' per line",
        )
    return content


LIKE = "like"
"""The key that names another file of the same kind, whose keys a file takes where it has none."""


def read_keys(path: Path, below: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the keys of a file, with those of the file that it is `LIKE`.

    Blocks are merged key by key, lists are replaced whole. `below` are the files that are like it.

    Raises
    ------
    UserError
        As `read_yaml`; and where there is no such file, or files are like each other.
    """
    own = read_yaml(path)
    if LIKE not in own:
        return own
    name = own.pop(LIKE)
    place = f"{shown(path)}, key {LIKE}"
    other = path.parent / f"{name}.yaml"
    if other == path or other.parent != path.parent or not other.is_file():
        known = sorted(each.stem for each in path.parent.glob("*.yaml") if each != path)
        raise unknown_name(place, path.parent.name.removesuffix("s"), str(name), known)
    if other in below:
        raise UserError(
            place,
            f"'{name}' is in turn like this file",
            expected="a file that is like no file, or like a third one",
            remedy=f"remove the key {LIKE} from one of the two",
        )
    return merged_keys(read_keys(other, (*below, path)), own)


def merged_keys(base: dict, own: dict) -> dict:
    """Return the keys of both, those of `own` before those of `base`."""
    blocks = {
        key: merged_keys(base[key], value)
        for key, value in own.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | own | blocks


def _check_extent(text: str) -> None:
    """Raise a YAML error where blocks are nested too deep, or aliases expand to too many values."""
    # An alias within the block that it names expands without end.
    sizes: dict[str | None, float] = {}
    blocks: list[tuple[str | None, float]] = [(None, 0)]
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            sizes[event.anchor] = math.inf
            blocks.append((event.anchor, 1))
            problem = f"more than {MOST_LEVELS} blocks or brackets are nested"
            is_too_much = len(blocks) > MOST_LEVELS
        else:
            size = 1
            if isinstance(event, yaml.AliasEvent):
                size = sizes.get(event.anchor, 1)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, size = blocks.pop()
                sizes[anchor] = size
            anchor, total = blocks[-1]
            blocks[-1] = (anchor, total + size)
            problem = f"with its aliases (*name) expanded, it holds over {MOST_VALUES} values"
            is_too_much = total + size > MOST_VALUES
        if is_too_much:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)


def place_of_run(sources: Iterable[str]) -> str:
    """Return how messages name the configuration of a run, which is merged from `sources`."""
    return f"the run's configuration ({', '.join(sources)} or --config)"


def check_run_files(sources: Iterable[str]) -> None:
    """Raise an error for faulty YAML in the configuration files of a run.

    Snakemake, which loads them, takes the last of two equal keys and expands aliases without limit.
    A source that is not a file, such as ``--configfile``, is skipped, and so is JSON.
    """
    for path in map(Path, sources):
        if path.exists() and path.suffix != ".json":
            read_yaml(path)


def check_base_file(path: Path) -> None:
    """Raise an error for faulty YAML in the configuration that every run begins with.

    Snakemake's error for a file without keys does not name the file. A missing file is skipped:
    Snakemake reports it, or uses the file of ``--configfile`` alone.
    """
    check_run_files([str(path)])
    if path.exists() and yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader) is None:
        raise UserError(
            shown(path),
            "the file is empty",
            expected="a block of keys, one 'key: value' per line",
            remedy="restore the file, or write a key into it, such as 'seed: 1'",
        )


def validated(
    model: type[Settings], data: Any, place: str, prefix: tuple[str, ...] = ()
) -> tuple[Settings | None, list[UserError]]:
    """Return the settings and no errors, or None and every error in `data`."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, settings_errors(error, model, data, place, prefix)


class ConfigurationFiles:
    """The files of a config/ folder; each is read at most once, and only on request.

    Parameters
    ----------
    folder : Path
        The folder that holds ``datasets/``, ``models/``, ``methods/`` and ``experiments/``.
    imports_classes : bool, default=True
        Whether classes that methods name are imported and checked.

    Attributes
    ----------
    errors : list of UserError
        The faults of the files requested so far.
    """

    def __init__(self, folder: Path, imports_classes: bool = True) -> None:
        self.folder, self.imports_classes = folder, imports_classes
        self.errors: list[UserError] = []
        self._loaded: dict[tuple[str, str], Settings | None] = {}
        self._names = {kind: self._find_names(kind) for kind in SETTINGS_OF_KIND}

    def names(self, kind: str) -> list[str]:
        """Return the names of the files of a kind, sorted."""
        return self._names[kind]

    def path(self, kind: str, name: str) -> Path:
        """Return the path of a file, whether it exists or not."""
        return self.folder / f"{kind}s" / f"{name}.yaml"

    def place(self, kind: str, name: str) -> str:
        """Return the path of a file as messages show it."""
        return shown(self.path(kind, name))

    def get(self, kind: str, name: str, place: str) -> Settings | None:
        """Return the settings of a file, or None after recording its faults.

        `place` is where the file is named, for the message when it does not exist.
        """
        if name not in self._names[kind]:
            self.errors.append(unknown_name(place, kind, name, self._names[kind]))
            return None
        if (kind, name) not in self._loaded:
            self._loaded[kind, name] = self._load(kind, name)
        return self._loaded[kind, name]

    def _find_names(self, kind: str) -> list[str]:
        names = []
        folder = self.folder / f"{kind}s"
        for path in sorted(folder.glob("*")):
            if path.name.startswith(".") or path.suffix.lower() not in (".yaml", ".yml"):
                continue
            if path.suffix != ".yaml":
                self.errors.append(
                    UserError(
                        shown(path),
                        f"the name of the file ends in '{path.suffix}', so it would be ignored",
                        expected=f"the ending '.yaml', and one file per {kind}",
                        remedy=f"rename it to '{path.stem}.yaml', or remove it",
                    )
                )
            elif not re.fullmatch(NAME, path.stem) or len(path.stem) > LONGEST_NAME:
                self.errors.append(
                    UserError(
                        shown(path),
                        f"'{path.stem}' cannot be the name of a {kind}",
                        expected=f"{PATTERNS_IN_WORDS[NAME]}, of {LONGEST_NAME} characters at most",
                        remedy="rename the file",
                    )
                )
            else:
                names.append(path.stem)
        return sorted(names)

    def _load(self, kind: str, name: str) -> Settings | None:
        path = self.path(kind, name)
        try:
            data = read_keys(path)
        except UserError as error:
            self.errors.append(error)
            return None
        model = SETTINGS_OF_KIND[kind]
        if kind == "method":
            regressor = data.get("regressor", DEFAULT_REGRESSOR)
            if not isinstance(regressor, str) or regressor not in method_modules():
                self.errors.append(_unknown_regressor(regressor, f"{shown(path)}, key regressor"))
                return None
            model = parameters_of(regressor)
        settings, errors = validated(model, data, shown(path))
        if kind == "dataset" and settings is not None:
            errors = option_errors(settings, shown(path))
        self.errors += errors
        return None if errors else settings


def _unknown_regressor(regressor: Any, place: str) -> UserError:
    """Return the error for a regressor without a module."""
    known = sorted(method_modules())
    nearest = nearest_name(str(regressor), known)
    return UserError(
        place,
        f"found {written(regressor)}",
        expected=f"one of: {', '.join(known)}",
        remedy=f"write '{nearest}'" if nearest else None,
    )


def option_errors(dataset: DatasetSettings, place: str) -> list[UserError]:
    """Return the errors in the reader of a dataset and its options."""
    from workflow_lib.data.reading import options_model

    if dataset.reader not in READERS.paths:
        return [unknown_name(f"{place}, key reader", "reader", dataset.reader, READERS.paths)]
    return validated(options_model(dataset.reader), dict(dataset.options), place, ("options",))[1]
