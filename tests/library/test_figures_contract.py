"""Every module of a figure keeps the contract.

`tests/scenarios/test_figures_of_processes.py` draws every kind, by the functions here.
"""

import inspect
import json
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from each_case import each_case
from paper_folders import paper_modules
from report_samples import (
    CLASS_METHODS,
    METHODS,
    add_rankings,
    add_training_rows,
    base_accuracy,
    base_error,
    noisy_error,
    write_accuracies,
    write_calibration,
    write_class_results,
    write_coordinates,
    write_scores,
)
from test_report_critical_difference import SIX, rank

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.job_needs import Stage
from workflow_lib.core.json_text import json_bytes
from workflow_lib.core.plugins import FIGURES
from workflow_lib.inputs.encoded_columns import EncodedColumns, TrainingColumn
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.items.class_trees import linkage_tree
from workflow_lib.report.figures import base
from workflow_lib.report.run_figures import embedding_or_raw, protocol
from workflow_lib.report.run_figures.critical_difference import draw_critical_difference
from workflow_lib.report.style import save_figure
from workflow_lib.run.capabilities import experiment_facts
from workflow_lib.run.models import DatasetSettings, ExperimentSettings

ROOT = Path(__file__).parents[2]
KINDS = base.figure_modules()
OF_A_RUN = ("ranks", "protocol", "embedding-or-raw")
DRAWINGS = ("steps", "class_steps", "fisher_network")
SETTINGS = {"title": "Toy (a stand-in)", "seed": 3, "training_size": 50, "weak_size": 300}
SETTINGS |= {"wrong_shares": [0.0, 0.3]}
SETTINGS |= {"output_scale": "standard", "version_titles": ["Toy, one-hot", "Toy, n-grams"]}
STUDIES = [
    ("wofer-gmm", "selected", 300, base_error, f"{study}={value}")
    for study, values in {
        "weak_weight": (0, 0.2, 1),
        "weak_noise": (0, 0.2, 1),
        "unpaired_size": (0, 100, 1000),
    }.items()
    for value in values
]
ROWS = [("m-krr", "selected", 0, base_error), ("wofer-gmm", "selected", 300, noisy_error)]


def write_sample(folder: Path) -> tuple[dict, dict]:
    """Write an experiment on short series that are images too; return its files and settings."""
    random, test = np.random.default_rng(0), np.arange(12, 24)
    inputs, outputs = random.random((2, 24, 3))
    names = {"outputs": json.dumps(["week_1", "week_2", "week_3"]), "series_length": 3}
    names |= {"image_rows": 2, "image_columns": 3}
    files = {"calibration": write_calibration(folder, n_outputs=3)[0]}
    files |= {"dataset": folder / "data.h5", "models": [], "regressions": []}
    levels, codes = ("Paris", "London", "Rome"), np.arange(24) % 3
    column = TrainingColumn(levels, codes[:12], codes[:0], outputs[:12], np.arange(12) % 3)
    encoders = EncodedColumns.fit({"town": ("target", column)}, {"town": 0})
    learned = {"described": json_bytes([["town", "target", levels]]), "codes": codes[:, None]}
    tree = {"inputs": inputs, "outputs": outputs, "names": names, "learned_columns": learned}
    tree["places"] = {"row": np.array([0, 0, 1]), "column": np.array([0, 2, 1])}
    write_artifact(files["dataset"], tree, "dataset")
    files["first_features"] = folder / "features.h5"
    features = features_of(inputs)
    features["n-50"]["all"]["encoders"] = encoders.tree()
    write_artifact(files["first_features"], features, "features")
    files["splits"] = [folder / f"split-{split}" / "split.h5" for split in range(2)]
    files["predictions"] = []
    for path in files["splits"]:
        split = {"train": np.arange(12), "test": test, "sizes": np.array([20, 50])}
        write_artifact(path, split, "split")
    for method in METHODS:
        for path in files["splits"]:
            noise = random.normal(size=(12, 3))
            items = {f"n-50_w-{w}_C-selected": {"outputs": outputs[test] + noise} for w in (0, 300)}
            files["predictions"].append(path.parent / method / "predictions.h5")
            write_artifact(files["predictions"][-1], items, "predictions")
    files["all_regressions"] = []
    for path in files["splits"]:
        curves = {"rbf": {"width": np.array([[0.1, 0.6], [1.0, 0.5], [10.0, 0.7]])}}
        curves["chosen"] = {"rbf": {"width": np.ones(1)}}
        curves["used_inputs"] = {"rbf": {"width": np.array([[0.1, 9.0], [1.0, 3.0], [10.0, 0.0]])}}
        item = {"training_size": 50, "weak_size": 0, "components": "selected"}
        files["all_regressions"].append(path.parent / "m-krr" / "regression.h5")
        item |= {"validation_curves": curves, "weights": np.diag([1.0, -2.0, 0.0])}
        tree = {"n-50_w-0_C-selected": item}
        write_artifact(files["all_regressions"][-1], tree, "regression")
    files["scores"] = write_scores(folder / "scores.csv", [*ROWS, *STUDIES])
    add_training_rows(files["scores"], 0.6)
    files["version_scores"] = files["share_scores"] = [files["scores"]] * 2
    files["coordinates"] = write_coordinates(folder / "coordinates.csv", ROWS)
    return files, {"methods": METHODS, "shown_methods": METHODS, "metric": "arrmse"}


