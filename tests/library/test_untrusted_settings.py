"""What a configuration, a table or a page may not do, each a line of a table."""

import sys

import numpy as np
import pandas as pd
import pytest
import yaml
from configuration_example import EMBEDDED, RUN, write, write_example
from each_case import each_case
from pydantic import BaseModel

from workflow_lib.core.errors import UserError
from workflow_lib.core.named_class import new_estimator
from workflow_lib.core.result_cells import (
    SPREADSHEET_SAFE,
    cell_of,
    frame_as_csv,
    rows_as_csv,
    text_of,
)
from workflow_lib.core.result_columns import COORDINATES
from workflow_lib.methods.contract.method_file import FeatureLearner
from workflow_lib.methods.keys.estimator import Parameters
from workflow_lib.protocol.evaluation import write_rows
from workflow_lib.report.results import read_coordinates
from workflow_lib.run.loading import load_configuration

SK = "sklearn.linear_model.Ridge"
PIPELINE = "sklearn.pipeline.Pipeline"
KEYS = {name: EMBEDDED[name] for name in ("label", "summary", "color", "marker")}


def faults(path: str = SK, **arguments) -> list[tuple[str, str, str, str]]:
    method = {"regressor": "estimator", "estimator": path}
    return Parameters(**KEYS, **method, **arguments).faults()


# Classes


NO_CLASSES = [
    "own_module.Missing",
    "own_module.function",
    "own_module.below.Missing",
    "own_package.function",
    "own_package.below.Missing",
    "own_package.none.Missing",
    "own_broken.Broken",
    "own_nowhere.Class",
    "antigravity.Class",
    "os.path.Class",
    "subprocess.Popen",
    "workflow_lib.core.whole_files.write_text",
]


@pytest.mark.parametrize("path", NO_CLASSES)
def test_no_module_is_imported_for_what_is_no_class(own_modules, path):
    loaded = set(sys.modules)
    for found in (faults(path), FeatureLearner(transformer=path).named_class().faults()):
        assert len(found) == 1
        assert path in found[0][1]
    assert not list(own_modules.rglob("it-ran"))
    assert not {name for name in set(sys.modules) - loaded if name.startswith(("own", "anti"))}


def test_a_class_of_ones_own_is_an_estimator(own_modules):
    assert faults("own_module.Own") == []


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch, package):
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, package, raising=False)
    ((_, found, _, remedy),) = faults(f"{package}.Regressor")
    assert f"there is no package {package}" in found
    assert "pip install '.[boosting]'" in remedy


# Arguments


@each_case(
    ("path", "arguments", "key"),
    [
        ("sklearn.ensemble.ExtraTreesRegressor", {"settings": {"n_jobs": 100000}}, "settings"),
        ("sklearn.ensemble.ExtraTreesRegressor", {"settings": {"n_jobs": True}}, "settings"),
        ("sklearn.ensemble.ExtraTreesRegressor", {"settings": {"n_jobs": None}}, ""),
        ("sklearn.ensemble.ExtraTreesRegressor", {"settings": {"n_jobs": 1}}, ""),
        ("sklearn.ensemble.ExtraTreesRegressor", {"grid": {"n_jobs": [1, -1]}}, "grid"),
        (SK, {"settings": {"params": {"thread_count": 8}}}, "settings.thread_count"),
        (SK, {"settings": {"nthread": 0}}, "settings.nthread"),
        (SK, {"settings": {"alpha": np.sum}}, "settings.alpha"),
        (SK, {"grid": {"alpha": [1.0, BaseModel]}}, "grid.alpha"),
        (PIPELINE, {"settings": {"steps": [["a", np.sum], ["b", "drop"]]}}, "settings.steps"),
        (PIPELINE, {"settings": {"steps": [["a", "numpy.sum"]]}}, "settings"),
        (PIPELINE, {"grid": {"steps": [[["a", "os.system"]]]}}, "grid.steps"),
        (PIPELINE, {"settings": {"steps": [], "memory": "/tmp"}}, "settings.memory"),
        ("sklearn.ensemble.VotingRegressor", {"settings": {"estimators": [["a", SK]]}}, "settings"),
    ],
)
def test_arguments_are_plain_data_and_leave_threads_to_the_workflow(path, arguments, key):
    found = faults(path, **arguments)
    assert bool(found) == bool(key), found
    assert all(fault[0].startswith(key) for fault in found)


def test_an_estimator_gets_one_thread_whatever_it_calls_it():
    class Boosting:
        def __init__(self, thread_count=-1):
            self.thread_count = thread_count

        def get_params(self):
            return {}

        def set_params(self, **values):
            vars(self).update(values)
            return self

    assert new_estimator(Boosting, {}, {}, 0).thread_count == 1


