"""The examples on adding datasets, methods, tables and figures work when they are copied."""

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import yaml
from fit_methods import run_method
from report_samples import METHODS, write_scores
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import READERS
from workflow_lib.methods.contract import base as methods
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.kinds import found as models
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.report.figures import base as figures
from workflow_lib.report.render import html_markup
from workflow_lib.report.results import read_scores
from workflow_lib.report.table_kinds import base as tables
from workflow_lib.report.table_text import TableOptions
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.named_settings import SettingsFolder

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("add-a-dataset", "add-a-method", "add-a-model", "add-a-table", "add-a-figure")
}
FILES = {
    path: content
    for page in PAGES.values()
    for path, content in re.findall(r"```\w+\n# (\S+/\S+)\n(.*?)```", page, re.DOTALL)
}
REGRESSOR_OF_THE_EXAMPLE = "training_median"


@pytest.fixture
def module_of(monkeypatch):
    """Return the function that makes a module of a Python file of the pages."""

    def make(path: str) -> ModuleType:
        module = ModuleType(f"example_{Path(path).stem}")
        # Classes are resolved through their module there.
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(FILES[path], path, "exec"), module.__dict__)
        return module

    return make


@pytest.fixture
def declared_in(tmp_path, monkeypatch):
    """Return the function that reads what a Python file of the pages declares."""

    def read(path: str, function, *kinds: str):
        folder, module = tmp_path / "home", sys.modules[function.__module__]
        folder.mkdir()
        (folder / Path(path).name).write_text(FILES[path])
        with monkeypatch.context() as patch:
            for kind in kinds:
                found = replace(getattr(module, kind), home=".", package=folder)
                patch.setattr(module, kind, found)
            (declared,) = function.__wrapped__().values()
        return declared

    return read


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a copy of the configuration with the files of the pages, without the regressor."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for path, content in FILES.items():
        if path.startswith("config/"):
            assert not (ROOT / path).exists(), f"{path} is the project's own"
            (tmp_path / path).write_text(content, encoding="utf-8")
    return tmp_path / "config"


def run_of(*experiments: str) -> dict:
    """Return the default run with other experiments."""
    run = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    return run | {"experiments": list(experiments)}


def test_the_files_of_settings_are_accepted(folder):
    configuration = load_configuration(folder, run_of("strips", "linnerud-few", "linnerud-tables"))
    assert configuration.methods_of("linnerud-few") == ("m-mean", "m-krr", "ofer-gmm-few")
    kinds = [table.kind for table in configuration.experiments["linnerud-tables"].tables]
    assert kinds == ["error", "coordinates"]


def test_a_method_with_its_own_regressor_is_refused_until_its_module_is_there(folder):
    experiment = yaml.safe_load((folder / "experiments/linnerud-few.yaml").read_text())
    experiment["methods"] = ["m-krr", "m-median"]
    (folder / "experiments/linnerud-few.yaml").write_text(yaml.safe_dump(experiment))
    with pytest.raises(UserError, match=f"key regressor: found '{REGRESSOR_OF_THE_EXAMPLE}'"):
        load_configuration(folder, run_of("linnerud-few"))


def test_a_figure_of_its_own_kind_is_refused_until_its_module_is_there(folder):
    with pytest.raises(UserError, match=r"key figures\[0\]\.kind: found 'split_errors'"):
        load_configuration(folder, run_of("linnerud-splits"))


def test_the_figure_shows_the_error_of_each_split(tmp_path, module_of, declared_in):
    path = "workflow_lib/report/figures/split_errors.py"
    declared = declared_in(path, figures.figure_modules, "FIGURES")
    assert list(declared.reads) == ["scores"]
    assert set(declared.settings) == {"title", "shown_methods", "metric"}
    rows = [("m-krr", "selected", 0, lambda size, split: size / 100 + split)]
    scores = write_scores(tmp_path / "scores.csv", rows, n_splits=3)
    shown = {"m-krr": METHODS["m-krr"]}
    figure = module_of(path).draw(scores, title="Toy", shown_methods=shown, metric="arrmse")
    (line,) = figure.axes[0].lines
    np.testing.assert_array_equal(line.get_data(), [[0, 1, 2], [0.5, 1.5, 2.5]])


def test_labels_and_colors_of_the_methods_are_unique():
    ours = [yaml.safe_load(text) for path, text in FILES.items() if "config/methods/" in path]
    methods = SettingsFolder(ROOT / "config/methods")
    every = [*ours, *map(methods.keys, methods.names)]
    for key in ("label", "color"):
        values = [method[key] for method in every if key in method]
        assert len(set(values)) == len(values), key