def features_of(inputs: np.ndarray) -> dict:
    """Return what a figure of weights reads of the features of a split."""
    preparation = fit_preparation(inputs, "standard").tree()
    return {"inputs": {"train": inputs}, "kernel": "rbf", "n-50": {"all": preparation}}


def write_class_sample(folder: Path) -> tuple[dict, dict]:
    """Write an experiment on images with classes; return its files and settings."""
    files = write_class_results(folder)
    files["predictions"] = [path for paths in files["predictions"].values() for path in paths]
    files["regressions"] = list(files["regressions"].values())
    files["all_regressions"] = []
    for path in files["splits"]:
        curves = {
            name: np.array([[1.0, 0.3], [4.0, 0.2]]) for name in ("cost", "score_space__n_states")
        }
        tree = {"linear": curves, "chosen": {"linear": {}}, "error_rates": {"linear": curves}}
        item = {"training_size": 5, "weak_size": 0, "components": "selected"}
        item |= {"validation_curves": tree, "updates_by_epoch": np.array([0, 4, 8])}
        item["class_tree"] = linkage_tree(1.0 - np.eye(6))._asdict()
        item["constraint_terms"] = np.array([0, 10, 18, 30])
        item["constraint_products"] = np.array([400, 30])
        n_test = len(read_artifact(path, "split")["test"])
        item["test_targets_by_epoch"] = np.random.default_rng(0).random((3, n_test, 6))
        files["all_regressions"].append(path.parent / next(iter(CLASS_METHODS)) / "regression.h5")
        write_artifact(files["all_regressions"][-1], {"n-5": item}, "regression")
    rows = [(method, "selected", 0, base_accuracy) for method in CLASS_METHODS]
    files["scores"] = add_rankings(write_accuracies(folder / "scores.csv", rows))
    files["family_scores"] = [files["scores"]] * 2
    files["coordinates"] = write_coordinates(folder / "coordinates.csv", rows)
    shown = {"methods": CLASS_METHODS, "shown_methods": CLASS_METHODS, "named_methods": {}}
    return files, shown | {"metric": "accuracy"}


OF_PAPERS = paper_modules("samples/figures.py")
SAMPLES = {
    "classes": write_class_sample,
    "series": write_sample,
    **{name: write for module in OF_PAPERS for name, write in module.SAMPLES.items()},
}


def save(figure, path: Path) -> None:
    save_figure(figure, *(path.with_suffix(suffix) for suffix in (".svg", ".png", ".csv")))


def write_samples(folder: Path) -> dict[str, tuple[dict, dict]]:
    """Write the results that figures of every kind show; return the files and settings of each."""
    return {name: write(folder / name) for name, write in SAMPLES.items()}


def draw_all(samples: dict[str, tuple[dict, dict]], folder: Path) -> None:
    """Write a picture of every kind, and of the figures of a whole run."""
    for module in OF_PAPERS:
        module.prepare()
    for kind, module in KINDS.items():
        files, settings = samples[sample_of(module)]
        files = files | {"first_split": files["splits"][0]}
        files |= {"first_predictions": [p for p in files["predictions"] if "split-0" in str(p)]}
        given = {name: (SETTINGS | settings)[name] for name in module.settings}
        save(base.draw(kind, files, given), folder / kind)
    save(draw_critical_difference(rank(folder, SIX), METHODS), folder / "ranks")
    scores = {name: write_scores(folder / f"{name}.csv", ROWS) for name in ("b", "a")}
    pictures = folder / "protocol.svg", folder / "protocol.png"
    protocol.run(scores, dict.fromkeys(scores, {"metric": "arrmse"}), 5, *pictures)
    files = [folder / f"embedding-or-raw.{suffix}" for suffix in ("svg", "png", "csv")]
    settings = {"title": "Toy", "stand_in_for": None, "metric": "arrmse"}
    pairs = {"kernel_ridge": ("m-krr", "wofer-gmm", None)}
    embedding_or_raw.run(scores, dict.fromkeys(scores, settings), pairs, METHODS, *files)


