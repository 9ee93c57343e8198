"""Methods that run on the files of a folder, by the names of their settings."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.methods.contract.base import ARTIFACTS
from workflow_lib.protocol import preimages, regression


def run_method(module: str, path: Callable[[str], Path], **arguments: Any) -> dict:
    """Run the module of a method; return the tree of its artifact.

    `path` gives the file of each name: of the dataset, the split and the features, and of the
    regression and the seconds that are written. Other arguments are artifacts and settings.
    """
    artifacts = {name: path(name) for name in ("dataset", "split", "features")}
    artifacts |= {name: value for name, value in arguments.items() if name in ARTIFACTS}
    settings = {name: value for name, value in arguments.items() if name not in ARTIFACTS}
    output = path("regression")
    regression.run(module, artifacts, settings, output, output.with_suffix(".json"))
    return read_artifact(output, "regression")


def predict_outputs(path: Callable[[str], Path]) -> None:
    """Run the pre-image stage after a method that predicts the outputs themselves."""
    timings = path("predictions").with_name("preimages.json")
    preimages.run(path("regression"), None, path("predictions"), timings, None, None, None, None)
