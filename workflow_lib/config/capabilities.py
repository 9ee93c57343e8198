"""Which parts can work together, declared as data and checked before anything runs.

A requirement reads: when the facts of a combination are these, it needs those, because of this.
Facts are named values of the method, its model, the dataset and the experiment. To teach the
check something new, add a row to a table below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from workflow_lib.config.models import (
    FIGURES,
    DatasetSettings,
    ExperimentSettings,
    MethodSettings,
    ModelSettings,
)
from workflow_lib.methods.registry import method_modules

OWN_READER = "table"
"""The reader of tables that users bring; their results hold an answer and a saved model."""

BLOCKS: dict[tuple[str | None, str | None], tuple[str, ...]] = {
    (None, None): ("outputs",),
    ("gaussian", "reduced"): ("mu",),
    ("gaussian", "full"): ("mu", "sigma"),
    ("gaussian_mixture", "reduced"): ("pi", "mu"),
    ("gaussian_mixture", "full"): ("pi", "mu", "sigma"),
    ("state_space", "reduced"): ("initial", "state", "observation"),
}
"""The blocks that kernel ridge regression predicts, by kind of model and form of embedding."""


class Requirement(NamedTuple):
    """One rule of what can work together."""

    when: dict[str, set]
    """Facts, each with the values for which the rule applies."""

    needs: dict[str, set]
    """Facts, each with the values that are possible then."""

    because: str
    """The reason given to the user; names of facts in braces are filled in."""


MODULES = method_modules()
"""What the modules of methods declare, by regressor."""


def taking(setting: str) -> set[str]:
    """Return the regressors whose module takes a setting."""
    return {name for name, module in MODULES.items() if setting in module.settings}


REGRESSORS = set(MODULES)
CLASSIFIERS = {name for name in MODULES if MODULES[name].tasks == ("classes",)}
OF_OUTPUTS = {name for name in MODULES if "classes" not in MODULES[name].tasks}
CLASS_RIDGES = taking("penalties") & CLASSIFIERS
RIDGES = taking("penalties") - CLASSIFIERS
WITHOUT_GRID = {"stack"} | {name for name in MODULES if MODULES[name].settings == ("metric",)}
CHOOSING_KERNELS = taking("kernels")
FORESTS = {"random_forest_classifier"} | taking("max_features")
WITHOUT_GRAM = {"kernel_ridge"} | {name for name in MODULES if "grams" not in MODULES[name].needs}
WITHOUT_MODEL = OF_OUTPUTS | CLASSIFIERS - CLASS_RIDGES
PREIMAGES = {
    "closed_form",
    "projected",
    "gradient",
    "candidates",
    "minimiser",
    "mean",
    "mean_shift",
}
WITHOUT_OUTPUT_KERNEL = REGRESSORS - {"output_kernel_regression"}
FROM_VECTORS = {"euclidean", "cosine"}
WITH_MEMBERSHIPS = {"class_block", "class_block_component_first"}
WITH_MIXTURE = {"candidates"} | WITH_MEMBERSHIPS
FROM_SCORES = {"one_hot", "output_kernel"} | WITH_MIXTURE

EMBEDDING = {"gaussian", "gaussian_mixture", "state_space"}

METHOD_REQUIREMENTS = (
    Requirement(
        {"embeds": {False}},
        {"form": {None}},
        "without a model (or with weak_outputs) there is no embedding, so form must be null "
        "(it is {form})",
    ),
    Requirement(
        {"embeds": {False}, "regressor": WITHOUT_OUTPUT_KERNEL},
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
        "the gradient pre-image is for the full form; the reduced form has a closed one",
    ),
    Requirement(
        {"preimage": {"gradient"}},
        {"start": {"closed_form", "mean"}},
        "the gradient pre-image needs a start: closed_form or mean",
    ),
    Requirement(
        {"preimage": PREIMAGES - {"gradient"} | {None}},
        {"start": {None}},
        "start must be null: only the gradient pre-image starts somewhere",
    ),
    Requirement(
        {"preimage": {"projected"}},
        {"has_pi_block": {True}},
        "the projected pre-image needs a mixture: it projects the predicted memberships (block pi)",
    ),
    Requirement(
        {"penalty": {"per_block"}},
        {"has_several_blocks": {True}},
        "a penalty per block needs at least two blocks (the blocks are: {blocks})",
    ),
    Requirement(
        {"regressor": WITHOUT_MODEL},
        {"model": {None}},
        "the regressor {regressor} predicts the outputs or classes themselves, so model must be "
        "null",
    ),
    Requirement(
        {"regressor": {"output_kernel_regression"}},
        {"output_kernel": {"rbf", "linear", "dtw", "gak"}},
        "output kernel regression needs an output_kernel: rbf, linear, dtw or gak",
    ),
    Requirement(
        {"regressor": WITHOUT_OUTPUT_KERNEL},
        {"output_kernel": {None}},
        "output_kernel is for output kernel regression",
    ),
    Requirement(
        {"regressor": WITHOUT_OUTPUT_KERNEL, "decoder": FROM_SCORES - {"output_kernel"} | {None}},
        {"has_output_width": {False}},
        "grid.output_width is for output kernel regression and for the decoder output_kernel",
    ),
    Requirement(
        {"decoder": {"output_kernel"}},
        {"has_output_width": {True}},
        "the decoder output_kernel needs grid.output_width",
    ),
    Requirement(
        {"output_kernel": {"dtw", "gak"}},
        {"preimage": {"candidates"}},
        "the output kernel {output_kernel} needs the preimage candidates",
    ),
    Requirement(
        {"output_kernel": {"linear"}},
        {"preimage": {"candidates", "mean"}},
        "the linear output kernel needs the preimage candidates or mean; with the minimiser it "
        "would be kernel ridge regression itself",
    ),
    Requirement(
        {"output_kernel": {"rbf"}},
        {"preimage": {"candidates", "minimiser", "mean_shift"}},
        "the rbf output kernel needs the preimage candidates, minimiser or mean_shift",
    ),
    Requirement(
        {"output_kernel": {"rbf", "dtw", "gak"}},
        {"has_output_width": {True}},
        "the output kernel {output_kernel} needs grid.output_width",
    ),
    Requirement(
        {"output_kernel": {"linear"}},
        {"has_output_width": {False}},
        "the linear output kernel has no width, so grid.output_width must be empty",
    ),
    Requirement(
        {"regressor": {"principal_component_ridge"}},
        {"penalty": {"shared"}},
        "principal_component_ridge has a penalty per principal component already, so penalty must "
        "be shared",
    ),
    Requirement(
        {"regressor": WITHOUT_GRID},
        {"has_penalty": {False}, "has_width": {False}},
        "the regressor {regressor} has nothing to choose, so the grid must be empty",
    ),
    Requirement(
        {"regressor": {"reduced_rank_ridge"}},
        {"has_rank": {True}},
        "reduced-rank regression needs grid.rank",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"reduced_rank_ridge"}},
        {"has_rank": {False}},
        "grid.rank is for reduced-rank regression",
    ),
    Requirement(
        {"regressor": {"laplacian_ridge"}},
        {"has_laplacian": {True}},
        "Laplacian-regularised regression needs grid.laplacian_weight and grid.neighbours",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"laplacian_ridge"}},
        {"has_laplacian": {False}},
        "grid.laplacian_weight and grid.neighbours are for Laplacian-regularised regression",
    ),
    Requirement(
        {"regressor": {"stack"}},
        {"has_members": {True}},
        "a stack needs members, and member_sizes may name members only",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"stack"}},
        {"has_members": {False}},
        "members and member_sizes are for stacks",
    ),
    Requirement(
        {"has_projection": {True}},
        {"preimage": {"projected"}},
        "grid.projection is for the preimage projected",
    ),
    Requirement(
        {"combine": {"average"}},
        {"model": {"gaussian_mixture", "state_space"}, "embeds": {True}},
        "combine: average is for methods with several numbers of components (or states)",
    ),
    Requirement(
        {"weak": {True}, "weak_outputs": {None}, "regressor": REGRESSORS - CLASSIFIERS},
        {"model": {"gaussian_mixture"}, "form": {"reduced"}, "regressor": {"kernel_ridge"}},
        "weak labels are component memberships: they need kernel ridge regression on the reduced "
        "form of a mixture",
    ),
    Requirement(
        {"weak_outputs": {"component_mean", "neighbours"}},
        {
            "model": {"gaussian_mixture"},
            "regressor": {"kernel_ridge"},
            "penalty": {"shared"},
            "weak": {True},
        },
        "weak_outputs: {weak_outputs} needs a mixture whose components the weak labels name, "
        "kernel ridge regression, one penalty (shared) and weak: true",
    ),
    Requirement(
        {"weak_outputs": {"true"}},
        {"model": {None}, "regressor": {"kernel_ridge"}, "penalty": {"shared"}, "weak": {True}},
        "weak_outputs: true needs no model, kernel ridge regression, one penalty (shared) and "
        "weak: true",
    ),
    Requirement(
        {"weak": {True}, "regressor": REGRESSORS - {"self_training"}},
        {"has_weak_weight": {True}},
        "a weakly supervised method needs grid.weak_weight",
    ),
    Requirement(
        {"weak": {False}},
        {"has_weak_weight": {False}},
        "grid.weak_weight is for methods with weak: true",
    ),
    Requirement(
        {"regressor": RIDGES | CLASS_RIDGES},
        {"has_penalty": {True}},
        "the regressor {regressor} needs grid.penalty",
    ),
    Requirement(
        {"regressor": REGRESSORS - FORESTS},
        {"has_max_features": {False}, "has_n_trees": {False}},
        "grid.max_features and grid.n_trees are for forests",
    ),
    Requirement(
        {"regressor": FORESTS},
        {"has_max_features": {True}, "has_n_trees": {True}},
        "a forest needs grid.max_features and grid.n_trees",
    ),
    Requirement(
        {"regressor": FORESTS | {"perceptron"}},
        {"has_penalty": {False}, "has_width": {False}},
        "grid.penalty and grid.width are for kernel ridge regression and its relatives",
    ),
    Requirement(
        {"regressor": {"support_vector_machine"}},
        {"has_cost": {True}, "has_penalty": {False}},
        "a support vector machine needs grid.cost, and no grid.penalty",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"support_vector_machine"}},
        {"has_cost": {False}},
        "grid.cost is for support vector machines",
    ),
    Requirement(
        {"regressor": {"perceptron"}},
        {"has_l2_penalty": {True}},
        "a perceptron needs grid.l2_penalty",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"perceptron"}},
        {"has_l2_penalty": {False}},
        "grid.l2_penalty is for perceptrons",
    ),
    Requirement(
        {"regressor": {"class_ridge"}},
        {"decoder": FROM_SCORES},
        "class_ridge needs a decoder: one_hot, output_kernel, candidates, class_block or "
        "class_block_component_first",
    ),
    Requirement(
        {"regressor": {"kernel_ridge"}},
        {"decoder": FROM_VECTORS | {None}},
        "of kernel_ridge, which predicts class vectors, the decoder is euclidean or cosine",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"class_ridge", "kernel_ridge", "estimator"}},
        {"decoder": {None}},
        "decoder is for kernel_ridge and class_ridge",
    ),
    Requirement(
        {"decoder": WITH_MIXTURE},
        {"model": {"gaussian_mixture"}, "has_block_weight": {True}},
        "the decoder {decoder} needs a mixture and grid.block_weight",
    ),
    Requirement(
        {"regressor": {"class_ridge"}, "decoder": FROM_SCORES - WITH_MIXTURE},
        {"model": {None}},
        "the decoder {decoder} needs no model, so model must be null",
    ),
    Requirement(
        {"decoder": FROM_VECTORS | FROM_SCORES - WITH_MIXTURE | {None}},
        {"has_block_weight": {False}},
        "grid.block_weight is for decoders that search a class in the embedding",
    ),
    Requirement(
        {"regressor": {"class_ridge"}, "weak": {True}},
        {"decoder": WITH_MEMBERSHIPS},
        "weak rows join class_ridge with the decoders class_block and class_block_component_first",
    ),
    Requirement(
        {"regressor": {"self_training"}},
        {"pseudo_classes": {"hard", "soft"}, "model": {"gaussian_mixture"}, "weak": {True}},
        "self_training needs pseudo_classes (hard or soft), a mixture whose components the weak "
        "labels name, and weak: true",
    ),
    Requirement(
        {"regressor": REGRESSORS - {"self_training"}},
        {"pseudo_classes": {None}},
        "pseudo_classes is for self_training",
    ),
    Requirement(
        {"regressor": REGRESSORS - CHOOSING_KERNELS},
        {"has_kernels": {False}},
        "a list of kernels is for kernel_ridge, principal_component_ridge, "
        "output_kernel_regression, class_ridge and self_training; the regressor {regressor} has "
        "the kernel of the experiment",
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
        {"model": {"gaussian_mixture"}},
        {"has_n_components": {True}},
        "a mixture needs grid.n_components",
    ),
    Requirement(
        {"model": {"gaussian", "state_space", None}},
        {"has_n_components": {False}},
        "grid.n_components is for mixtures",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"has_state_dim": {True}},
        "a state-space model needs grid.state_dim",
    ),
    Requirement(
        {"model": {"gaussian", "gaussian_mixture", None}},
        {"has_state_dim": {False}},
        "grid.state_dim is for state-space models",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"form": {"reduced"}, "preimage": {"closed_form"}},
        "series have the reduced form and the closed_form pre-image only (Algorithm 1)",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"covariance_type": {"spherical", "full"}},
        "the noise of a state-space model is spherical or full, not {covariance_type}",
    ),
)
"""What a method file must satisfy whatever it is used on."""

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
        {"scale": {"tf-idf"}},
        {"kernel": {"linear", "rbf"}},
        "texts (inputs.scale: tf-idf) have the kernel linear or rbf, not {kernel}",
    ),
    Requirement(
        {"scale": {"products"}},
        {"kernel": {"linear", "rbf"}},
        "inner products (inputs.scale: products) have the kernel linear or rbf, not {kernel}",
    ),
    Requirement(
        {"task": {"classes"}},
        {"split": {"per_class", "stratified"}, "metric": {"accuracy"}},
        "classes need split: per_class or stratified, and metric: accuracy",
    ),
    Requirement(
        {"task": {"regression", "series"}},
        {"split": {"random", "grouped", "chronological", "given"}, "metric": {"arrmse", "rrmse"}},
        "split: per_class or stratified, and metric: accuracy, are for classes, and the task is "
        "{task}",
    ),
    Requirement(
        {"shows_weak_weight": {True}},
        {"studies_weak_weight": {True}, "has_weak_sizes": {True}},
        "a table or figure of kind weak_weight needs studies.weak_weight and weak_sizes",
    ),
    Requirement(
        {"shows_weak_noise": {True}},
        {"studies_weak_noise": {True}, "has_weak_sizes": {True}},
        "a table or figure of kind weak_noise needs studies.weak_noise and weak_sizes",
    ),
    Requirement(
        {"shows_classes": {True}},
        {"task": {"classes"}},
        "tables of kind component_names and figures of kind confusion or image_sheet show classes, "
        "and the task is {task}",
    ),
    Requirement(
        {"shows_answer": {True}},
        {"reader": {OWN_READER}, "task": {"regression", "series"}},
        "tables of kind typical_rows and figures of kind predicted_true or residuals_novelty show "
        "the answer on a table of your own (reader table), to outputs that are numbers",
    ),
    Requirement(
        {"has_weak_table": {True}},
        {"has_weak_sizes": {True}},
        "a table of kind weak needs weak_sizes",
    ),
)
"""What a dataset and an experiment must satisfy whatever methods run on them; what a figure needs
stands in its module."""

COMBINATION_REQUIREMENTS = (
    Requirement(
        {"is_large": {True}, "regressor": REGRESSORS - WITHOUT_GRAM},
        {"regressor": set()},
        "with more training rows than max_gram_rows, the regressor {regressor} would need a Gram "
        "matrix that is too large",
    ),
    Requirement(
        {"is_large": {True}, "regressor": {"kernel_ridge"}},
        {"weak": {False}, "scale": {"none", "standard"}, "kernel": {"rbf", "linear", "tanimoto"}},
        "with more training rows than max_gram_rows, kernel ridge regression works on landmarks: "
        "labelled rows of numbers only, without weak rows",
    ),
    Requirement(
        {"regressor": CLASSIFIERS},
        {"task": {"classes"}},
        "the regressor {regressor} predicts classes, and the task is {task}",
    ),
    Requirement(
        {"decoder": FROM_VECTORS | FROM_SCORES},
        {"task": {"classes"}},
        "the decoder {decoder} finds a class, and the task is {task}",
    ),
    Requirement(
        {"regressor": OF_OUTPUTS},
        {"task": {"regression", "series"}},
        "the regressor {regressor} predicts rows of numbers (task regression or series), not "
        "{task}",
    ),
    Requirement(
        {"output_kernel": {"dtw", "gak"}},
        {"task": {"series"}},
        "the output kernel {output_kernel} compares series, and the task is {task}",
    ),
    Requirement(
        {"regressor": {"least_squares"}},
        {"past": {"separate", "added"}},
        "least squares needs values of the past: past: separate or added, in "
        "the experiment or in the inputs of the dataset",
    ),
    Requirement(
        {"model": {"state_space"}},
        {"task": {"series"}},
        "a state-space model is one of series, and the task is {task}",
    ),
    Requirement(
        {"regressor": FORESTS | {"perceptron", "estimator"}},
        {"kernel": {"rbf", "linear", "tanimoto"}},
        "the regressor {regressor} needs feature vectors, and the inputs are a Gram matrix",
    ),
    Requirement(
        {"is_linear": {True}},
        {"kernel": {"rbf", "linear", "tanimoto"}},
        "a method with the linear kernel alone needs feature vectors, and the inputs are a Gram "
        "matrix",
    ),
    Requirement(
        {
            "regressor": RIDGES | CLASS_RIDGES | {"support_vector_machine"},
            "kernel": {"rbf"},
            "has_kernels": {False},
        },
        {"has_width": {True}},
        "the regressor {regressor} with the rbf kernel needs grid.width",
    ),
    Requirement(
        {"regressor": {"stack"}},
        {"components_are_selected": {True}},
        "a stack combines methods whose numbers of components are selected, and the experiment "
        "fixes them",
    ),
    Requirement(
        {"weak": {True}},
        {"has_weak_sizes": {True}},
        "a weakly supervised method needs an experiment with weak_sizes",
    ),
)
"""What a method must satisfy on one dataset in one experiment."""


def check(
    method: MethodSettings,
    model: ModelSettings | None,
    dataset: DatasetSettings,
    experiment: ExperimentSettings,
    max_gram_rows: int | None = None,
) -> list[str]:
    """Return the reasons why the method cannot run in the experiment; none when it can.

    `max_gram_rows` is the most training rows of a Gram matrix; None for no limit.
    """
    facts = method_facts(method, model) | experiment_facts(dataset, experiment, max_gram_rows)
    reasons = _unmet(METHOD_REQUIREMENTS + COMBINATION_REQUIREMENTS, facts)
    return reasons + method.reasons_against(dataset.task)


def exceeds(experiment: ExperimentSettings, max_gram_rows: int | None) -> bool:
    """Return whether an experiment has a training size above the limit.

    Sizes of a split per class count the examples of each class, not the rows; such experiments are
    about few rows.
    """
    if max_gram_rows is None or experiment.split == "per_class":
        return False
    return max(experiment.training_sizes) > max_gram_rows


def check_method(method: MethodSettings, model: ModelSettings | None) -> list[str]:
    """Return the reasons why the method can run in no experiment; none when it may."""
    return _unmet(METHOD_REQUIREMENTS, method_facts(method, model))


def check_experiment(dataset: DatasetSettings, experiment: ExperimentSettings) -> list[str]:
    """Return the reasons why the experiment can run with no method; none when it may."""
    kinds = dict.fromkeys(figure.kind for figure in experiment.figures or ())
    figures = [Requirement({}, FIGURES[kind].requires, FIGURES[kind].because) for kind in kinds]
    facts = experiment_facts(dataset, experiment)
    # A table and a figure may have the same reason.
    return list(dict.fromkeys(_unmet((*EXPERIMENT_REQUIREMENTS, *figures), facts)))


def blocks(method: MethodSettings, model: ModelSettings | None) -> tuple[str, ...]:
    """Return the names of the blocks that the method predicts; none for a contradictory one."""
    return BLOCKS.get((model.kind if model else None, method.form), ())


def method_facts(method: MethodSettings, model: ModelSettings | None) -> dict[str, Any]:
    """Return what the tables may ask about a method and its model.

    Where model and form contradict each other there are no blocks; that has a row of its own, so
    the rows about blocks stay silent then.
    """
    names = blocks(method, model)
    return {
        "model": model.kind if model else None,
        "form": method.form,
        "covariance_block": method.covariance_block,
        "regressor": method.regressor,
        "output_kernel": method.output_kernel,
        "preimage": method.preimage,
        "start": method.start,
        "penalty": method.penalty,
        "weak": method.weak,
        "weak_outputs": method.weak_outputs,
        "embeds": model is not None
        and method.weak_outputs is None
        and method.regressor not in CLASSIFIERS,
        "decoder": method.decoder,
        "pseudo_classes": method.pseudo_classes,
        "combine": method.combine,
        "has_projection": bool(method.grid_values("projection")),
        "has_rank": bool(method.grid_values("rank")),
        "has_laplacian": bool(
            method.grid_values("laplacian_weight") and method.grid_values("neighbours")
        ),
        "has_members": bool(method.members) and set(method.member_sizes) <= set(method.members),
        "blocks": ", ".join(names) or "none",
        "has_pi_block": "pi" in names or not names,
        "has_several_blocks": len(names) != 1,
        "has_penalty": bool(method.grid_values("penalty")),
        "has_width": bool(method.grid_values("width")),
        "has_kernels": bool(method.kernel),
        "is_linear": method.kernel == ("linear",),
        "has_kernels_with_width": bool({"rbf", "laplacian"} & set(method.kernel)),
        "has_output_width": bool(method.grid_values("output_width")),
        "has_n_components": bool(method.grid_values("n_components")),
        "has_state_dim": bool(method.grid_values("state_dim")),
        "covariance_type": model.covariance_type if model else None,
        "has_weak_weight": bool(method.grid_values("weak_weight")),
        "one_example_is_in_grid": getattr(method.one_example, "n_components", None)
        in (None, *method.grid_values("n_components")),
        "has_cost": bool(method.grid_values("cost")),
        "has_l2_penalty": bool(method.grid_values("l2_penalty")),
        "has_block_weight": bool(method.grid_values("block_weight")),
        "has_max_features": bool(method.grid_values("max_features")),
        "has_n_trees": bool(method.grid_values("n_trees")),
    }


def experiment_facts(
    dataset: DatasetSettings, experiment: ExperimentSettings, max_gram_rows: int | None = None
) -> dict[str, Any]:
    """Return what the tables may ask about a dataset and an experiment."""
    tables = {table.kind for table in experiment.tables or ()}
    return {
        "task": dataset.task,
        "reader": dataset.reader,
        "scale": dataset.inputs.scale,
        "past": experiment.past or dataset.inputs.past,
        "dataset_kernel": dataset.inputs.kernel,
        "kernel": experiment.kernel or dataset.inputs.kernel,
        "split": experiment.split,
        "metric": experiment.metric,
        "has_weak_sizes": bool(experiment.weak_sizes),
        "shows_weak_weight": "weak_weight" in tables,
        "shows_weak_noise": "weak_noise" in tables,
        "studies_weak_weight": bool(experiment.studies and experiment.studies.weak_weight),
        "studies_weak_noise": bool(experiment.studies and experiment.studies.weak_noise),
        "components_are_selected": experiment.components == "selected",
        "shows_classes": "component_names" in tables,
        "shows_answer": "typical_rows" in tables,
        "has_weak_table": "weak" in tables,
        "is_large": exceeds(experiment, max_gram_rows),
    }


def _unmet(requirements: tuple[Requirement, ...], facts: dict[str, Any]) -> list[str]:
    return [
        requirement.because.format(**facts)
        for requirement in requirements
        if _holds(requirement.when, facts) and not _holds(requirement.needs, facts)
    ]


def _holds(conditions: dict[str, set], facts: dict[str, Any]) -> bool:
    return all(facts[name] in values for name, values in conditions.items())
