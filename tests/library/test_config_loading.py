"""From files to a configuration: what is resolved, and how each fault is reported."""

import json
from pathlib import Path

import pytest
from configuration_example import (
    DATASET,
    EMBEDDED,
    EXPERIMENT,
    FOREST,
    MIXTURE,
    RIDGE,
    RUN,
    WEAK,
    write,
    write_example,
)

from workflow_lib.core.errors import UserError
from workflow_lib.core.plugins import TABLE_KINDS
from workflow_lib.run import loading
from workflow_lib.run.loading import load_configuration
from workflow_lib.run.named_settings import check_base_file
from workflow_lib.run.problems import ConfigurationError

TABLES = list(TABLE_KINDS.paths)
OWN_OPTIONS = {"file": "people.csv", "outputs": ["weight"], "numbers": ["chins"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_example(tmp_path / "config")


def error_of(folder, **changes) -> UserError:
    with pytest.raises(UserError) as caught:
        load_configuration(folder, RUN | changes)
    return caught.value


def message_of(folder, **changes) -> str:
    return str(error_of(folder, **changes))


def loaded(folder, **changes):
    """Return the configuration with some keys of the experiment."""
    write(folder, "experiments/first", EXPERIMENT | changes)
    return load_configuration(folder, RUN)


# What is resolved


def test_defaults_are_filled_in(folder):
    run = RUN | {"defaults": {"training_sizes": [5, 10], "test_size": 6}}
    configuration = load_configuration(folder, run)
    experiment = configuration.experiments["first"]
    assert experiment.training_sizes == (5, 10)
    assert experiment.test_size == 6
    assert experiment.n_splits == 2
    assert experiment.kernel == "rbf"
    assert [table.name for table in experiment.tables] == ["error"]
    assert list(configuration.splits_of("first")) == [0, 1]
    assert configuration.dataset_of("first").title == "Linnerud"


@pytest.mark.parametrize(
    ("n_splits", "of_the_run", "own", "expected"),
    [
        (10, 5, None, [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]),
        (7, 5, None, [[0, 1, 2, 3, 4], [5, 6]]),
        (3, 5, None, [[0, 1, 2]]),
        (3, 1, 2, [[0, 1], [2]]),
        (3, 2, 1, []),
        (1, 5, None, []),
    ],
)
def test_the_splits_of_every_job(folder, n_splits, of_the_run, own, expected):
    write(folder, "experiments/first", EXPERIMENT | ({"splits_per_job": own} if own else {}))
    run = RUN | {"n_splits": n_splits, "splits_per_job": of_the_run}
    configuration = load_configuration(folder, run)
    assert list(map(list, configuration.splits_of_jobs("first"))) == expected


@pytest.mark.parametrize(
    ("n_splits", "size", "made", "expected"),
    [
        (3, 5, [(0, 4), (5, 9)], [[0, 1, 2, 3, 4]]),
        (10, 5, [(0, 2)], [[0, 1, 2], [3, 4], [5, 6, 7, 8, 9]]),
        (7, 5, [(5, 5), (0, 4)], [[0, 1, 2, 3, 4], [5], [6]]),
        (6, 3, [(1, 1)], [[0], [1], [2], [3, 4, 5]]),
        (5, 5, [(0, 1), (0, 4)], [[0, 1], [2, 3, 4]]),
        (4, 1, [(1, 2)], [[0], [1, 2], [3]]),
        (3, 5, [(0, 0), (1, 1), (2, 2)], []),
    ],
)
def test_splits_that_were_made_stay_in_their_jobs(folder, n_splits, size, made, expected):
    write(folder, "experiments/first", EXPERIMENT)
    run = RUN | {"n_splits": n_splits, "splits_per_job": size}
    ranges = [range(first, last + 1) for first, last in made]
    jobs = load_configuration(folder, run).splits_of_jobs("first", ranges)
    assert list(map(list, jobs)) == expected
    # The same, once these jobs have run.
    again = load_configuration(folder, run).splits_of_jobs("first", [*reversed(jobs), *ranges])
    assert again == jobs


def test_numbers_of_a_block_on_the_command_line(folder):
    # What Snakemake makes of --config defaults='{training_sizes: [6, 8], test_size: 0.5}'.
    run = RUN | {"defaults": {"training_sizes": ["6", "8"], "test_size": "0.5"}}
    experiment = load_configuration(folder, run).experiments["first"]
    assert experiment.training_sizes == (6, 8)
    assert experiment.test_size == 0.5
    message = message_of(folder, defaults={"training_sizes": ["6", "x"]})
    assert "key defaults.training_sizes[1]: found 'x'. Expected a whole number." in message


def test_the_experiment_overrides_the_defaults(folder):
    own = {"training_sizes": [7], "n_splits": 3, "kernel": "linear", "methods": ["ridge"]}
    experiment = loaded(folder, **own, tables=[], figures=[]).experiments["first"]
    assert (experiment.training_sizes, experiment.n_splits) == ((7,), 3)
    assert (experiment.kernel, experiment.methods) == ("linear", ("ridge",))
    assert (experiment.tables, experiment.figures) == ((), ())


def test_default_methods_are_those_that_can_work_sorted(folder):
    write(folder, "methods/another", RIDGE | {"in_default": False})
    configuration = load_configuration(folder, RUN)
    assert configuration.methods_of("first") == ("embedded", "forest", "ridge")
    assert list(configuration.left_out["first"]) == ["weak"]
    assert "weak_sizes" in configuration.left_out["first"]["weak"][0]


def test_weak_methods_are_added_when_there_are_weak_sizes(folder):
    configuration = loaded(folder, weak_sizes=[3, 6])
    assert "weak" in configuration.methods_of("first")
    assert configuration.left_out == {"first": {}}


def test_jobs_leave_the_classes_of_methods_to_the_process_that_started_them(folder):
    learner = {"feature_learner": {"transformer": "no_such_package.Transformer"}}
    write(folder, "methods/ridge", RIDGE | learner)
    assert "cannot be imported" in message_of(folder)
    load_configuration(folder, RUN, imports_classes=False)


def test_a_package_that_an_encoder_needs_is_missed_before_the_run(monkeypatch):
    config, run = Path(__file__).parents[2] / "config", {"experiments": ["survey-gamma-poisson"]}
    for is_there in (True, False):
        monkeypatch.setattr(loading, "is_installed", lambda package, found=is_there: found)
        if is_there:
            load_configuration(config, run)
        else:
            with pytest.raises(UserError, match=r"options.encode: the package skrub .*encoders"):
                load_configuration(config, run)
    load_configuration(config, run, imports_classes=False)


def test_a_dataset_name_is_an_experiment(folder):
    configuration = load_configuration(folder, RUN | {"experiments": ["people"]})
    experiment = configuration.experiments["people"]
    assert (experiment.title, experiment.dataset) == ("Linnerud", "people")
    assert experiment.training_sizes == (20, 50, 100, 200)
    assert [figure.kind for figure in experiment.figures] == ["learning_curve"]


def test_components_are_fixed_for_mixtures_only(folder):
    configuration = loaded(folder, components=[2, 10])
    assert configuration.components_of("first", "embedded") == ("2", "10")
    assert configuration.components_of("first", "ridge") == ("selected",)
    assert configuration.component_counts("first", "mixture") == (2, 10)
    assert configuration.component_candidates("embedded", "10") == (10,)


def test_selected_components_come_from_the_grids(folder):
    grid = WEAK["grid"] | {"n_components": [2, 6]}
    write(folder, "methods/weak", WEAK | {"grid": grid})
    configuration = loaded(folder, weak_sizes=[3])
    assert configuration.component_counts("first", "mixture") == (1, 2, 4, 6)
    assert configuration.component_candidates("weak", "selected") == (2, 6)
    assert configuration.component_candidates("ridge", "selected") == (1,)


def test_models_are_those_of_the_methods(folder):
    configuration = load_configuration(folder, RUN)
    assert configuration.models_of("first") == ("mixture",)
    assert configuration.model_of("ridge") is None


def test_only_what_is_used_is_kept_and_read(folder):
    write(folder, "datasets/unused", "title: [\n")
    write(folder, "models/unused", "kind: nothing\n")
    write(folder, "experiments/unused", "title: [\n")
    write(folder, "methods/unused", "label: [\n")
    configuration = loaded(folder, methods=["ridge"])
    assert list(configuration.methods) == ["ridge"]
    assert configuration.models == {}
    assert list(configuration.datasets) == ["people"]


def test_merged_dict_is_plain_json(folder):
    merged = load_configuration(folder, RUN, ["config/config.yaml"]).merged_dict()
    text = json.dumps(merged, allow_nan=False)
    assert json.loads(text) == merged
    assert merged["methods"]["embedded"]["grid"]["alpha"] == [0.1, ".inf"]
    assert merged["experiments"]["first"]["methods"] == ["embedded", "forest", "ridge"]
    assert merged["run"]["seed"] == 1
    assert merged["sources"] == ["config/config.yaml"]
    assert list(merged["left_out"]["first"]) == ["weak"]


def test_a_new_dataset_and_a_new_method_are_one_file_each(folder):
    write(folder, "datasets/new-people", DATASET | {"title": "New"})
    write(folder, "methods/new-ridge", RIDGE | {"label": "New"})
    configuration = load_configuration(folder, RUN | {"experiments": ["first", "new-people"]})
    assert "new-ridge" in configuration.methods_of("first")
    assert "new-ridge" in configuration.methods_of("new-people")
    assert configuration.dataset_of("new-people").title == "New"


# How faults are reported


def test_a_value_from_the_command_line(folder):
    assert message_of(folder, seed="x") == (
        "the run's configuration (config/config.yaml, --configfile or --config), key seed: "
        "found 'x'. Expected a whole number."
    )


def test_the_given_sources_are_named(folder):
    with pytest.raises(UserError, match=r"\(config/config.yaml, mine.yaml or --config\), key seed"):
        load_configuration(folder, RUN | {"seed": -1}, ["config/config.yaml", "mine.yaml"])


def test_a_key_written_twice_in_a_file_of_the_run(folder):
    # Snakemake has taken the last one.
    write(folder, "mine", "seed: 1\nexperiments: [first]\nseed: 2\n")
    with pytest.raises(UserError, match="config/mine.yaml, line 3: the key 'seed' is written tw"):
        load_configuration(folder, RUN | {"seed": 2}, ["config/mine.yaml"])
    (folder / "mine.json").write_text('{\n\t"seed": 2\n}')
    load_configuration(folder, RUN | {"seed": 2}, ["config/mine.json"])


def test_unknown_key_of_the_run(folder):
    message = message_of(folder, defaults={"trainig_sizes": [10]})
    assert "key defaults.trainig_sizes: there is no such key" in message
    assert "To fix it: write 'training_sizes'." in message


def test_missing_experiments():
    with pytest.raises(UserError, match="key experiments: the key is missing"):
        load_configuration("config", {})


def test_unknown_experiment_lists_files_and_datasets(folder):
    message = message_of(folder, experiments=["frist"])
    assert "key experiments: there is no experiment and no dataset named 'frist'" in message
    assert "an experiment (first) or a dataset (people)" in message
    assert "write 'first'" in message


def test_unknown_method_in_the_defaults(folder):
    message = message_of(folder, defaults={"methods": ["rigde"]})
    assert message.startswith("the run's configuration (")
    assert "key defaults.methods: there is no method named 'rigde'" in message


FILES = {
    "methods/ridge": RIDGE,
    "methods/embedded": EMBEDDED,
    "methods/forest": FOREST,
    "models/mixture": MIXTURE,
    "datasets/people": DATASET,
    "experiments/first": EXPERIMENT,
}
FAULTS = {
    "methods/ridge": [
        ({"colour": "#000000"}, "colour: there is no such key."),
        ({"color": "black"}, "color: found 'black'. Expected a colour written '#RRGGBB'."),
        (
            {"grid": {"alpha": [0.1, -1], "width": [1]}},
            "grid.alpha[1]: found -1. Expected a number greater than 0.",
        ),
        (
            {"grid": RIDGE["grid"] | {"alphas": [1]}},
            "grid.alphas: there is no such key. Expected one of: weak_weight, n_components, "
            "alpha, width, state_dim, projection. To fix it: write 'alpha'.",
        ),
        (
            {"regressor": "kernel-ridge"},
            "regressor: found 'kernel-ridge'. Expected one of: ",
        ),
        ({"grid": 3}, "grid: found 3. Expected a block of keys."),
        ({"center": 1}, "center: found 1. Expected true or false."),
    ],
    "methods/embedded": [
        (
            {"model": "mixtures"},
            "model: there is no model named 'mixtures'. Expected one of: mixture. "
            "To fix it: write 'mixture'.",
        ),
    ],
    "methods/forest": [({"model": "mixture"}, "model: there is no such key; it is a key of")],
    "models/mixture": [({"kind": None}, "kind: the key is missing.")],
    "datasets/people": [
        (
            {"inputs": {"scale": "standart"}},
            "inputs.scale: found 'standart'. Expected 'none', 'standard', 'tf-idf', "
            "'multinomial', 'dirichlet-multinomial', 'markov' or 'products'. "
            "To fix it: write 'standard'.",
        ),
        (
            {"sources": [{"path": "a", "address": "a", "sha256": "0" * 64, "size": 1}]},
            "sources[0].address: found 'a'. "
            "Expected an address that begins with https:// or http://.",
        ),
    ],
    "experiments/first": [
        (
            {"dataset": "poeple"},
            "dataset: there is no dataset named 'poeple'. Expected one of: people. "
            "To fix it: write 'people'.",
        ),
        (
            {"methods": ["rigde"]},
            "methods: there is no method named 'rigde'. Expected one of: embedded, forest, ridge, "
            "weak. To fix it: write 'ridge'.",
        ),
        (
            {"training_sizes": [50, 20]},
            "training_sizes: found [50, 20]. Expected numbers in strictly increasing order.",
        ),
        (
            {"training_sizes": ["all", 20]},
            "training_sizes: found ['all', 20]. Expected 'all' once, as the last of the sizes.",
        ),
        (
            {"training_sizes": [20, "al"]},
            "training_sizes[1]: found 'al'. Expected a whole number from 1, or all.",
        ),
        (
            {"training_sizes": [30, 20, "all"]},
            "training_sizes: found [30, 20, 'all']. Expected numbers in strictly increasing order.",
        ),
        ({"training_sizes": []}, "training_sizes: found []. Expected a list of at least 1."),
        (
            {"components": "selectd"},
            "components: found 'selectd'. Expected 'selected' or a list, for example "
            "[first, second]. To fix it: write 'selected'.",
        ),
        ({"components": [0, 4]}, "components[0]: found 0. Expected a number from 1."),
        (
            {"test_size": 1.5},
            "test_size: found 1.5. "
            "Expected a fraction between 0 and 1, or a whole number of rows from 1.",
        ),
        (
            {"tables": [{"name": "a", "kind": "errors", "caption": "b"}]},
            f"tables[0].kind: found 'errors'. Expected {', '.join(map(repr, TABLES[:-1]))} or "
            f"{TABLES[-1]!r}. To fix it: write 'error'.",
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [(name, *fault) for name, faults in FAULTS.items() for fault in faults],
)
def test_wrong_keys_and_values(folder, name, changes, expected):
    content = FILES[name] | changes
    write(folder, name, {key: value for key, value in content.items() if value is not None})
    # Each is reported once, whatever uses the file.
    message = message_of(folder, experiments=["first", "people"])
    assert message.startswith(f"config/{name}.yaml, key {expected}")


def test_a_table_or_figure_without_a_name_has_that_of_its_kind(folder):
    figure = {"kind": "learning_curve", "caption": "a"}
    figures = loaded(folder, figures=[figure, figure | {"name": "b"}]).experiments["first"].figures
    assert [each.name for each in figures] == ["learning-curve", "b"]
    write(folder, "experiments/first", EXPERIMENT | {"figures": [figure, figure]})
    assert message_of(folder).endswith(
        "Expected items of different names (an item without a name has that of its kind)."
    )


def test_decimals_are_of_tables_of_errors(folder):
    table = {"name": "a", "kind": "time", "caption": "b", "decimals": 2}
    write(folder, "experiments/first", EXPERIMENT | {"tables": [table]})
    assert message_of(folder).startswith(
        "experiment 'first', table 'a', key decimals: time shows no errors, so 2 decimals have "
        "no meaning. Expected a table of errors. To fix it: leave out the key."
    )
    found = loaded(folder, tables=[table | {"kind": "error"}])
    assert found.experiments["first"].tables[0].decimals == 2


def test_published_tables_are_those_of_the_folder(folder):
    table = {"name": "a", "kind": "error", "caption": "b", "paper_table": "someone-2"}
    write(folder, "experiments/first", EXPERIMENT | {"tables": [table]})
    (folder / "paper_tables").mkdir()
    (folder / "paper_tables" / "someone-1.csv").write_text("table\n")
    assert message_of(folder).startswith(
        "config/experiments/first.yaml, table 'a', key paper_table: there is no published table "
        "named 'someone-2'. Expected one of: someone-1. To fix it: write 'someone-1'."
    )
    (folder / "paper_tables" / "someone-2.csv").write_text("table\n")
    assert load_configuration(folder, RUN)


def test_syntax_error_of_a_used_file(folder):
    write(folder, "datasets/people", "title: People\nreader: [csv\n")
    assert message_of(folder).startswith("config/datasets/people.yaml, line 3: ")


def test_all_faults_are_reported_together(folder):
    write(folder, "methods/ridge", RIDGE | {"color": "black"})
    write(folder, "models/mixture", MIXTURE | {"n_init": 0})
    write(folder, "experiments/first", EXPERIMENT | {"dataset": "poeple"})
    error = error_of(folder, experiments=["first", "people", "third"])
    assert isinstance(error, ConfigurationError)
    lines = str(error).splitlines()
    assert lines[0] == "The configuration has 4 errors:"
    assert len(lines) == 5
    assert all(line.startswith("- ") for line in lines[1:])
    assert sum("config/methods/ridge.yaml, key color" in line for line in lines) == 1


def test_at_most_ten_faults_are_shown(folder):
    lines = message_of(folder, experiments=[f"missing-{n}" for n in range(12)]).splitlines()
    assert lines[0] == "The configuration has 12 errors:"
    assert len(lines) == 12
    assert lines[-1] == "... and 2 more."


def test_a_named_method_that_cannot_work_is_refused(folder):
    write(folder, "experiments/first", EXPERIMENT | {"methods": ["weak", "ridge"]})
    assert message_of(folder) == (
        "experiment 'first', method 'weak': a weakly supervised method needs an experiment with "
        "weak_sizes. To fix it: take 'weak' out of the methods, or change "
        "config/experiments/first.yaml or config/datasets/people.yaml or config/methods/weak.yaml."
    )


def test_a_contradictory_method_is_refused_even_in_default(folder):
    write(folder, "methods/forest", RIDGE | {"form": "reduced"})
    assert "so form must be null" in message_of(folder)


def test_default_without_any_method_is_refused(folder):
    write(folder, "datasets/people", DATASET | {"task": "classes"})
    of_classes = {"split": "per_class", "metric": "accuracy", "training_sizes": [1, 2]}
    write(folder, "experiments/first", EXPERIMENT | of_classes)
    for name, method in (("ridge", RIDGE), ("embedded", EMBEDDED), ("weak", WEAK)):
        write(folder, f"methods/{name}", method | {"in_default": False})
    message = message_of(folder)
    assert "experiment 'first', methods: default: no method can run (" in message
    assert "and the task is classes" in message


def test_sizes_of_a_split_per_class_may_be_smaller_than_the_folds(folder):
    write(folder, "datasets/people", DATASET | {"task": "classes"})
    of_classes = {"split": "per_class", "metric": "accuracy", "training_sizes": [1, 2]}
    settings = loaded(folder, **of_classes)
    assert settings.experiments["first"].training_sizes == (1, 2)


def test_a_k_fold_split_has_whole_repetitions(folder):
    k_fold = {"split": "k_fold", "outer_folds": 7, "training_sizes": ["all"]}
    write(folder, "experiments/first", EXPERIMENT | k_fold)
    settings = load_configuration(folder, RUN | {"n_splits": 3})
    assert settings.splits_of("first") == range(7)
    assert settings.gram_rows_of("first") == 2000
    assert settings.landmarks_of("first") is not None
    assert loaded(folder, **k_fold, n_splits=21).splits_of("first") == range(21)
    write(folder, "experiments/first", EXPERIMENT | k_fold | {"n_splits": 3})
    assert "n_splits: 3 is not a multiple of outer_folds: 7" in message_of(folder)


def test_a_figure_shows_methods_of_its_experiment_only(folder):
    figure = {"name": "curve", "kind": "learning_curve", "caption": "Some.", "methods": ["nothing"]}
    write(folder, "experiments/first", EXPERIMENT | {"figures": [figure]})
    message = message_of(folder)
    assert "experiment 'first', figure 'curve', key methods: 'nothing' is not a method" in message


@pytest.mark.parametrize("methods", ["default", ["ridge", "embedded"]])
def test_a_table_of_components_is_left_out_with_the_last_mixture(folder, methods):
    write(folder, "datasets/people", DATASET | {"reader": "table", "options": OWN_OPTIONS})
    table = {"name": "groups", "kind": "typical_rows", "caption": "Some."}
    found = loaded(folder, tables=[table], methods=methods)
    assert found.experiments["first"].tables[0].name == "groups"
    found = loaded(folder, tables=[table], methods=["ridge"])
    assert found.experiments["first"].tables == ()


def test_a_method_of_a_users_table_is_left_out_by_one_edit(folder):
    write(folder, "datasets/people", DATASET | {"reader": "table", "options": OWN_OPTIONS})
    stack = {"regressor": "stack", "members": ["ridge", "embedded"], "grid": {}}
    write(folder, "methods/both", RIDGE | stack)
    shown = ["ridge", "embedded"]
    figure = {"name": "curve", "kind": "learning_curve", "caption": "Some.", "methods": shown}
    for methods, members in ((["ridge", "embedded"], shown), (["ridge"], ["ridge"])):
        found = loaded(folder, figures=[figure], methods=[*methods, "both"])
        assert found.members_of("first", "both") == tuple(members)
    write(folder, "experiments/first", EXPERIMENT | {"figures": [figure], "methods": ["both"]})
    assert "a stack combines those of its members" in message_of(folder)


def test_a_model_that_does_not_suit_its_method_is_named(folder):
    write(folder, "models/mixture", {"kind": "gaussian"})
    message = message_of(folder)
    assert "config/methods/embedded.yaml: the projected pre-image needs a mixture" in message
    assert "change it or its model, config/models/mixture.yaml" in message


def test_fewer_rows_than_folds_is_refused(folder):
    write(folder, "experiments/first", EXPERIMENT | {"training_sizes": [4, 10]})
    message = message_of(folder)
    assert "4 training rows cannot be cut into 5 folds" in message
    assert "raise training_sizes in config/experiments/first.yaml or lower n_folds" in message


def test_an_experiment_may_not_take_the_name_of_another_dataset(folder):
    write(folder, "datasets/first", DATASET)
    message = message_of(folder)
    assert message.startswith("config/experiments/first.yaml, key dataset: the experiment is named")


def test_an_experiment_may_not_take_the_name_of_a_folder_of_results(folder):
    write(folder, "experiments/tables", EXPERIMENT)
    message = message_of(folder, experiments=["tables"])
    assert "'tables' cannot be the name of an experiment: results/tables is taken" in message


def test_a_file_that_would_be_overlooked_is_refused(folder):
    (folder / "methods" / "ridge.yml").write_text("label: Other\n")
    assert message_of(folder).startswith(
        "config/methods/ridge.yml: the name of the file ends in '.yml'"
    )


def test_a_stack_combines_the_members_that_are_there(folder):
    stack = RIDGE | {"regressor": "stack", "members": ["ridge", "forest"], "grid": {}}
    write(folder, "methods/stack", stack)
    with pytest.raises(UserError, match="none of ridge, forest is"):
        loaded(folder, methods=["stack"])
    for methods in (["ridge", "stack"], ["ridge", "forest", "stack"]):
        configuration = loaded(folder, methods=methods)
        assert configuration.members_of("first", "stack") == tuple(methods[:-1])


def test_memberships_of_series_are_not_projected(folder):
    both = EMBEDDED | {"grid": EMBEDDED["grid"] | {"projection": ["raw", "simplex"]}}
    write(folder, "methods/both", both)
    write(folder, "methods/raw", EMBEDDED | {"preimage": "closed_form"})
    found, names = {}, ["embedded", "both", "raw"]
    for task in ("regression", "series"):
        write(folder, "datasets/people", DATASET | {"task": task})
        configuration = loaded(folder, methods=names)
        found[task] = [configuration.projections_of("first", name) for name in names]
    assert found["regression"] == [[True], [False, True], [False]]
    assert found["series"] == [[False]] * 3


def test_studies_are_of_what_a_method_knows_of_weak_rows(folder):
    rival = {"form": None, "preimage": None, "penalty": "shared"}
    write(folder, "methods/means", WEAK | rival | {"weak_outputs": "component_mean"})
    grid = RIDGE["grid"] | {"weak_weight": [1.0]}
    ceiling = RIDGE | {"weak": True, "weak_outputs": "true", "grid": grid}
    write(folder, "methods/ceiling", ceiling)
    names = ["weak", "means", "ceiling", "ridge"]
    studies = {"weak_weight": [0.0, 0.1], "weak_noise": [0.5]}
    configuration = loaded(folder, methods=names, weak_sizes=[5], studies=studies)
    assert [configuration.studies_of("first", name) for name in names] == [
        {"weak_weight": [0.0, 0.1], "weak_noise": [0.5]},
        {"weak_weight": [], "weak_noise": [0.5]},
        {"weak_weight": [], "weak_noise": []},
        {},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "config.yaml: the file is empty. "),
        (b"# nothing\n", "config.yaml: the file is empty. "),
        (b"- a\n", "config.yaml: found a list. "),
        (b"\x88\x88", "config.yaml: it is not UTF-8 text. "),
        (b"seed: [1\n", "config.yaml, line 2: "),
        (b"{}", None),
        (b"seed: 1\n", None),
    ],
)
def test_the_file_that_every_run_begins_with_is_named(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    path = Path("config.yaml")
    check_base_file(path)
    path.write_bytes(content)
    if message is None:
        check_base_file(path)
        return
    with pytest.raises(UserError) as caught:
        check_base_file(path)
    assert str(caught.value).startswith(message)