def tasks_of(module: base.FigureModule) -> set[str]:
    return module.requires.get("task", {"series"})


def sample_of(module: base.FigureModule) -> str:
    """Return the sample that has what a kind of figure shows."""
    if "kind_of_inputs" in module.requires:
        return "sequences"
    return next((task for task in ("classes", "boxes") if task in tasks_of(module)), "series")


def draw_in_a_process(samples: dict[str, tuple[dict, dict]], folder: Path, seed: int) -> None:
    """Write the pictures of `draw_all` in a new process, whose sets have another order."""
    program = (
        "from test_figures_contract import *\n"
        "draw_all(pickle.loads(sys.stdin.buffer.read()), Path(sys.argv[1]))"
    )
    tests = ROOT / "tests"
    paths = os.pathsep.join(map(str, (tests / "library", tests, ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": paths}
    command = [sys.executable, "-c", program, str(folder)]
    content = pickle.dumps(samples)
    outcome = subprocess.run(command, env=environment, input=content, capture_output=True)
    assert outcome.returncode == 0, outcome.stderr.decode()


@each_case("kind", KINDS)
def test_what_is_read_from_the_source_is_what_the_module_holds(kind):
    module, declared = FIGURES.load(kind), KINDS[kind]
    for name in vars(declared):
        if hasattr(module, name.upper()):
            assert getattr(declared, name) == getattr(module, name.upper())
    assert declared.shows and declared.caption.endswith(".") and module.__doc__
    assert set(declared.needs) <= set(Stage._fields)
    takes_methods = {"methods", "shown_methods"} & set(declared.settings)
    assert bool(takes_methods) == bool(declared.method_fields)
    parameters = inspect.signature(module.draw).parameters.values()
    required = [p.name for p in parameters if p.default is p.empty]
    assert required == [*declared.reads, *declared.settings]


@each_case("kind", KINDS)
def test_what_a_figure_needs_of_an_experiment_is_made_of_facts(kind):
    dataset = dict.fromkeys(("title", "description", "reader", "licence", "citation"), "x")
    experiment = ExperimentSettings(title="Toy", dataset="x")
    facts = experiment_facts(DatasetSettings(**dataset), experiment)
    assert set(KINDS[kind].requires) <= set(facts)
    assert bool(KINDS[kind].because.format(**facts)) == bool(KINDS[kind].requires)


def test_what_is_declared_is_read_without_loading_a_figure():
    program = (
        "import sys\nfrom workflow_lib.report.figures.base import figure_modules\n"
        "assert figure_modules()\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.fixture
def read_in(monkeypatch):
    """Return a function that reads the kinds of figures in a folder."""

    def read(folder):
        monkeypatch.setattr(base, "FIGURES", replace(FIGURES, home=".", package=folder))
        return base.figure_modules.__wrapped__()

    return read


def test_a_module_is_read_without_loading_it(tmp_path, read_in):
    lines = ["import no_such_module", 'SHOWS = "dots"', 'CAPTION = "Dots."']
    lines += ['READS = {"scores": "results/{experiment}/scores.csv"}']
    lines += ["def draw(scores, n=3, *, title, metric=None): pass"]
    (tmp_path / "dots.py").write_text("\n".join(lines))
    module = read_in(tmp_path)["dots"]
    assert (module.name, module.shows, module.caption) == ("dots", "dots", "Dots.")
    assert (list(module.reads), module.settings) == (["scores"], ("title",))


SHORT = 'SHOWS = "a"\nCAPTION = "b"\n'


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ('SHOWS = "dots"', "a module without CAPTION, READS, draw"),
        ('SHOWS = "dots"\nREQUIRES = {}', "a module without CAPTION, READS, draw, BECAUSE"),
        (f"{SHORT}READS = {{}}\ndef draw(dots): pass", "parameters of draw: dots"),
    ],
)
def test_a_module_that_breaks_the_contract_is_refused_by_name(tmp_path, read_in, lines, reason):
    (tmp_path / "dots.py").write_text(lines)
    with pytest.raises(UserError, match=rf"dots\.py.*{reason}"):
        read_in(tmp_path)
