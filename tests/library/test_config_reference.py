"""The shipped files agree with the settings classes, the schema and each other."""

import csv
import json
import re
import shutil
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml
from each_case import each_case

from workflow_lib.core.yaml_files import read_yaml
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, MethodFile
from workflow_lib.run import reference
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.models import RunSettings
from workflow_lib.run.named_settings import SETTINGS_OF_KIND, SettingsFolder
from workflow_lib.run.studies import study_files, with_study

CONFIG = Path(__file__).parents[2] / "config"
FOLDERS = {model: SettingsFolder(CONFIG / f"{kind}s") for kind, model in SETTINGS_OF_KIND.items()}
RUNS = (CONFIG / "config.yaml", *CONFIG.glob("papers/*/config.yaml"), *study_files(CONFIG).values())
SHIPPED = {
    **{str(path.relative_to(CONFIG)): (RunSettings, read_yaml(path)) for path in RUNS},
    **{
        f"{folder.path.name}/{name}": (model, folder.keys(name))
        for model, folder in FOLDERS.items()
        for name in folder.names
    },
}


def run_with(name: str = "") -> dict:
    """Return the default run, updated by a file of config/ as Snakemake does it."""
    run = read_yaml(CONFIG / "config.yaml")
    for key, value in (read_yaml(CONFIG / name) if name else {}).items():
        run[key] = run[key] | value if isinstance(value, dict) else value
    return run


def test_reference_and_schema_are_written(tmp_path, capsys):
    reference.main(["--folder", str(tmp_path)])
    text = (tmp_path / "reference.md").read_text(encoding="utf-8")
    assert text.startswith(reference.TITLE) and text.endswith(reference.sections())
    written = (tmp_path / "schema.json").read_text(encoding="utf-8")
    assert json.loads(written) == reference.schema()
    assert capsys.readouterr().out.count("Written: ") == 2


def test_every_file_of_the_folder_has_a_kind():
    files = {folder.file(name) for folder in FOLDERS.values() for name in folder.names}
    assert files | set(RUNS) == set(CONFIG.rglob("*.yaml"))
    assert [error for folder in FOLDERS.values() for error in folder.errors] == []


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """Return what checks files by one definition of the schema, which is itself checked."""
    checked = schema_of_all() | {"$ref": f"#/$defs/{name}"}
    return jsonschema.Draft202012Validator(checked)


@cache
def schema_of_all() -> dict:
    schema = reference.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@each_case(("model", "data"), list(SHIPPED.values()), ids=list(SHIPPED))
def test_shipped_settings_are_valid_for_the_models_and_the_schema(model, data):
    name = model.__name__
    if model is MethodFile:
        regressor = data.get("regressor", DEFAULT_REGRESSOR)
        name, model = f"method-{regressor}", reference.keys_of_regressors()[regressor]
    model.model_validate(data)
    validator(name).validate(data)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("method-training_mean", {"label": "a", "summary": "b", "color": "red", "marker": "o"}),
        ("ModelSettings", {"kind": "gaussian", "n_inits": 3}),
        ("RunSettings", {"experiments": ["a"], "n_folds": 1}),
    ],
)
def test_the_schema_refuses_what_the_models_refuse(kind, data):
    schema = reference.schema()
    schema["$ref"] = f"#/$defs/{kind}"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(data)


def test_the_schema_knows_the_options_of_each_reader():
    schema = reference.schema()
    schema["$ref"] = "#/$defs/DatasetSettings"
    dataset = read_yaml(CONFIG / "datasets" / "linnerud.yaml")
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(dataset)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(dataset | {"options": {"anything": 1}})


def test_the_reference_lists_every_key():
    text = reference.sections()
    for _, prefix, model in reference.SECTIONS:
        for key in model.model_fields:
            assert f"| `{prefix}{key}` |" in text
    for regressor, parameters in reference.keys_of_regressors().items():
        part = text[text.index(f"`regressor: {regressor}`") :].partition("\n### ")[0]
        assert all(
            f"`{key}`" in part
            for key in set(parameters.model_fields) - set(MethodFile.model_fields)
        )


