"""Every kind of table keeps the contract: it is written from results, and refused without them."""

import inspect
import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from each_case import each_case
from report_samples import (
    METHODS,
    base_error,
    better_error,
    noisy_error,
    write_class_results,
    write_coordinates,
    write_scores,
    write_timings,
)

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import TABLE_KINDS
from workflow_lib.core.result_columns import QUEUE_COSTS
from workflow_lib.methods.contract.method_file import parameters_of
from workflow_lib.report.render import html_markup
from workflow_lib.report.table_files import make, run
from workflow_lib.report.table_kinds import base
from workflow_lib.report.table_text import TableOptions
from workflow_lib.run.capabilities import check_experiment, experiment_facts, method_facts
from workflow_lib.run.models import (
    KEYS_OF_TABLES,
    OWNERS_OF_KEYS,
    DatasetSettings,
    ExperimentSettings,
    TableSettings,
)

ROOT = Path(__file__).parents[2]
KINDS = base.table_kinds()
STUDIES = [
    ("wofer-gmm", "selected", 300, base_error, f"{study}={value}")
    for study in ("weak_weight", "weak_noise")
    for value in (0, 0.2, 1)
]
ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
ROWS += [("wofer-gmm", "selected", 300, noisy_error)]
ASKED = [{"question": "Is it better?", "method": "ofer-gmm", "against": "m-krr"}]
OPTIONS = {"methods": METHODS, "caption": "Some & more", "dataset_title": "Toy"}
OPTIONS |= {"keys": {"comparisons": ASKED}}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict:
    """Return a file of each result that kinds of tables read, by its name."""
    folder = tmp_path_factory.mktemp("results")
    files = write_class_results(folder)
    tree = read_artifact(files["dataset"], "dataset")
    tree["names"]["outputs"] = json.dumps(["a", "b", "c"])
    write_artifact(files["dataset"], tree, "dataset")
    (folder / "profile.json").write_text(json.dumps({"mixture": {"n_components": 3}}))
    costs = [
        ("boxes-ssvm", 50, *where, last, number, 9 + number * last % 5)
        for *where, number in itertools.product((0, 1), (4, 7), (4, 8), (0.25, 0.5), (1, 2, 3))
        for last in range(1, number + 1)
    ]
    pd.DataFrame(costs, columns=QUEUE_COSTS).to_csv(folder / "costs.csv", index=False)
    return {
        "scores": write_scores(folder / "scores.csv", [*ROWS, *STUDIES]),
        "coordinates": write_coordinates(folder / "coordinates.csv", ROWS),
        "timings": write_timings(folder / "timings.csv", ["m-krr", "ofer-gmm"]),
        "dataset": files["dataset"],
        "split": files["splits"][0],
        "models": files["models"],
        "data_profile": folder / "profile.json",
        "queue_costs": folder / "costs.csv",
    }


@each_case("kind", KINDS)
def test_a_table_is_written_as_csv_latex_and_html(results, tmp_path, kind):
    written = []
    for name in ("a", "b"):
        paths = tmp_path / f"{name}.csv", tmp_path / f"{name}.tex"
        run(kind, results, *paths, "toy-table", **OPTIONS)
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]
    frame = pd.read_csv(tmp_path / "a.csv")
    assert tuple(frame.columns) == tuple(TABLE_KINDS.load(kind).COLUMNS) and len(frame)
    latex = written[0][1].decode()
    assert r"\caption{Some \& more. Data: Toy" in latex and r"\label{toy-table}" in latex
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    _, layout, below = make(kind, results, TableOptions(**OPTIONS))
    html = html_markup(layout, below)
    assert "Some &amp; more" in html and html.count("<tr") >= 3 and layout.notes
    assert str(tmp_path).encode() not in b"".join(written[0])


@each_case("kind", KINDS)
def test_what_is_read_from_the_source_is_what_the_module_holds(kind):
    module, declared = TABLE_KINDS.load(kind), KINDS[kind]
    for name in vars(declared):
        if hasattr(module, name.upper()):
            assert getattr(declared, name) == getattr(module, name.upper())
    assert declared.shows and declared.shows[-1] != "." and module.__doc__
    assert list(inspect.signature(module.cells).parameters) == [*declared.reads, "options"]
    assert len(inspect.signature(module.layout).parameters) == 2
    names = {"experiment": "e", "dataset": "d", "mixture": "m"}
    for pattern in declared.reads.values():
        assert pattern.format(**names).startswith("results/")


@each_case("kind", KINDS)
def test_a_table_is_refused_where_its_requirements_are_not_met(kind):
    declared = KINDS[kind]
    dataset = DatasetSettings(
        **dict.fromkeys(("title", "description", "reader", "licence", "citation"), "x")
    )
    table = {"name": "a", "kind": kind, "caption": "Some."}
    experiment = ExperimentSettings(title="Toy", dataset="x", tables=[table])
    facts = experiment_facts(dataset, experiment)
    assert set(declared.requires) <= set(facts)
    reasons = [declared.because.format(**facts)] if declared.requires else []
    assert check_experiment(dataset, experiment) == reasons
    method = parameters_of("training_mean")(
        label="mean", summary="Mean.", color="#000000", marker="o", regressor="training_mean"
    )
    assert set(declared.needs_method) <= set(method_facts(method, None))
    assert bool(declared.needs_method) == bool(declared.method_in_words)


def test_no_kind_is_loaded_to_know_what_it_declares():
    program = (
        "import sys\nfrom workflow_lib.report.table_kinds.base import table_kinds\n"
        "assert table_kinds()\nassert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@each_case(
    ("lines", "reason"),
    [
        ('SHOWS = "dots"', "a module without READS, COLUMNS, cells, layout"),
        ("SHOWS = READS = 1\nREQUIRES = {}", "COLUMNS, cells, layout, BECAUSE"),
        ("NEEDS_METHOD = {}", "cells, layout, METHOD_IN_WORDS"),
    ],
)
def test_a_module_that_breaks_the_contract_is_refused_by_name(tmp_path, monkeypatch, lines, reason):
    (tmp_path / "dots.py").write_text(lines)
    monkeypatch.setattr(base, "TABLE_KINDS", replace(TABLE_KINDS, home=".", package=tmp_path))
    with pytest.raises(UserError, match=rf"dots\.py.*{reason}"):
        base.table_kinds.__wrapped__()


def test_a_key_of_one_kind_is_of_no_other_kind_and_of_no_table():
    keys = [key for module in KEYS_OF_TABLES.values() for key in module.Keys.model_fields]
    assert set(KEYS_OF_TABLES) <= set(KINDS)
    assert len(keys) == len(set(keys)) == len(OWNERS_OF_KEYS)
    general = {"name", "kind", "caption", "paper_table", "decimals"}
    assert set(TableSettings.model_fields) == general | set(keys) and not general & set(keys)
