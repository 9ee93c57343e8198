"""A user table: bad input is reported in one message, and three commands lead to predictions."""

import csv
import html
import json
import re
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest
from browser import needs_browser, page_in_browser
from small_run import Outcome, contents, copy_folder, edit_yaml, jobs_to_run, snakemake, write_yaml

from workflow_lib.table.saved_model import load_model
from workflow_lib.table.table_predictions_stage import rounded
from workflow_lib.table.terminal_summary import HOLDS_ROWS

CONFIGURATION = "config/own.yaml"
NAME = "blend"
DATASET = f"config/tables/datasets/{NAME}.yaml"
EXPERIMENT = f"config/tables/experiments/{NAME}.yaml"
MODEL = f"results/{NAME}/model.h5"
METHODS = ["m-krr", "m-mean"]
HEADER = "sample,heat,colour,strength,weight"
NEW_ROWS = ["heat,colour", "2.5,red", "7.25,blue", ",red", "4,mauve"]
SECTIONS = ("answer", "leaderboard", "intervals", "data-profile", "next")


def blend(n_rows: int = 30) -> str:
    """Return a table of a number, a category and two outputs that depend on them."""
    random = Random(11)
    lines = [HEADER]
    for row in range(n_rows):
        heat, colour = random.uniform(0, 9), random.choice(["red", "blue"])
        strength = heat + 3 * (colour == "red") + random.gauss(0, 0.4)
        weight = (heat - 4) ** 2 / 4 + random.gauss(0, 0.4)
        lines.append(f"s{row},{heat:.3f},{colour},{strength:.3f},{weight:.3f}")
    return "\n".join(lines) + "\n"


def wide(n_columns: int) -> str:
    """Return a table of 30 rows with this many columns, the last of them an output."""
    random = Random(3)
    names = [*(f"x{column}" for column in range(n_columns - 1)), "strength"]
    lines = [",".join(names)]
    lines += [",".join(str(random.randrange(100)) for _ in names) for _ in range(30)]
    return "\n".join(lines) + "\n"


def arguments(command: str, **request: str) -> list[str]:
    """Return the arguments of one of the three commands as a user types them."""
    pairs = [f"{key}={value}" for key, value in request.items()]
    return [command, "--configfile", CONFIGURATION, *(["--config", *pairs] if pairs else [])]


def run(folder: Path, command: str, **request: str) -> Outcome:
    return snakemake(folder, *arguments(command, **request))


def run_all(commands: dict[str, tuple[Path, str, dict]]) -> dict[str, Outcome]:
    """Run commands that do not touch each other's files, two at a time; return how they ended.

    Each is a folder, the command and the request.
    """

    def outcome(command: tuple[Path, str, dict]) -> Outcome:
        folder, target, request = command
        return snakemake(folder, *arguments(target, **request), "--nolock")

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(commands, pool.map(outcome, commands.values())))


