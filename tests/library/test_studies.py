"""Studies: found by name, merged into the run, and listed."""

from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from workflow_lib.core.errors import UserError
from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.models import DatasetSettings
from workflow_lib.run.named_settings import SettingsFolder, published_names
from workflow_lib.run.needed_data import missing_downloads, missing_supplies, steps_to_get
from workflow_lib.run.studies import study_files, study_of, with_study
from workflow_lib.run.study_list import study_lines

CONFIG = Path(__file__).parents[2] / "config"
WIDTH = 100
BASE = {"seed": 1, "n_splits": 5, "experiments": ["plain"], "report": {"title": "Base"}}
STUDY = {"n_splits": 10, "experiments": ["one", "two"], "report": {"author": "Someone"}}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "studies").mkdir()
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(BASE))
    (tmp_path / "studies" / "large.yaml").write_text(yaml.safe_dump(STUDY))
    return tmp_path


@pytest.fixture
def without_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFER_MIRROR", raising=False)


def test_a_study_is_the_run_that_its_file_configures():
    base = read_yaml(CONFIG / "config.yaml")
    merged = read_yaml(CONFIG / "config.yaml")
    update_config(merged, read_yaml(CONFIG / "studies" / "mulan.yaml"))
    (study,) = study_of(CONFIG, {"study": "mulan"}, ["config/config.yaml"])
    by_name = with_study(CONFIG, base | {"study": "mulan"}, study, {"study": "mulan"})
    of_file, of_study = (
        load_configuration(CONFIG, each, imports_classes=False).merged_dict()
        for each in (merged, by_name)
    )
    assert of_study == of_file
    assert not {"study", "about"} & set(of_study["run"])


def test_keys_of_the_command_come_before_those_of_the_study(folder):
    typed = {"study": "large", "n_splits": 5, "report": {"title": "Typed"}}
    merged = with_study(folder, BASE | typed, folder / "studies" / "large.yaml", typed)
    assert merged == {
        "study": "large",
        "seed": 1,
        "n_splits": 5,
        "experiments": ["one", "two"],
        "report": {"title": "Typed", "author": "Someone"},
    }


@pytest.mark.parametrize("given", [{}, BASE])
def test_what_a_module_changes_comes_before_the_study(folder, given):
    given = given | {"study": "large", "seed": 7}
    merged = with_study(folder, given, folder / "studies" / "large.yaml")
    assert merged == {
        "study": "large",
        "seed": 7,
        "n_splits": 10,
        "experiments": ["one", "two"],
        "report": {"title": "Base", "author": "Someone"},
    }


def test_a_run_without_a_study_has_no_file_of_one(folder):
    assert study_of(folder, BASE, ["config/config.yaml"]) == []


@pytest.mark.parametrize(
    ("name", "remedy"), [("larg", "write study=large"), ("other", "snakemake studies")]
)
def test_an_unknown_study_is_refused(folder, name, remedy):
    with pytest.raises(UserError) as caught:
        study_of(folder, {"study": name}, ["config/config.yaml"])
    assert caught.value.location == (
        "the run's configuration (config/config.yaml or --config), key study"
    )
    assert caught.value.found.startswith(f"there is no study named '{name}'")
    assert caught.value.remedy == remedy


def test_a_study_names_no_other_study(folder):
    (folder / "studies" / "large.yaml").write_text("study: large\n")
    with pytest.raises(UserError, match="names another one"):
        with_study(folder, {}, folder / "studies" / "large.yaml", {})


# The list


def row_of(lines: list[str], name: str) -> str:
    (line,) = [line for line in lines if line.split(" ")[0] == name]
    return line


@pytest.mark.usefixtures("without_data")
def test_every_study_is_listed_with_its_tables_and_data():
    lines = study_lines(CONFIG)
    assert max(map(len, lines)) <= WIDTH
    for name in ("(default)", *study_files(CONFIG)):
        assert row_of(lines, name)
    assert row_of(lines, "(default)").endswith("here")
    assert row_of(lines, "drug-activity-paper").endswith("you supply")
    assert " 9,17,18 " in row_of(lines, "drug-activity-paper")
    assert "download " in row_of(lines, "mulan")
    assert " 1-20 " in row_of(lines, "paper") and row_of(lines, "paper").endswith("*")
    heads = [lines.index(head) for head in ("Djerrab et al. (2018)", "Without a publication")]
    assert heads[0] < lines.index(row_of(lines, "series")) < heads[1]
    assert lines.index(row_of(lines, "mulan")) > heads[1]


def test_publications_of_studies_have_tables():
    known = {name.partition("-")[0] for name in published_names(CONFIG)}
    for path in (CONFIG / "config.yaml", *study_files(CONFIG).values()):
        about = read_yaml(path)["about"]
        assert about["topic"] and about.get("paper", "djerrab") in known, path


def test_a_study_with_a_fault_is_listed_with_the_reason(folder):
    (folder / "studies" / "broken.yaml").write_text("experiments: [one\n")
    (folder / "studies" / "odd.yaml").write_text("about: {topic: 7}\n")
    lines = study_lines(folder)
    assert "correct YAML" in row_of(lines, "broken")
    assert row_of(lines, "odd") and row_of(lines, "large")


# The data


@pytest.mark.usefixtures("without_data")
def test_what_is_missing_of_a_dataset(tmp_path):
    dataset = DatasetSettings.model_validate(SettingsFolder(CONFIG / "datasets").keys("edm"))
    (source,) = dataset.sources
    assert missing_downloads("edm", dataset) == [source.size]
    path = tmp_path / "resources" / "edm" / Path(source.path).name
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert missing_downloads("edm", dataset) == []
    assert steps_to_get(dataset, "edm.yaml") == []


@pytest.mark.usefixtures("without_data")
def test_every_dataset_with_files_of_the_user_says_how_to_get_them():
    supplied = {}
    datasets = SettingsFolder(CONFIG / "datasets")
    for name in datasets.names:
        dataset = DatasetSettings.model_validate(datasets.keys(name))
        if missing_supplies(dataset):
            supplied[name] = dataset
    assert {"awa", "caltech101", "drug-activity-paper", "graz-people"} <= set(supplied)
    for name, dataset in supplied.items():
        first, *steps = steps_to_get(dataset, f"{name}.yaml")
        assert first.startswith("you supply resources/") and steps, name
