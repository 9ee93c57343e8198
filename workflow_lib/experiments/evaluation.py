"""The evaluation stage: errors of all predictions of an experiment, and their measured times."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import unknown_name
from workflow_lib.experiments.output_ranges import OutputRanges
from workflow_lib.fitting.items import DETECTIONS, asked_weak_size, chosen_entries, size_group
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.metrics import (
    all_measures,
    box_measures,
    reference_errors,
    squared_error_sums,
    training_mean_errors,
)
from workflow_lib.ranking_metrics import ranking_measures, top_measures
from workflow_lib.result_cells import rows_as_csv
from workflow_lib.result_columns import (
    CHOICES,
    COORDINATES,
    CROSS_VALIDATED,
    SCORES,
    TIMINGS,
    TRAINING,
)
from workflow_lib.whole_files import write_text

_KEYS = ("components", "training_size", "weak_size", "setting", "score")
"""Entries of an item that are numbers or texts and were not selected."""


def run_scores(
    dataset: Path,
    splits: Sequence[Path],
    predictions: Mapping[str, Sequence[Path]],
    output: Path,
    choices: Path,
    coordinates: Path,
    experiment: str,
    dataset_name: str,
    positive_class: str | None = None,
) -> None:
    """Score the predictions of every method and split, one CSV row per item and quantity.

    The columns of the files are those of `workflow_lib.result_columns`.

    The column ``setting`` is the value that a study fixed for the item, for example
    ``weak_noise=0.2``, and empty outside of studies.

    A second file holds what was selected for each item, one row per setting.

    A third file holds the relative error sqrt(errors_j / reference_j) of each output coordinate
    j of each item, one row per coordinate. Its mean over coordinates is the aRRMSE. Constant
    coordinates have no relative error and are left out.

    For boxes the first file also holds the `workflow_lib.metrics.box_measures`.

    For classes the first file holds the accuracy instead of the errors and, where the predictions
    have ``class_scores`` and the test rows more than one class, the measures of
    `workflow_lib.ranking_metrics`, and the recalls of the first classes; the third holds the share
    of misclassified test rows of each class. Where rows are split per class, ``training_size`` is
    the number of labelled examples per class; ``n_train`` always counts rows. In other splits
    ``guess_accuracy`` is the accuracy of predicting the most frequent class of the training rows,
    in the folds of a partition (``outer_folds`` of a split) that of all rows with a known output.

    Quantities of the training rows have the prefixes `TRAINING` and `CROSS_VALIDATED`, as
    `_errors_of_training_rows` describes them; no method must have them.

    Parameters
    ----------
    dataset : path of the "dataset" artifact
    splits : paths of the "split" artifacts, in the order of the splits
    predictions : for each method, the paths of its "predictions" artifacts in the same order
    output : path of the CSV file of the scores
    choices : path of the CSV file of the selected settings
    coordinates : path of the CSV file of the coordinates
    experiment, dataset_name : names written into the rows
    positive_class : name of the class whose ranking is measured; None: see `ranking_measures`

    Raises
    ------
    UserError
        If the dataset has no class of this name.
    """
    data = read_artifact(dataset, "dataset")
    measure = _output_errors
    if "classes" in data:
        positive = _class_number(data, positive_class, dataset_name)
        measure = partial(_class_errors, positive=positive)
    partitions = [read_artifact(path, "split") for path in splits]
    rows, choice_rows, coordinate_rows = [], [], []
    for method, paths in predictions.items():
        for split, (partition, path) in enumerate(zip(partitions, paths, strict=True)):
            for item in read_artifact(path, "predictions").values():
                key = _key(experiment, dataset_name, method, item, partition) | {"split": split}
                errors, by_coordinate = measure(data, partition, item)
                errors |= _errors_of_training_rows(data, partition, item)
                rows += [key | {"quantity": name, "value": errors[name]} for name in errors]
                choice_rows += [
                    key | {"name": name, "value": value}
                    for name, value in sorted(chosen_entries(item).items())
                    if name not in _KEYS
                ]
                coordinate_rows += [
                    key | {"coordinate": index, "name": name, "error": error}
                    for index, name, error in by_coordinate
                ]
    write_rows(output, SCORES, rows)
    write_rows(choices, CHOICES, choice_rows)
    write_rows(coordinates, COORDINATES, coordinate_rows)


def _output_errors(data: Mapping, partition: Mapping, item: Mapping) -> tuple[dict, list]:
    """Return the errors of predicted outputs, and (index, name, error) of their coordinates."""
    outputs, names = data["outputs"], json.loads(data["names"]["outputs"])
    truth = outputs[partition["test"]]
    train = outputs[training_output_rows(partition)[: item["training_size"]]]
    predicted = OutputRanges.of_dataset(data).within(item["outputs"])
    errors = squared_error_sums(truth, predicted)
    reference = training_mean_errors(truth, train)
    measures = all_measures(truth, predicted, reference)
    if "boxes" in data:
        measures |= box_measures(truth, item["outputs"], item.get(DETECTIONS))
    return measures, [
        (index, name, math.sqrt(error / base))
        for index, (name, error, base) in enumerate(zip(names, errors, reference, strict=True))
        if base > 0
    ]


def _errors_of_training_rows(data: Mapping, partition: Mapping, item: Mapping) -> dict[str, float]:
    """Return the errors of the training rows, as far as an item has what they need.

    With the prefix `TRAINING` those of the fit to these rows, relative to the errors that their own
    mean has on them, or the accuracy; with `CROSS_VALIDATED` those of predictions without the fold
    of each row, relative to the errors of the folds' training means. Errors that are not defined
    (all outputs constant) are left out.
    """
    size = item["training_size"]
    train = training_output_rows(partition)[:size]
    if "classes" in data:
        if "training_classes" not in item:
            return {}
        right = item["training_classes"] == data["classes"]["labels"][train]
        return {f"{TRAINING}accuracy": float(right.mean())}
    outputs, found = data["outputs"][train], {}
    references = {
        TRAINING: ("training_outputs", lambda: training_mean_errors(outputs, outputs)),
        CROSS_VALIDATED: (
            "heldout_outputs",
            lambda: reference_errors(outputs, partition["folds"][size_group(size)]),
        ),
    }
    for prefix, (entry, reference) in references.items():
        if entry in item:
            predicted = OutputRanges.of_dataset(data).within(item[entry])
            values = all_measures(outputs, predicted, reference())
            if "boxes" in data:
                values |= box_measures(outputs, item[entry])
            found |= {prefix + name: v for name, v in values.items() if math.isfinite(v)}
    return found


def _class_number(data: Mapping, name: str | None, dataset_name: str) -> int | None:
    """Return the number of a class, None for none."""
    names = json.loads(data["names"]["classes"])
    if name is None or name in names:
        return None if name is None else names.index(name)
    place = f"config/datasets/{dataset_name}.yaml, key positive_class"
    raise unknown_name(place, "class", name, names)


def _class_errors(
    data: Mapping, partition: Mapping, item: Mapping, positive: int | None
) -> tuple[dict, list]:
    """Return the measures of predicted classes, and (index, name, share wrong) of the classes."""
    truth = data["classes"]["labels"][partition["test"]]
    right = item["classes"] == truth
    by_class = [
        (index, name, 1.0 - float(right[truth == index].mean()))
        for index, name in enumerate(json.loads(data["names"]["classes"]))
        if (truth == index).any()
    ]
    errors = {"accuracy": float(right.mean())}
    for name, losses in data["classes"].get("losses", {}).items():
        errors[name] = float(losses[truth, item["classes"]].mean())
    if "class_scores" in item:
        found = ranking_measures(truth, item["class_scores"], positive)
        errors |= {name: value for name, value in found.items() if math.isfinite(value)}
        errors |= top_measures(truth, item["class_scores"])
    if "examples" not in partition:
        # In a partition a class is rarer in training where it is frequent in the test fold: with as
        # many rows of each class, the guess would always be wrong in leave-one-out.
        if "outer_folds" in partition:
            counted = ~np.isnan(data["outputs"]).all(axis=1)
        else:
            counted = training_output_rows(partition)[: item["training_size"]]
        most_frequent = np.bincount(data["classes"]["labels"][counted]).argmax()
        errors["guess_accuracy"] = float((truth == most_frequent).mean())
    return errors, by_class


def run_timings(
    splits: Sequence[Path],
    predictions: Mapping[str, Sequence[Path]],
    seconds: Mapping[str, Sequence[Path]],
    output: Path,
    experiment: str,
    dataset_name: str,
) -> None:
    """Collect the measured seconds of every method and split, one CSV row per item.

    `seconds` gives, for each method, the JSON files of its stages: all splits of the first stage,
    then all splits of the next.
    """
    partitions = [read_artifact(path, "split") for path in splits]
    rows = []
    for method, paths in predictions.items():
        for split, path in enumerate(paths):
            stages = [
                json.loads(Path(part).read_text(encoding="utf-8"))
                for part in seconds[method][split :: len(paths)]
            ]
            for name, item in read_artifact(path, "predictions").items():
                row = _key(experiment, dataset_name, method, item, partitions[split])
                row |= {"split": split}
                for stage in stages:
                    row |= stage[name]
                rows.append(row)
    write_rows(output, TIMINGS, rows)


def by_method(methods: Sequence[str], paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Return equally many consecutive `paths` for each of `methods`."""
    count = len(paths) // len(methods)
    return {
        method: list(paths[index * count : (index + 1) * count])
        for index, method in enumerate(methods)
    }