def refusal(outcome: Outcome) -> str:
    """Check that a command ended with one message that can be acted on, and return it."""
    assert outcome.status == 1, outcome.text
    assert "Traceback" not in outcome.text
    assert "Exception" not in outcome.text
    assert "this is a defect" not in outcome.text
    errors = [line for line in outcome.text.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, outcome.text
    location, _, found = errors[0].removeprefix("error: ").partition(": ")
    assert location and found, errors[0]
    assert " Expected " in errors[0], errors[0]
    assert " To fix it: " in errors[0], errors[0]
    return errors[0]


def assert_reports(outcome: Outcome, words: Iterable[str]) -> None:
    error = refusal(outcome)
    for word in words:
        assert word in error


def predictions(folder: Path, name: str, *lines: str) -> tuple[str, list[dict[str, str]]]:
    """Predict new rows, of these lines; return what is printed and the predictions."""
    (folder / "new.csv").write_text("\n".join(lines) + "\n")
    outcome = run(folder, "predict", name=name, rows="new.csv").succeeded()
    return outcome.text, records(folder / f"results/{name}/predictions/new.csv")


def records(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def fresh(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with a table, without an experiment yet."""
    folder = copy_folder(project, tmp_path_factory.mktemp("own") / "run")
    # No experiment of this configuration is on a table of the user's own.
    write_yaml(folder / CONFIGURATION, {"seed": 7, "n_folds": 3, "experiments": ["clusters"]})
    (folder / f"{NAME}.csv").write_text(blend())
    return folder


# The command new


def write_bad_tables(folder: Path) -> None:
    lines = blend().splitlines(keepends=True)
    (folder / "empty.csv").write_bytes(b"")
    (folder / "short.csv").write_text("".join(lines[:4]))
    (folder / "notes.doc").write_text(blend())
    (folder / "wide.csv").write_text(wide(10_000))


REFUSED_TABLES = {
    "empty": ("empty.csv", "strength", ["empty.csv: the file is empty", "a header"]),
    "absent": (f"{NAME}.csv", "strenght", ["no column 'strenght'", "weight", "'strength'"]),
    "short": ("short.csv", "strength", ["short.csv: 3 of 3 rows", "at least 10", "add rows"]),
    "missing": ("blond.csv", "strength", ["blond.csv: there is no such file", "'blend.csv'"]),
    "ending": ("notes.doc", "strength", ["notes.doc: the ending '.doc'", ".csv, .tsv"]),
}
"""By the name of the request: the file, the outputs and words of the message."""

BLEND = {"data": f"{NAME}.csv", "outputs": "strength"}
REFUSED_REQUESTS = {
    "capitals": ({"name": "Blend", **BLEND}, ["key name: found 'Blend'", "write 'blend'"]),
    "taken": (
        {"name": "clusters", **BLEND},
        ["config/datasets/clusters.yaml exists already", "choose another name"],
    ),
    "nothing": ({}, ["snakemake new: a new table without its settings", "data=FILE"]),
}
"""By the name of the case: the request, and words of the message."""


@pytest.fixture(scope="module")
def requested(fresh: Path) -> tuple[dict[str, str], dict[str, Outcome]]:
    """Return the configuration before all requests for new tables, and how each of them ended."""
    write_bad_tables(fresh)
    before = contents(fresh, "config")
    requests = {
        name: {"name": name, "data": file, "outputs": outputs}
        for name, (file, outputs, _) in REFUSED_TABLES.items()
    }
    requests |= {name: request for name, (request, _) in REFUSED_REQUESTS.items()}
    requests["wide"] = {"name": "wide", "data": "wide.csv", "outputs": "strength"}
    return before, run_all({name: (fresh, "new", request) for name, request in requests.items()})


@pytest.mark.parametrize("name", REFUSED_TABLES)
def test_a_table_that_cannot_be_used_is_reported(requested, name):
    assert_reports(requested[1][name], REFUSED_TABLES[name][2])


@pytest.mark.parametrize("name", REFUSED_REQUESTS)
def test_a_request_that_cannot_be_met_is_reported(requested, name):
    assert_reports(requested[1][name], REFUSED_REQUESTS[name][1])


def test_a_table_of_ten_thousand_columns_is_taken(requested, fresh):
    outcome = requested[1]["wide"]
    assert outcome.status == 0, outcome.text
    assert "wide.csv: 30 rows, 10000 columns" in outcome.text
    assert "predicted from 9999 numbers" in outcome.text


def test_what_is_refused_leaves_no_configuration(requested, fresh):
    before, _ = requested
    after = contents(fresh, "config")
    written = {"config/tables/datasets/wide.yaml", "config/tables/experiments/wide.yaml"}
    assert set(after) - set(before) - {DATASET, EXPERIMENT} == written
    assert {name: after[name] for name in before} == before


# The command answer


@pytest.fixture(scope="module")
def made(fresh: Path) -> Path:
    """Return the folder with the configuration that `new` wrote, cut down to a short run."""
    request = {"outputs": "strength,weight", "methods": ",".join(METHODS), "splits": "2"}
    outcome = run(fresh, "new", name=NAME, data=f"{NAME}.csv", **request).succeeded()
    assert "Plan: 2 methods, 2 splits (random)" in outcome.text
    assert f"Written: {DATASET} and {EXPERIMENT}" in outcome.text
    assert f"answer --config name={NAME}" in outcome.text
    edit_yaml(
        fresh / EXPERIMENT,
        training_sizes=[12, 24],
        tables=[{"name": "error", "kind": "error", "caption": "Test errors."}],
    )
    return fresh


def rename_column(folder: Path) -> None:
    path = folder / f"{NAME}.csv"
    path.write_text(path.read_text().replace("heat", "warmth", 1))


def delete_table(folder: Path) -> None:
    (folder / f"{NAME}.csv").rename(folder / "blends.csv")


def edit_dataset(old: str, new: str):
    """Return the function that replaces a text in the dataset's file, as a user would."""

    def edit(folder: Path) -> None:
        path = folder / DATASET
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))

    return edit


MISTAKES = {
    "deleted table": (
        delete_table,
        [f"{DATASET}, key options.file: there is no file 'blend.csv'", "write 'blends.csv'"],
    ),
    "renamed column": (rename_column, ["blend.csv, option numbers", "no column 'heat'", "warmth"]),
    "wrong key": (
        edit_dataset("numbers:", "nubmers:"),
        [f"{DATASET}, key options.nubmers", "write 'numbers'"],
    ),
    "wrong value": (
        edit_dataset("kernel: rbf", "kernel: rfb"),
        [f"{DATASET}, key inputs.kernel: found 'rfb'", "write 'rbf'"],
    ),
    "wrong brackets": (
        edit_dataset("outputs: [", "outputs: [["),
        [f"{DATASET}, line ", "brackets"],
    ),
}
"""By what a user did between `new` and `answer`: how, and words of the message."""

REFUSED_ANSWERS = {
    "no table": ({"name": "blind"}, ["no table named 'blind'", "snakemake --cores 1 new --config"]),
    "no name": ({}, ["snakemake answer: no table of your own is named", "answer --config name="]),
    "no table of your own": (
        {"name": "clusters"},
        ["snakemake answer: 'clusters' is no table of your own", "experiments='[clusters]'"],
    ),
    "new table": (
        {"name": NAME, **BLEND},
        ["snakemake answer: data=FILE names a new table", f"answer --config name={NAME}"],
    ),
}
"""By the name of the case: the request, and words of the message."""


@pytest.fixture(scope="module")
def mistaken(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Return how `answer` ended after each of the mistakes, each in a folder of its own."""
    parent = tmp_path_factory.mktemp("mistaken")
    commands = {name: (made, "answer", request) for name, (request, _) in REFUSED_ANSWERS.items()}
    for name, (mistake, _) in MISTAKES.items():
        folder = copy_folder(made, parent / name)
        mistake(folder)
        commands[name] = (folder, "answer", {"name": NAME})
    return run_all(commands)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_after_new_is_reported(mistaken, name):
    assert_reports(mistaken[name], MISTAKES[name][1])


@pytest.mark.parametrize("name", REFUSED_ANSWERS)
def test_an_answer_needs_the_name_of_a_table(mistaken, name):
    assert_reports(mistaken[name], REFUSED_ANSWERS[name][1])


@pytest.fixture(scope="module")
def answer(made: Path) -> Outcome:
    """Return how `answer` ended."""
    return run(made, "answer", name=NAME).succeeded()


@pytest.fixture(scope="module")
def answered(made: Path, answer: Outcome) -> Path:
    """Return the folder with the answer; not to be changed but by further predictions."""
    return made


def test_the_answer_ends_with_its_headline_and_the_next_command(answered, answer):
    written = json.loads((answered / f"results/{NAME}/answer.json").read_text())
    # Longer sentences are wrapped.
    words = " ".join(answer.text.split())
    assert words.endswith(
        f"{' '.join(written['sentences'][0].split())} Report: results/{NAME}/report.html "
        f"Model: results/{NAME}/model.h5 {HOLDS_ROWS} "
        "To predict new rows, in a table with the same input columns: snakemake --cores 2 predict "
        f"--config name={NAME} rows=new_rows.csv"
    )


@pytest.fixture
def copy(answered: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder with the answer that a test may change."""
    return copy_folder(answered, tmp_path / "run")


def jobs_of_answer(folder: Path) -> set[str]:
    return jobs_to_run(folder, *arguments("answer", name=NAME)) - {"answer"}


def test_a_second_answer_runs_nothing(answered):
    assert jobs_of_answer(answered) == set()


def test_another_cell_makes_another_answer(copy):
    path = copy / f"{NAME}.csv"
    lines = path.read_text().splitlines()
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:3], str(float(cells[3]) + 1), cells[4]])
    path.write_text("\n".join(lines) + "\n")
    jobs = jobs_of_answer(copy)
    splits = ("splits 0 to 1", "split final")
    assert {f"read {NAME}", f"model {NAME}", f"calibration {NAME}", "report"} <= jobs
    assert {f"regression m-krr {NAME} {named}" for named in splits} <= jobs


