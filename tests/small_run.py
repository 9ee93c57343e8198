"""A copy of the project with a small run, and functions by which tests inspect it."""

import ast
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
import yaml
from small_archives import write_archive

from workflow_lib.core.archive_members import members_digest
from workflow_lib.core.file_digests import SUFFIX
from workflow_lib.core.imports import code_digest, import_closure
from workflow_lib.core.plugins import FIGURES, INPUT_STEPS, METHODS, READERS, STAGES, TABLE_KINDS
from workflow_lib.methods.contract.base import STORED_SCORES
from workflow_lib.run.named_settings import SettingsFolder, folders_like

ROOT = Path(__file__).resolve().parents[1]
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
CONFIGURATION = "config/small.yaml"

PARTS_OF_THE_PROJECT = (
    "LICENSE",
    "Makefile",
    "README.md",
    "Snakefile",
    "benchmarks",
    "config",
    "docs",
    "envs",
    "examples",
    "profiles",
    "pyproject.toml",
    "requirements.lock",
    "rules",
    "scripts",
    "tests",
    "workflow_lib",
)
"""The parts of the project, where git is not available."""

RUN = {
    "seed": 7,
    "n_splits": 2,
    "splits_per_job": 2,
    "n_folds": 3,
    "experiments": [
        *("clusters", "measurements", "digits", "calls", "levers", "objects", "assay", "sequences")
    ],
    "report": {"title": "A small run", "author": "The tests"},
}

EXPERIMENTS = {
    "clusters": {
        "title": "Three clusters",
        "dataset": "clusters",
        "methods": "default",
        "training_sizes": [12, 24],
        "weak_sizes": [20],
        "test_size": 25,
        "tables": [
            {"name": "error", "kind": "error", "caption": "Errors of the clusters."},
            {"name": "time", "kind": "time", "caption": "Seconds of the clusters."},
            {"name": "weak", "kind": "weak", "caption": "Weak labels of the clusters."},
        ],
        "figures": [
            {"name": "curve", "kind": "learning_curve", "caption": "Curves of the clusters."}
        ],
    },
    "measurements": {
        "title": "A table with gaps",
        "dataset": "measurements",
        "methods": ["m-krr", "ofer-gaussian-full"],
        "training_sizes": [12],
        "test_size": 8,
        "n_splits": 1,
        "tables": [
            {
                "name": "error",
                "kind": "error",
                "caption": "Errors of the measurements.",
                "paper_table": "djerrab-1",
            }
        ],
        "figures": [
            {"name": "space", "kind": "geometry", "caption": "Space of embeddings."},
            {"name": "way", "kind": "steps", "caption": "Steps of the method."},
        ],
    },
    "digits": {
        "title": "Digits",
        "dataset": "digits-completion",
        "methods": ["m-krr"],
        "training_sizes": [12],
        "test_size": 10,
        "n_splits": 1,
        "tables": [],
        "figures": [{"name": "halves", "kind": "completion", "caption": "Halves of digits."}],
    },
    "levers": {
        "title": "Levers",
        "dataset": "clusters",
        "methods": [
            "m-krr",
            "m-krr-imputed",
            "m-krr-laplacian",
            "m-krr-rank",
            "m-mean",
            "ofer-density",
            "ofer-gmm",
            "ofer-stack",
            "wofer-gmm",
        ],
        "training_sizes": [12],
        "weak_sizes": [20],
        "weak_labels": "soft",
        "test_size": 25,
        "n_splits": 1,
        "studies": {"weak_weight": [0.0, 0.1], "weak_noise": [0.5]},
        "tables": [
            {"name": "all", "kind": "error", "caption": "Errors of all levers."},
            {"name": "weights", "kind": "weak_weight", "caption": "Weights of weak labels."},
            {"name": "noise", "kind": "weak_noise", "caption": "Wrong labels."},
        ],
        "figures": [
            {"name": "weights", "kind": "weak_weight", "caption": "Errors over the weight."},
            {"name": "noise", "kind": "weak_noise", "caption": "Errors over the noise."},
            {"name": "profiles", "kind": "profiles", "caption": "Profiles of some rows."},
        ],
    },
    "calls": {
        "title": "Calls",
        "dataset": "calls",
        "methods": ["m-krr", "m-krr-pc", "m-lagged", "iokr", "iokr-gak", "ofer-gssm"],
        "training_sizes": [12],
        "test_size": 8,
        "split": "chronological",
        "tables": [
            {
                "name": "weeks",
                "kind": "coordinates",
                "caption": "Weeks after the calls.",
                "paper_table": "djerrab-6",
            },
            {
                "name": "both",
                "kind": "error",
                "errors": ["arrmse", "root_sum_rrmse"],
                "caption": "Errors of the calls.",
                "paper_table": "djerrab-5",
            },
        ],
        "figures": [
            {"name": "series", "kind": "series", "caption": "Series after the calls."},
            {"name": "weeks", "kind": "coordinates", "caption": "Errors of the weeks."},
        ],
    },
}

