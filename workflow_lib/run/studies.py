"""The experiments of a run: those of a study, found by name, of papers, and stand-ins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.core.yaml_files import read_yaml, shown
from workflow_lib.run.files import ConfigurationFiles, location_of_run
from workflow_lib.run.models import RunSettings
from workflow_lib.run.named_settings import folders_like, merged_keys
from workflow_lib.run.needed_data import has_files

STUDY = "study"
"""The key of a run that names a study."""

LISTED_BY = "snakemake studies"
"""The command that lists all studies."""


def study_files(folder: Path | str) -> dict[str, Path]:
    """Return the files of the studies by name, sorted; `folder` is that of the configuration."""
    found = (path for each in folders_like(Path(folder, "studies")) for path in each.glob("*.yaml"))
    return {path.stem: path for path in sorted(found, key=lambda path: path.stem)}


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


def study_of(folder: Path | str, config: Mapping[str, Any], sources: Sequence[str]) -> list[Path]:
    """Return the file of the study that a configuration names, in a list; [] where it names none.

    `sources` are the files of the configuration, for the message.

    Raises
    ------
    UserError
        When there is no such study.
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

    Raises
    ------
    UserError
        When the file cannot be read, or names another study.
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


def replaced_experiments(
    files: ConfigurationFiles, run: RunSettings, location: str
) -> dict[str, tuple[str, ...]]:
    """Return the replaced experiments of a run with their stand-ins, and record faults.

    An experiment with `stand_ins` is replaced while its dataset lacks a file (`has_files`).
    """
    replaced = {}
    for name, stand_ins in run.stand_ins.items():
        if name not in run.experiments:
            files.errors.append(_not_run(name, run, location))
            continue
        dataset_name = _dataset_name(files, name, location)
        dataset = dataset_name and files.get("dataset", dataset_name, location)
        # A dataset without a file is reported when the experiments are read.
        if dataset and not has_files(dataset_name, dataset):
            replaced[name] = tuple(stand_ins)
    return replaced


def _dataset_name(files: ConfigurationFiles, name: str, location: str) -> str | None:
    """Return the dataset of an experiment or dataset `name`; None if it has no file."""
    if files.has("experiment", name):
        experiment = files.get("experiment", name, location)
        name = experiment.dataset if experiment else ""
    return name if files.has("dataset", name) else None


def _not_run(name: str, run: RunSettings, location: str) -> UserError:
    nearest = nearest_name(name, run.experiments)
    remedy = f"write '{nearest}'" if nearest else "add it to the experiments, or leave it out here"
    return UserError(
        f"{location}, key stand_ins",
        f"'{name}' is not an experiment of the run",
        expected="names among the experiments, each with those that stand in for it",
        remedy=remedy,
    )
