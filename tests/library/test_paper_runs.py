"""The tables of the paper that each study runs, read from the files."""

from pathlib import Path

from workflow_lib.report.paper_contents import PaperItem, commands
from workflow_lib.report.reproduced_tables import STAND_IN
from workflow_lib.run.paper_runs import paper_runs

CONFIG = Path(__file__).parents[2] / "config"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def some_folder(folder: Path) -> Path:
    write(folder / "studies" / "one.yaml", "about: {minutes: 3}\nexperiments: [first, plain]\n")
    write(
        folder / "experiments" / "first.yaml",
        "dataset: supplied\n"
        "tables:\n  - {name: a, kind: error, paper_table: djerrab-9}\n  - {name: b, kind: time}\n"
        "  - {name: d, kind: error, paper_table: someone-1}\n"
        "figures:\n  - {name: c, kind: geometry}\n",
    )
    write(
        folder / "datasets" / "supplied.yaml",
        "reader: gram\nstand_in_for: null\noptions: {folder: resources/x}\n",
    )
    write(folder / "datasets" / "plain.yaml", "reader: arff\nstand_in_for: videos of table 7\n")
    return folder


def test_a_study_names_its_experiments_and_their_tables(tmp_path):
    assert paper_runs(some_folder(tmp_path)) == {
        "one": [
            {
                "experiment": "first",
                "dataset": "supplied",
                "dataset_file": "datasets/supplied.yaml",
                "paper_tables": ["djerrab-9", "someone-1"],
                "figure_kinds": ["geometry"],
                "stand_in_for": None,
                "compares_ofer": True,
                "reader": "gram",
                "is_user_supplied": True,
                "minutes": 3,
            },
            {
                "experiment": "plain",
                "dataset": "plain",
                "dataset_file": "datasets/plain.yaml",
                "paper_tables": [],
                "figure_kinds": [],
                "stand_in_for": "videos of table 7",
                "compares_ofer": True,
                "reader": "arff",
                "is_user_supplied": False,
                "minutes": 3,
            },
        ]
    }


def test_files_without_valid_experiments_are_passed_over(tmp_path):
    folder = some_folder(tmp_path)
    expected = paper_runs(folder)
    write(folder / "studies" / "broken.yaml", "experiments: [first\n")
    write(folder / "studies" / "words.yaml", "experiments: first\n")
    write(folder / "studies" / "empty.yaml", "")
    write(folder / "studies" / "unknown.yaml", "experiments: [absent, 7]\n")
    write(folder / "experiments" / "homeless.yaml", "dataset: absent\n")
    write(folder / "studies" / "homeless.yaml", "experiments: [homeless]\n")
    assert paper_runs(folder) == expected


def test_runs_of_other_methods_stand_in_for_no_table_of_the_first_paper(tmp_path):
    folder = some_folder(tmp_path)
    write(folder / "studies" / "one.yaml", "experiments: [plain]\ndefaults: {methods: [fv-svm]}\n")
    runs = paper_runs(folder)
    assert runs["one"][0]["stand_in_for"] == "videos of table 7"
    item = PaperItem(
        "Djerrab et al. (2018)", "table", "7", "Title", "Data", "RRMSE", "", "djerrab-7"
    )
    assert commands(item, runs, (STAND_IN,)) == ([], False)
    write(folder / "studies" / "one.yaml", "experiments: [plain]\n")
    write(folder / "experiments" / "plain.yaml", "dataset: plain\nmethods: [fv-svm]\n")
    assert commands(item, paper_runs(folder), (STAND_IN,)) == ([], False)
    (folder / "experiments" / "plain.yaml").unlink()
    ((command,), _) = commands(item, paper_runs(folder), (STAND_IN,))
    assert command["line"] == "snakemake --cores 2 --config study=one"


def tables_of_studies() -> set[str]:
    """Return the names of the published tables that experiments of a run or a study show."""
    return {
        name
        for experiments in paper_runs(CONFIG).values()
        for experiment in experiments
        for name in experiment["paper_tables"]
    }


def test_every_table_of_the_first_paper_is_run_by_some_study():
    assert tables_of_studies() >= {f"djerrab-{number}" for number in range(1, 21)}


def test_the_paper_run_takes_no_stand_in():
    of_paper = paper_runs(CONFIG)["paper"]
    assert [experiment["experiment"] for experiment in of_paper if experiment["stand_in_for"]] == []
    assert {experiment["dataset"] for experiment in of_paper if experiment["is_user_supplied"]} == {
        "awa",
        "caltech101",
        "drug-activity-paper",
        "first-impressions-s1",
        "first-impressions-s2",
        "kogan10k",
    }
