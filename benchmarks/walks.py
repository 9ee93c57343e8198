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

import yaml

from benchmarks.job_graph import write_copy
from benchmarks.run_cpu import write_table

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


def walk_of(records: Iterable[dict]) -> tuple[int, int, int]:
    """Return the numbers of modules, functions, and pairs of modules of which one calls the other.

    `records` are those of the processes.
    """
    calls = {
        (tuple(caller or ()), tuple(called))
        for record in records
        for caller, called in record["calls"]
    }
    changes = {(a[0], b[0]) for a, b in calls if a and a[0] != b[0]}
    return len({b[0] for _, b in calls}), len({b for _, b in calls}), len(changes)


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


def walks() -> dict[str, tuple[int, int, int]]:
    """Run the workflow on a table of one method and return its walks by name."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        workflow = write_copy(folder / "workflow")
        write_table(workflow / "assay.csv")
        (workflow / "rows.csv").write_bytes((workflow / "assay.csv").read_bytes())
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
    for name, (modules, functions, changes) in walks().items():
        print(f"{name:<14} {modules:>8} {functions:>10} {changes:>18}")


if __name__ == "__main__":
    main()
