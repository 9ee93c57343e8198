"""The comparison from Python finds what the three commands of the workflow find."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pandas
import pytest
from small_run import copy_folder, snakemake, write_yaml
from test_user_table import blend

from workflow_lib import UserError, compare, load_model
from workflow_lib.table.command_line import main
from workflow_lib.table.in_process import TableRun

NAME = "blend"
METHODS = ["m-krr", "wofer-gmm", "ofer-stack", "m-mean"]
REQUEST = {"outputs": ["strength", "weight"], "row_name": "sample", "splits": 2}


def with_kinds_of_rows() -> str:
    """Return a table with weak rows and outputs without inputs."""
    lines = [
        f"{line},{'batch' if not row else row % 2}" for row, line in enumerate(blend().split())
    ]
    lines += [f"w{row},{row % 9},red,,,{row % 2}" for row in range(6)]
    return "\n".join([*lines, *(f"u{row},,,{row},{row % 4}," for row in range(6))]) + "\n"


@pytest.fixture(scope="module")
def answers(project: Path, tmp_path_factory: pytest.TempPathFactory):
    """Return the folder of a run of the workflow, and the answer of the comparison in Python."""
    folder = copy_folder(project, tmp_path_factory.mktemp("comparison") / "run")
    table = folder / f"{NAME}.csv"
    table.write_text(with_kinds_of_rows())
    write_yaml(folder / "config/own.yaml", {"seed": 3, "experiments": ["clusters"]})
    request = {**REQUEST, "same_group": "batch", "methods": METHODS}
    typed = [
        f"{key}={','.join(value) if isinstance(value, list) else value}"
        for key, value in ({"data": table.name} | request).items()
    ]
    common = ["--configfile", "config/own.yaml", "--config", f"name={NAME}"]
    for command in (["new", *common, *typed], ["answer", *common]):
        snakemake(folder, *command).succeeded()
    return folder, compare(table, name=NAME, seed=3, n_jobs=2, config=folder / "config", **request)


def arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an artifact, but for measured seconds."""
    found = {}

    def add(name, item):
        if isinstance(item, h5py.Dataset) and "seconds" not in name:
            found[name] = item[()]

    with h5py.File(path) as file:
        file.visititems(add)
    return found


def test_every_number_is_that_of_the_workflow(answers):
    folder, answer = answers
    results, ours = folder / "results" / NAME, answer._run.folder / "results" / NAME
    for name in ("scores.csv", "choices.csv", "coordinates.csv", "outputs.csv"):
        assert (ours / name).read_bytes() == (results / name).read_bytes(), name
    assert answer.content == json.loads((results / "answer.json").read_text())
    assert (ours / "importance.csv").read_bytes() == (results / "importance.csv").read_bytes()
    found, expected = (arrays(folder / "importance.h5") for folder in (ours, results))
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    for split in range(2):
        for method in answer.leaderboard["method"]:
            path = f"split-{split}/{method}/predictions.h5"
            found, expected = arrays(ours / path), arrays(results / path)
            assert found.keys() == expected.keys()
            for name, values in expected.items():
                np.testing.assert_array_equal(found[name], values, err_msg=f"{path} {name}")


def test_the_saved_model_predicts_as_that_of_the_workflow(answers, tmp_path):
    folder, answer = answers
    new = pandas.DataFrame({"sample": ["a", "b"], "heat": [2.5, 7.25], "colour": ["red", "blue"]})
    answer.save(tmp_path / "model.h5")
    expected = load_model(folder / "results" / NAME / "model.h5").predict(new).to_frame()
    predicted = answer.predict(new)[expected.columns]
    pandas.testing.assert_frame_equal(predicted, expected, check_exact=True)
    saved = load_model(tmp_path / "model.h5").predict(new).to_frame()
    pandas.testing.assert_frame_equal(saved, expected, check_exact=True)


def test_an_answer_is_shown_as_text_and_as_pages(answers, tmp_path):
    _, answer = answers
    assert repr(answer).replace("\n", " ").startswith(answer.headline)
    assert list(answer.leaderboard["mean"]) == sorted(answer.leaderboard["mean"])
    shown = answer._repr_html_()
    assert answer.headline in shown.replace("&#x27;", "'") and shown.count("<img") == 2
    answer.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    for anchor in ("answer", "leaderboard", "importance", "intervals", "data-profile"):
        assert f'id="{anchor}"' in page
    assert "snakemake" not in page and page.count("<img") >= 2
    # It is the only file that is kept, and names no other.
    assert not re.findall(r'href="(?!#)', page)
    shown = re.sub(r'(?s)<script>.*?</script>|(src|data-packed|download)="[^"]*"', "", page)
    assert not re.findall(r"results/|config/|[\w-]+\.(?:h5|json|yaml)", shown)
    assert set(re.findall(r"[\w-]+\.csv", shown)) <= {f"{NAME}.csv"}


def test_every_picture_of_a_table_is_described_with_its_numbers(answers, tmp_path):
    folder, answer = answers
    answer.report(tmp_path / "page.html")
    for path in (tmp_path / "page.html", folder / "results" / NAME / "report.html"):
        images = re.findall(r"<img [^>]*>", path.read_text())
        words = [re.search(r'alt="([^"]*)"', image)[1] for image in images]
        assert len(images) >= 6 and len(set(words)) == len(words)
        for text in words:
            assert re.search(r"\d", text) and len(text) > 60, text
    held = answer.outputs["rmse"] / answer.outputs["rmse_of_training_mean"]
    assert list(answer.outputs["output"]) == REQUEST["outputs"]
    assert list(held) == pytest.approx(list(answer.outputs["relative_error"]), rel=0.2)


