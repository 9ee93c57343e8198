"""How an experiment was run, in sentences: its rows, its selection and what that chose."""

import math
from collections import Counter
from collections.abc import Mapping

import pandas as pd

from workflow_lib.core.convergence import GAP_AT_LIMIT
from workflow_lib.core.result_columns import FIT
from workflow_lib.protocol.splitting import ALL, K_FOLD
from workflow_lib.report.labels import (
    count_of,
    format_share,
    join_words,
    learns_from_inputs,
    method_label,
    range_in_words,
)
from workflow_lib.report.quantities import QUANTITIES, chance_error
from workflow_lib.report.results import rows_of_sizes

_GROUPED = (
    "Test rows belong to groups without training rows, so that they are less like the training "
    "rows than in a random split."
)

_WHOLE_GROUPS = {
    "folds": "Folds of the cross-validation hold out whole groups, too.",
    "training": "Folds of the cross-validation hold out whole groups, and training sets are filled "
    "with one group after the other, too.",
}
"""Value of `whole_groups` -> what else than the test rows does not divide a group."""

_WRONG = (
    "{share} of the training {what} are swapped among the training rows, so that they are wrong: "
    "fits, selection and errors on training rows have the swapped ones, test rows their own."
)

_GIVEN = (
    "The data define the test rows and those that may be training or weak rows; splits differ only "
    "in the training and weak rows drawn. The deviation over splits therefore says nothing about "
    "other test rows, and the tests, which assume that splits are random, give too small p values."
)

_APPROXIMATIONS = {
    "n_landmarks": "the features of {number} landmarks, centres of training inputs (the "
    "Nystr\u00f6m approximation),",
    "n_random_features": "{number} random features of the kernel",
}
"""Settings that were chosen where there was no Gram matrix of all rows, and what they mean."""

_ONE_EXAMPLE = (
    "With one example per class nothing can be selected, because a class that is held out has no "
    "example left; fixed values are used."
)

_CHRONOLOGICAL = (
    "The test rows are the latest, the same in every split, and later than all training rows; "
    "splits differ only in the training rows drawn. The deviation over splits therefore says "
    "nothing about other test periods, and at a size that takes every earlier row it is that of "
    "the folds and random starts only. The tests assume that splits are random, so that their p "
    "values are too small."
)

_PER_CLASS = (
    "Every class has the same number of labelled examples, and the same share of test rows."
)

_STRATIFIED = (
    "Every class has its share of the training and of the test rows, and at least one training row "
    "where there are enough."
)

_K_FOLD = (
    "The test sets are the folds of a {n_folds}-fold cross-validation{repeated}: each row is a "
    "test row once{in_each}. Rows of a group, if the data have groups, share a fold, also in the "
    "cross-validation of the selection, and a training size is the same number of rows in every "
    "split. {mean}The corrected test takes the most test rows of a fold over the training rows, "
    "{share} at the largest size, for the overlap of training sets."
)

_EQUAL_FOLDS = (
    "Since all folds have equally many rows, the mean accuracy over splits is the share of all "
    "tested rows that are right. "
)

_UNEQUAL_FOLDS = (
    "Folds differ in their numbers of rows, so that the mean accuracy over splits may differ from "
    "the share of all tested rows that are right: it weighs the rows of smaller folds more. "
)

_SINGLE_ROWS = (
    " A test set is one row, right or wrong: deviations over splits are those of single rows, not "
    "of the accuracy, and the paired tests compare such rows."
)

_ALL_ROWS = "The largest size is all rows that may train."

_SPLITS = {
    "k_fold": ("split", ""),
    "random": ("random split", ""),
    "grouped": ("grouped split", _GROUPED),
    "given": ("split", _GIVEN),
    "chronological": ("chronological split", _CHRONOLOGICAL),
    "per_class": ("random split", _PER_CLASS),
    "stratified": ("random split", _STRATIFIED),
}
"""Kind of split -> its name, and its explanation."""


