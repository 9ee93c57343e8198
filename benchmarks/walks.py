"""How much of the library a row, a configuration and a figure pass through on their way.

    python -m benchmarks.walks

It runs the workflow on a small table in a temporary folder, with every process traced: which
functions of the library were called, and from which module. A walk is long where a reader has to
open many files to follow it. `new` and the answer of one method are run; nothing is timed.

- **row**: the jobs that read, split, prepare, learn, embed, regress, decode, save and predict.
- **regression**: the job of that method alone.
- **configuration**: from the YAML files to the checked configuration of the default run.
- **figure**: the job of one figure.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import yaml

from benchmarks.compare.own import COPIED
from benchmarks.measuring import ROOT

METHOD = "ofer-gmm"

TRACER = """
import atexit, json, os, sys, threading

folder = os.environ["WALK_FOLDER"]
library = os.environ["WALK_LIBRARY"] + os.sep
calls = set()

def is_function(code):
    # The bodies of modules and classes run when they are imported; their names are not fast locals.
    return code.co_filename.startswith(library) and code.co_flags & 1

def name_of(code):
    return code.co_filename, code.co_qualname

def note(frame, event, argument):
    if event == "call" and is_function(frame.f_code):
        above = frame.f_back
        while above is not None and not above.f_code.co_filename.startswith(library):
            above = above.f_back
        if above is None or is_function(above.f_code):
            calls.add((above and name_of(above.f_code), name_of(frame.f_code)))

def write():
    sys.setprofile(None)
    if calls:
        with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
            json.dump({"arguments": sys.argv, "calls": list(calls)}, file)

atexit.register(write)
threading.setprofile(note)
sys.setprofile(note)
"""
"""What Python runs at its start, as `sitecustomize`, in each traced process."""

RULES_OF_ROW = ("read", "split", "features", "models", "embeddings", "regression", "preimages")
RULES_OF_ROW += ("saved_model", "predict_rows")

READ_CONFIGURATION = """
import yaml
from pathlib import Path
from workflow_lib.run.loading import load_configuration

path = Path("config/config.yaml")
load_configuration(path.parent, yaml.safe_load(path.read_text()), [str(path)])
"""


class Walk(NamedTuple):
    """What was called: modules, functions, and pairs of modules of which one calls the other.

    Attributes
    ----------
    modules, functions : set
    changes : set of pairs
        From the module of a caller to another module.
    """

    modules: set
    functions: set
    changes: set


def walk_of(records: Iterable[dict]) -> Walk:
    """Return the walk of the processes of some records."""
    calls = {
        (tuple(caller) if caller else None, tuple(called))
        for record in records
        for caller, called in record["calls"]
    }
    functions = {called for _, called in calls}
    changes = {
        (caller[0], called[0]) for caller, called in calls if caller and caller[0] != called[0]
    }
    return Walk({file for file, _ in functions}, functions, changes)


def trace(folder: Path, arguments: list[str], workflow: Path) -> list[dict]:
    """Run Python with `arguments` in `workflow`; return the records of all its processes."""
    records = folder / "records"
    shutil.rmtree(records, ignore_errors=True)
    records.mkdir()
    (folder / "sitecustomize.py").write_text(TRACER)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(folder), str(workflow))),
        "WALK_FOLDER": str(records),
        "WALK_LIBRARY": str(workflow / "workflow_lib"),
        "OFER_OWN_PROCESSES": "1",  # A copy of a process would end without writing its record.
    }
    subprocess.run([sys.executable, *arguments], cwd=workflow, env=environment, check=True)
    return [json.loads(path.read_text()) for path in sorted(records.glob("*.json"))]


def rule_of(record: dict) -> str:
    """Return the script of a job, which Snakemake copies to a file that ends with its name."""
    return Path(record["arguments"][0]).stem.rpartition(".")[2]


def table(folder: Path, n_rows: int = 80) -> None:
    """Write a table of three inputs and two outputs, and rows to predict."""
    random = np.random.default_rng(1)
    inputs = random.normal(size=(n_rows, 3))
    outputs = np.column_stack([inputs[:, 0] + inputs[:, 1] ** 2, inputs[:, 2] - inputs[:, 0]])
    for name, rows in (("assay.csv", np.column_stack([inputs, outputs])), ("rows.csv", inputs[:5])):
        heads = ",".join("a b c y1 y2".split()[: rows.shape[1]])
        np.savetxt(folder / name, rows, "%.5f", ",", header=heads, comments="")


def walks() -> dict[str, Walk]:
    """Run the workflow and return its walks by name."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        workflow = folder / "workflow"
        workflow.mkdir()
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, workflow / name)
        table(workflow)
        snakemake = ["-m", "snakemake", "--cores", "1", "--config", "name=assay"]
        new = [*snakemake, "data=assay.csv", "outputs=y1,y2", "--quiet", "all", "--", "new"]
        subprocess.run([sys.executable, *new], cwd=workflow, check=True)
        path = workflow / "config" / "tables" / "experiments" / "assay.yaml"
        settings = yaml.safe_load(path.read_text()) | {"methods": [METHOD], "n_splits": 2}
        path.write_text(yaml.safe_dump(settings))
        answer = [*snakemake, "--quiet", "all", "--", "answer"]
        records = trace(folder, answer, workflow)
        predict = [*snakemake, "rows=rows.csv", "--quiet", "all", "--", "predict"]
        records += trace(folder, predict, workflow)
        found = {
            "row": [record for record in records if rule_of(record) in RULES_OF_ROW],
            "regression": [record for record in records if rule_of(record) == "regression"],
            "configuration": trace(folder, ["-c", READ_CONFIGURATION], workflow),
            "figure": [record for record in records if rule_of(record) == "figure"][:1],
        }
    return {name: walk_of(records) for name, records in found.items()}


def main() -> None:
    """Print the walks."""
    print(f"{'walk':<14} {'modules':>8} {'functions':>10} {'changes of module':>18}")
    for name, walk in walks().items():
        sizes = len(walk.modules), len(walk.functions), len(walk.changes)
        print(f"{name:<14} {sizes[0]:>8} {sizes[1]:>10} {sizes[2]:>18}")


if __name__ == "__main__":
    main()