def test_the_reference_describes_a_key_of_several_regressors_once():
    text = reference.sections()
    rows = [line for line in text.splitlines() if line.startswith("| `grid.")]
    assert len(rows) == len(set(rows)) > 10


def test_two_blocks_of_one_name_are_refused():
    definitions = {"RankGrid": {"title": "Another"}}
    parameters = reference.keys_of_regressors()["reduced_rank_ridge"]
    with pytest.raises(ValueError, match="named RankGrid: rename that of a"):
        reference.add_definition(definitions, "a", parameters)


def test_the_examples_of_the_readme_work(tmp_path):
    folder = tmp_path / "config"
    shutil.copytree(CONFIG, folder)
    text = (CONFIG / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n# config/(\S+)\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == 6
    for name, content in examples:
        (folder / name).write_text(content, encoding="utf-8")
    run = run_with() | {"experiments": ["my-table", "linnerud"]}
    configuration = load_configuration(folder, run)
    assert configuration.dataset_of("my-table").title == "My table"
    assert "my-ridge" in configuration.methods_of("my-table")
    assert "my-ridge" in configuration.methods_of("linnerud")
    names = ["my-ridges", "my-ridge-pca", "my-ridge-pca-3", "my-forest"]
    mine = f"like: linnerud\ntitle: Mine\nmethods: [{', '.join(names)}]\n"
    (folder / "experiments/mine.yaml").write_text(mine, encoding="utf-8")
    alike = load_configuration(folder, run | {"experiments": ["mine"]}).methods
    assert alike["my-ridge-pca-3"].grid == alike["my-ridge-pca"].grid == alike["my-ridges"].grid
    assert alike["my-ridge-pca-3"].feature_learner.grid == {"n_components": (3,)}
    assert alike["my-forest"].grid_values("n_trees") == (500,)
    method = yaml.safe_load((folder / "methods/ofer-gmm.yaml").read_text(encoding="utf-8"))
    method |= {"model": "mixture-diagonal"}
    (folder / "methods/mine.yaml").write_text(yaml.safe_dump(method), encoding="utf-8")
    configuration = load_configuration(folder, run)
    assert configuration.models["mixture-diagonal"].covariance_type == "diag"
    study = with_study(folder, run_with(), folder / "studies" / "my-study.yaml", {})
    assert list(load_configuration(folder, study).experiments) == ["my-table", "enb", "slump"]


def test_the_default_run():
    configuration = load_configuration(CONFIG, run_with())
    usual = (
        *("extra-trees", "m-krr", "m-rf", "ofer-density", "ofer-gmm", "ofer-gmm-paper"),
        *("ofer-stack", "ridge"),
    )
    assert configuration.methods_of("digits-completion") == (*usual, "wofer-gmm")
    assert configuration.methods_of("linnerud") == usual
    assert list(configuration.left_out["linnerud"]) == [
        "back-translation",
        "ofer-gssm",
        "ofer-gssm-paper",
        "ofer-unpaired",
        "wofer-gmm",
    ]
    assert configuration.components_of("mixture-d2", "ofer-gmm") == ("1", "2", "3", "10")
    assert configuration.components_of("mixture-d2", "m-krr") == ("selected",)
    assert configuration.component_counts("digits-completion", "mixture-tied") == (
        *(2, 3, 4, 6, 10, 20),
    )


def test_the_mulan_run():
    configuration = load_configuration(CONFIG, run_with("studies/mulan.yaml"))
    assert len(configuration.experiments) == 9
    for experiment in configuration.experiments.values():
        assert experiment.training_sizes == (20, 50, 100, 200)
        assert experiment.n_splits == 10
        assert experiment.studies.weak_weight == (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)


def test_methods_differ_in_figures():
    folder, experiments = SettingsFolder(CONFIG / "methods"), SettingsFolder(CONFIG / "experiments")
    methods = {name: folder.keys(name) for name in folder.names}
    for key in ("label", "color"):
        values = [method[key] for method in methods.values() if key in method]
        assert len(set(values)) == len(values), key
    # There are fewer markers than methods; those that meet in a figure have different ones.
    runs = map(read_yaml, study_files(CONFIG).values())
    for settings in [*map(experiments.keys, experiments.names), *runs]:
        names = settings.get("methods") or settings.get("defaults", {}).get("methods", "default")
        if names == "default":
            names = [name for name, method in methods.items() if method.get("in_default")]
        markers = [methods[name]["marker"] for name in names if "marker" in methods[name]]
        assert len(set(markers)) == len(markers), settings


def published_rows(number: int) -> list[dict[str, str]]:
    path = CONFIG / "paper_tables" / f"djerrab-{number}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@each_case(
    ("number", "count"),
    [
        (1, 6),
        (2, 12),
        (3, 36),
        (5, 16),
        (6, 36),
        (7, 8),
        (8, 8),
        (9, 20),
        (10, 20),
        (11, 35),
        (12, 45),
        (13, 35),
        (14, 45),
        (15, 12),
        (16, 12),
        (17, 8),
        (18, 8),
        (19, 10),
        (20, 10),
    ],
)
def test_published_tables(number, count):
    rows, methods = published_rows(number), FOLDERS[MethodFile]
    assert len(rows) == count
    columns = "table row column value spread unit method components training_size".split()
    assert [name for name in rows[0] if name != "weak_size"] == columns
    for row in rows:
        assert row["table"] == str(number)
        assert float(row["value"]) > 0
        # Empty where none is printed, or only that it is small.
        assert row["spread"] == "" or float(row["spread"]) > 0
        assert row["unit"] in ("RRMSE", "root_sum_rrmse", "norm_rrmse", "accuracy_percent", "s")
        if row["unit"] == "accuracy_percent":
            assert float(row["value"]) + float(row["spread"]) < 100
        assert row["method"] in methods
        assert row["components"] in ("selected", "2", "4", "10")
        # Empty where the sizes of the paper are not those of the experiments. Tables of classes
        # count the examples of each class.
        sizes = range(1, 15) if row["unit"] == "accuracy_percent" else range(10, 1001)
        assert row["training_size"] == "" or int(row["training_size"]) in sizes
        assert row.get("weak_size", "") == "" or int(row["weak_size"]) in range(0, 2501)
    cells = {tuple(row[key] for key in ("row", "column")) for row in rows}
    assert len(cells) == count