def protocol_sentences(
    settings: Mapping,
    scores: pd.DataFrame,
    choices: pd.DataFrame,
    n_folds: int,
    missing_share: float = 0.0,
    same_group: str | None = None,
    methods: Mapping[str, Mapping] | None = None,
) -> str:
    """Return how an experiment was run, from its settings, its scores and what was chosen.

    `missing_share` is the share of the output values of the dataset that are missing,
    `same_group` the column that groups weak rows with labelled ones, None where weak labels are
    made, and `methods` has the labels of methods.
    """
    measured = QUANTITIES[settings["metric"]]
    sizes = sorted(set(scores["training_size"]))
    weak_sizes = sorted(set(scores["weak_size"]) - {0})
    n_splits = scores["split"].nunique()
    nested = ", each set inside the next" if len(sizes) > 1 else ""
    each = " each" if n_splits > 1 else ""
    kind, explanation = _SPLITS[settings.get("split", "random")]
    sentences = [
        f"{_sizes_in_words(scores, measured.is_per_class)}{nested}; "
        f"{count_of(n_splits, kind)} with {range_in_words(scores['n_test'])} test rows{each}.",
        explanation,
    ]
    if settings.get("split") == K_FOLD:
        sentences.append(_k_fold_in_words(scores, settings["outer_folds"], measured.is_accuracy))
    if ALL in settings["training_sizes"]:
        sentences.append(_ALL_ROWS)
    is_grouped = settings.get("split") == "grouped"
    if measured.task.grouped and is_grouped and settings.get("whole_groups") != "training":
        sentences.append(measured.task.grouped)
    sentences.append(_WHOLE_GROUPS.get(settings.get("whole_groups"), ""))
    if settings.get("wrong_labels"):
        share, what = format_share(settings["wrong_labels"]), measured.task.plural
        sentences.append(_WRONG.format(share=share, what=what))
    left_out = sorted(set(settings["training_sizes"]) - {*sizes, ALL})
    if left_out:
        sentences.append(f"Sizes that do not fit the data: {join_words(left_out)}.")
    users = [(methods or {}).get(name, {}) for name in set(scores[scores["weak_size"] > 0].method)]
    if weak_sizes and all(map(learns_from_inputs, users)):
        sentences.append(
            f"{join_words(weak_sizes)} rows without outputs for the methods that use them: their "
            f"inputs alone are known."
        )
    elif weak_sizes:
        is_soft = settings.get("weak_labels") == "soft"
        known = "the component probabilities are" if is_soft else "the component is"
        counts = (
            f"each has the mean component probabilities of the labelled training rows with the "
            f"same value of '{same_group}'."
            if same_group
            else f"of each only {known} known, in the mixture fitted to all labelled training "
            f"rows, whose memberships are also used in the inner folds."
        )
        sentences.append(
            f"{join_words(weak_sizes)} weakly labelled rows for the methods that use them: {counts}"
        )
        left_out = sorted(set(settings.get("weak_sizes", ())) - set(weak_sizes))
        if left_out:
            numbers = join_words(left_out)
            sentences.append(f"Numbers of weak rows that do not fit the data: {numbers}.")
    studied = choices.loc[choices["name"] == "unpaired_size", "value"]
    if len(studied):
        most = max(int(float(value)) for value in studied)
        sentences.append(
            f"Methods that learn from outputs without inputs have those of up to "
            f"{count_of(most, 'further row')}, which are neither training nor weak nor test rows."
        )
    chosen = "Hyper-parameters"
    has_choice = (choices.loc[choices["name"] == "n_components", "value"] != "1").any()
    if settings["components"] == "selected" and has_choice:
        chosen += " and numbers of components"
    sentences.append(
        f"{chosen} are selected by {n_folds}-fold cross-validation on the training rows alone, "
        + measured.task.selection
    )
    if measured.is_per_class and sizes[0] == 1:
        sentences.append(_ONE_EXAMPLE)
    if settings["components"] != "selected":
        numbers = join_words(settings["components"])
        sentences.append(f"Numbers of components are fixed to {numbers}.")
    sentences.append(_kernel_sentence(choices, settings["kernel"]))
    sentences.append(edge_sentence(scores, choices, methods or {}))
    sentences.append(_limit_sentence(scores, choices, methods or {}))
    for name, features in _APPROXIMATIONS.items():
        chosen = choices[(choices["name"] == name) & (choices["value"] != "0")]
        if not chosen.empty:
            n_train = rows_of_sizes(scores)
            numbers = sorted(n_train[size] for size in set(chosen["training_size"]))
            number = chosen["value"].iloc[0]
            sentences.append(
                f"With {join_words(numbers)} training rows, more than max_gram_rows, kernel ridge "
                f"regression works on {features.format(number=number)} instead of a Gram matrix of "
                "all pairs, with the same grid and the same folds; these do not depend on outputs."
            )
    if missing_share > 0:
        sentences.append(
            f"{format_share(missing_share)} of the output values are missing: in training each is "
            f"replaced by the mean of its output over the rows of the fit, and errors count the "
            f"observed values only."
        )
    chance = chance_error(scores) if measured.is_accuracy else math.nan
    guess = "A guess among the classes" if measured.is_per_class else "The most frequent class"
    level = measured.write(chance, math.nan, unit=True)
    sentences.append(measured.measure.scale.format(guess=guess, chance=level))
    return " ".join(filter(None, sentences))


