"""Which files of a dataset are missing on this machine, and how to get them."""

from __future__ import annotations

from pathlib import Path

from workflow_lib.core.mirrors import mirrors_from_environment
from workflow_lib.run.models import DatasetSettings, SourceSettings

RESOURCES = Path("resources")
"""The folder of the sources, relative to the working folder of the run."""


def missing_sources(name: str, dataset: DatasetSettings) -> list[SourceSettings]:
    """Return the sources of a dataset that would be downloaded.

    The others are in ``resources/NAME`` or in a mirror folder.
    """
    mirrors = mirrors_from_environment()
    missing = []
    for source in dataset.sources:
        locations = [RESOURCES / name / Path(source.path).name]
        locations += [mirror / source.path for mirror in mirrors]
        if not any(location.is_file() for location in locations):
            missing.append(source)
    return missing


def missing_supplies(dataset: DatasetSettings) -> list[str]:
    """Return the paths of a dataset that the user has to supply.

    These are the files of the option ``user_supplied``, what the option ``collection`` names, and,
    without sources, the folder of the option ``folder``, where it holds no file.
    """
    options = dataset.options
    missing = [path for path in options.get("user_supplied", ()) if not Path(path).is_file()]
    collection, folder = options.get("collection"), options.get("folder")
    if collection is not None and not Path(collection).exists():
        missing.append(collection)
    if not dataset.sources and folder is not None:
        # A folder that does not exist has no entries either.
        if not any(path.is_file() for path in Path(folder).glob("*")):
            missing.append(folder)
    return missing


def has_files(name: str, dataset: DatasetSettings) -> bool:
    """Return whether all files of a dataset are on this machine."""
    return not (missing_sources(name, dataset) or missing_supplies(dataset))


def megabytes(n_bytes: int) -> str:
    """Return a size as ``12 MB`` or ``1.2 GB``, of at least 1 MB."""
    size = max(n_bytes / 1e6, 1)
    return f"{size:,.0f} MB" if size < 999.5 else f"{size / 1000:,.1f} GB"


def missing_downloads(name: str, dataset: DatasetSettings) -> list[int]:
    """Return the sizes in bytes of what would be fetched, 0 for texts of unknown size."""
    sizes = [source.size for source in missing_sources(name, dataset)]
    texts = RESOURCES / "introductions" / f"{name}.json"
    return sizes + [0] * bool(dataset.options.get("wikipedia") and not texts.is_file())


def steps_to_get(dataset: DatasetSettings, file: str) -> list[str]:
    """Return what to do for the files of a dataset that the user has to supply; [] if all are here.

    The first line names the missing files. `file` is that of the dataset, for one that does not say
    how to get them.
    """
    missing = missing_supplies(dataset)
    if not missing:
        return []
    steps = dataset.supply or f"{file} says where they are from"
    return [f"you supply {', '.join(missing)}", *steps.rstrip().splitlines()]