EXPERIMENTS["objects"] = {
    "title": "Objects",
    "dataset": "objects",
    "split": "per_class",
    "metric": "accuracy",
    "methods": ["class-krr", "m-svm", "sem-krr", "self-training", "wofer-class-block"],
    "training_sizes": [1, 3],
    "weak_sizes": [6],
    "test_size": 0.4,
    "n_splits": 1,
    "tables": [
        {
            "name": "right",
            "kind": "error",
            "caption": "Objects that are right.",
            "errors": ["accuracy", "auc", "median_rfp", "roc50", "equal_error_rate", "top_3"],
        },
        {"name": "named", "kind": "component_names", "caption": "Components of objects."},
    ],
    "figures": [
        {"name": "curve", "kind": "learning_curve", "caption": "Objects over examples."},
        {"name": "taken", "kind": "confusion", "caption": "Objects taken for others."},
        {"name": "sheet", "kind": "image_sheet", "caption": "Some objects."},
        {"name": "families", "kind": "families", "caption": "Rankings of all objects."},
    ],
}

EXPERIMENTS["sequences"] = {
    "title": "Sequences",
    "dataset": "digits-rows",
    "split": "stratified",
    "metric": "accuracy",
    "methods": ["fisher-one-model", "map-hmm"],
    "training_sizes": [30],
    "test_size": 20,
    "n_splits": 1,
    "tables": [{"name": "right", "kind": "error", "caption": "Sequences that are right."}],
    "figures": [{"name": "states", "kind": "score_over_states", "caption": "Scores over states."}],
}

EXPERIMENTS["assay"] = {
    "title": "Assay",
    "dataset": "assay",
    "methods": ["m-krr", "m-mean", "ofer-gmm"],
    "training_sizes": [12, 24],
    "test_size": 8,
    "tables": [
        {"name": "error", "kind": "error", "caption": "Errors of the assay."},
        {"name": "typical", "kind": "typical_rows", "caption": "Typical rows of the assay."},
    ],
    "figures": [
        {"name": "predicted", "kind": "predicted_true", "caption": "Predicted and true."},
        {"name": "unlike", "kind": "residuals_novelty", "caption": "Errors of unlike rows."},
    ],
}

ASSAY = {
    "title": "Assay",
    "description": "A table of the user's own: two numbers and a colour.",
    "reader": "table",
    "options": {
        "file": "assay.csv",
        "outputs": ["up", "down"],
        "numbers": ["heat", "time"],
        "categories": ["colour"],
        "row_name": "sample",
    },
    "licence": "CC0",
    "citation": "The tests",
}

CLUSTERS = {
    "title": "Clusters",
    "description": "Drawn from three Gaussians.",
    "reader": "synthetic_mixture",
    "options": {"n_rows": 80, "n_components": 3, "n_outputs": 3, "n_inputs": 3, "spread": 3.0},
    "licence": "none needed",
    "citation": "The tests",
}

