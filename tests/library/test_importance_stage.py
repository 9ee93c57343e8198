"""The importance of the inputs of a table is measured, shown and explained."""

from __future__ import annotations

import re

import numpy as np
import pandas
import pytest

from workflow_lib import UserError, compare, load_model
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol.importance_table import COLUMNS
from workflow_lib.table import importance_stage
from workflow_lib.table.command_line import main

N = 60


def table_of_numbers() -> pandas.DataFrame:
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.normal(size=(N, 3)), columns=["a", "b", "c"])
    table["twin"] = 2 * table["a"] + 0.01 * random.normal(size=N)
    table["colour"] = random.choice(["red", "blue", "green"], N)
    table.loc[::9, "b"] = np.nan
    table["y"] = 2 * table["a"] + 3.0 * (table["colour"] == "red")
    table["z"] = table["b"].fillna(0) + 0.1 * random.normal(size=N)
    return table


def table_of_texts() -> pandas.DataFrame:
    random = np.random.default_rng(1)
    words = random.choice(["wet", "dry"], N)
    table = pandas.DataFrame(
        {"note": [f"the {word} sample number {n % 4}" for n, word in enumerate(words)]}
    )
    table["depth"] = random.normal(size=N)
    table["y"] = 4.0 * (words == "wet") + table["depth"] + 0.1 * random.normal(size=N)
    return table


def table_of_classes() -> pandas.DataFrame:
    random = np.random.default_rng(2)
    table = pandas.DataFrame(random.normal(size=(N, 3)), columns=["a", "b", "c"])
    table["kind"] = np.where(table["a"] > 0, "high", "low")
    return table


ANSWERS = {
    "numbers": (table_of_numbers, {"outputs": ["y", "z"], "methods": ["ridge", "m-mean"]}),
    "texts": (table_of_texts, {"outputs": "y", "text": "note", "methods": ["m-krr", "m-mean"]}),
    "classes": (table_of_classes, {"classes": "kind", "methods": ["class-krr", "m-rf-classes"]}),
}


@pytest.fixture(scope="module")
def answers():
    """Return the answer of each table, compared when it is first asked for."""
    made = {}

    def answer_of(kind):
        if kind not in made:
            table, request = ANSWERS[kind]
            made[kind] = table(), compare(table(), splits=3, n_jobs=1, **request)
        return made[kind]

    return answer_of