def test_an_answer_without_its_table_is_refused_though_older_results_are_there(copy):
    delete_table(copy)
    assert_reports(run(copy, "answer", name=NAME), [f"{DATASET}, key options.file"])


def test_predictions_need_the_saved_model_alone(copy):
    delete_table(copy)
    assert len(predictions(copy, NAME, *NEW_ROWS)[1]) == len(NEW_ROWS) - 1


def test_the_report_states_the_answer(answered):
    answer = json.loads((answered / f"results/{NAME}/answer.json").read_text())
    page = (answered / f"results/{NAME}/report.html").read_text()
    assert answer["winner"] == "m-krr"
    assert html.escape(answer["sentences"][0]) in page.replace("&nbsp;", " ")
    anchors = re.findall(r'<section id="([a-z-]+)"', page)
    assert [anchor for anchor in anchors if anchor in SECTIONS] == list(SECTIONS)
    for name in ("methods", "outputs", "curve"):
        assert f'id="figure-answer-{name}"' in page
    points = records(answered / f"results/figures/{NAME}-answer-methods.csv")
    assert {row["method"] for row in points} == {row["method"] for row in answer["leaderboard"]}


@needs_browser
def test_a_browser_shows_the_report_without_errors(answered, tmp_path):
    page, console = page_in_browser(answered / f"results/{NAME}/report.html", tmp_path)
    assert console == []
    for anchor in SECTIONS:
        assert f'<section id="{anchor}"' in page


