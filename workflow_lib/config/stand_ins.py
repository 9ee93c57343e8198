"""Stand-ins for experiments whose data the user does not have."""

from __future__ import annotations

from pathlib import Path

from workflow_lib.config.files import ConfigurationFiles
from workflow_lib.config.models import DatasetSettings, RunSettings
from workflow_lib.datasets.mirrors import mirrors_from_environment
from workflow_lib.errors import UserError, nearest_name

RESOURCES = Path("resources")
"""The folder of the sources, relative to the working folder of the run."""


def has_files(name: str, dataset: DatasetSettings) -> bool:
    """Return whether all files of a dataset are on this machine.

    These are its sources, in ``resources/NAME`` or in a mirror folder, and those that the user
    supplies: the files of the option ``user_supplied``, what the option ``collection`` names, and
    at least one file in the folder of the option ``folder``.
    """
    mirrors = mirrors_from_environment()
    for source in dataset.sources:
        places = [RESOURCES / name / Path(source.path).name]
        places += [mirror / source.path for mirror in mirrors]
        if not any(place.is_file() for place in places):
            return False
    if not all(Path(path).is_file() for path in dataset.options.get("user_supplied", ())):
        return False
    collection = dataset.options.get("collection")
    if collection is not None and not Path(collection).exists():
        return False
    folder = dataset.options.get("folder")
    if dataset.sources or folder is None:
        return True
    return Path(folder).is_dir() and any(path.is_file() for path in Path(folder).iterdir())


def replaced_experiments(
    files: ConfigurationFiles, run: RunSettings, place: str
) -> dict[str, tuple[str, ...]]:
    """Return the replaced experiments of a run with their stand-ins, and record faults.

    An experiment with `stand_ins` is replaced while its dataset lacks a file (`has_files`).
    """
    replaced = {}
    for name, stand_ins in run.stand_ins.items():
        if name not in run.experiments:
            files.errors.append(_not_run(name, run, place))
            continue
        dataset_name = _dataset_name(files, name, place)
        dataset = dataset_name and files.get("dataset", dataset_name, place)
        # A dataset without a file is reported when the experiments are read.
        if dataset and not has_files(dataset_name, dataset):
            replaced[name] = tuple(stand_ins)
    return replaced


def experiments_to_run(run: RunSettings, replaced: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the experiments of a run, with stand-ins instead of those that they replace."""
    names = [other for name in run.experiments for other in replaced.get(name, (name,))]
    return list(dict.fromkeys(names))


def _dataset_name(files: ConfigurationFiles, name: str, place: str) -> str | None:
    """Return the dataset of an experiment or dataset `name`; None if it has no file."""
    if name in files.names("experiment"):
        experiment = files.get("experiment", name, place)
        name = experiment.dataset if experiment else ""
    return name if name in files.names("dataset") else None


def _not_run(name: str, run: RunSettings, place: str) -> UserError:
    nearest = nearest_name(name, run.experiments)
    remedy = f"write '{nearest}'" if nearest else "add it to the experiments, or leave it out here"
    return UserError(
        f"{place}, key stand_ins",
        f"'{name}' is not an experiment of the run",
        expected="names among the experiments, each with those that stand in for it",
        remedy=remedy,
    )
