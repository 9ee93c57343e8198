"""Predicted classes of the best method of an experiment, and the components of the classes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import variant_label
from workflow_lib.report.variants import Variant, order_variants


@dataclass(frozen=True)
class ClassNames:
    """The classes of a dataset: of every row (n,), the vectors (K, d) of each, and their names."""

    labels: np.ndarray
    vectors: np.ndarray
    names: list[str]


@dataclass(frozen=True)
class ClassPredictions:
    """The predicted classes of one row of the error table, at one training size.

    ``label`` is what the row is called, ``item`` the name of its item in "predictions" and
    "regression" artifacts, and ``examples`` the labelled examples per class, the training rows
    where sizes count rows. ``accuracy`` and ``deviation`` are the mean and standard deviation over
    splits of the share of test rows whose class is right; ``truth`` and ``predicted`` are int
    arrays (n_test,), split by split.
    """

    label: str
    method: str
    item: str
    n_train: int
    examples: int
    accuracy: float
    deviation: float
    truth: list[np.ndarray]
    predicted: list[np.ndarray]


def read_classes(dataset: str | Path) -> ClassNames:
    """Return the classes of a "dataset" artifact.

    Raises UserError if its outputs are not classes.
    """
    data = read_artifact(dataset, "dataset")
    if "classes" not in data:
        raise UserError(
            str(dataset),
            "its outputs are not classes",
            "a dataset with the task classes",
            "remove the tables and figures of classes from this experiment",
        )
    names = [name.replace("_", " ") for name in json.loads(data["names"]["classes"])]
    return ClassNames(data["classes"]["labels"], data["classes"]["vectors"], names)


def best_predictions(
    labels: np.ndarray,
    splits: Sequence[str | Path],
    predictions: Mapping[str, Sequence[str | Path]],
    methods: Mapping[str, Mapping],
) -> ClassPredictions:
    """Return the predictions with the highest mean accuracy at the largest training size.

    Each number of weak rows and of components is compared separately; values fixed by studies are
    left out. Of equal accuracies the first wins, in the order of the rows of tables.

    `labels` (n,) are the classes of every row of the dataset. `splits` are the "split" artifacts,
    and `predictions` map the methods to their "predictions" artifacts in the order of the splits;
    the order of `methods`, which have a ``label``, is that of the rows.

    Raises UserError if no method has predicted classes at that size in every split.
    """
    partitions = [read_artifact(path, "split") for path in splits]
    n_train = max(int(max(partition["sizes"])) for partition in partitions)
    truth = [labels[partition["test"]] for partition in partitions]
    found: dict[Variant, tuple[str, list[np.ndarray]]] = {}
    for method, paths in predictions.items():
        for path in paths:
            for name, item in read_artifact(path, "predictions").items():
                is_shown = item["training_size"] == n_train and not item.get("setting", "")
                if is_shown and "classes" in item:
                    variant = Variant(method, item["components"], item["weak_size"])
                    found.setdefault(variant, (name, []))[1].append(item["classes"])
    complete = [variant for variant, (_, classes) in found.items() if len(classes) == len(splits)]
    if not complete:
        raise UserError(
            "a figure of predicted classes",
            f"no method that has predicted classes with {n_train} training rows in every split",
            "predictions of classes",
            "remove the figure from this experiment",
        )
    accuracies = {
        variant: [
            float((predicted == true).mean())
            for predicted, true in zip(found[variant][1], truth, strict=True)
        ]
        for variant in order_variants(complete, methods)
    }
    best = max(accuracies, key=lambda variant: round(float(np.mean(accuracies[variant])), 12))
    return ClassPredictions(
        variant_label(best, methods),
        best.method,
        found[best][0],
        n_train,
        n_train // len(np.unique(labels)) if "examples" in partitions[0] else n_train,
        *mean_and_deviation(accuracies[best]),
        truth,
        found[best][1],
    )


def class_memberships(
    models: str | Path, vectors: np.ndarray, n_train: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the memberships (K, C) of class vectors (K, d) in a mixture, and its weights (C,).

    It is the mixture that `stored_mixture` gives. Raises UserError if there is none.
    """
    stored = stored_mixture(models, n_train)
    model = model_from_tree(stored)
    return model.responsibilities(scaling_from_tree(stored).apply(vectors)), model.weights_


def stored_mixture(
    models: str | Path, n_train: int | None = None, n_components: int | None = None
) -> Mapping:
    """Return the tree of a mixture of a "models" artifact.

    It was fitted to `n_train` rows without a fold, the largest number for None, and has of the
    numbers of components the nearest to `n_components`, or the largest for None.

    Raises UserError if there is no such model, or it is not a mixture.
    """
    fitted = read_artifact(models, "models")
    sizes = _numbers(fitted)
    n_train = sizes[-1] if n_train is None else n_train
    if n_train not in sizes:
        raise UserError(
            str(models),
            f"no model {size_group(n_train)}",
            f"one of {', '.join(map(size_group, sizes))}",
            "name a size that was fitted",
        )
    by_count = fitted[size_group(n_train)]
    counts = _numbers(by_count)
    count = counts[-1]
    if n_components is not None:
        count = min(counts, key=lambda known: abs(known - n_components))
    stored = by_count[components_group(count)][fold_group(None)]
    if stored["kind"] != "gaussian_mixture":
        raise UserError(
            str(models),
            f"a model of kind {stored['kind']}",
            "a mixture, whose components rows or classes belong to",
            "name a method with a mixture, or remove the table or figure",
        )
    return stored


def order_by_component(memberships: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in the order of their most probable component, and that component.

    `memberships` have the shape (K, C); classes of one component stay in their order.
    """
    most_probable = memberships.argmax(axis=1)
    order = np.argsort(most_probable, kind="stable")
    return order, most_probable[order]


def _numbers(groups: Mapping) -> list[int]:
    """Return the numbers at the ends of names of groups, ascending."""
    return sorted(int(name.rpartition("-")[2]) for name in groups)