# The command predict

REFUSED_ROWS = {
    "lacking": (["heat", "1"], ["lacking.csv, columns: 1 of 2 inputs are missing: colour"]),
    "wordy": (["heat,colour", "2,red", "hot,red"], ["wordy.csv, line 3, column 'heat'", "'hot'"]),
}
"""By the name of the file with new rows: its lines, and words of the message."""

REFUSED_PREDICTIONS = {
    "no rows": ({"name": NAME}, ["key rows: no new rows are named", "rows=FILE"]),
    "no name": ({"rows": "rows.csv"}, ["snakemake predict: no table of your own is named"]),
    "no table": ({"name": "blind", "rows": "rows.csv"}, ["no table named 'blind'", "new --config"]),
    "no table of your own": (
        {"name": "clusters", "rows": "rows.csv"},
        ["snakemake predict: 'clusters' is no table of your own", "no model of it is saved"],
    ),
    "no file": (
        {"name": NAME, "rows": "rose.csv"},
        ["key rows: there is no file 'rose.csv'", "write 'rows.csv'"],
    ),
    "folder": ({"name": NAME, "rows": "config"}, ["key rows: 'config' is a folder"]),
}
"""By the name of the case: the request, and words of the message."""


@pytest.fixture(scope="module")
def predicted(answered: Path) -> dict[str, Outcome]:
    """Return how requests for predictions ended, two of which are good."""
    cells = [line.split(",") for line in NEW_ROWS]
    turned = [f"{colour},{more},{heat}" for (heat, colour), more in zip(cells, ["more", *"1234"])]
    files = {"rows": NEW_ROWS, "turned": turned}
    files |= {name: lines for name, (lines, _) in REFUSED_ROWS.items()}
    for name, lines in files.items():
        (answered / f"{name}.csv").write_text("\n".join(lines) + "\n")
    requests = {name: {"name": NAME, "rows": f"{name}.csv"} for name in files}
    requests |= {name: request for name, (request, _) in REFUSED_PREDICTIONS.items()}
    return run_all({name: (answered, "predict", request) for name, request in requests.items()})


@pytest.mark.parametrize("name", REFUSED_ROWS)
def test_new_rows_that_cannot_be_used_are_reported(predicted, answered, name):
    assert_reports(predicted[name], REFUSED_ROWS[name][1])
    assert not (answered / f"results/{NAME}/predictions/{name}.csv").exists()


@pytest.mark.parametrize("name", REFUSED_PREDICTIONS)
def test_predictions_that_cannot_be_made_are_reported(predicted, name):
    assert_reports(predicted[name], REFUSED_PREDICTIONS[name][1])


