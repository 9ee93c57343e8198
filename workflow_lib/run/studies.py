"""Studies: runs that are found by name, whose keys come before those of the default run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.core.yaml_files import read_yaml, shown
from workflow_lib.run.models import RunSettings
from workflow_lib.run.named_settings import folders_like, location_of_run, merged_keys

STUDY = "study"
"""The key of a run that names a study."""

LISTED_BY = "snakemake studies"
"""The command that lists all studies."""


def study_files(folder: Path | str) -> dict[str, Path]:
    """Return the files of the studies by name, sorted; `folder` is that of the configuration."""
    found = (path for each in folders_like(Path(folder, "studies")) for path in each.glob("*.yaml"))
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


def study_of(folder: Path | str, config: Mapping[str, Any], sources: Sequence[str]) -> list[Path]:
    """Return the file of the study that a configuration names, in a list; [] where it names none.

    `sources` are the files of the configuration, for the message.

    Raises UserError when there is no such study.
    """
    name, files = config.get(STUDY), study_files(folder)
    if name is None:
        return []
    if str(name) in files:
        return [files[str(name)]]
    nearest = nearest_name(str(name), files)
    raise UserError(
        f"{location_of_run(sources)}, key {STUDY}",
        f"there is no study named '{name}' ({shown(Path(folder, 'studies'))})",
        expected=f"a study that `{LISTED_BY}` lists",
        remedy=f"write {STUDY}={nearest}" if nearest else LISTED_BY,
    )


def with_study(
    folder: Path | str,
    config: Mapping[str, Any],
    study: Path,
    typed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the configuration of a run with the keys of a study.

    Raises UserError when the file cannot be read, or names another study.

    Parameters
    ----------
    folder : Path or str
        The folder of the configuration, with ``config.yaml`` and ``studies/``.
    config : mapping
        The keys of ``config.yaml``, and those that come before them.
    study : Path
        The file of the study, as `study_of` finds it.
    typed : mapping, optional
        The keys that come before those of the study: of the command line. By default, for a
        module of another workflow, those that differ from ``config.yaml``, which may be a part of
        `config` or not.
    """
    keys = read_yaml(study)
    if STUDY in keys:
        raise UserError(
            f"{shown(study)}, key {STUDY}",
            "a study that names another one",
            expected="the keys of a run",
            remedy="remove the key, or take over the keys of the other study",
        )
    base = dict(config)
    if typed is None:
        base = Path(folder, "config.yaml")
        base = read_yaml(base) if base.is_file() else {}
        base = {key: value for key, value in base.items() if key in RunSettings.model_fields}
        typed = {key: value for key, value in config.items() if base.get(key) != value}
    return merged_keys(merged_keys(base, keys), dict(typed))
