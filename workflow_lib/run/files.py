"""The settings below config/: their names and their checked contents."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workflow_lib.core.errors import UserError, key_location, nearest_name, unknown_name
from workflow_lib.core.plugins import READERS
from workflow_lib.core.settings import Settings
from workflow_lib.core.yaml_files import YamlLoader, read_yaml, shown
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, MethodFile, parameters_of
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentSettings,
    InputModelSettings,
    ModelSettings,
)
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.run.problems import settings_errors, written

SETTINGS_OF_KIND: dict[str, type[Settings]] = {
    "dataset": DatasetSettings,
    "model": ModelSettings,
    "input_model": InputModelSettings,
    "method": MethodFile,
    "experiment": ExperimentSettings,
}
"""The class of each kind of settings, which stand in the folder named by its plural."""


def location_of_run(sources: Iterable[str]) -> str:
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
    if path.exists() and yaml.load(path.read_text(encoding="utf-8"), Loader=YamlLoader) is None:
        raise UserError(
            shown(path),
            "the file is empty",
            expected="a block of keys, one 'key: value' per line",
            remedy="restore the file, or write a key into it, such as 'seed: 1'",
        )


def validated(
    model: type[Settings], data: Any, location: str, prefix: tuple[str, ...] = ()
) -> tuple[Settings | None, list[UserError]]:
    """Return the settings and no errors, or None and every error in `data`."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, settings_errors(error, model, data, location, prefix)


class ConfigurationFiles:
    """The settings of a config/ folder; each is checked at most once, and only on request.

    Parameters
    ----------
    folder : Path
        The folder that holds ``datasets/``, ``models/``, ``methods/`` and ``experiments/``.
    imports_classes : bool, default=True
        Whether classes that methods name are imported and checked.

    Attributes
    ----------
    errors : list of UserError
        The faults of all names, and those of the settings requested so far.
    """

    def __init__(self, folder: Path, imports_classes: bool = True) -> None:
        self.folder, self.imports_classes = folder, imports_classes
        self._folders = {kind: SettingsFolder(folder / f"{kind}s") for kind in SETTINGS_OF_KIND}
        self.errors = [error for each in self._folders.values() for error in each.errors]
        self._loaded: dict[tuple[str, str], Settings | None] = {}

    def names(self, kind: str) -> list[str]:
        """Return the names of the settings of a kind, sorted."""
        return self._folders[kind].names

    def has(self, kind: str, name: str) -> bool:
        """Return whether there are settings of a name."""
        return name in self._folders[kind]

    def unread(self, kind: str) -> list[UserError]:
        """Return the faults of files that cannot be read, which may hold settings of any name."""
        return self._folders[kind].unread

    def location(self, kind: str, name: str) -> str:
        """Return how messages name settings; of an unknown name, the file that would have them."""
        return self._folders[kind].location(name)

    def get(self, kind: str, name: str, location: str) -> Settings | None:
        """Return the settings of a name, or None after recording their faults.

        `location` is where they are named, for the message when they do not exist.
        """
        if not self.has(kind, name):
            self.errors += self.unread(kind)
            self.errors.append(unknown_name(location, kind, name, self.names(kind)))
            return None
        if (kind, name) not in self._loaded:
            self._loaded[kind, name] = self._load(kind, name)
        return self._loaded[kind, name]

    def _load(self, kind: str, name: str) -> Settings | None:
        location = self.location(kind, name)
        try:
            data = self._folders[kind].keys(name)
        except UserError as error:
            self.errors.append(error)
            return None
        model = SETTINGS_OF_KIND[kind]
        if kind == "method":
            regressor = data.get("regressor", DEFAULT_REGRESSOR)
            if not isinstance(regressor, str) or regressor not in method_modules():
                self.errors.append(
                    _unknown_regressor(regressor, key_location(location, "regressor"))
                )
                return None
            model = parameters_of(regressor)
        settings, errors = validated(model, data, location)
        if kind == "dataset" and settings is not None:
            errors = option_errors(settings, location)
        self.errors += errors
        return None if errors else settings


def _unknown_regressor(regressor: Any, location: str) -> UserError:
    """Return the error for a regressor without a module."""
    known = sorted(method_modules())
    nearest = nearest_name(str(regressor), known)
    return UserError(
        location,
        f"found {written(regressor)}",
        expected=f"one of: {', '.join(known)}",
        remedy=f"write '{nearest}'" if nearest else None,
    )


def option_errors(dataset: DatasetSettings, location: str) -> list[UserError]:
    """Return the errors in the reader of a dataset and its options."""
    from workflow_lib.data.reading import options_model

    if dataset.reader not in READERS.paths:
        location = key_location(location, "reader")
        return [unknown_name(location, "reader", dataset.reader, READERS.paths)]
    return validated(options_model(dataset.reader), dict(dataset.options), location, ("options",))[
        1
    ]
