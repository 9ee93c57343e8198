"""From the files of a sample to its dataset, through the scripts of the rules."""

import hashlib
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mutated_data import Sample
from one_job import ROOT, Ended, Job, run_jobs

from workflow_lib.core.archive_members import members_digest
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.run.named_settings import ConfigurationFiles

MEMBERS = {
    "calls.tar.gz": "MAEC_Dataset/*/text.txt",
    "prices.tar.gz": "individual_stocks_5yr/*_data.csv",
}
"""Patterns of the members that some archives can be recognised by."""


def name_of(sample: Sample) -> str:
    """Return the name of the dataset of a sample."""
    return re.sub("[^a-z0-9]+", "-", sample.name.lower())


def dataset_of(sample: Sample) -> str:
    """Return where the dataset of a sample is written."""
    return f"results/datasets/{name_of(sample)}.h5"


def source_of(folder: Path, name: str, content: bytes, members: str | None = None) -> dict:
    """Put a file into the mirror of `folder`; return how a dataset describes it."""
    path = folder / "mirror" / "set" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    source = {"path": f"set/{name}", "address": f"http://127.0.0.1:9/{name}"}
    if members:
        try:
            found = members_digest(path, members)
            return source | {"members": members, "sha256": found.sha256, "size": found.size}
        except UserError:
            pass
    return source | {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def jobs_of(
    folder: Path, sample: Sample, files: Mapping[str, bytes], by_members: bool = False
) -> list[Job]:
    """Put the files of a sample into `folder`; return the jobs up to its dataset.

    Archives are recognised by their own checksum or, `by_members`, by that of their members.
    """
    output = dataset_of(sample)
    (folder / output).parent.mkdir(parents=True, exist_ok=True)
    if sample.reader in ("new", "table"):
        for name, content in files.items():
            (folder / name).write_bytes(content)
    if sample.reader == "new":
        for kind in ("methods", "models"):
            shutil.copytree(ROOT / "config" / kind, folder / "config" / kind, dirs_exist_ok=True)
        request = {"name": name_of(sample), **sample.options}
        return [Job("new.py", params={"request": request, "folder": "config"})]
    if sample.reader == "table":
        return [reading("table", output, sample.options, files=list(files))]
    jobs, acquired = [], []
    for name, content in files.items():
        members = MEMBERS.get(name) if by_members else None
        source = source_of(folder, name, content, members)
        acquired.append(f"resources/set/{name}")
        jobs.append(Job("acquire.py", outputs=[acquired[-1]], params={"source": source}))
    if sample.reader != "pictures":
        return [*jobs, reading(sample.reader, output, sample.options, acquired)]
    params = {
        "source": acquired[0],
        "left_out_classes": [],
        "codebook_classes": [],
        "seed": 1,
        "parts": f"results/images/{name_of(sample)}",
        "members": "*",
        "weights": [],
    }
    return [
        *jobs,
        Job(
            "image_features.py",
            outputs=[output],
            params=params,
            wildcards={"feature": "thumbnails"},
        ),
    ]


def reading(
    reader: str,
    output: str,
    options: Mapping[str, Any],
    sources: Sequence[str] = (),
    files: Sequence[str] = (),
) -> Job:
    """Return the job that reads a dataset from its sources or its own files."""
    settings = {"reader": reader, "options": dict(options), "seed": 5}
    settings |= {"class_tree": None, "class_costs": None}
    params = {"settings": settings, "feature_kinds": []}
    inputs = {"sources": list(sources), "files": list(files), "features": []}
    return Job("read.py", inputs, [output], params)


def run(folder: Path, sample: Sample, jobs: list[Job]) -> Ended:
    """Run the jobs of a sample; of a new table also those with the proposed options."""
    mirror = str(folder / "mirror")
    ended = run_jobs(folder, jobs, OFER_MIRROR=mirror)
    if ended.status or sample.reader != "new":
        return ended
    name = name_of(sample)
    options = decided(folder, name)
    dataset = dataset_of(sample)
    (folder / "results" / name).mkdir(parents=True, exist_ok=True)
    profile = Job(
        "data_profile.py",
        {"dataset": dataset, "files": [options["file"]]},
        [f"results/{name}/data-profile.json"],
        {"settings": {"options": options, "seed": 5}},
    )
    return run_jobs(folder, [reading("table", dataset, options, files=[options["file"]]), profile])


def decided(folder: Path, name: str) -> dict[str, Any]:
    """Return the options that `new` wrote, checked as a run checks them."""
    path = folder / "config" / "tables" / "datasets" / f"{name}.yaml"
    files = ConfigurationFiles(folder / "config")
    files.get("dataset", name, "the test")
    files.get("experiment", name, "the test")
    assert not files.errors, files.errors
    return yaml.safe_load(path.read_text(encoding="utf-8"))["options"]


def arrays_of(folder: Path, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and outputs that were read, after checking that they are sound."""
    path = folder / dataset_of(sample)
    if sample.reader == "pictures":
        tree = read_artifact(path, "image_features")
        assert tree["features"].shape[1:] == (48, 48, 3)
        return tree["features"], np.empty(0)
    tree = read_artifact(path, "dataset")
    inputs, outputs = inputs_of(tree), tree["outputs"]
    dense = inputs if isinstance(inputs, np.ndarray) else inputs.toarray()
    assert dense.ndim == outputs.ndim == 2
    assert len(dense) == len(outputs) >= 2
    assert not np.isinf(dense).any() and not np.isinf(outputs).any()
    return dense, outputs