@pytest.mark.parametrize(
    ("number", "earlier", "count"),
    [
        (8, 7, 2),  # OFER-GMM of both tasks
        (10, 9, 5),  # OFER-GMM at every size
        (13, 11, 14),  # m-SVM and OFER-GMM at every size
        (14, 12, 18),  # MLP and OFER-GMM at every size
    ],
)
def test_numbers_that_the_paper_prints_twice_are_the_same(number, earlier, count):
    def numbers(table):
        keys = "row method components training_size weak_size unit".split()
        return {
            tuple(row[key] for key in keys): (row["value"], row["spread"])
            for row in published_rows(table)
        }

    first, second = numbers(earlier), numbers(number)
    shared = first.keys() & second.keys()
    assert len(shared) == count
    assert {key: first[key] for key in shared} == {key: second[key] for key in shared}


@pytest.mark.parametrize(
    ("data", "weak_table", "training_size", "best"),
    [("Caltech101", 13, "10", "0.01"), ("AWA", 14, "14", "0.1")],
)
def test_the_best_published_weak_weight_is_that_of_the_weak_tables(
    data, weak_table, training_size, best
):
    row = f"wOFER+2500 {data}"
    study = {number["column"]: number for number in published_rows(15) if number["row"] == row}
    assert list(study) == ["0", "0.001", "0.01", "0.1", "1", "10"]
    assert max(study, key=lambda weight: float(study[weight]["value"])) == best
    (reported,) = [
        number
        for number in published_rows(weak_table)
        if (number["training_size"], number["weak_size"]) == (training_size, "2500")
    ]
    for key in ("value", "spread", "method", "weak_size"):
        assert study[best][key] == reported[key]