# Names of files


NAMES = ["../datasets/people", "/etc/passwd", "a/b", "..", ".", "", "a\0b", "a\nb", "~", "*", [], 7]


@each_case("name", NAMES)
@each_case(
    ("file", "keys"),
    [
        ("datasets/people", lambda name: {"like": name}),
        ("datasets/people", lambda name: {"reader": name}),
        ("datasets/people", lambda name: {"drawn_as": name}),
        ("experiments/first", lambda name: {"like": name}),
        ("experiments/first", lambda name: {"dataset": name}),
        ("experiments/first", lambda name: {"methods": [name]}),
        ("experiments/first", lambda name: {"tables": [{"paper_table": name}]}),
        ("methods/ridge", lambda name: {"like": name}),
        ("methods/ridge", lambda name: {"model": name}),
        ("methods/ridge", lambda name: {"regressor": name}),
        ("methods/ridge", lambda name: {"regressor": "stack", "members": [name]}),
        ("methods/ridge", lambda name: {"score_space": {"models": name, "kind": "fisher"}}),
        ("models/mixture", lambda name: {"like": name}),
        ("models/mixture", lambda name: {"kind": name}),
        ("", lambda name: {"experiments": [name]}),
        ("", lambda name: {"name": name}),
        ("", lambda name: {"stand_ins": {"first": [name]}}),
        ("", lambda name: {"defaults": {"methods": [name]}}),
    ],
)
def test_a_name_leads_to_no_file_but_its_own_kind(tmp_path, file, keys, name):
    folder = write_example(tmp_path / "config")
    if file:
        content = yaml.safe_load((folder / f"{file}.yaml").read_text())
        write(folder, file, content | keys(name))
    with pytest.raises(UserError):
        load_configuration(folder, RUN if file else RUN | keys(name))


# Cells of results


FORMULAS = ["=1+1", "+x", "-n", "@SUM", "\t=1", "\r=1", "\n=1", "'=1", "''@", "＝1", "-1_0", "- 1"]
NO_FORMULAS = ["", "a=1", "a-b", "'quoted'", "-0.5", "+3", "-1e-05", "-inf", "nan", 3, -1.5, None]


@each_case("text", FORMULAS)
def test_no_cell_is_a_formula_and_all_are_read_back(text, monkeypatch):
    assert cell_of(text) == f"'{text}"
    assert text_of(cell_of(text)) == text
    monkeypatch.setenv(SPREADSHEET_SAFE, "no")
    assert cell_of(text) == text


@pytest.mark.parametrize("value", [False, "false", "False"])
def test_flags_are_typed_on_the_command_line(tmp_path, value):
    folder = write_example(tmp_path / "config")
    run = load_configuration(folder, RUN | {"spreadsheet_safe": value}).run
    assert run.spreadsheet_safe is False and run.report.host is False
    with pytest.raises(UserError, match="true or false"):
        load_configuration(folder, RUN | {"spreadsheet_safe": 0})


@each_case("value", NO_FORMULAS)
def test_numbers_and_other_texts_are_written_as_they_are(value):
    assert cell_of(value) is value
    assert not isinstance(value, str) or text_of(value) == value


def test_frames_and_rows_have_safe_names_and_exact_numbers():
    third = np.float32(1 / 3)
    frame = pd.DataFrame({"=a": ["-x", "-5"], "@b": np.array([third, -2], dtype=np.float32)})
    text = "'=a,'@b\n'-x,0.33333334\n-5,-2.0\n"
    assert frame_as_csv(frame) == text
    assert rows_as_csv(["=a", "@b"], [["-x", "0.33333334"], ["-5", "-2.0"]]) == text
    # A line does not end within a cell.
    assert frame_as_csv(pd.DataFrame({"a": ["b\r=1"]})) == rows_as_csv(["a"], [["b\r=1"]])
    assert rows_as_csv(["a"], [["b\r=1"]]) == 'a\n"b\r=1"\n'


def test_names_of_outputs_survive_the_files_of_errors(tmp_path):
    path = tmp_path / "coordinates.csv"
    row = dict.fromkeys(COORDINATES, 0)
    row |= {"experiment": "e", "dataset": "d", "method": "m", "components": "selected"}
    rows = [row | {"coordinate": index, "name": name} for index, name in enumerate(FORMULAS)]
    write_rows(path, COORDINATES, [row | {"setting": ""} for row in rows])
    assert not any(cell.startswith(tuple("=+-@")) for cell in path.read_text().split(","))
    assert list(read_coordinates(path)["name"]) == FORMULAS