def _kernel_sentence(choices: pd.DataFrame, kernel: str) -> str:
    """Return the kernels on the inputs, and how often each was chosen where several competed."""
    counts = Counter(choices.loc[choices["name"] == "kernel", "value"])
    text = f"Kernel on the inputs: {kernel}"
    if set(counts) <= {kernel}:
        return f"{text}."
    shares = [
        f"{name} in {format_share(count / counts.total())}" for name, count in counts.most_common()
    ]
    return f"{text}; of the fits that record their kernel it is {join_words(shares)}."


def edge_sentence(
    scores: pd.DataFrame, choices: pd.DataFrame, methods: Mapping[str, Mapping]
) -> str:
    """Return which methods have chosen values on the edge of their grid; empty for none.

    Those of the largest training size count. Beyond the edge a better value may lie; where the
    method's kernels are a list, the grid has been extended already.
    """
    at_size = scores[scores["training_size"] == scores["training_size"].max()]
    fits = at_size.drop_duplicates(list(FIT))["method"].value_counts()
    is_edge = (choices["name"] == "edges") & (choices["value"] != "")
    edges = choices[is_edge & (choices["training_size"] == scores["training_size"].max())]
    parts = []
    for method, rows in edges.groupby("method"):
        names = {
            value.strip()
            for text in rows["value"]
            for part in text.split(";")
            for value in part.rpartition(":")[2].split(",")
        }
        label, number = method_label(method, methods), count_of(fits[method], "fit")
        parts.append(f"{label} ({join_words(sorted(names))}) in {len(rows)} of {number}")
    if not parts:
        return ""
    return (
        f"Chosen values that lie on the edge of their grid, beyond which a better one may lie: "
        f"{join_words(parts)}."
    )


def _limit_sentence(
    scores: pd.DataFrame, choices: pd.DataFrame, methods: Mapping[str, Mapping]
) -> str:
    """Return which methods have fits that stopped at a limit of passes; empty for none."""
    fits = scores.drop_duplicates(list(FIT))["method"].value_counts()
    parts = []
    for method, rows in choices[choices["name"] == GAP_AT_LIMIT].groupby("method"):
        largest = rows["value"].astype(float).max()
        parts.append(
            f"{method_label(method, methods)} in {len(rows)} of {count_of(fits[method], 'fit')} "
            f"(largest duality gap {largest:.2g})"
        )
    if not parts:
        return ""
    return (
        "Fits that stopped at their limit of passes before the duality gap was small enough, so "
        f"that another solution may be better: {join_words(parts)}."
    )


def _k_fold_in_words(scores: pd.DataFrame, n_folds: int, is_accuracy: bool) -> str:
    n_repetitions = scores["split"].nunique() // n_folds
    n_train, n_test = max(rows_of_sizes(scores).values()), scores["n_test"]
    is_repeated = n_repetitions > 1
    mean = _EQUAL_FOLDS if n_test.nunique() == 1 else _UNEQUAL_FOLDS
    text = _K_FOLD.format(
        n_folds=n_folds,
        repeated=f" repeated with {n_repetitions} random partitions" if is_repeated else "",
        in_each=" in each partition" if is_repeated else "",
        mean=mean if is_accuracy else "",
        share=f"{n_test.max()}/{n_train}",
    )
    return text + (_SINGLE_ROWS if n_test.max() == 1 else "")


def _sizes_in_words(scores: pd.DataFrame, per_class: bool) -> str:
    """Return the training sizes; those per class with the numbers of rows that they make."""
    n_train = rows_of_sizes(scores)
    numbers = join_words(sorted(n_train))
    if not per_class:
        return f"{numbers} training rows"
    rows = join_words(n_train[size] for size in sorted(n_train))
    examples = "example" if list(n_train) == [1] else "examples"
    return f"{numbers} labelled {examples} per class ({rows} training rows)"