def test_new_rows_are_predicted_as_the_model_does_in_python(predicted, answered):
    assert predicted["rows"].status == 0, predicted["rows"].text
    written = records(answered / f"results/{NAME}/predictions/rows.csv")
    found = rounded(load_model(answered / MODEL).predict(answered / "rows.csv"))
    assert found.output_names == ["strength", "weight"]
    for values, suffix in ((found.outputs, ""), (found.lower, " lower"), (found.upper, " upper")):
        shown = [[float(row[name + suffix]) for name in found.output_names] for row in written]
        np.testing.assert_allclose(shown, values, rtol=1e-9)
    np.testing.assert_allclose([float(row["novelty"]) for row in written], found.novelty, rtol=1e-9)
    assert [row["note"] for row in written] == list(found.notes)
    assert [row["line"] for row in written] == ["2", "3", "4", "5"]


def test_the_report_the_table_and_the_terminal_name_one_method(predicted, answered):
    answer = json.loads((answered / f"results/{NAME}/answer.json").read_text())
    model, label = load_model(answered / MODEL), answer["label"]
    assert (model.method, model.label) == (answer["winner"], label)
    page = (answered / f"results/{NAME}/report.html").read_text()
    assert f"Use {label}, " in page.replace("&nbsp;", " ")
    written = records(answered / f"results/{NAME}/predictions/rows.csv")
    assert {row["method"] for row in written} == {label}
    assert f"4 rows predicted by {label}" in predicted["rows"].text
    # An interval for each output: those of this method.
    assert model.level == 0.9 and all(row["strength lower"] for row in written)


def test_a_category_that_was_never_seen_and_a_missing_cell_are_noted(predicted, answered):
    notes = [row["note"] for row in records(answered / f"results/{NAME}/predictions/rows.csv")]
    assert notes[:2] == ["", ""]
    assert "heat" in notes[2]
    assert "colour: 'mauve' was never seen" in notes[3]
    assert "2 of 4 rows have a note" in predicted["rows"].text


def test_the_terminal_states_the_level_and_the_novelty(predicted):
    end = predicted["rows"].text.partition(" finished in ")[2]
    assert "4 rows predicted by" in end
    assert "the intervals should hold 90 % of the true values" in end
    assert re.search(r"\d of 4 rows (is|are) unlike the training rows", end)


def test_columns_in_another_order_give_the_same_predictions(predicted, answered):
    assert predicted["turned"].status == 0, predicted["turned"].text
    assert "columns that are not inputs, ignored: more" in predicted["turned"].text
    first, second = (
        (answered / f"results/{NAME}/predictions/{name}.csv").read_bytes()
        for name in ("rows", "turned")
    )
    assert first == second


# A class to predict


def test_classes_keep_their_shares_in_training_even_a_single_row(fresh, tmp_path):
    folder = copy_folder(fresh, tmp_path / "run")
    random = Random(2)
    groups = {"common": (0, 24), "rare": (4, 7), "single": (9, 1)}
    rows = [
        f"{random.gauss(mean, 1):.3f},{random.gauss(-mean, 1):.3f},{name}"
        for name, (mean, count) in groups.items()
        for _ in range(count)
    ]
    (folder / "kinds.csv").write_text("\n".join(["heat,cold,kind", *rows]) + "\n")
    request = {"data": "kinds.csv", "classes": "kind", "methods": "class-krr,m-svm", "splits": "2"}
    outcome = run(folder, "new", name="kinds", **request).succeeded()
    assert "Classes with a single row, which is never a test row: 'single'" in outcome.text
    assert "2 splits (stratified), 10, 20, 26 training rows" in outcome.text
    edit = {"training_sizes": [26], "tables": [], "figures": []}
    edit_yaml(folder / "config/tables/experiments/kinds.yaml", **edit)
    outcome = run(folder, "answer", name="kinds").succeeded()
    assert "(2 splits, 26 training rows" in " ".join(outcome.text.split())
    answer = json.loads((folder / "results/kinds/answer.json").read_text())
    assert answer["baseline"]["label"] == "guessing the most frequent class"
    assert (answer["training_size"], answer["n_test"]) == (26, 6)
    # The test rows are five common rows and a rare row.
    assert answer["baseline"]["mean"] == pytest.approx(100 * 5 / 6)
    _, found = predictions(folder, "kinds", "heat,cold", "0,0", ",", "9,-9")
    assert [row["unlike_training"] for row in found] == ["no", "yes", "no"]
    assert [row["class"] for row in found][::2] == ["common", "single"]


# Rows without inputs


