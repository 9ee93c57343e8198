"""Stand-ins for experiments whose data the user does not have."""

from __future__ import annotations

from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.run.files import ConfigurationFiles
from workflow_lib.run.models import RunSettings
from workflow_lib.run.needed_data import has_files


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


def experiments_to_run(run: RunSettings, replaced: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the experiments of a run, with stand-ins instead of those that they replace."""
    names = [other for name in run.experiments for other in replaced.get(name, (name,))]
    return list(dict.fromkeys(names))


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