def _key(experiment: str, dataset: str, method: str, item: Mapping, partition: Mapping) -> dict:
    n_train = item["training_size"]
    examples = {}
    if "examples" in partition:
        examples = dict(zip(partition["sizes"], partition["examples"], strict=True))
    return {
        "experiment": experiment,
        "dataset": dataset,
        "method": method,
        "components": item["components"],
        "training_size": examples.get(n_train, n_train),
        "n_train": n_train,
        "n_test": len(partition["test"]),
        "weak_size": asked_weak_size(int(item["weak_size"]), partition),
        "setting": item.get("setting", ""),
    }


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping]) -> None:
    """Write columns of rows as CSV, sorted by their key, with numbers in full precision."""
    ordered = sorted(rows, key=_order)
    cells = ([_plain(row.get(name, "")) for name in columns] for row in ordered)
    write_text(path, rows_as_csv(columns, cells))


def _order(row: Mapping) -> tuple:
    components = row["components"]
    number = -1 if components == "selected" else int(components)
    study, _, value = row.get("setting", "").partition("=")
    sizes = int(row["training_size"]), int(row["weak_size"])
    return (row["method"], number, *sizes, study, float(value or 0), row["split"])


def _plain(value):
    """Return a value whose text is the shortest that reads back as the same number."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else value