GRIDS = {
    "m-krr": {"alpha": [0.001, 0.1], "width": [1, 10]},
    "m-rf": {"max_features": [1.0], "n_trees": 5},
    "ofer-gmm": {"alpha": [0.001, 0.1, float("inf")], "width": [1], "n_components": [2, 3]},
    "ofer-gaussian-full": {"alpha": [0.001, 0.1], "width": [1]},
    "wofer-gmm": {
        "alpha": [0.001, 0.1],
        "width": [1],
        "n_components": [2, 3],
        "weak_weight": [0.5, 1.0],
    },
    "ofer-gssm": {"alpha": [0.001, 0.1, float("inf")], "width": [1], "state_dim": [1]},
    "m-krr-pc": {"alpha": [0.001, 0.1, float("inf")], "width": [1]},
    "iokr": {"alpha": [0.001, 0.1], "width": [1], "output_width": [1, 3]},
    "iokr-gak": {"alpha": [0.001, 0.1], "width": [1], "output_width": [1]},
    "m-lagged": {},
    "m-krr-imputed": {
        "alpha": [0.001, 0.1],
        "width": [1],
        "n_components": [2],
        "weak_weight": [1.0],
    },
    "m-krr-laplacian": {
        "alpha": [0.001, 0.1],
        "width": [1],
        "laplacian_weight": [0.1],
        "neighbours": [3],
    },
    "m-krr-rank": {"alpha": [0.001, 0.1], "width": [1], "rank": [1, 2]},
    "m-mean": {},
    "ofer-density": {"alpha": [0.001, 0.1], "width": [1], "output_width": [1]},
    "ofer-stack": {},
    "class-krr": {"alpha": [0.001, 0.1], "width": [3]},
    "m-svm": {"width": [3], "cost": [1.0]},
    "m-svm-kernels": {"width": [1], "cost": [1.0]},
    "fess": {"width": [1], "cost": [1.0]},
    "fisher-one-model": {"width": [1], "cost": [1.0]},
    "map-hmm": {},
    "sem-krr": {"alpha": [0.001, 0.1], "width": [3]},
    "self-training": {"alpha": [0.001], "width": [3], "n_components": [2]},
    "wofer-class-block": {
        "alpha": [0.001, 0.1],
        "width": [3],
        "n_components": [2],
        "block_weight": [0.0, 1.0],
        "weak_weight": [1.0],
    },
}
"""Small grids of the methods that are kept; their keys are otherwise those of the project."""

if not (ROOT / "workflow_lib" / "papers" / "perina").is_dir():
    # Everything else works without the folders of a paper.
    for name in ("m-svm-kernels", "fess", *EXPERIMENTS["sequences"]["methods"]):
        del GRIDS[name]
    del EXPERIMENTS["sequences"]
    RUN["experiments"].remove("sequences")
    EXPERIMENTS["objects"]["figures"].pop()

DEFAULT_METHODS = ("m-krr", "m-rf", "ofer-gmm", "wofer-gmm")


