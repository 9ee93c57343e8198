"""Compatible settings: every rule accepts good combinations and refuses bad ones."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Literal

from configuration_example import DATASET, EMBEDDED, EXPERIMENT, FOREST, MIXTURE, RIDGE, WEAK
from each_case import each_case
from pydantic.fields import FieldInfo

from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import DEFAULT_REGRESSOR, parameters_of
from workflow_lib.run import capabilities
from workflow_lib.run.models import DatasetSettings, ExperimentSettings, ModelSettings
from workflow_lib.run.named_settings import SettingsFolder, validated

METHODS = Path(__file__).parents[2] / "config" / "methods"
GAUSSIAN = {"kind": "gaussian"}
FULL = EMBEDDED | {
    "form": "full",
    "covariance_block": "matrix",
    "preimage": "gradient",
    "start": "mean",
}
SINGLE = EMBEDDED | {"preimage": "closed_form", "penalty": "shared", "grid": RIDGE["grid"]}
STATE_SPACE = {"kind": "state_space"}
SERIES = SINGLE | {"penalty": "per_block", "grid": RIDGE["grid"] | {"state_dim": [1, 2]}}
COMPONENTS = RIDGE | {"regressor": "principal_component_ridge"}
OUTPUT = RIDGE | {
    "regressor": "output_kernel_regression",
    "output_kernel": "rbf",
    "preimage": "minimiser",
    "grid": RIDGE["grid"] | {"output_width": [1]},
}
LINEAR_OUTPUT = OUTPUT | {
    "output_kernel": "linear",
    "preimage": "candidates",
    "grid": RIDGE["grid"],
}
ALIGNMENT = OUTPUT | {"output_kernel": "gak", "preimage": "candidates"}
RANK = RIDGE | {"regressor": "reduced_rank_ridge", "grid": RIDGE["grid"] | {"rank": [1]}}
LAPLACIAN = RIDGE | {
    "regressor": "laplacian_ridge",
    "grid": RIDGE["grid"] | {"laplacian_weight": [1], "neighbours": [5]},
}
STACK = RIDGE | {"regressor": "stack", "members": ["ridge", "forest"], "grid": {}}
IMPUTED = WEAK | {
    "form": None,
    "preimage": None,
    "penalty": "shared",
    "weak_outputs": "component_mean",
}
CEILING = IMPUTED | {
    "model": None,
    "weak_outputs": "true",
    "grid": RIDGE["grid"] | {"weak_weight": [1.0]},
}
ESTIMATOR = {name: WEAK[name] for name in ("label", "summary", "color", "marker", "weak")}
ESTIMATOR |= {"regressor": "estimator", "estimator": "sklearn.linear_model.Ridge"}
ESTIMATOR |= {"model": "mixture", "form": "reduced", "preimage": "projected"}
ESTIMATOR |= {"grid": {"n_components": [2], "weak_weight": [1.0]}}
PROJECTION = EMBEDDED["grid"] | {"projection": ["raw", "simplex"]}
JOINT_GRID = {"n_components": [2], "joint_alpha": [0.1], "variance_floor": [0.05]}
JOINT = RIDGE | {"regressor": "joint_ridge", "model": "mixture", "grid": RIDGE["grid"] | JOINT_GRID}
LAGGED = RIDGE | {"regressor": "least_squares", "grid": {}}
BACK = RIDGE | {
    "regressor": "back_translation",
    "grid": RIDGE["grid"] | {"unpaired_weight": [0, 0.1]},
}
WITH_UNPAIRED = EXPERIMENT | {"unpaired_sizes": [10]}
WITH_WEAK = EXPERIMENT | {"weak_sizes": [10]}


def method_of(method: dict):
    """Return the settings of a method, and the faults of its keys."""
    parameters = parameters_of(method.get("regressor", "kernel_ridge"))
    return validated(parameters, method, "tried.yaml")


def reasons_of(method: dict, model: dict | None = None, dataset=None, experiment=None) -> list[str]:
    settings, errors = method_of(method)
    if errors:
        return [str(error) for error in errors]
    return capabilities.check(
        settings,
        ModelSettings(**model) if model else None,
        DatasetSettings(**DATASET | (dataset or {})),
        ExperimentSettings(**(experiment or EXPERIMENT)),
    )


@each_case(
    ("method", "model", "experiment"),
    [
        (RIDGE, None, EXPERIMENT),
        (FOREST, None, EXPERIMENT),
        (EMBEDDED, MIXTURE, EXPERIMENT),
        (WEAK, MIXTURE, WITH_WEAK),
        (FULL, MIXTURE, EXPERIMENT),
        (SINGLE, GAUSSIAN, EXPERIMENT),
        (COMPONENTS, None, EXPERIMENT),
        (OUTPUT, None, EXPERIMENT),
        (LINEAR_OUTPUT, None, EXPERIMENT),
        (LINEAR_OUTPUT | {"preimage": "mean"}, None, EXPERIMENT),
        (OUTPUT | {"preimage": "mean_shift"}, None, EXPERIMENT),
        (RANK, None, EXPERIMENT),
        (LAPLACIAN, None, EXPERIMENT),
        (STACK, None, EXPERIMENT),
        (RIDGE | {"regressor": "training_mean", "grid": {}}, None, EXPERIMENT),
        (EMBEDDED | {"combine": "average"}, MIXTURE, EXPERIMENT),
        (EMBEDDED | {"grid": PROJECTION}, MIXTURE, EXPERIMENT),
        (IMPUTED, MIXTURE, WITH_WEAK),
        (CEILING, None, WITH_WEAK),
        (BACK, None, WITH_UNPAIRED),
        (ESTIMATOR, MIXTURE, WITH_WEAK),
        (JOINT, MIXTURE, EXPERIMENT),
        (JOINT | {"combine": "average"}, MIXTURE, EXPERIMENT),
    ],
)
def test_good_combinations_pass(method, model, experiment):
    assert reasons_of(method, model, experiment=experiment) == []


@each_case(
    ("method", "model", "reason"),
    [
        (RIDGE | {"form": "reduced"}, None, "so form must be null"),
        (RIDGE | {"preimage": "closed_form"}, None, "so preimage must be null"),
        (OUTPUT | {"output_kernel": "gak"}, None, "gak needs the preimage candidates"),
        (OUTPUT | {"grid": RIDGE["grid"]}, None, "needs grid.output_width"),
        (
            LINEAR_OUTPUT | {"preimage": "minimiser"},
            None,
            "would be kernel ridge regression itself",
        ),
        (STACK | {"member_sizes": {"other": 3}}, None, "may name members only"),
        (JOINT, MIXTURE | {"covariance_type": "full"}, "share one variance"),
        (RIDGE | {"combine": "average"}, None, "combine: average is for methods with several"),
        (WEAK | {"weak_outputs": "neighbours"}, MIXTURE, "so form must be null"),
        (IMPUTED | {"weak": False}, MIXTURE, "weak_outputs: component_mean needs"),
        (IMPUTED | {"weak_outputs": "true"}, MIXTURE, "weak_outputs: true needs no model"),
        (
            EMBEDDED | {"preimage": "closed_form", "grid": PROJECTION},
            MIXTURE,
            "grid.projection is for the preimage projected",
        ),
        (LINEAR_OUTPUT | {"grid": OUTPUT["grid"]}, None, "must be empty"),
        (EMBEDDED | {"form": None}, MIXTURE, "needs a form"),
        (EMBEDDED | {"preimage": None}, MIXTURE, "needs a preimage"),
        (FULL | {"covariance_block": None}, MIXTURE, "needs a covariance_block"),
        (EMBEDDED | {"covariance_block": "matrix"}, MIXTURE, "covariance_block must be null"),
        (EMBEDDED | {"preimage": "gradient", "start": "mean"}, MIXTURE, "is for the full form"),
        (FULL | {"start": None}, MIXTURE, "needs a start"),
        (EMBEDDED | {"start": "mean"}, MIXTURE, "start must be null"),
        (SINGLE | {"preimage": "projected"}, GAUSSIAN, "projected pre-image needs a mixture"),
        (SINGLE | {"penalty": "per_block"}, GAUSSIAN, "at least two blocks (the blocks are: mu)"),
        (RIDGE | {"penalty": "per_block"}, None, "(the blocks are: outputs)"),
        (RIDGE | {"weak": True}, None, "weak labels are component memberships"),
        (FULL | {"weak": True}, MIXTURE, "weak labels are component memberships"),
        (EMBEDDED | {"weak": True}, MIXTURE, "needs grid.weak_weight"),
        (ESTIMATOR | {"model": None}, None, "an estimator needs the reduced form of a mixture"),
        (ESTIMATOR | {"grid": {"n_components": [2]}}, MIXTURE, "needs grid.weak_weight"),
        (WEAK | {"weak": False}, MIXTURE, "is for methods with weak: true"),
        (EMBEDDED | {"grid": RIDGE["grid"]}, MIXTURE, "a mixture needs grid.n_components"),
        (SINGLE | {"grid": EMBEDDED["grid"]}, GAUSSIAN, "grid.n_components is for mixtures"),
        (SINGLE | {"grid": SERIES["grid"]}, GAUSSIAN, "grid.state_dim is for state-space models"),
    ],
)
def test_contradictory_methods_are_refused(method, model, reason):
    # A dataset on which any method could run.
    dataset = {"task": "series", "inputs": {"lagged_values": "separate"}}
    reasons = reasons_of(method, model, dataset, WITH_WEAK)
    assert any(reason in message for message in reasons), reasons
    settings = method_of(method)[0], ModelSettings(**model) if model else None
    assert capabilities.check_method(*settings) == reasons


def keys_of(parameters: type, prefix: tuple = ()) -> dict[tuple, FieldInfo]:
    """Return the keys of a settings class and of its blocks, by their location."""
    keys = {}
    for key, field in getattr(parameters, "model_fields", {}).items():
        keys |= {(*prefix, key): field} | keys_of(field.annotation, (*prefix, key))
    return keys


UNKNOWN = "there is no such key; it is a key of methods with regressor"
WITH_RANK = [name for name in method_modules() if ("grid", "rank") in keys_of(parameters_of(name))]


@each_case(
    ("method", "key", "fault"),
    [
        (COMPONENTS | {"penalty": "per_block"}, "penalty", "there is no such key"),
        (COMPONENTS | {"output_kernel": "rbf"}, "output_kernel", f"{UNKNOWN}: output_kernel_regr"),
        (RIDGE | {"grid": RANK["grid"]}, "grid.rank", f"{UNKNOWN}: {', '.join(WITH_RANK)}"),
        (RIDGE | {"members": ["ridge"]}, "members", f"{UNKNOWN}: class_stack, stack"),
        (FOREST | {"model": "mixture"}, "model", "there is no such key"),
        (STACK | {"grid": RIDGE["grid"]}, "grid", "there is no such key"),
        (RIDGE | {"grid": {"width": [1]}}, "grid.alpha", "the key is missing"),
        (RANK | {"grid": RIDGE["grid"]}, "grid.rank", "the key is missing"),
        (STACK | {"members": []}, "members", "Expected a list of at least 1"),
        (OUTPUT | {"output_kernel": None}, "output_kernel", "Expected 'rbf', 'linear', 'dtw'"),
        (RIDGE | {"decoder": "one_hot"}, "decoder", "Expected 'euclidean' or 'cosine'"),
    ],
)
def test_unknown_and_missing_keys_of_a_method_are_named(method, key, fault):
    message = " ".join(str(error) for error in method_of(method)[1])
    assert f"tried.yaml, key {key}: " in message and fault in message


def first_file(regressor: str) -> dict:
    """Return the content of the first file of `config/methods` with a regressor."""
    methods = SettingsFolder(METHODS)
    files = map(methods.keys, methods.names)
    return next(keys for keys in files if keys.get("regressor", DEFAULT_REGRESSOR) == regressor)


def faults_of(data: dict, location: tuple, *value: object) -> list[str]:
    """Return the faults of a file with another value at a location, or without it."""
    data = block = copy.deepcopy(data)
    for name in location[:-1]:
        block = block.setdefault(name, {})
    block.pop(location[-1], None)
    block |= dict.fromkeys(location[-1:], *value) if value else {}
    return [str(error) for error in method_of(data)[1]]


@each_case("regressor", method_modules())
def test_every_regressor_has_its_own_keys_alone(regressor):
    data, own = first_file(regressor), keys_of(parameters_of(regressor))
    others = {location for name in method_modules() for location in keys_of(parameters_of(name))}
    for location in {("no_such_key",), *others} - set(own):
        # A block that is unknown is named as a whole; that of an estimator takes any key.
        if len(location) == 1 or any(key[:-1] == location[:-1] for key in own):
            (message,) = faults_of(data, location, [1])
            assert message.startswith(f"tried.yaml, key {'.'.join(location)}: there is no such key")
    # Keys of other regressors may be present and empty.
    empty = {"model": None, "kernel": [], "weak_outputs": None, "members": []}
    absent = {key: value for key, value in empty.items() if (key,) not in own}
    assert method_of(data | absent)[1] == []


@each_case("regressor", method_modules())
def test_every_required_key_is_missed(regressor):
    data, own = first_file(regressor), keys_of(parameters_of(regressor))
    assert all(field.description for field in own.values())
    for location, field in own.items():
        if field.is_required() and location != ("regressor",):
            (message,) = faults_of(data, location)
            assert message.startswith(f"tried.yaml, key {'.'.join(location)}: the key is missing")


def test_one_contradiction_gives_one_reason():
    assert len(reasons_of(EMBEDDED | {"form": None}, MIXTURE)) == 1
    assert len(reasons_of(RIDGE | {"form": "reduced"})) == 1


CLASSES = {"task": "classes"}
OF_CLASSES = EXPERIMENT | {"split": "per_class", "metric": "accuracy"}
K_FOLD = {"split": "k_fold", "outer_folds": 5}
TIMES = {"task": "series"}
GRAM = {"inputs": {"kernel": "precomputed", "scale": "none"}}
ONE_HOT = RIDGE | {"regressor": "class_ridge", "decoder": "one_hot"}
CANDIDATES = RIDGE | {
    "regressor": "class_ridge",
    "decoder": "candidates",
    "model": "mixture",
    "grid": RIDGE["grid"] | {"n_components": [3], "block_weight": [1.0]},
}


@each_case(
    ("method", "model", "dataset", "experiment", "reason"),
    [
        (SERIES | {"grid": RIDGE["grid"]}, STATE_SPACE, TIMES, EXPERIMENT, "needs grid.state_dim"),
        (
            SERIES,
            STATE_SPACE | {"covariance_type": "diag"},
            TIMES,
            EXPERIMENT,
            "is spherical or full, not diag",
        ),
        (
            SERIES | {"preimage": "gradient", "start": "mean"},
            STATE_SPACE,
            TIMES,
            EXPERIMENT,
            "Algorithm 1",
        ),
        (
            ONE_HOT | {"decoder": "output_kernel"},
            None,
            CLASSES,
            OF_CLASSES,
            "needs grid.output_width",
        ),
        (ONE_HOT | {"model": "mixture"}, MIXTURE, CLASSES, OF_CLASSES, "needs no model"),
        (CANDIDATES | {"weak": True}, MIXTURE, CLASSES, OF_CLASSES, "class_block"),
        (
            CANDIDATES | {"grid": RIDGE["grid"] | {"n_components": [3]}},
            MIXTURE,
            CLASSES,
            OF_CLASSES,
            "block_weight",
        ),
        (
            CANDIDATES | {"one_example": {"n_components": 5}},
            MIXTURE,
            CLASSES,
            OF_CLASSES,
            "one of grid.n_components",
        ),
        (ONE_HOT, None, {}, EXPERIMENT, "predicts classes"),
    ],
)
def test_methods_that_do_not_suit_their_task_are_refused(
    method, model, dataset, experiment, reason
):
    reasons = reasons_of(method, model, dataset, experiment)
    assert any(reason in message for message in reasons), reasons


LETTERS = {"reader": "table", "task": "classes"}
LETTERS |= {"options": {"file": "own.csv", "outputs": ["kind"], "sequence": "dna"}}
VECTORS = {"reader": "digits_segments", "task": "classes", "options": {"inputs": "rows"}}
BAGS = VECTORS | {"options": {"inputs": "ink"}}
WORDS = {"feature_learner": {"transformer": "workflow_lib.inputs.bag_shares.WordHistogram"}}
WORDS = ONE_HOT | WORDS | {"items": "counts", "kernel": ["linear"]}
NO_WIDTH = RIDGE | {"grid": {"alpha": [1.0]}}


@each_case(
    ("method", "model", "dataset", "experiment", "reason"),
    [
        (ONE_HOT, None, CLASSES, OF_CLASSES, None),
        (CANDIDATES, MIXTURE, CLASSES, OF_CLASSES, None),
        (ONE_HOT | {"kernel": ["linear", "rbf"]}, None, CLASSES, OF_CLASSES, None),
        (RIDGE | {"decoder": "cosine"}, None, CLASSES, OF_CLASSES, None),
        (RIDGE | {"decoder": "cosine"}, None, {}, EXPERIMENT, "finds a class"),
        (COMPONENTS, None, CLASSES, OF_CLASSES, "and the task is classes"),
        (
            ONE_HOT | {"decoder": "least_loss"},
            None,
            CLASSES,
            OF_CLASSES,
            "needs a dataset with class_tree or class_costs",
        ),
        (SERIES, STATE_SPACE, TIMES, EXPERIMENT, None),
        (SERIES, STATE_SPACE, {}, EXPERIMENT, "is for series, and the task is regression"),
        (ALIGNMENT, None, TIMES, EXPERIMENT, None),
        (ALIGNMENT, None, {}, EXPERIMENT, "gak compares series, and the task is regression"),
        (STACK, None, {}, EXPERIMENT | {"components": [2, 4]}, "the experiment fixes them"),
        (LAGGED, None, {"inputs": {"lagged_values": "separate"}}, EXPERIMENT, None),
        (LAGGED, None, {"inputs": {"lagged_values": "added"}}, EXPERIMENT, None),
        (LAGGED, None, {}, EXPERIMENT, "lagged_values: separate or added"),
        (LAGGED, None, {}, EXPERIMENT | {"lagged_values": "added"}, None),
        (WEAK, MIXTURE, {}, EXPERIMENT, "needs an experiment with weak_sizes"),
        (
            ESTIMATOR,
            MIXTURE,
            {"inputs": {"scale": "products"}},
            WITH_WEAK,
            "the inputs are texts or inner products",
        ),
        (FOREST, None, GRAM, EXPERIMENT, "needs feature vectors"),
        (RIDGE, None, GRAM, EXPERIMENT, None),
        (NO_WIDTH, None, {}, EXPERIMENT, "rbf kernel needs grid.width"),
        (NO_WIDTH, None, {}, EXPERIMENT | {"kernel": "linear"}, None),
        (BACK, None, {}, EXPERIMENT, "needs unpaired_sizes"),
        (BACK, None, GRAM, WITH_UNPAIRED, "needs feature vectors"),
        (BACK, None, CLASSES, WITH_UNPAIRED | OF_CLASSES, "and the task is classes"),
        (ONE_HOT, None, LETTERS, OF_CLASSES, "would take their codes for numbers"),
        (ONE_HOT | {"items": "letters"}, None, LETTERS, OF_CLASSES, None),
        (ONE_HOT, None, VECTORS, OF_CLASSES, None),
        (ONE_HOT, None, BAGS, OF_CLASSES, None),
        (WORDS, None, BAGS, OF_CLASSES, None),
        (WORDS, None, LETTERS, OF_CLASSES, "for counts, and the reader table gives letters"),
        (
            WORDS,
            None,
            VECTORS,
            OF_CLASSES,
            "for counts, and the reader digits_segments gives vectors",
        ),
    ],
)
def test_methods_that_cannot_work_on_the_data_are_refused(
    method, model, dataset, experiment, reason
):
    reasons = reasons_of(method, model, dataset, experiment)
    assert [reason in message for message in reasons] == [True] * (reason is not None), reasons
    settings = method_of(method)[0], ModelSettings(**model) if model else None
    assert capabilities.check_method(*settings) == []


def experiment_reasons(dataset: dict, experiment: dict) -> list[str]:
    return capabilities.check_experiment(
        DatasetSettings(**DATASET | dataset), ExperimentSettings(**EXPERIMENT | experiment)
    )


def with_table(**keys) -> dict:
    return {"tables": [{"name": "a", "caption": "b"} | keys]}


def of_study(kind: str) -> dict:
    return {"weak_sizes": [10]} | with_table(kind=kind)


@each_case(
    ("dataset", "experiment", "reason"),
    [
        (GRAM, {"kernel": "rbf"}, "must be precomputed, not rbf"),
        ({}, {"kernel": "precomputed"}, "whose inputs are a Gram matrix"),
        ({"inputs": {"kernel": "tanimoto"}}, {}, "tanimoto needs inputs.scale: none"),
        (
            {"inputs": {"scale": "tf-idf", "kernel": "tanimoto"}},
            {},
            "linear or rbf, not tanimoto",
        ),
        ({"inputs": {"scale": "markov"}}, {}, "inputs.scale: markov is for counts of transitions"),
        (
            {"reader": "drug_activity", "options": {"inputs": "tree"}},
            {},
            "counts of transitions need",
        ),
        ({}, with_table(kind="weak"), "a table of kind weak needs weak_sizes"),
        ({}, of_study("weak_weight"), "needs studies.weak_weight"),
        ({}, of_study("weak_noise"), "needs studies.weak_noise"),
        (
            {},
            {"figures": [{"name": "one", "kind": "series", "caption": "Series."}]},
            "needs series, and the task is regression",
        ),
        ({}, {"whole_groups": "folds"}, "needs split: grouped or k_fold, not random"),
        ({"task": "classes"}, {"split": "grouped"}, "and metric: accuracy"),
        (
            {"reader": "table", "options": {"file": "own.csv"}},
            {"wrong_labels": 0.3},
            "wrong_labels: 0.3 is for studies",
        ),
        ({}, {"split": "k_fold"}, "split: k_fold needs outer_folds"),
        ({}, {"outer_folds": 5}, "outer_folds: 5 needs split: k_fold, not random"),
        ({}, K_FOLD | {"n_splits": 12}, "n_splits: 12 is not a multiple of outer_folds: 5"),
        (
            {},
            {"split": "grouped", "training_sizes": [20, "all"]},
            "training_sizes with 'all' need the same number of rows in every split",
        ),
        ({"task": "classes"}, {"metric": "correlation"}, "classes need split"),
        ({}, {"metric": "accuracy"}, "rows of numbers need split"),
        ({"positive_class": "a"}, {}, "positive_class is for classes"),
        ({"class_tree": "tree.csv"}, {}, "class_tree and class_costs are for classes"),
        (
            {},
            with_table(kind="error", errors=["auc"]),
            "of a table are of classes, and the task is regression",
        ),
        (
            {"task": "classes"},
            with_table(kind="error", errors=["arrmse"]),
            "of a table are of rows of numbers, and the task is classes",
        ),
    ],
)
def test_contradictory_experiments_are_refused(dataset, experiment, reason):
    message = experiment_reasons(dataset, experiment)
    assert any(reason in text for text in message), message


@each_case(
    ("method", "model", "dataset", "experiment", "reason"),
    [
        (RIDGE, None, {}, {}, None),
        (FOREST, None, {}, {}, None),
        (EMBEDDED, MIXTURE, {}, {}, None),
        (COMPONENTS, None, {}, {}, "principal_component_ridge would need a Gram matrix"),
        (OUTPUT, None, {}, {}, "output_kernel_regression would need a Gram matrix"),
        (WEAK, MIXTURE, {}, {"weak_sizes": [10]}, "without weak rows"),
        (RIDGE, None, {"inputs": {"scale": "products"}}, {}, "labelled rows of numbers only"),
        (RIDGE, None, GRAM, {"kernel": "precomputed"}, "labelled rows of numbers only"),
    ],
)
def test_methods_that_need_a_gram_matrix_too_large_are_refused(
    method, model, dataset, experiment, reason
):
    combination = (
        method_of(method)[0],
        ModelSettings(**model) if model else None,
        DatasetSettings(**DATASET | dataset),
        ExperimentSettings(**EXPERIMENT | {"training_sizes": [100, 5000]} | experiment),
    )
    assert capabilities.check(*combination, 5000) == []
    assert capabilities.check(*combination) == []
    message = capabilities.check(*combination, 4999)
    assert message == [] if reason is None else any(reason in text for text in message), message


def test_good_experiments_pass():
    for dataset in ({}, GRAM, {"inputs": {"kernel": "tanimoto", "scale": "none"}}):
        assert experiment_reasons(dataset, {}) == []
    for kind in ("weak_weight", "weak_noise"):
        assert experiment_reasons({}, of_study(kind) | {"studies": {kind: [0.1]}}) == []
    grouped = {"split": "grouped", "whole_groups": "training"}
    folds = K_FOLD | {"n_splits": 20, "training_sizes": [20, "all"]}
    for task, metric in (("classes", "accuracy"), ("regression", "correlation")):
        for split in (grouped, folds):
            assert experiment_reasons({"task": task}, split | {"metric": metric}) == []


@each_case("regressor", method_modules())
def test_requirements_name_only_facts_that_exist(regressor):
    parameters = parameters_of(regressor)
    method = parameters(**first_file(regressor))
    facts = capabilities.method_facts(method, None) | capabilities.experiment_facts(
        DatasetSettings(**DATASET), ExperimentSettings(**EXPERIMENT)
    )
    tables = [
        capabilities.METHOD_REQUIREMENTS,
        capabilities.EMBEDDING_REQUIREMENTS,
        capabilities.EXPERIMENT_REQUIREMENTS,
        capabilities.COMBINATION_REQUIREMENTS,
        parameters.requirements,
        parameters.needs_of_data,
    ]
    for requirement in (row for table in tables for row in table):
        assert set(requirement.when) | set(requirement.needs) <= set(facts)
        assert requirement.because.format(**facts)


def test_a_method_may_ask_about_any_key_of_its_own():
    class Own(parameters_of("reduced_rank_ridge")):
        pseudo: Literal["a", "b"]
        requirements = (
            Requirement({"pseudo": {"a"}}, {"center": {True}}, "{pseudo} needs an intercept"),
            Requirement({"has_rank": {True}}, {"pseudo": {"b"}}, "ranks are for b, not {pseudo}"),
        )

    message = capabilities.check_method(Own(**RANK, pseudo="a", center=False), None)
    assert message == ["a needs an intercept", "ranks are for b, not a"]
    assert capabilities.check_method(Own(**RANK, pseudo="b"), None) == []
