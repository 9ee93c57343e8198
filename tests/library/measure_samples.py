"""Samples of every kind of outputs, and their scores, as the workflow writes them."""

import csv
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
from paper_folders import TESTS, load, paper_modules

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.protocol.evaluation import run_scores
from workflow_lib.tasks.found import all_measures

FOLDER = Path(__file__).parent


class Rows(NamedTuple):
    """True and predicted outputs (n, d) of test rows, or classes (n,); then those of training."""

    truth: np.ndarray
    predictions: np.ndarray
    train: np.ndarray


@cache
def formulas() -> dict[str, ModuleType]:
    """Return the module of the folder ``formulas``, here or of a paper, of each measure."""
    modules = [load(path) for path in sorted((FOLDER / "formulas").glob("*.py"))]
    modules += paper_modules("formulas/*.py")
    return {name: module for module in modules for name in module.FORMULAS}


@cache
def outputs_of(kind: str) -> ModuleType:
    """Return the module of a kind of outputs, here or of a paper."""
    name = f"samples_of_outputs/{kind}.py"
    (path,) = (path for path in (FOLDER / name, *TESTS.glob(f"*/{name}")) if path.is_file())
    return load(path)


def sample(name: str) -> Rows:
    """Return rows for a measure."""
    options = getattr(formulas()[name], "SAMPLE", {})
    return Rows(*outputs_of(all_measures()[name].outputs).sample(**options))


def with_gaps(rows: Rows) -> Rows:
    """Return rows of which true outputs are missing, those of one test row altogether."""
    random = np.random.default_rng(2)
    truth, train = (
        np.where(random.random(values.shape) < 0.2, np.nan, values)
        for values in (rows.truth, rows.train)
    )
    truth[3] = np.nan
    return Rows(truth, rows.predictions, train)


def scores_of(folder: Path, outputs: str, rows: Rows) -> dict[str, float]:
    """Return the quantities in the file of scores of predictions."""
    everything = np.concatenate([rows.truth, rows.train])
    n_test, n_rows = len(rows.truth), len(everything)
    tree, item = outputs_of(outputs).entries(everything, rows.predictions)
    tree["inputs"] = np.zeros((n_rows, 1))
    item |= {"training_size": n_rows - n_test, "weak_size": 0, "components": "selected"}
    write_artifact(folder / "d.h5", tree, "dataset", allow_nan=("outputs",))
    split = {"test": np.arange(n_test), "train": np.arange(n_test, n_rows)}
    write_artifact(folder / "s.h5", split, "split")
    write_artifact(folder / "p.h5", {"item": item}, "predictions")
    files = folder / "d.h5", [folder / "s.h5"], {"m": [folder / "p.h5"]}
    written = [folder / f"{name}.csv" for name in ("scores", "choices", "coordinates")]
    run_scores(*files, *written, "e", "d")
    lines = csv.DictReader(written[0].read_text().splitlines())
    return {line["quantity"]: float(line["value"]) for line in lines}
