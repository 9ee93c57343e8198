"""While a file of a dataset is missing, the stand-ins of its experiment run instead."""

from pathlib import Path

import pytest
import yaml
from configuration_example import DATASET, EXPERIMENT, RUN, write, write_example

from workflow_lib.core.errors import UserError
from workflow_lib.report.reproduced_tables import tables_named
from workflow_lib.run.loading import load_configuration
from workflow_lib.table.verdict import replaced_sentences

CONFIG = Path(__file__).parents[2] / "config"

SOURCE = {
    "path": "tables/far.csv",
    "address": "https://example.org/far.csv",
    "sha256": "0" * 64,
    "size": 3,
}
STAND_INS = {"experiments": ["far", "first"], "stand_ins": {"far": ["near", "first"]}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of settings with an experiment whose data have a source, and run there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFER_MIRROR", raising=False)
    folder = write_example(tmp_path / "config")
    options = {"reader": "csv", "options": {"outputs": ["y"]}, "sources": [SOURCE]}
    write(folder, "datasets/away", DATASET | options)
    write(folder, "experiments/far", EXPERIMENT | {"dataset": "away"})
    write(folder, "experiments/near", EXPERIMENT)
    return folder


def run_in(folder, **changes):
    return load_configuration(folder, RUN | STAND_INS | changes)


def test_a_stand_in_replaces_an_experiment_whose_data_are_missing(folder):
    settings = run_in(folder)
    assert list(settings.experiments) == ["near", "first"]
    assert settings.replaced == {"far": ("near", "first")}
    assert settings.merged_dict()["replaced"] == {"far": ["near", "first"]}
    assert "away" not in settings.datasets


@pytest.mark.parametrize("location", ["resources/away/far.csv", "mirror/tables/far.csv"])
def test_sources_count_where_they_are_fetched_or_in_a_mirror(folder, monkeypatch, location):
    monkeypatch.setenv("OFER_MIRROR", "elsewhere:mirror")
    Path(location).parent.mkdir(parents=True)
    Path(location).write_text("y\n1")
    settings = run_in(folder)
    assert list(settings.experiments) == ["far", "first"]
    assert settings.replaced == {}


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({"folder": "given"}, ["given/labels.csv"]),
        ({"user_supplied": ["given/a.zip", "given/b.zip"]}, ["given/a.zip", "given/b.zip"]),
        ({"collection": "given/images.zip"}, ["given/images.zip"]),
    ],
)
def test_supplied_files_count_where_the_dataset_says_that_they_belong(
    folder, monkeypatch, options, files
):
    # The options are those of readers whose other options do not matter here.
    readers = {"folder": "drug_activity_gram", "user_supplied": "image_classes"}
    readers |= {"collection": "image_words"}
    (key,) = options
    more = {"features": ["hog"], "vectors": "names"} if key == "user_supplied" else {}
    content = DATASET | {"reader": readers[key], "options": options | more}
    if key != "folder":
        content |= {"task": "classes", "outputs": {"scale": "none"}}
    else:
        content |= {"inputs": {"scale": "none", "kernel": "precomputed"}}
    write(folder, "datasets/away", content)
    monkeypatch.setattr("workflow_lib.run.loading.capabilities.check_experiment", list_nothing)
    for number in range(len(files) + 1):
        replaced = replaced_of(folder)
        assert replaced == ({"far": ("near", "first")} if number < len(files) else {})
        if number < len(files):
            Path(files[number]).parent.mkdir(exist_ok=True)
            Path(files[number]).write_text("x")


def list_nothing(*arguments) -> list:
    return []


def replaced_of(folder):
    """Return what is replaced, whether or not the experiment can run in the example."""
    from workflow_lib.run.loading import replaced_experiments
    from workflow_lib.run.models import RunSettings
    from workflow_lib.run.named_settings import ConfigurationFiles

    run = RunSettings(**RUN | STAND_INS)
    files = ConfigurationFiles(folder)
    replaced = replaced_experiments(files, run, "here")
    assert files.errors == []
    return replaced


def test_only_an_experiment_of_the_run_has_stand_ins(folder):
    with pytest.raises(UserError) as caught:
        run_in(folder, stand_ins={"fra": ["near"]})
    assert str(caught.value) == (
        "the run's configuration (config/config.yaml, --configfile or --config), key stand_ins: "
        "'fra' is not an experiment of the run. Expected names among the experiments, each "
        "with those that stand in for it. To fix it: write 'far'."
    )


def test_a_stand_in_that_does_not_exist_is_reported(folder):
    with pytest.raises(UserError, match="no experiment and no dataset named 'nera'"):
        run_in(folder, stand_ins={"far": ["nera"]})


def test_the_report_says_what_was_replaced():
    assert replaced_sentences({"far": ("near",), "other": ("a", "b")}) == [
        "far did not run, because a file of its dataset is not on this machine; near stands in "
        "for it.",
        "other did not run, because a file of its dataset is not on this machine; a and b stand in "
        "for it.",
    ]


# The paper


def tables_of(settings) -> set[str]:
    """Return the tables of the paper that a run has, or has a whole experiment for."""
    named = {
        table.paper_table
        for experiment in settings.experiments.values()
        for table in experiment.tables
    }
    stand_ins = [dataset.stand_in_for for dataset in settings.datasets.values()]
    return named | {f"djerrab-{n}" for text in stand_ins for n in tables_named(text)}


def figures_of(settings) -> set[str]:
    experiments = settings.experiments.values()
    return {figure.kind for experiment in experiments for figure in experiment.figures}


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """Return the configuration of the paper's run, in a folder without any data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFER_MIRROR", raising=False)
    base = yaml.safe_load((CONFIG / "config.yaml").read_text())
    return base | yaml.safe_load((CONFIG / "studies" / "paper.yaml").read_text())


def test_all_of_the_paper_is_run_without_any_of_its_data(paper):
    settings = load_configuration(CONFIG, paper)
    assert tables_of(settings) >= {f"djerrab-{number}" for number in range(1, 21)}
    assert {"steps", "geometry", "class_steps"} <= figures_of(settings)
    supplied = [name for name in settings.experiments if name in paper["experiments"]]
    assert supplied == ["gaussian-d1", "mixture-d1", "mixture-d2", "series-synthetic"]
    stand_ins = {other for others in paper["stand_ins"].values() for other in others}
    assert set(settings.experiments) == {*supplied, *stand_ins}
    for name in stand_ins:
        assert settings.dataset_of(name).stand_in_for, name


def test_all_of_the_paper_is_run_on_its_data_where_they_are(paper, tmp_path):
    for name in ("drug-activity-paper", "first-impressions", "awa"):
        folder = tmp_path / "resources" / name
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    for name in ("kogan10k", "caltech101"):
        dataset = yaml.safe_load((CONFIG / "datasets" / f"{name}.yaml").read_text())
        named = [Path(source["path"]).name for source in dataset.get("sources", [])]
        supplied = dataset["options"].get("user_supplied", [])
        for path in [*(Path("resources", name, file) for file in named), *map(Path, supplied)]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    settings = load_configuration(CONFIG, paper)
    assert settings.replaced == {}
    assert list(settings.experiments) == paper["experiments"]
    tables = {
        table.paper_table
        for experiment in settings.experiments.values()
        for table in experiment.tables
    }
    assert tables >= {f"djerrab-{number}" for number in range(1, 21)}
    assert all(not dataset.stand_in_for for dataset in settings.datasets.values())
    assert {"steps", "geometry", "class_steps"} <= figures_of(settings)
