"""What the folders of ``config/`` hold by name: settings, and published numbers.

Settings are YAML files, and the variants that stand in them. Published numbers are the files in
``config/paper_tables``, and in those of papers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError, key_location, unknown_name
from workflow_lib.core.values import MAX_NAME_LENGTH, NAME, PATTERNS_IN_WORDS
from workflow_lib.core.yaml_files import read_yaml, shown
from workflow_lib.run.problems import written

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

        Raises
        ------
        UserError
            As `read_yaml`; and where there are no settings of a name, or some are like each other.
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
            self.errors.append(
                UserError(
                    shown(file),
                    f"the name of the file ends in '{file.suffix}', so it would be ignored",
                    expected=f"the ending '.yaml', and one file per {self.kind}",
                    remedy=f"rename it to '{file.stem}.yaml', or remove it",
                )
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
        self.errors.append(
            UserError(
                location,
                f"there is another {self.kind} named '{name}' ({self.location(name)})",
                expected=f"one {self.kind} of each name",
                remedy="rename or remove one of the two",
            )
        )

    def _refuse_block(self, location: str, value: Any, expected: str) -> None:
        found = "a list" if isinstance(value, list) else written(value)
        self.errors.append(
            UserError(location, f"found {found}", expected, remedy="write it, or remove the key")
        )

    def _may_be_name(self, name: object, location: str, remedy: str) -> bool:
        if isinstance(name, str) and re.fullmatch(NAME, name) and len(name) <= MAX_NAME_LENGTH:
            return True
        self.errors.append(
            UserError(
                location,
                f"'{name}' cannot be the name of a {self.kind}",
                expected=f"{PATTERNS_IN_WORDS[NAME]}, of {MAX_NAME_LENGTH} characters at most",
                remedy=remedy,
            )
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

    Raises
    ------
    UserError
        As `read_yaml`.
    """
    if OF_PAPERS not in names:
        return list(names)
    files = sorted(Path(folder).glob("papers/*/config.yaml"))
    added = [name for file in files for name in read_yaml(file).get("experiments", [])]
    index = list(names).index(OF_PAPERS)
    return [*names[:index], *added, *names[index + 1 :]]
