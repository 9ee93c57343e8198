"""Methods of this paper for bags of rows in a user table."""

import numpy as np
import pytest
from bag_samples import SETTINGS
from small_assay import config_with_methods
from test_bags_of_rows import assert_repeated, final_of, written
from test_reader_bag_table import split_of_bags

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol import regression
from workflow_lib.run.loading import load_configuration
from workflow_lib.table.new_table import run


@pytest.mark.parametrize("n_unlabelled", [12, 0])
def test_methods_of_bags_answer_questions(tmp_path, n_unlabelled):
    config = config_with_methods(tmp_path / "config")
    file = written(tmp_path, 24 + n_unlabelled)
    run({"name": "cells", "data": file, "classes": "ill", "bag": "patient"}, config)
    configuration = load_configuration(config, {"experiments": ["cells"]})
    methods = set(configuration.methods_of("cells"))
    assert {"fv-svm", "fv-network", "m-svm"} <= methods
    assert ({"ssfv-network", "fv-self-training"} <= methods) == bool(n_unlabelled)
    tables = configuration.experiments["cells"].tables
    (requested,) = (len(table.comparisons) for table in tables if table.comparisons)
    assert requested == (6 if n_unlabelled else 2)


def test_methods_left_out_of_the_list_leave_their_questions_out(tmp_path):
    config = config_with_methods(tmp_path / "config")
    request = {"name": "cells", "data": written(tmp_path), "classes": "ill", "bag": "patient"}
    run(request, config)
    path = config / "tables/experiments/cells.yaml"
    path.write_text(path.read_text().replace("  - fv-network\n", ""))
    tables = load_configuration(config, {"experiments": ["cells"]}).experiments["cells"].tables
    (requested,) = (table.comparisons for table in tables if table.comparisons)
    assert len(requested) == 4 and "fv-network" not in {pair.method for pair in requested}


def test_saved_networks_repeat_their_predictions_for_bags(tmp_path, capsys):
    final = final_of(tmp_path)
    settings = SETTINGS | {"n_dimensions": None, "n_epochs": 2}
    final._run("saved", "fisher_vector_network", **settings)
    assert_repeated(final, capsys, tmp_path)


@pytest.mark.parametrize("n_dimensions", [1, None])
def test_units_of_the_columns_do_not_matter(tmp_path, n_dimensions):
    scores = []
    for name, units in (("ones", np.ones(2)), ("others", np.array([1e-3, 1e4]))):
        (tmp_path / name).mkdir()
        final = final_of(tmp_path / name, units)
        settings = SETTINGS | {"n_dimensions": n_dimensions, "n_epochs": 1}
        final._run("saved", "fisher_vector_network", **settings)
        scores.append(final.stored("saved"))
    np.testing.assert_allclose(*scores, rtol=1e-7)


def test_networks_learn_from_unlabelled_bags_of_a_table(tmp_path):
    tree, split = split_of_bags(tmp_path)
    paths = {name: tmp_path / f"{name}.h5" for name in ("dataset", "split")}
    results = tmp_path / "regression.h5", tmp_path / "regression.json"
    settings = SETTINGS | {"n_dimensions": 2}
    regression.run("fisher_vector_network", paths, settings, *results)
    labels = tree["classes"]["labels"][split["test"]]
    for item in read_artifact(results[0], "regression").values():
        assert (item["test_targets"].argmax(axis=1) == labels).mean() > 0.8
