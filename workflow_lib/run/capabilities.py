"""Which parts can work together, declared as data and checked before anything runs.

A requirement says: if the facts of a combination have given values, other facts must have given
values, for a stated reason. Facts are named values of the method (`MethodFile.facts`), its model,
the dataset and the experiment. Requirements of a single method are in its module, as
``requirements`` and ``needs_of_data`` of its `Parameters`; those of a kind of model, table or
figure are in the module of that kind. This module has the requirements that concern all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import ALL, numbers_of
from workflow_lib.data.reading import kind_of_inputs
from workflow_lib.inputs.score_spaces.found import input_model_kinds
from workflow_lib.items.kinds.base import item_kinds
from workflow_lib.items.scales import MARKOV_SCALE, TEXT_SCALES
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.methods.contract.method_file import STATED_ITEMS, EmbeddingMethod, MethodFile
from workflow_lib.models.kinds.found import model_kinds
from workflow_lib.run.models import (
    FIGURES,
    TABLES,
    DatasetSettings,
    ExperimentSettings,
    InputModelSettings,
    ModelSettings,
)
from workflow_lib.tasks.found import alternatives, measures_of, metrics_of, tasks

MODULES = {
    regressor: module._replace(
        tasks=tuple(
            name
            for name, task in tasks().items()
            if name in module.tasks or regressor in task.regressors
        )
    )
    for regressor, module in method_modules().items()
}
"""The modules of methods, by regressor, with all tasks that they work on."""

KINDS = model_kinds()
"""The kinds of generative models."""

TASKS_OF = {
    outputs: [
        name for name, task in tasks().items() if outputs in (*task.further_outputs, task.outputs)
    ]
    for outputs in dict.fromkeys(task.outputs for task in tasks().values())
}
"""The tasks that have the measures of a kind of outputs."""

NEEDS_GRAM = {
    name
    for name, module in MODULES.items()
    if "grams" in module.needs and "landmarks" not in module.settings
}
WITH_COMPONENTS = {name for name, kind in KINDS.items() if kind.count_key == "n_components"}
WITH_STATES = {name for name, kind in KINDS.items() if kind.count_key == "state_dim"}
REDUCED_ONLY = {name for name, kind in KINDS.items() if "full" not in kind.blocks}

EMBEDDING_REQUIREMENTS = (
    Requirement(
        {"embeds": {False}},
        {"form": {None}},
        "without a model (or with weak_outputs) there is no embedding, so form must be null "
        "(it is {form})",
    ),
    Requirement(
        {"embeds": {False}},
        {"preimage": {None}},
        "without a model (or with weak_outputs) there is no embedding, so preimage must be null "
        "(it is {preimage})",
    ),
    Requirement(
        {"embeds": {True}},
        {"form": {"reduced", "full"}},
        "a method with a model needs a form: reduced or full",
    ),
    Requirement(
        {"embeds": {True}},
        {"preimage": {"closed_form", "projected", "gradient"}},
        "a method with a model needs a preimage: closed_form, projected or gradient",
    ),
    Requirement(
        {"form": {"full"}},
        {"covariance_block": {"constrained", "matrix"}},
        "the full form needs a covariance_block: constrained or matrix",
    ),
    Requirement(
        {"form": {"reduced", None}},
        {"covariance_block": {None}},
        "covariance_block must be null: only the full form has a covariance block",
    ),
    Requirement(
        {"preimage": {"gradient"}},
        {"form": {"full"}},
        "the gradient pre-image is for the full form; the reduced form has a closed-form pre-image",
    ),
    Requirement(
        {"preimage": {"gradient"}},
        {"start": {"closed_form", "mean"}},
        "the gradient pre-image needs a start: closed_form or mean",
    ),
    Requirement(
        {"preimage": {"closed_form", "projected", None}},
        {"start": {None}},
        "start must be null: only the gradient pre-image has a starting point",
    ),
    Requirement(
        {"preimage": {"projected"}},
        {"has_pi_block": {True}},
        "the projected pre-image needs a mixture: it projects the predicted memberships (block pi)",
    ),
    Requirement(
        {"combine": {"average"}},
        {"model": WITH_COMPONENTS | WITH_STATES, "embeds": {True}},
        "combine: average is for methods with several numbers of components (or states)",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"form": {"reduced"}, "preimage": {"closed_form"}},
        "series have the reduced form and the closed_form pre-image only (Algorithm 1)",
    ),
    Requirement(
        {"model": REDUCED_ONLY - {"state_space"}, "embeds": {True}},
        {"form": {"reduced"}},
        "a model of the kind {model} has the reduced form only",
    ),
)
"""For methods whose targets may be embeddings."""

METHOD_REQUIREMENTS = (
    Requirement(
        {"learns_features": {True}},
        {"reads_features": {True}},
        "a feature_learner changes inputs, and the regressor {regressor} takes none",
    ),
    Requirement(
        {"has_score_space": {True}},
        {"reads_features": {True}},
        "a score_space gives inputs, and the regressor {regressor} takes none",
    ),
    Requirement(
        {"has_score_space": {True}},
        {"learns_features": {False}},
        "a method has a feature_learner or a score_space, not both",
    ),
    Requirement(
        {"score_kind": {"top"}},
        {"has_class_models": {True}},
        "score_space.kind: top needs models of the classes (per_class: true)",
    ),
    Requirement(
        {"weak": {True}, "takes_weak_weight": {True}},
        {"has_weak_weight": {True}},
        "a weakly supervised method needs grid.weak_weight",
    ),
    Requirement(
        {"weak": {False}},
        {"has_weak_weight": {False}},
        "grid.weak_weight is for methods with weak: true",
    ),
    Requirement(
        {"has_kernels_with_width": {True}},
        {"has_width": {True}},
        "the kernels rbf and laplacian need grid.width",
    ),
    Requirement(
        {"one_example_is_in_grid": {False}},
        {"model": set()},
        "one_example.n_components must be one of grid.n_components",
    ),
    Requirement(
        {"model": WITH_COMPONENTS},
        {"has_n_components": {True}},
        "a mixture needs grid.n_components",
    ),
    Requirement(
        {"model": set(KINDS) - WITH_COMPONENTS | {None}},
        {"has_n_components": {False}},
        "grid.n_components is for mixtures",
    ),
    Requirement(
        {"model": WITH_STATES},
        {"has_state_dim": {True}},
        "a state-space model needs grid.state_dim",
    ),
    Requirement(
        {"model": set(KINDS) - WITH_STATES | {None}},
        {"has_state_dim": {False}},
        "grid.state_dim is for state-space models",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"has_its_covariances": {True}},
        "the noise of a state-space model is spherical or full, not {covariance_type}",
    ),
    Requirement(
        {"model": set(KINDS) - {"state_space"}},
        {"has_its_covariances": {True}},
        "a model of the kind {model} has no covariances of the type {covariance_type}",
    ),
)
"""What a method file must satisfy on all data."""

EXPERIMENT_REQUIREMENTS = (
    Requirement(
        {"dataset_kernel": {"precomputed"}},
        {"kernel": {"precomputed"}},
        "the inputs of the dataset are a Gram matrix, so the kernel must be precomputed, "
        "not {kernel}",
    ),
    Requirement(
        {"kernel": {"precomputed"}},
        {"dataset_kernel": {"precomputed"}},
        "the kernel precomputed needs a dataset whose inputs are a Gram matrix",
    ),
    Requirement(
        {"kernel": {"precomputed", "tanimoto"}},
        {"scale": {"none"}},
        "the kernel {kernel} needs inputs.scale: none in the dataset; scaled inputs have no "
        "meaning for it",
    ),
    Requirement(
        {"scale": set(TEXT_SCALES)},
        {"kernel": {"linear", "rbf"}},
        "texts (inputs.scale: {scale}) have the kernel linear or rbf, not {kernel}",
    ),
    Requirement(
        {"scale": {MARKOV_SCALE}},
        {"kind_of_inputs": {"transitions"}},
        "inputs.scale: {scale} is for counts of transitions of trees and sequences, and the reader "
        "{reader} gives {kind_of_inputs} with these options",
    ),
    Requirement(
        {"kind_of_inputs": {"transitions"}},
        {"scale": set(TEXT_SCALES)},
        "counts of transitions need inputs.scale: " + " or ".join(TEXT_SCALES) + ", not {scale}",
    ),
    Requirement(
        {"scale": {"products"}},
        {"kernel": {"linear", "rbf"}},
        "inner products (inputs.scale: products) have the kernel linear or rbf, not {kernel}",
    ),
    Requirement(
        {"whole_groups": {"folds", "training"}},
        {"split": {"grouped", "k_fold"}},
        "whole_groups: {whole_groups} needs split: grouped or k_fold, not {split}",
    ),
    Requirement(
        {"swaps_outputs": {True}},
        {"is_own_table": {False}},
        "wrong_labels: {wrong_labels} is for studies, and the model of a table of your own must "
        "learn from its outputs as they are",
    ),
    Requirement(
        {"split": {"k_fold"}},
        {"has_outer_folds": {True}},
        "split: k_fold needs outer_folds, the number of folds",
    ),
    Requirement(
        {"has_outer_folds": {True}},
        {"split": {"k_fold"}},
        "outer_folds: {outer_folds} needs split: k_fold, not {split}",
    ),
    Requirement(
        {"split": {"k_fold"}},
        {"tests_all_folds": {True}},
        "n_splits: {n_splits} is not a multiple of outer_folds: {outer_folds}, so that some rows "
        "would be tested more often than others",
    ),
    Requirement(
        {"has_size_all": {True}},
        {"split": {"random", "stratified", "chronological", "given", "k_fold"}},
        "training_sizes with 'all' need the same number of rows in every split, which a {split} "
        "split does not have",
    ),
    *(
        Requirement(
            {"task": {name}},
            {"split": set(task.splits), "metric": set(metrics_of(task))},
            f"{task.predicts} need split: {alternatives(task.splits)}, and metric: "
            f"{alternatives(metrics_of(task))}",
        )
        for name, task in tasks().items()
    ),
    *(
        Requirement(
            {f"shows_measures_of_{outputs}": {True}},
            {"task": set(of_tasks)},
            f"the errors {', '.join(measures_of(outputs))} of a table are of "
            f"{tasks()[of_tasks[0]].predicts}, and the task is {{task}}",
        )
        for outputs, of_tasks in TASKS_OF.items()
    ),
    Requirement(
        {"has_class_losses": {True}},
        {"task": {"classes"}},
        "class_tree and class_costs are for classes, and the task of the dataset is {task}",
    ),
    Requirement(
        {"has_positive_class": {True}},
        {"task": {"classes"}},
        "positive_class is for classes, and the task of the dataset is {task}",
    ),
)
"""What a dataset and an experiment must satisfy for all methods; the requirements of a kind of
table or figure are in its module."""

COMBINATION_REQUIREMENTS = (
    Requirement(
        {"learns_features": {True}},
        {"scale": {"none", "standard"}, "kernel": {"rbf", "linear"}, "is_large": {False}},
        "a feature_learner needs rows of numbers, the kernel rbf or linear, and no more training "
        "rows than max_gram_rows",
    ),
    *(
        Requirement(
            {"input_model": {kind}},
            {"kind_of_inputs": set(declared.items)},
            f"the model of score_space is for {' or '.join(declared.items)}, and the reader "
            "{reader} gives {kind_of_inputs} with these options",
        )
        for kind, declared in input_model_kinds().items()
    ),
    *(
        Requirement(
            {"items": {kind}},
            {"kind_of_inputs": {kind}},
            "the method is for {items}, and the reader {reader} gives {kind_of_inputs} with these "
            "options",
        )
        for kind in STATED_ITEMS
    ),
    Requirement(
        {"has_numbers": {False}, "reads_features": {True}, "has_score_space": {False}},
        {"items": set(STATED_ITEMS)},
        "the reader {reader} gives {kind_of_inputs}, and the method would take their codes for "
        "numbers; methods of {kind_of_inputs} have a feature_learner or estimator "
        "of them with items: {kind_of_inputs}, or a score_space that is for them",
    ),
    Requirement(
        {"has_score_space": {True}},
        {"scale": {"none"}, "kernel": {"rbf", "linear"}, "is_large": {False}},
        "a score_space needs inputs.scale: none, the kernel rbf or linear, and no more training "
        "rows than max_gram_rows",
    ),
    Requirement(
        {"has_class_models": {True}},
        {"task": {"classes"}},
        "models of the classes (per_class: true) need the task classes, not {task}",
    ),
    Requirement(
        {"is_large": {True}, "regressor": NEEDS_GRAM},
        {"regressor": set()},
        "with more training rows than max_gram_rows, the regressor {regressor} would need a Gram "
        "matrix that is too large",
    ),
    *(
        Requirement(
            {"regressor": {name}},
            {"task": set(module.tasks)},
            "the regressor {regressor} predicts "
            f"{alternatives([tasks()[task].predicts for task in module.tasks])}, and the task is "
            "{task}",
        )
        for name, module in MODULES.items()
    ),
    *(
        Requirement(
            {"model": {kind.name}},
            {"task": set(kind.tasks)},
            "a state-space model is for series, and the task is {task}"
            if kind.name == "state_space"
            else "a model of the kind {model} is not for the task {task}",
        )
        for kind in KINDS.values()
    ),
    Requirement(
        {"is_linear": {True}},
        {"kernel": {"rbf", "linear", "tanimoto"}},
        "a method with the linear kernel alone needs feature vectors, and the inputs are a Gram "
        "matrix",
    ),
    Requirement(
        {"takes_width": {True}, "kernel": {"rbf"}, "has_kernels": {False}},
        {"has_width": {True}},
        "the regressor {regressor} with the rbf kernel needs grid.width",
    ),
    Requirement(
        {"weak": {True}},
        {"has_weak_sizes": {True}},
        "a weakly supervised method needs an experiment with weak_sizes",
    ),
)
"""What a method must satisfy on one dataset in one experiment."""


def check(
    method: MethodFile,
    model: ModelSettings | None,
    dataset: DatasetSettings,
    experiment: ExperimentSettings,
    max_gram_rows: int | None = None,
    input_model: InputModelSettings | None = None,
) -> list[str]:
    """Return the reasons why the method cannot run in the experiment; none when it can.

    `max_gram_rows` is the largest number of training rows of a Gram matrix; None for no limit.
    `input_model` is that of the method's score space.
    """
    facts = method_facts(method, model, input_model)
    facts |= experiment_facts(dataset, experiment, max_gram_rows)
    requirements = _of_method(method) + COMBINATION_REQUIREMENTS + method.needs_of_data
    return unmet(requirements, facts) + method.reasons_against(dataset.task)


def has_other_items(method: MethodFile, dataset: DatasetSettings) -> bool:
    """Return whether a method states other items than those of a dataset, or none for them."""
    kind = kind_of_inputs(dataset.reader, dataset.options)
    is_none = method.items is None and item_kinds()[kind].are_numbers
    return not is_none and method.items != kind


def exceeds(experiment: ExperimentSettings, max_gram_rows: int | None) -> bool:
    """Return whether an experiment has a training size above the limit.

    Sizes of a split per class count the examples of each class, not the rows; such experiments
    have few rows. How many rows the size `ALL` is, is not known before the dataset is read.
    """
    if max_gram_rows is None or experiment.split == "per_class":
        return False
    return max(numbers_of(experiment.training_sizes), default=0) > max_gram_rows


def check_method(
    method: MethodFile, model: ModelSettings | None, input_model: InputModelSettings | None = None
) -> list[str]:
    """Return the reasons why the method can run in no experiment; none when it can run in some."""
    return unmet(_of_method(method), method_facts(method, model, input_model))


def _of_method(method: MethodFile) -> tuple[Requirement, ...]:
    """Return the requirements of a method on all data."""
    embedding = EMBEDDING_REQUIREMENTS if isinstance(method, EmbeddingMethod) else ()
    return embedding + METHOD_REQUIREMENTS + method.requirements


def check_experiment(dataset: DatasetSettings, experiment: ExperimentSettings) -> list[str]:
    """Return the reasons why the experiment can run with no method; none when it can with some."""
    kinds = dict.fromkeys(figure.kind for figure in experiment.figures or ())
    shown = [TABLES[kind] for kind in dict.fromkeys(each.kind for each in experiment.tables or ())]
    shown += [FIGURES[kind] for kind in kinds]
    requirements = [Requirement({}, kind.requires, kind.because) for kind in shown]
    requirements += [
        Requirement(
            {},
            {"has_size_all": {False}},
            f"figures of kind {kind} need training_sizes that are numbers, without 'all'",
        )
        for kind in kinds
        if "training_size" in FIGURES[kind].settings
    ]
    facts = experiment_facts(dataset, experiment)
    # A table and a figure may have the same reason.
    return list(dict.fromkeys(unmet((*EXPERIMENT_REQUIREMENTS, *requirements), facts)))


def blocks(method: MethodFile, model: ModelSettings | None) -> tuple[str, ...]:
    """Return the names of the blocks that the method predicts; none if it is contradictory."""
    if model is None:
        return ("outputs",) if method.form is None else ()
    return KINDS[model.kind].blocks.get(method.form, ())


def method_facts(
    method: MethodFile, model: ModelSettings | None, input_model: InputModelSettings | None = None
) -> dict[str, Any]:
    """Return the facts of a method and its models for the requirements.

    Where model and form contradict each other, there are no blocks; another requirement reports
    this, so those about blocks count as met.
    """
    names = blocks(method, model)
    return method.facts() | {
        "tasks": MODULES[method.regressor].tasks,
        "model": model.kind if model else None,
        "input_model": input_model.kind if input_model else None,
        "has_class_models": bool(input_model and input_model.per_class),
        "covariance_type": model.covariance_type if model else None,
        "has_its_covariances": model is None
        or model.covariance_type in KINDS[model.kind].covariances,
        "embeds": model is not None and method.weak_outputs is None,
        "blocks": ", ".join(names) or "none",
        "has_pi_block": "pi" in names or not names,
        "has_several_blocks": len(names) != 1,
    }


def experiment_facts(
    dataset: DatasetSettings, experiment: ExperimentSettings, max_gram_rows: int | None = None
) -> dict[str, Any]:
    """Return the facts of a dataset and an experiment for the requirements."""
    kind = kind_of_inputs(dataset.reader, dataset.options)
    # The default of the key names errors of numbers; other tasks replace it.
    named = {
        name
        for table in experiment.tables or ()
        for name in table.errors
        if "errors" in table.model_fields_set
    }
    return {
        "task": dataset.task,
        **{
            f"shows_measures_of_{outputs}": bool(named & set(measures_of(outputs)))
            for outputs in TASKS_OF
        },
        "has_positive_class": dataset.positive_class is not None,
        "has_class_losses": bool(dataset.class_tree or dataset.class_costs),
        "has_class_tree": bool(dataset.class_tree),
        "reader": dataset.reader,
        "scale": dataset.inputs.scale,
        "kind_of_inputs": kind,
        "has_numbers": item_kinds()[kind].are_numbers,
        "lagged_values": experiment.lagged_values or dataset.inputs.lagged_values,
        "dataset_kernel": dataset.inputs.kernel,
        "kernel": experiment.kernel or dataset.inputs.kernel,
        "split": experiment.split,
        "outer_folds": experiment.outer_folds,
        "n_splits": experiment.n_splits,
        "has_outer_folds": experiment.outer_folds is not None,
        "tests_all_folds": (experiment.n_splits or 0) % (experiment.outer_folds or 1) == 0,
        "has_size_all": ALL in (experiment.training_sizes or ()),
        "whole_groups": experiment.whole_groups,
        "wrong_labels": experiment.wrong_labels,
        "swaps_outputs": experiment.wrong_labels > 0,
        "is_own_table": dataset.is_user_table,
        "metric": experiment.metric,
        "has_weak_sizes": bool(experiment.weak_sizes),
        "has_unpaired_sizes": bool(experiment.unpaired_sizes),
        "studies_weak_weight": bool(experiment.studies and experiment.studies.weak_weight),
        "studies_weak_noise": bool(experiment.studies and experiment.studies.weak_noise),
        "components_are_selected": experiment.components == "selected",
        "is_large": exceeds(experiment, max_gram_rows),
    }


def unmet(requirements: Iterable[Requirement], facts: Mapping[str, Any]) -> list[str]:
    """Return the reasons of the requirements that apply to some facts, and are broken by them."""
    return [
        rule.because.format(**facts)
        for rule in requirements
        if all(facts[name] in values for name, values in rule.when.items())
        and not all(facts[name] in values for name, values in rule.needs.items())
    ]
