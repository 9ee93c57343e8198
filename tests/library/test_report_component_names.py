"""Components are named by the classes that belong to them, the surest first."""

import csv

import numpy as np
import pandas as pd
import pytest
from report_samples import parse, write_class_results

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.class_predictions import class_memberships, order_by_component
from workflow_lib.report.render import html_markup
from workflow_lib.report.table_files import run
from workflow_lib.report.table_kinds import component_names
from workflow_lib.report.table_text import TableOptions

OPTIONS = TableOptions(methods={}, caption="Names")


def test_every_class_is_listed_with_its_component(tmp_path):
    paths = write_class_results(tmp_path, n_classes=7, n_components=3)
    names = component_names.cells(paths["dataset"], paths["models"], OPTIONS)
    assert sorted(names["class_name"]) == [f"class {k}" for k in range(7)]
    found = names.groupby("component")["class_name"].agg(list)
    expected = {}
    for k in range(7):
        expected.setdefault(paths["components"][k], []).append(f"class {k}")
    assert sorted(found) == sorted(expected.values())
    shares = names.groupby("component")["share"].first()
    assert shares.sum() == pytest.approx(1.0)
    assert sorted(shares) == pytest.approx([2 / 7, 2 / 7, 3 / 7])


def test_memberships_are_those_of_the_density(tmp_path):
    paths = write_class_results(tmp_path)
    memberships, weights = class_memberships(paths["models"], paths["vectors"])
    stored = read_artifact(paths["models"], "models")["n-12"]["C-3"]["all"]
    scaled = (paths["vectors"] - stored["output_offset"]) / stored["output_scale"]
    squares = ((scaled[:, None] - stored["means"]) ** 2).sum(axis=2)
    log_joint = np.log(weights) - 0.5 * squares / np.ravel(stored["covariances"])[0]
    expected = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        memberships, expected / expected.sum(axis=1, keepdims=True), atol=1e-9
    )


def test_the_size_can_be_named_and_the_largest_count_is_taken(tmp_path):
    paths = write_class_results(tmp_path)
    by_size = read_artifact(paths["models"], "models")
    one = {"all": dict(by_size["n-12"]["C-3"]["all"], weights=np.array([0.2, 0.3, 0.5]))}
    only = {"C-3": one, "C-20": by_size["n-12"]["C-3"]}
    write_artifact(tmp_path / "m.h5", {"n-12": only, "n-6": {"C-3": one}}, "models")
    vectors = paths["vectors"]
    assert class_memberships(tmp_path / "m.h5", vectors, 6)[1].tolist() == [0.2, 0.3, 0.5]
    assert class_memberships(tmp_path / "m.h5", vectors)[1] == pytest.approx([1 / 3] * 3)
    with pytest.raises(UserError, match=r"m\.h5: no model n-50. Expected one of n-6, n-12"):
        class_memberships(tmp_path / "m.h5", vectors, 50)


def test_classes_are_ordered_by_component_then_by_number():
    memberships = np.eye(3)[[2, 0, 1, 0, 2]] * 0.8 + 0.05
    order, components = order_by_component(memberships)
    assert order.tolist() == [1, 3, 2, 0, 4]
    assert components.tolist() == [0, 0, 1, 2, 2]


def test_the_table_writes_doubtful_memberships_and_empty_components():
    rows = [(1, 0.25, "ant & bee", 1.0), (1, 0.25, "bat", 0.72), (2, 0.75, "", 0.0)]
    names = pd.DataFrame(rows, columns=["component", "share", "class_name", "membership"])
    html = html_markup(component_names.layout(names, OPTIONS))
    assert '<th scope="row">1</th><td>25.0</td><td>2</td><td>ant &amp; bee, bat (0.72)</td>' in html
    assert '<th scope="row">2</th><td>75.0</td><td>0</td><td>–</td>' in html
    assert '<table class="words">' in html
    assert "In brackets" in html
    assert set(parse(html).cells_per_row) == {4}
    assert "In brackets" not in html_markup(component_names.layout(names[:1], OPTIONS))


def test_the_table_is_written_as_csv_and_latex(tmp_path):
    paths = write_class_results(tmp_path)
    files = tmp_path / "names.csv", tmp_path / "names.tex"
    options = {"caption": "Names.", "dataset_title": "Toy", "stand_in_for": "the real one"}
    run("component_names", paths, *files, "tab:n", methods={}, **options)
    with open(files[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert {row["component"] for row in rows} == {"1", "2", "3"}
    latex = files[1].read_text()
    assert "Names. Data: Toy, standing in for the real one." in latex
    assert r"\begin{tabular}{lrrp{0.6\linewidth}}" in latex
    assert "class 0, class 3" in latex


def test_data_without_classes_are_reported(tmp_path):
    paths = write_class_results(tmp_path)
    tree = {"inputs": np.zeros((4, 1)), "outputs": np.zeros((4, 2)), "names": {"outputs": "[]"}}
    write_artifact(tmp_path / "table.h5", tree, "dataset")
    with pytest.raises(UserError, match=r"table\.h5: its outputs are not classes"):
        component_names.cells(tmp_path / "table.h5", paths["models"], OPTIONS)


def test_a_model_that_is_no_mixture_is_reported(tmp_path):
    paths = write_class_results(tmp_path)
    stored = read_artifact(paths["models"], "models")["n-12"]["C-3"]["all"]
    stored |= {"kind": "gaussian", "means": stored["means"][0]}
    write_artifact(tmp_path / "g.h5", {"n-12": {"C-1": {"all": stored}}}, "models")
    with pytest.raises(UserError, match=r"g\.h5: a model of kind gaussian"):
        component_names.cells(paths["dataset"], tmp_path / "g.h5", OPTIONS)