class Outcome(NamedTuple):
    """How a command of Snakemake ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout + self.stderr

    def succeeded(self) -> "Outcome":
        """Return the outcome after checking that the command ended well."""
        assert self.status == 0, self.text
        return self


def write_yaml(path: Path, content: dict) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def edit_yaml(path: Path, **changes) -> None:
    """Change keys at the top of a YAML file."""
    write_yaml(path, yaml.safe_load(path.read_text()) | changes)


def project_files() -> list[str]:
    """Return the files of the project, relative to its root: all that git would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        listed = None
    if listed and listed.returncode == 0:
        names = listed.stdout.split("\0")
    else:
        parts = [ROOT / name for name in PARTS_OF_THE_PROJECT]
        paths = [path for part in parts for path in (part, *part.rglob("*"))]
        names = [str(path.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts]
    return sorted(name for name in names if (ROOT / name).is_file())


def copy_files(folder: Path) -> None:
    """Copy the files of the project to `folder`."""
    for name in project_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def copy_project(folder: Path) -> None:
    """Copy the project to `folder` and give it the small run, in a separate repository."""
    copy_files(folder)
    if not (folder / "README.md").exists():
        (folder / "README.md").write_text("# Project\n")
    config = folder / "config"
    write_yaml(folder / CONFIGURATION, RUN)
    for name, content in EXPERIMENTS.items():
        write_yaml(config / "experiments" / f"{name}.yaml", content)
    write_yaml(config / "datasets" / "clusters.yaml", CLUSTERS)
    methods = SettingsFolder(config / "methods")
    kept = {name: methods.keys(name) for name in GRIDS}
    for path in (path for each in folders_like(config / "methods") for path in each.glob("*.yaml")):
        path.unlink()
    for name, keys in kept.items():
        keys |= {"grid": GRIDS[name], "in_default": name in DEFAULT_METHODS, "one_example": {}}
        write_yaml(config / "methods" / f"{name}.yaml", keys)
    write_measurements(folder)
    write_calls(folder)
    write_objects(folder)
    write_assay(folder)
    commit(folder)


def mirrored(folder: Path, name: str, content: bytes, address: str = "") -> dict:
    """Put a file into the mirror of the copy; return it as a source of a dataset."""
    path = folder / "mirror" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    address = address or f"http://127.0.0.1:9/{path.name}"
    digest = hashlib.sha256(content).hexdigest()
    return {"path": name, "address": address, "sha256": digest, "size": len(content)}


def write_dataset(folder: Path, name: str, **keys: object) -> None:
    """Write the file of a dataset with a free licence."""
    keys |= {"licence": "CC0", "citation": "The tests"}
    write_yaml(folder / "config" / "datasets" / f"{name}.yaml", keys)


def write_measurements(folder: Path, text: str | None = None, address: str = "") -> None:
    """Put a table of numbers into the mirror of the copy, and its dataset file to match."""
    text = measurements() if text is None else text
    write_dataset(
        folder,
        "measurements",
        title="Measurements",
        description="A table with gaps in its inputs.",
        stand_in_for="another table",
        reader="csv",
        options={"outputs": ["sum", "difference"]},
        sources=[mirrored(folder, "tables/measurements.csv", text.encode(), address)],
    )


def measurements() -> str:
    """Return a table of 24 rows: three inputs, the first with gaps, and two outputs of them."""
    rows = ["first,second,third,sum,difference"]
    for number in range(24):
        first, second, third = number % 7, (5 * number) % 11, (3 * number) % 8
        shown = "" if number % 10 == 4 else first
        rows.append(f"{shown},{second},{third},{first + second},{second - third}")
    return "\n".join(rows) + "\n"


def write_calls(folder: Path) -> None:
    """Put transcripts and prices of four companies into the mirror, and their dataset file."""
    random = Random(7)
    days = [date(2015, 1, 5) + timedelta(days=7 * (n // 5) + n % 5) for n in range(160)]
    prices, transcripts = {}, {}
    for company in ("AB", "CD", "EF", "GH"):
        price, lines = 50.0, ["date,open,high,low,close,volume,Name"]
        for day in days:
            price *= 1 + random.gauss(0, 0.02)
            lines.append(f"{day},1,1,1,{price:.4f},100,{company}")
        prices[f"individual_stocks_5yr/{company}_data.csv"] = "\n".join(lines) + "\n"
        for day in days[10:140:15]:
            words = random.choices(["growth", "margin", "risk", "loss", "market"], k=20)
            transcripts[f"MAEC_Dataset/{day:%Y%m%d}_{company}/text.txt"] = " ".join(words)
    sources = []
    for name, pattern, members in (
        ("calls.tar.gz", "MAEC_Dataset/*/text.txt", transcripts),
        ("prices.tar.gz", "individual_stocks_5yr/*_data.csv", prices),
    ):
        path = folder / "mirror" / "calls" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        digest, size, _ = members_digest(write_archive(path, members), pattern)
        source = {"path": f"calls/{name}", "address": f"http://127.0.0.1:9/{name}"}
        sources.append(source | {"members": pattern, "sha256": digest, "size": size})
    write_dataset(
        folder,
        "calls",
        title="Calls",
        description="Volatility after calls that say nothing of it.",
        task="series",
        reader="earnings_calls",
        options={"weeks": 3, "lagged_days": 5, "least_words": 3},
        inputs={"scale": "tf-idf", "kernel": "linear", "lagged_values": "separate"},
        outputs={"scale": "center"},
        sources=sources,
    )


def write_objects(folder: Path) -> None:
    """Put an archive of small pictures and some word vectors into the mirror, and their dataset."""
    random = Random(3)
    images = {}
    for name, shape in (("bar", (1, 4)), ("beam", (1, 3)), ("box", (3, 3)), ("tile", (4, 3))):
        for number in range(9):
            pixels = [[random.randrange(60) for _ in range(24)] for _ in range(24)]
            top, left = random.randrange(8), random.randrange(8)
            for row in range(4 * shape[0]):
                for column in range(4 * shape[1]):
                    pixels[top + row][left + column] = 200 + random.randrange(50)
            content = bytes(value for line in pixels for value in line)
            # The simplest format of images: a grey picture is a header and its bytes.
            images[f"objects/{name}/image_{number:02}.pgm"] = b"P5 24 24 255\n" + content
    path = folder / "mirror" / "objects" / "objects.tar"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_archive(path, images, "w")
    words = {"bar": [1.0, 0.1], "beam": [0.9, 0.3], "box": [0.1, 1.0], "tile": [0.3, 0.9]}
    vectors = json.dumps({"words": list(words), "vectors": list(words.values())})
    files = {"objects.tar": path.read_bytes(), "words.json": vectors.encode()}
    write_dataset(
        folder,
        "objects",
        title="Objects",
        description="Grey pictures of four shapes.",
        task="classes",
        reader="image_classes",
        options={"features": ["hog"], "vectors": "names"},
        inputs={"scale": "products", "kernel": "rbf"},
        outputs={"scale": "none"},
        sources=[mirrored(folder, f"objects/{name}", files[name]) for name in files],
    )


def write_assay(folder: Path) -> None:
    """Put a table of the user's own into the copy, and its dataset file."""
    random = Random(5)
    rows = ["sample,heat,time,colour,up,down"]
    for number in range(40):
        heat, time, colour = random.uniform(0, 9), random.uniform(0, 5), random.choice("rgb")
        up, down = heat + time + random.gauss(0, 0.3), time - heat + random.gauss(0, 0.3)
        shown = "" if number % 9 == 2 else f"{heat:.3f}"
        rows.append(f"s{number},{shown},{time:.3f},{colour},{up:.4f},{down:.4f}")
    (folder / "assay.csv").write_text("\n".join(rows) + "\n")
    write_yaml(folder / "config" / "datasets" / "assay.yaml", ASSAY)


def commit(folder: Path) -> None:
    """Make `folder` a repository with one commit, where git is installed."""
    if not shutil.which("git"):
        return
    person = ["-c", "user.name=Tests", "-c", "user.email=tests@example.org"]
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "Copy"]):
        subprocess.run(["git", *person, *arguments], cwd=folder, check=True)


def copy_folder(source: Path, target: Path, keep_dates: bool = True) -> Path:
    """Copy a folder with the dates of its files, or with new ones; return `target`."""
    copy = shutil.copy2 if keep_dates else shutil.copyfile
    return Path(shutil.copytree(source, target, copy_function=copy, symlinks=True))


def snakemake(folder: Path, *options: str, cores: int | None = 2, **variables: str) -> Outcome:
    """Run snakemake in `folder`, with the mirror of the copy; `cores` None leaves them out."""
    environment = os.environ | {
        "OFER_MIRROR": str(folder / "mirror"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    environment = {
        name: value
        for name, value in environment.items()
        if not name.startswith(("PYTEST", "COV", "SNAKEMAKE", "NUMBA"))
    }
    command = [*SNAKEMAKE, *(["--cores", str(cores)] if cores else []), *options]
    if "--configfile" not in options:
        command += ["--configfile", CONFIGURATION]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=900,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def make_once(name: str, make: Callable[[Path], Outcome | None], factory: pytest.TempPathFactory):
    """Return a folder that `make` filled, and its result, shared by all test processes."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, end = base / name / "run", base / name / "outcome.json"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not end.exists():
            end.write_text(json.dumps(make(folder)))
    outcome = json.loads(end.read_text())
    return folder, outcome and Outcome(*outcome)


def jobs_to_run(folder: Path, *options: str) -> set[str]:
    """Return the messages of the jobs that a run would start, without the job that only waits."""
    outcome = snakemake(folder, "--dry-run", "--printshellcmds", *options).succeeded()
    jobs = re.findall(r"^ *Job \d+: (.+)$", outcome.text, flags=re.MULTILINE)
    assert jobs or "Nothing to be done" in outcome.text, outcome.text
    return {job.strip() for job in jobs} - {"all"}


def files_below(folder: Path, *parts: str) -> set[str]:
    """Return the files below parts of a folder, as paths relative to it, without their digests."""
    return {
        str(path.relative_to(folder))
        for part in parts
        for path in (folder / part).rglob("*")
        if path.is_file() and path.suffix != SUFFIX
    }


def contents(folder: Path, *parts: str) -> dict[str, str]:
    """Return the SHA-256 of every file below parts of a folder, by its relative path."""
    return {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in files_below(folder, *parts)
    }


def records_of_jobs(folder: Path) -> list[dict]:
    """Return Snakemake's records of the jobs of a finished run: rule, input, params and so on."""
    return [
        json.loads(path.read_text())
        for path in (folder / ".snakemake" / "metadata").rglob("*")
        if path.is_file()
    ]


# The code of a job

OF_SPLITS = re.compile(r"_(?:final|\d+(?:to\d+)?)$")
"""The end of the name of a rule whose jobs handle these splits."""

ALIKE = {"embedding_regression": "regression"}
"""Rules that one loop states with others: their names -> those of the others."""

LOADED_BY_NAME = {
    "read": READERS,
    "regression": METHODS,
    "importance": METHODS,
    "saved_model": METHODS,
    "figure": FIGURES,
    "table": TABLE_KINDS,
    "report": TABLE_KINDS,
}
"""The plug-ins that jobs load by their names, by rule."""


def script_of_job(record: dict) -> str:
    """Return the name of the script of a job, by its record; most rules have the same name."""
    name = OF_SPLITS.sub("", record["rule"])
    return ALIKE.get(name, name)


def plain(text: str) -> object:
    """Return the recorded value of a parameter, if it consists of plain types."""
    return ast.literal_eval(re.sub(r"\binf\b", "1e999", text))


def texts_in(value: object) -> set[str]:
    """Return the texts in a parameter, and the names of its settings."""
    if isinstance(value, dict):
        return texts_in([*value.keys(), *value.values()])
    if isinstance(value, list | tuple):
        return {text for part in value for text in texts_in(part)}
    return {value} if isinstance(value, str) else set()


def values_of(key: str, value: object) -> list:
    """Return the values of a key in a parameter, wherever it stands."""
    parts = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(parts, list | tuple):
        return []
    own = [value[key]] if isinstance(value, dict) and key in value else []
    return [*own, *(found for part in parts for found in values_of(key, part))]


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def named_modules(record: dict) -> set[str]:
    """Return the modules of the library that the parameters of a job name, by its record."""
    kind = LOADED_BY_NAME.get(script_of_job(record))
    if kind is None:
        return set()
    values = list(map(plain, record["params"]))
    if record["rule"] == "report":
        # Its figures have kinds, too, which are drawn by other jobs.
        values = values_of("kind", values_of("tables", values))
    elif record["rule"] == "table":
        # The options of a table have names of their own.
        values = [value for value in values if isinstance(value, str)]
    texts = texts_in(values)
    named = {f"workflow_lib.{kind.modules[text]}" for text in texts if text in kind.modules}
    named |= {text.rpartition(".")[0] for text in texts if text.startswith("workflow_lib.")}
    if "score_space" in texts:
        named.add(f"workflow_lib.{INPUT_STEPS.modules[STORED_SCORES]}")
    return set(filter(is_module, named))


def imported_modules(path: Path) -> set[str]:
    """Return the modules of the library that a file imports anywhere."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            modules |= {node.module, *filter(is_module, names)}
    return {name for name in modules if name.split(".")[0] == "workflow_lib"}


def modules_and_scripts(record: dict) -> tuple[set[str], dict[str, Path]]:
    names = (f"{script_of_job(record)}.py", "adapter.py")
    scripts = {name: ROOT / "scripts" / name for name in names}
    modules = {module for path in scripts.values() for module in imported_modules(path)}
    stage = script_of_job(record)
    if stage in STAGES.modules:
        modules.add(f"workflow_lib.{STAGES.modules[stage]}")
    return modules | named_modules(record), scripts


def code_of_job(record: dict) -> list[str]:
    """Return the files of the code of a job, relative to the root."""
    modules, scripts = modules_and_scripts(record)
    files = [*import_closure(ROOT, modules), *scripts.values()]
    return [str(Path(file).relative_to(ROOT)) for file in files]


def digest_of_job(record: dict, folder: Path) -> str:
    """Return the digest of the code of a job in a copy of the project."""
    modules, scripts = modules_and_scripts(record)
    here = {name: folder / path.relative_to(ROOT) for name, path in scripts.items()}
    return code_digest(folder, modules, here)