def test_the_reader_reads_and_names_the_line_at_fault(tmp_path, module_of):
    reader = module_of("workflow_lib/data/readers/json_rows.py")
    assert "json_rows" not in READERS.paths
    options = reader.Options(inputs=["a"], outputs=["b", "c"])
    path = tmp_path / "rows.jsonl"
    rows = [{"a": number, "b": number**2, "c": -number, "other": "x"} for number in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tree = reader.read(options, [path], 1)
    np.testing.assert_array_equal(tree["inputs"], [[0], [1], [2]])
    np.testing.assert_array_equal(tree["outputs"], [[0, 0], [1, -1], [4, -2]])
    for line in ('{"a": 1}', "[1, 2]", "{", '{"a": "x", "b": 1, "c": 1}'):
        path.write_text(json.dumps(rows[0]) + "\n" + line + "\n")
        with pytest.raises(UserError, match="rows.jsonl, line 2"):
            reader.read(options, [path], 1)


def test_the_method_predicts_medians(tmp_path, module_of, declared_in, monkeypatch):
    path = "workflow_lib/methods/training_median.py"
    module = module_of(path)
    X, Y = regression_data(70)
    Y[np.random.default_rng(4).random(Y.shape) < 0.1] = np.nan
    stages = Stages(tmp_path, X, Y).prepare()
    declared = declared_in(path, methods.method_modules, "METHODS", "METHOD_KEYS")
    assert declared.regressors == (REGRESSOR_OF_THE_EXAMPLE,)
    monkeypatch.setattr(methods, "METHODS", SimpleNamespace(load=lambda name: module))
    items = run_method("training_median", stages.path, metric="arrmse")
    split = stages.tree("split")
    for size in stages.sizes:
        known, folds = Y[split["train"][:size]], split["folds"][f"n-{size}"]
        item = items[f"n-{size}_w-0_C-selected"]
        median = np.nanmedian(known, axis=0)
        np.testing.assert_array_equal(item["test_targets"][3], median)
        expected = np.nanmedian(known[folds != folds[0]], axis=0)
        np.testing.assert_array_equal(item["heldout_outputs"][0], expected)
        saved = module.Fitted.from_arrays(module.Fitted(median).to_arrays())
        np.testing.assert_array_equal(saved.predict([0, 1])[1], median)


def test_the_method_has_the_keys_in_its_file(module_of):
    keys = module_of(f"workflow_lib/methods/keys/{REGRESSOR_OF_THE_EXAMPLE}.py")
    settings = yaml.safe_load(FILES["config/methods/m-median.yaml"])
    assert keys.Parameters(**settings).regressor == REGRESSOR_OF_THE_EXAMPLE


def test_the_model_is_shrunk_stored_and_embeds(module_of, declared_in):
    path = "workflow_lib/models/kinds/shrunk_gaussian.py"
    assert declared_in(path, models.model_kinds, "OUTPUT_MODELS").covariances == ("full",)
    module, Y = module_of(path), np.random.default_rng(0).normal(size=(12, 8))
    model = module.new(ModelArguments("full", 0.05, 1, 1, 0)).fit(Y)
    sample = np.linalg.eigvalsh(np.cov(Y.T, bias=True))
    assert np.linalg.eigvalsh(model.covariance_).min() > sample.min()
    back = FisherEmbedding(module.from_arrays(module.to_arrays(model)), "full", "matrix")
    H = FisherEmbedding(model, "full", "matrix").transform(Y)
    np.testing.assert_array_equal(back.transform(Y), H)
    np.testing.assert_allclose(back.inverse_transform(H, "gradient"), Y, atol=1e-6)


def test_a_table_of_its_own_kind_is_refused_until_its_module_is_there(folder):
    with pytest.raises(UserError, match=r"key tables\[0\]\.kind: found 'wins'"):
        load_configuration(folder, run_of("linnerud-wins"))


def test_the_table_counts_the_splits_that_are_won(tmp_path, module_of, declared_in):
    path = "workflow_lib/report/table_kinds/wins.py"
    assert list(declared_in(path, tables.table_kinds, "TABLE_KINDS").reads) == ["scores"]
    # Lower in the splits 0 and 1 at 20 rows, and equal in all others.
    write_scores(
        tmp_path / "scores.csv",
        [
            ("m-krr", "selected", 0, lambda size, split: 0.5),
            ("m-rf", "selected", 0, lambda size, split: 0.4 if size == 20 and split < 2 else 0.5),
        ],
        n_splits=5,
    )
    module, options = module_of(path), TableOptions(methods=METHODS, caption="Wins")
    scores = read_scores(tmp_path / "scores.csv")
    cells = module.cells(scores, options)
    assert cells.values.tolist() == [
        ["arrmse", "m-rf", "selected", 0, 20, 2, 5],
        ["arrmse", "m-rf", "selected", 0, 50, 0, 5],
    ]
    html = html_markup(module.layout(cells, options))
    assert "2 of 5" in html and "0 of 5" in html and "lower than that of m-KRR" in html
    nothing = module.cells(scores.head(0), options)
    assert nothing.empty and "Wins" in html_markup(module.layout(nothing, options))


@pytest.mark.parametrize("page", PAGES)
def test_named_files_and_their_parts_exist(page):
    text = PAGES[page]
    own = set(FILES)
    for path in re.findall(r"`((?:workflow_lib|tests|rules|scripts)/[\w/]+\.\w+)`", text):
        assert path in own or (ROOT / path).is_file(), path
    for path, names in re.findall(r"^\| `(\S+\.py)`, ([^|]*) \|", text, re.MULTILINE):
        source = (ROOT / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)(?:\.(\w+))?`", names):
            for part in filter(None, name):
                assert re.search(rf"\b{part}\b", source), f"{path} has no {part}"
