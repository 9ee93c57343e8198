"""Functions that the tests of several readers share."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.core.mirrors import mirrors_from_environment
from workflow_lib.data import reading
from workflow_lib.data.acquisition import acquire
from workflow_lib.run.named_settings import SettingsFolder

CATALOGUE = Path(reading.__file__).parents[2] / "config" / "datasets"


class Sample(NamedTuple):
    """The arguments of a reader."""

    options: Mapping[str, Any] = {}
    sources: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    """Files that are read, sources or not."""
    features: Mapping[str, Path] = {}
    is_drawn: bool = False
    """Whether the rows depend on the seed."""


def catalogue(name: str) -> dict:
    """Return the settings of a dataset of the catalogue."""
    return SettingsFolder(CATALOGUE).keys(name)


def acquired(name: str, mirror: Callable[[str], Path], folder: Path) -> list[Path]:
    """Return the sources of a dataset of the catalogue, or skip the test where they are absent."""
    paths = []
    for source in catalogue(name)["sources"]:
        mirror(source["path"])
        path = folder / Path(source["path"]).name
        paths.append(acquire(source, path, mirrors_from_environment()))
    return paths


def change(path: Path, old: str, new: str) -> None:
    """Replace a text in a file once."""
    content = path.read_bytes()
    assert old.encode() in content
    path.write_bytes(content.replace(old.encode(), new.encode(), 1))


def excluded(tree: dict) -> dict:
    """Return how many rows were left out, by reason."""
    return {reason: count for reason, count in tree["report"]["exclusions"].items() if count}


def refusal(read: Callable[..., dict], *arguments, **options) -> str:
    """Return the message with which `read` refuses its arguments."""
    with pytest.raises(UserError) as caught:
        read(*arguments, **options)
    return str(caught.value)


def stored_terms(dataset: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns of sparse inputs, as a "dataset" artifact holds them."""
    return dataset["terms"].tobytes().decode().split("\n")
