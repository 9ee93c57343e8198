"""The settings below config/: their names, their checked contents, and the published numbers.

Settings are YAML files, and the variants that stand in them. Published numbers are the files in
``config/paper_tables``, and in those of papers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from workflow_lib.core.errors import UserError, correction, key_location, unknown_name
from workflow_lib.core.plugins import READERS
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import MAX_NAME_LENGTH, NAME, PATTERNS_IN_WORDS
from workflow_lib.core.yaml_files import YamlLoader, read_yaml, shown
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, MethodFile, parameters_of
from workflow_lib.run.models import (
    DatasetSettings,
    ExperimentSettings,
    InputModelSettings,
    ModelSettings,
)
from workflow_lib.run.problems import settings_errors, written

LIKE = "like"
"""The key that names other settings of the same kind, whose keys count where there is no own."""

VARIANTS = "variants"
"""The key of a file with further settings by name: the keys in which they differ from the file."""


TABLES = "tables"
"""The folder of ``config/`` with the settings of user tables."""


def folders_like(folder: Path) -> list[Path]:
    """Return a folder of ``config/``, such as ``config/datasets``, and others of its kind.

    They are ``config/papers/NAME/datasets`` of every paper, and ``config/tables/datasets`` of user
    tables.
    """
    papers = sorted(folder.parent.glob(f"papers/*/{folder.name}"))
    return [folder, *papers, folder.parent / TABLES / folder.name]


class SettingsFolder:
    """The settings of one kind by name: each is a file of a folder, or a variant within a file.

    The folders of the kind that papers and user tables have count, too (`folders_like`).

    A file is read at most once, and only on request unless it has variants.

    Parameters
    ----------
    path : Path
        The folder, which need not exist. Its name is the plural of the kind.

    Attributes
    ----------
    errors : list of UserError
        The faults of names and of blocks of variants, found in all files.
    unread : list of UserError
        The faults of files that may have variants but cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.kind = path, path.name.removesuffix("s")
        self.errors: list[UserError] = []
        self.unread: list[UserError] = []
        self._contents: dict[Path, dict[str, Any]] = {}
        self._files: dict[str, Path] = {}
        for file in (file for folder in folders_like(path) for file in sorted(folder.glob("*"))):
            if not file.name.startswith(".") and file.suffix.lower() in (".yaml", ".yml"):
                self._add_file(file)
        for file in tuple(self._files.values()):
            self._add_variants(file)

    def refuse(self, location: str, found: str, expected: str, remedy: str) -> None:
        """Record a fault."""
        self.errors.append(UserError(location, found, expected, remedy))

    @property
    def names(self) -> list[str]:
        """The names of all settings, sorted."""
        return sorted(self._files)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._files

    def file(self, name: str) -> Path:
        """Return the file of settings; for an unknown name, the file that would have it."""
        return self._files.get(name, self.path / f"{name}.yaml")

    def location(self, name: str) -> str:
        """Return how messages name settings: their file, and where they stand in it."""
        file = self.file(name)
        return shown(file) if name == file.stem else f"{shown(file)}, key {VARIANTS}.{name}"

    def keys(self, name: str, below: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the keys of settings, with those of the settings that they are `LIKE`.

        A variant is like its file, or like those that it names. Blocks are merged key by key, lists
        are replaced whole. `below` are the settings that are like these.

        Raises UserError as `read_yaml`; and where there are no settings of a name, or some are like
        each other.
        """
        if name not in self:
            raise unknown_name(shown(self.path), self.kind, str(name), self._files)
        file = self._files[name]
        content, is_variant = self._content(file), name != file.stem
        own = dict(content[VARIANTS][name] if is_variant else content)
        if not is_variant:
            own.pop(VARIANTS, None)
            if LIKE not in own:
                return own
        base = own.pop(LIKE, file.stem)
        location = key_location(self.location(name), LIKE)
        if base == name or base not in self:
            raise unknown_name(location, self.kind, str(base), set(self._files) - {name})
        if base in below:
            raise UserError(
                location,
                f"'{base}' is in turn like '{name}'",
                expected=f"a {self.kind} that is like none, or like a third one",
                remedy=f"remove the key {LIKE} from one of the two",
            )
        return merged_keys(self.keys(base, (*below, name)), own)

    def _content(self, file: Path) -> dict[str, Any]:
        if file not in self._contents:
            self._contents[file] = read_yaml(file)
        return self._contents[file]

    def _add_file(self, file: Path) -> None:
        if file.suffix != ".yaml":
            self.refuse(
                shown(file),
                f"the name of the file ends in '{file.suffix}', so it would be ignored",
                expected=f"the ending '.yaml', and one file per {self.kind}",
                remedy=f"rename it to '{file.stem}.yaml', or remove it",
            )
        elif file.stem in self._files:
            self._refuse_second(file.stem, shown(file))
        elif self._may_be_name(file.stem, shown(file), "rename the file"):
            self._files[file.stem] = file

    def _add_variants(self, file: Path) -> None:
        try:
            # Most files have none; they are read once they are needed, if at all.
            if VARIANTS.encode() not in file.read_bytes():
                return
            variants = self._content(file).get(VARIANTS, {})
        except OSError:
            return
        except UserError as error:
            self.unread.append(error)
            return
        location = f"{shown(file)}, key {VARIANTS}"
        if not isinstance(variants, dict):
            self._refuse_block(location, variants, f"a block with the name of each {self.kind}")
            return
        for name, keys in variants.items():
            if not self._may_be_name(name, f"{location}.{name}", "rename the variant"):
                continue
            if name in self._files:
                self._refuse_second(name, f"{location}.{name}")
            elif not isinstance(keys, dict):
                self._refuse_block(f"{location}.{name}", keys, "a block of the keys that differ")
            else:
                self._files[name] = file

    def _refuse_second(self, name: str, location: str) -> None:
        self.refuse(
            location,
            f"there is another {self.kind} named '{name}' ({self.location(name)})",
            expected=f"one {self.kind} of each name",
            remedy="rename or remove one of the two",
        )

    def _refuse_block(self, location: str, value: Any, expected: str) -> None:
        found = "a list" if isinstance(value, list) else written(value)
        self.refuse(location, f"found {found}", expected, "write it, or remove the key")

    def _may_be_name(self, name: object, location: str, remedy: str) -> bool:
        if isinstance(name, str) and re.fullmatch(NAME, name) and len(name) <= MAX_NAME_LENGTH:
            return True
        self.refuse(
            location,
            f"'{name}' cannot be the name of a {self.kind}",
            expected=f"{PATTERNS_IN_WORDS[NAME]}, of {MAX_NAME_LENGTH} characters at most",
            remedy=remedy,
        )
        return False


def merged_keys(base: dict, own: dict) -> dict:
    """Return the keys of both, those of `own` before those of `base`."""
    blocks = {
        key: merged_keys(base[key], value)
        for key, value in own.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return base | own | blocks


CONTENTS = "contents"
"""The file that lists the tables and figures of papers; it holds no numbers."""


def published_tables(folder: str | Path) -> dict[str, Path]:
    """Return the files of published numbers by what the key ``paper_table`` of a table names.

    That is the name of the file without its ending: the source, and the number of the table there.
    `folder` is that of the configuration; without a folder ``paper_tables`` in it there are none.
    """
    folders = folders_like(Path(folder, "paper_tables"))
    found = (path for each in folders for path in sorted(each.glob("*.csv")))
    return {path.stem: path for path in found if path.stem != CONTENTS}


def contents_files(folder: str | Path) -> list[Path]:
    """Return the files that list the tables and figures of papers."""
    folders = folders_like(Path(folder, "paper_tables"))
    return [path for path in (each / f"{CONTENTS}.csv" for each in folders) if path.is_file()]


def published_names(folder: str | Path) -> list[str]:
    """Return all names that ``paper_table`` may have.

    Those of `published_tables`, and those of the contents, whose numbers are not all available.
    """
    names = dict.fromkeys(published_tables(folder))
    for contents in contents_files(folder):
        with contents.open(encoding="utf-8", newline="") as file:
            names |= dict.fromkeys(row["paper_table"] for row in csv.DictReader(file))
    return [name for name in names if name]


OF_PAPERS = "papers"
"""The entry of a list of experiments for those that papers add to the default run."""


def listed_experiments(folder: Path | str, names: Sequence[Any]) -> list[Any]:
    """Return a list of experiments with those of papers for `OF_PAPERS`.

    They are the ``experiments`` of the files ``papers/NAME/config.yaml`` below `folder`.

    Raises UserError as `read_yaml`.
    """
    if OF_PAPERS not in names:
        return list(names)
    files = sorted(Path(folder).glob("papers/*/config.yaml"))
    added = [name for file in files for name in read_yaml(file).get("experiments", [])]
    index = list(names).index(OF_PAPERS)
    return [*names[:index], *added, *names[index + 1 :]]


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

    def refuse(self, location: str, found: str, expected: str = "", remedy: str = "") -> None:
        """Record a fault."""
        self.errors.append(UserError(location, found, expected, remedy))

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
            known = sorted(method_modules())
            if regressor not in known:
                self.refuse(
                    key_location(location, "regressor"),
                    f"found {written(regressor)}",
                    expected=f"one of: {', '.join(known)}",
                    remedy=correction(str(regressor), known),
                )
                return None
            model = parameters_of(regressor)
        settings, errors = validated(model, data, location)
        if kind == "dataset" and settings is not None:
            errors = option_errors(settings, location)
        self.errors += errors
        return None if errors else settings


def option_errors(dataset: DatasetSettings, location: str) -> list[UserError]:
    """Return the errors in the reader of a dataset and its options."""
    from workflow_lib.data.reading import options_model

    if dataset.reader not in READERS.paths:
        location = key_location(location, "reader")
        return [unknown_name(location, "reader", dataset.reader, READERS.paths)]
    return validated(options_model(dataset.reader), dict(dataset.options), location, ("options",))[
        1
    ]
