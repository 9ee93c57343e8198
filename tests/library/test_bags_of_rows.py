"""Bags of rows in a user table: from the request to predictions for new bags."""

import csv
import json

import numpy as np
import pytest
from reader_samples import refusal
from saved_model_samples import Final
from small_assay import config_with_methods

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.reading import read_dataset
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.models import DatasetSettings
from workflow_lib.table import data_profile_stage, table_predictions_stage
from workflow_lib.table.new_table import run

UNITS = np.array([1.0, 1000.0])
HEADER = "patient,ill,size,weight,plate"
OPTIONS = {"bag": "patient", "classes": "ill", "numbers": ["size", "weight"]}


def rows_of(bag, n_labelled=24):
    """Return the lines of a bag: the odd ones are ill, and their cells larger."""
    random = np.random.default_rng(bag)
    label = ("yes" if bag % 2 else "no") if bag < n_labelled else ""
    cells = (random.normal(2.0 * (bag % 2), 1.0, (4 + bag % 3, 2)) * UNITS).tolist()
    return [f"p{bag},{label},{size!r},{weight!r},3" for size, weight in cells]


def written(folder, n_bags=36, more=(), name="cells.csv"):
    path = folder / name
    lines = [HEADER, *(line for bag in range(n_bags) for line in rows_of(bag)), *more]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def dataset(file, **options):
    return read_dataset("bag_table", OPTIONS | {"file": file} | options, [], 0)


@pytest.mark.parametrize("n_unlabelled", [12, 0])
def test_new_makes_a_run_with_methods_of_bags(tmp_path, capsys, n_unlabelled):
    config = config_with_methods(tmp_path / "config")
    more = ["both,yes,1,1,3", "both,no,2,2,3", "p0,no,,1,3"]
    file = written(tmp_path, 24 + n_unlabelled, more)
    request = {"name": "cells", "data": file, "classes": "ill", "bag": "patient"}
    run(request | {"exclude": "plate"}, config)
    printed = capsys.readouterr().out
    assert f"{24 + n_unlabelled} bags 'patient' of 4 to 6 rows" in printed
    assert "predicted from 2 numbers of each row: 'size', 'weight'" in printed
    assert "Bags left out of all counts: 1 (a bag with two classes)" in printed
    assert "left out, because a number is missing: 1." in printed
    assert (f"unlabelled: {n_unlabelled}" in printed) == bool(n_unlabelled)
    configuration = load_configuration(config, {"experiments": ["cells"]})
    assert configuration.is_user_table("cells")
    methods = set(configuration.methods_of("cells"))
    assert {"m-svm", "class-krr", "m-rf-classes"} <= methods
    experiment = configuration.experiments["cells"]
    assert experiment.weak_sizes == ((n_unlabelled,) if n_unlabelled else ())
    options = configuration.datasets["cells"].options
    assert options == OPTIONS | {"file": file}
    labels = read_dataset("bag_table", options, [], 0)["classes"]["labels"]
    np.testing.assert_array_equal(labels, [*[0, 1] * 12, *[-1] * n_unlabelled])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": "size", "classes": ""}, "methods of bags predict classes"),
        ({"sequence": "plate"}, "bags are predicted from the numbers of their rows alone"),
        ({"row_name": "plate"}, "the rows of predictions are bags, and have their names"),
        ({"inputs": "size", "exclude": "size"}, "'size' is named for exclude and inputs"),
        ({"exclude": "size,weight,plate"}, "no column of numbers is left that describes"),
        ({"bag": "patients"}, "there is no column 'patients'"),
    ],
)
def test_contradictory_requests_are_refused(tmp_path, change, message):
    request = {"name": "cells", "data": written(tmp_path), "classes": "ill", "bag": "patient"}
    assert message in refusal(run, request | change, tmp_path)


def test_the_profile_of_the_table_is_that_of_its_bags(tmp_path):
    file = written(tmp_path)
    write_artifact(tmp_path / "d.h5", dataset(file), "dataset", allow_nan=("outputs",))
    options = OPTIONS | {"file": file}
    data_profile_stage.run(tmp_path / "d.h5", file, options, tmp_path / "facts.json", 0)
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert (facts["rows"], facts["rows_labelled"], facts["rows_unlabelled"]) == (36, 24, 12)
    assert facts["bag_rows"] == 180 and facts["classes"] == {"no": 12, "yes": 12}
    assert facts["kinds"]["number"][0] == "mean of size" and facts["leaks"] == []
    settings = DatasetSettings.model_construct(options=options)
    assert settings.is_user_table
    assert not settings.model_copy(update={"sources": ({"address": "https://a"},)}).is_user_table


def final_of(folder, units=UNITS):
    tree = dataset(written(folder))
    tree["bags"]["values"] = tree["bags"]["values"] / UNITS * units
    return Final(folder, tree, n_weak=12, metric="accuracy", kind="all")


def assert_repeated(final, capsys, folder):
    """Assert that the method `saved` is saved, and predicts bags of a table as it did."""
    model, file = final.saved("saved"), folder / "new.csv"
    assert "predictions of saved reproduced exactly" in capsys.readouterr().out
    # The rows of a bag need not follow one another, and incomplete ones are left out.
    bags = [rows_of(bag)[::-1] for bag in range(24)]
    file.write_text("\n".join([HEADER, bags[3][0], *(r for b in bags for r in b[b is bags[3] :])]))
    found = model.predict(file)
    order = [3, 0, 1, 2, *range(4, 24)]
    labels = read_artifact(final.path("dataset"), "dataset")["classes"]["labels"]
    rows = np.argsort(final.split["test"])[order]
    np.testing.assert_allclose(found.class_scores, final.stored("saved")[rows], atol=1e-10)
    assert (found.class_scores.argmax(axis=1) == labels[order]).mean() > 0.8
    file.write_text("\n".join([HEADER, *rows_of(1), "p1,,,1,3", *rows_of(2)]))
    table_predictions_stage.run(final.path("model"), file, folder / "predictions.csv")
    with open(folder / "predictions.csv", newline="") as stream:
        first, second = csv.DictReader(stream)
    assert (first["patient"], first["line"], second["patient"]) == ("p1", "2", "p2")
    assert (first["line"], second["line"]) == ("2", str(3 + len(rows_of(1))))
    assert first["note"] == "rows left out, because a number is missing: 1 of 6"
    assert second["note"] == ""
    file.write_text("\n".join([HEADER, *rows_of(1), "p9,,,1,3"]))
    assert "line 7, column 'size': a number is missing in every row of the bag 'p9'" in refusal(
        model.predict, file
    )


def test_saved_machines_repeat_their_predictions_for_bags(tmp_path, capsys):
    final = final_of(tmp_path)
    final.classifier("saved", "support_vector_machine")
    assert_repeated(final, capsys, tmp_path)