def test_rows_without_inputs_teach_the_density_of_outputs_and_nothing_else(fresh, tmp_path):
    folder = copy_folder(fresh, tmp_path / "run")
    method = "config/methods/ofer-unpaired.yaml"
    (folder / method).write_text((Path(__file__).parents[2] / method).read_text())
    lines = blend(50).splitlines()
    cells = [line.split(",") for line in lines[31:]]
    alone = [",".join([name, "", "", *outputs]) for name, _, _, *outputs in cells]
    (folder / "mixed.csv").write_text("\n".join([*lines[:31], *alone]) + "\n")
    request = {"data": "mixed.csv", "outputs": "strength,weight", "splits": "2"}
    outcome = run(
        folder, "new", name="mixed", methods="ofer-unpaired,m-mean", **request
    ).succeeded()
    assert "labelled: 30 rows have inputs and at least one output; unpaired: 20" in outcome.text
    assert "Rows with outputs but no input: 20. ofer-unpaired learns from these" in outcome.text
    assert "2 splits (random), 10, 24 training rows" in outcome.text
    edit_yaml(
        folder / "config/tables/experiments/mixed.yaml", training_sizes=[24], tables=[], figures=[]
    )
    outcome = run(folder, "answer", name="mixed").succeeded()
    answer = json.loads((folder / "results/mixed/answer.json").read_text())
    (used,) = answer["rows_used"]
    assert (used["kind"], used["count"], used["method"]) == ("unpaired", 20, "ofer-unpaired")
    (sentence,) = [text for text in answer["sentences"] if "20 outputs that lack inputs" in text]
    page = (folder / "results/mixed/report.html").read_text().replace("&nbsp;", " ")
    assert html.escape(sentence) in page and "20 with outputs but no input" in page
    model = load_model(folder / "results/mixed/model.h5")
    assert (model.method, model.training_size) == ("ofer-unpaired", 30)
    assert model.row_counts == {"labelled": 30, "weak": 0, "unpaired": 20}
    _, written = predictions(folder, "mixed", *NEW_ROWS)
    shown = [[float(row[name]) for name in model.output_names] for row in written]
    expected = rounded(model.predict(folder / "new.csv")).outputs
    np.testing.assert_allclose(shown, expected, rtol=1e-9)


# Bags of rows


def test_bags_of_rows_get_one_prediction_each_and_unlabelled_ones_are_learned_from(fresh, tmp_path):
    folder = copy_folder(fresh, tmp_path / "run")
    path = "config/papers/palasek/methods/fv-svm.yaml"
    shutil.copy(Path(__file__).parents[2] / path, folder / path)
    random = Random(4)

    def cells(bag: int) -> list[str]:
        mean = 2 * (bag % 2)
        drawn = [(random.gauss(mean, 1), random.gauss(-mean, 1)) for _ in range(6)]
        kind = ("well", "ill")[bag % 2] if bag < 30 else ""
        return [f"p{bag},{kind},{size:.4f},{1000 * weight:.1f}" for size, weight in drawn]

    rows = [line for bag in range(50) for line in cells(bag)]
    (folder / "cells.csv").write_text("\n".join(["patient,kind,size,weight", *rows]) + "\n")
    request = {"data": "cells.csv", "bag": "patient", "classes": "kind", "splits": "2"}
    methods = "fv-svm,fv-self-training"
    outcome = run(folder, "new", name="cells", methods=methods, **request).succeeded()
    assert "labelled: 30 bags have a class; unlabelled: 20" in outcome.text
    assert "2 splits (stratified), 10, 24 training bags" in outcome.text
    edit_yaml(folder / "config/tables/experiments/cells.yaml", training_sizes=[24], figures=[])
    outcome = run(folder, "answer", name="cells").succeeded()
    page = (folder / "results/cells/report.html").read_text().replace("&nbsp;", " ")
    assert "Do pseudo-classes of unlabelled bags help a linear machine?" in page
    assert "50: 30 labelled and 20 unlabelled; 300 rows together" in page
    answer = json.loads((folder / "results/cells/answer.json").read_text())
    (used,) = answer["rows_used"]
    assert (used["kind"], used["count"]) == ("unlabelled", 20)
    new = ["p1,4.0,-4000", "p2,-1,1000", "p1,3.9,-4100", "p2,,0", "p2,-0.9,900"]
    text, found = predictions(folder, "cells", "patient,size,weight", *new)
    assert "2 bags predicted by " in text
    assert [row["patient"] for row in found] == ["p1", "p2"]
    assert [row["class"] for row in found] == ["ill", "well"]
    assert [row["note"] for row in found] == [
        "",
        "rows left out, because a number is missing: 1 of 3",
    ]