def test_a_table_may_be_a_data_frame():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.normal(size=(40, 2)), columns=["a", "b"])
    table["y"] = table["a"] - table["b"]
    answer = compare(table, "y", methods=["ridge", "m-mean"], splits=5, n_jobs=1)
    assert answer.content["winner"] == "ridge"
    new = table.head().set_index(pandas.Index(list("pqrst"), name="plot"))
    predicted = answer.predict(new)
    pandas.testing.assert_frame_equal(
        predicted[["a", "b", "y (of the row)"]].set_axis(list(new), axis=1), new
    )
    np.testing.assert_allclose(predicted["y"], new["y"], atol=0.05)


def test_an_interrupted_comparison_answers_from_what_is_finished(monkeypatch, capsys):
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.normal(size=(60, 2)), columns=["a", "b"])
    table["y"] = table["a"] - table["b"]
    methods, learn = ["ridge", "m-mean", "m-rf"], TableRun.learn

    def interrupted_after(n_tasks):
        tasks = iter(range(n_tasks))

        def until(run, *arguments):
            if next(tasks, None) is None:
                raise KeyboardInterrupt
            learn(run, *arguments)

        monkeypatch.setattr(TableRun, "learn", until)
        return compare(table, "y", methods=methods, splits=4, n_jobs=1, progress=True)

    with pytest.raises(KeyboardInterrupt):
        interrupted_after(2)
    capsys.readouterr()
    few_methods, few_splits = interrupted_after(5), interrupted_after(7)
    assert "so far: Ridge" in capsys.readouterr().err
    assert "4 of 4 splits and 2 of 3 methods" in few_methods.notes[-1]
    assert set(few_methods.leaderboard["method"]) == {"ridge", "m-mean"}
    assert "3 of 4 splits and 3 of 3 methods" in few_splits.notes[-1]
    assert set(few_splits.leaderboard["n_splits"]) == {3}
    monkeypatch.setattr(TableRun, "learn", learn)
    np.testing.assert_allclose(few_splits.predict(table)["y"], table["y"], atol=0.1)


def test_a_fault_names_the_argument_or_the_data_frame():
    table = pandas.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "y"])
    with pytest.raises(UserError, match="^argument methods: "):
        compare(table, "y", methods=["class-krr", "m-mean"])
    with pytest.raises(UserError, match="^the DataFrame, option outputs: "):
        compare(table, "z")


@pytest.mark.parametrize(
    ("table", "outputs", "found"),
    [
        ([[1.0, 2.0]], "y", "an object of type list"),
        ("missing.csv", "y", "missing.csv"),
        (pandas.DataFrame({"a": [1.0] * 30}), "y", "y"),
    ],
)
def test_what_prevents_a_comparison_is_named(table, outputs, found):
    with pytest.raises(UserError, match=found):
        compare(table, outputs)


def test_the_command_checks_compares_and_predicts_from_any_folder(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Blend 2.csv").write_text(blend())
    (tmp_path / "new.csv").write_text("heat,colour\n2.5,red\n7.25,blue\n")
    request = ["Blend 2.csv", "--outputs", "strength,weight", "--row-name", "sample"]
    assert main(["check", *request]) == 0
    said = capfd.readouterr().out
    assert "30 rows" in said and "snakemake" not in said and "config/" not in said
    assert main(["run", *request, "--methods", "m-krr,m-mean", "--splits", "3", "--jobs", "1"]) == 0
    said = capfd.readouterr().out
    assert "Use m-KRR" in said and "Report: blend-2-answer.html" in said
    model = "blend-2-model.h5"
    assert main(["predict", model, "new.csv", "--joint"]) == 0
    predicted = pandas.read_csv("new-predictions.csv")
    assert list(predicted["method"]) == ["m-KRR", "m-KRR"]
    assert {"strength", "weight upper", "weight joint lower"} <= set(predicted)
    values = np.array([[2.5, "red"], [7.25, "blue"]], dtype=object)
    found = load_model(model).predict(values)
    half = (found.upper - found.lower)[0] / 2
    differences = np.abs(found.outputs - predicted[["strength", "weight"]])
    assert (differences <= half / 2000).all(axis=None) and (differences > 0).any(axis=None)
    assert main(["predict", model, "new.csv", "--keep", "*", "--to", "new.xlsx"]) == 0
    book = pandas.read_excel("new.xlsx")
    assert list(book.columns[:4]) == ["line", "heat", "colour", "strength"]
    assert list(book["heat"]) == [2.5, 7.25]
    np.testing.assert_array_equal(book["weight"], predicted["weight"])


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["run", "missing.csv", "--outputs", "y"], "missing.csv"),
        (["predict", "missing.h5", "new.csv"], "missing.h5: there is no such file"),
        (["check", "table.csv", "--outputs", "strenth"], "write 'strength'"),
    ],
)
def test_the_command_tells_a_fault_in_one_line(typed, found, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(blend())
    assert main(typed) == 1
    error = capfd.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1 and found in error
    assert "snakemake" not in error
