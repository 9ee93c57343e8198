"""The stage of the data profile writes the facts, and finds the groups of the outputs."""

import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from small_assay import assay_columns, write_table

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.table.data_profile import data_profile
from workflow_lib.table.data_profile_stage import MAX_COMPONENTS, outputs_mixture, run
from workflow_lib.tabular.table_file import read_table


@pytest.fixture
def generator():
    return np.random.default_rng(0)


def test_the_facts_and_the_groups_of_the_outputs_are_written(tmp_path):
    table = write_table(tmp_path / "assay.csv", assay_columns())
    options = {"file": str(table), "outputs": ["y*"], "numbers": ["x*"], "categories": ["colour"]}
    outputs = np.column_stack([assay_columns()[name] for name in ("y1", "y2", "y3")])
    dataset = tmp_path / "dataset.h5"
    write_artifact(dataset, {"outputs": outputs}, "dataset")
    output = tmp_path / "results" / "data-profile.json"
    run(dataset, table, options, output, seed=3)
    facts = json.loads(output.read_text(encoding="utf-8"))
    mixture = facts.pop("mixture")
    assert facts == data_profile(read_table(table), options)
    assert mixture == outputs_mixture(outputs, 3)
    assert [path.name for path in output.parent.iterdir()] == ["data-profile.json"]


def test_classes_have_no_mixture(tmp_path):
    table = write_table(tmp_path / "assay.csv", assay_columns())
    options = {"classes": "colour", "numbers": ["x1"], "missing_values": ["-"], "delimiter": ","}
    dataset = tmp_path / "dataset.h5"
    tree = {"outputs": np.eye(3)[np.arange(60) % 3], "classes": {"labels": np.arange(60) % 3}}
    write_artifact(dataset, tree, "dataset")
    run(dataset, table, options, tmp_path / "data-profile.json", seed=0)
    facts = json.loads((tmp_path / "data-profile.json").read_text())
    assert facts["mixture"] is None
    assert facts["classes"] == {"blue": 20, "green": 20, "red": 20}


def test_separate_groups_are_counted(generator):
    centres = np.array([[0, 0], [20, 0], [0, 20]])[np.repeat([0, 1, 2], [50, 30, 20])]
    outputs = (centres + generator.normal(size=(100, 2))) * [1, 1000] + [5, 0]
    found = outputs_mixture(outputs, seed=0)
    assert found["n_components"] == 3
    assert found["sizes"] == [50, 30, 20]
    assert found["n_rows"] == 100


def test_one_elongated_group_is_one(generator):
    outputs = generator.normal(size=(200, 1)) @ [[1.0, 2.0]] + generator.normal(size=(200, 2)) / 4
    found = outputs_mixture(outputs, seed=0)
    assert (found["n_components"], found["covariance_type"]) == (1, "full")


def test_the_criterion_is_that_of_one_gaussian(generator):
    outputs = generator.normal(size=(80, 2)) @ [[1.0, 0.5], [0.0, 1.0]]
    found = outputs_mixture(outputs, seed=0)
    rows = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
    density = multivariate_normal(np.zeros(2), np.cov(rows.T, bias=True))
    expected = -2 * density.logpdf(rows).sum() + 5 * np.log(80)
    assert found["bic"]["full"][0] == pytest.approx(expected)
    assert len(found["bic"]["full"]) == len(found["bic"]["spherical"]) == MAX_COMPONENTS


def test_incomplete_rows_do_not_count(generator):
    outputs = generator.normal(size=(40, 2))
    outputs[:30:2, 1] = np.nan
    assert outputs_mixture(outputs, seed=0)["n_rows"] == 25
    outputs[:31, 1] = np.nan
    assert outputs_mixture(outputs, seed=0) is None


def test_a_constant_output_and_huge_numbers_change_nothing(generator):
    outputs = generator.normal(size=(60, 2))
    plain = outputs_mixture(outputs, seed=0)
    odd = outputs_mixture(np.column_stack([outputs * 1e200, np.full(60, 7.0)]), seed=0)
    assert odd["sizes"] == plain["sizes"]
    np.testing.assert_allclose(odd["bic"]["full"], plain["bic"]["full"], rtol=1e-6)


def test_of_many_rows_a_seeded_sample_is_used(generator, monkeypatch):
    monkeypatch.setattr("workflow_lib.table.data_profile_stage.MAX_ROWS", 50)
    outputs = generator.normal(size=(300, 2))
    first, again, other = (outputs_mixture(outputs, seed) for seed in (1, 1, 2))
    assert first["n_rows"] == 50
    assert first == again
    assert first["bic"] != other["bic"]