MATTERING = {
    "numbers": {"a and twin", "colour", "b"},
    "texts": {"note", "depth"},
    "classes": {"a"},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_inputs_that_matter_are_more_important_than_others(answers, kind):
    _, answer = answers(kind)
    frame = answer.importance()
    assert tuple(frame.columns) == COLUMNS
    first = frame[frame["output"] == frame["output"].iloc[0]]
    assert set(first["input"].head(len(MATTERING[kind]))) == MATTERING[kind]
    assert (first["importance"].head(len(MATTERING[kind])) > 0.02).all()
    others = first["importance"].iloc[len(MATTERING[kind]) :]
    assert (others.abs() < 0.1).all()
    error = answer.content["leaderboard"][0]["mean"]
    shown = 1 - error / 100 if kind == "classes" else error
    assert first["error"].iloc[0] == pytest.approx(shown)


def test_each_output_has_its_own_inputs(answers):
    frame = answers("numbers")[1].importance()
    best = frame.groupby("output", sort=False)["input"].first()
    assert list(best.index) == ["all outputs", "y", "z"]
    assert best["y"] in ("a and twin", "colour") and best["z"] == "b"
    of_outputs = frame.pivot(index="input", columns="output", values="importance")
    np.testing.assert_allclose(of_outputs["all outputs"], of_outputs[["y", "z"]].mean(axis=1))


@pytest.mark.parametrize("kind", ANSWERS)
def test_contributions_sum_to_the_prediction_minus_the_mean(answers, kind):
    table, answer = answers(kind)
    explained = answer.explain(table.head(3))
    sums = explained.groupby(["row", "output"]).agg(
        {"contribution": "sum", "prediction": "first", "mean_prediction": "first"}
    )
    difference = sums["prediction"] - sums["mean_prediction"]
    np.testing.assert_allclose(sums["contribution"], difference, atol=1e-8)
    predicted = answer.predict(table.head(3))
    if kind != "classes":
        of_y = explained[explained["output"] == "y"].groupby("row")["prediction"].first()
        np.testing.assert_allclose(of_y, predicted["y"])


def test_contributions_of_a_linear_method_are_exact(answers):
    table, answer = answers("numbers")
    alone = answer.explain(table.head(4), correlation=2)
    of_c = alone[(alone["input"] == "c") & (alone["output"] == "y")]
    # The slope of the method on c, by its predictions.
    moved = table.head(1).assign(c=[table["c"][0] + 1])
    slope = answer.predict(moved)["y"][0] - answer.predict(table.head(1))["y"][0]
    expected = slope * (table["c"].head(4) - table["c"].mean())
    np.testing.assert_allclose(of_c["contribution"], expected, atol=1e-8)
    assert list(of_c["value"].astype(float)) == list(table["c"].head(4))


def test_effects_follow_the_values_of_the_inputs(answers):
    answer = answers("numbers")[1]
    effects = read_artifact(answer._run.result("importance.h5"), "importance")["effects"]
    by_input = {effect["input"]: effect for effect in effects.values()}
    means = {name: effect["means"].mean(axis=0) for name, effect in by_input.items()}
    assert (np.diff(means["a and twin"]) > 0).all() and (np.diff(means["b"]) > 0).all()
    labels = by_input["colour"]["labels"]
    assert labels == '["blue", "green", "red"]' and means["colour"].argmax() == 2


def test_the_page_and_the_model_hold_the_importance(answers, tmp_path, monkeypatch, capfd):
    table, answer = answers("numbers")
    answer.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'id="figure-answer-importance"' in page and 'id="figure-answer-effects"' in page
    assert re.search(r"Permuting [\w ]+ raises the error from \d\.\d+ to \d\.\d+", page)
    answer.save(tmp_path / "model.h5")
    saved = load_model(tmp_path / "model.h5")
    pandas.testing.assert_frame_equal(saved.importance(), answer.importance(), check_exact=True)
    monkeypatch.chdir(tmp_path)
    table.head(2).to_csv("new.csv", index=False)
    assert main(["explain", "model.h5"]) == 0
    said = capfd.readouterr().out
    assert "all outputs: error 0." in said and "All: model-importance.csv" in said
    assert main(["explain", "model.h5", "new.csv"]) == 0
    said = capfd.readouterr().out
    assert "Row 2, z: " in said and "the other" not in said
    written = pandas.read_csv("new-explained.csv")
    assert list(written["row"].unique()) == [1, 2] and len(written) == 2 * 2 * 4


def test_one_input_column_has_no_importance(tmp_path):
    table = table_of_numbers()[["a", "y"]]
    answer = compare(table, "y", methods=["ridge", "m-mean"], splits=2, n_jobs=1)
    with pytest.raises(UserError, match="the table has one input column"):
        answer.importance()
    with pytest.raises(UserError, match="the table has one input column"):
        answer.explain(table.head(1))
    answer.report(tmp_path / "page.html")
    assert "Which inputs matter" not in (tmp_path / "page.html").read_text()
    assert answer._run.result("importance.h5").with_suffix(".csv").read_text().count("\n") == 1


def test_copies_of_the_process_measure_the_same(monkeypatch, tmp_path):
    run, bytes_of = importance_stage.run, {}

    def run_twice(output, table, n_jobs, **settings):
        for in_copies in (False, True):
            path = tmp_path / f"{in_copies}.h5"
            run(output=path, table=table, n_jobs=2, in_copies=in_copies, **settings)
            bytes_of[in_copies] = path.read_bytes()
        run(output=output, table=table, n_jobs=n_jobs, **settings)

    monkeypatch.setattr(importance_stage, "run", run_twice)
    # One split is measured by this process, and two by its copy.
    monkeypatch.setattr(importance_stage, "MAX_SPLITS_OF_EFFECTS", 1)
    compare(table_of_numbers(), "y", methods=["ridge", "m-mean"], splits=3, n_jobs=-1)
    assert bytes_of[False] == bytes_of[True]
