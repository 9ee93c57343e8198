"""The evaluation stage: errors of all predictions of an experiment, and their measured times."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import unknown_name
from workflow_lib.core.result_cells import rows_as_csv
from workflow_lib.core.result_columns import CHOICES, COORDINATES, SCORES, TIMINGS
from workflow_lib.core.whole_files import write_text
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import chosen_entries, requested_weak_size, size_group
from workflow_lib.measures.base import Predictions
from workflow_lib.tasks.base import Fit, Task
from workflow_lib.tasks.found import task_of, values_of
from workflow_lib.uncertainty.output_ranges import OutputRanges

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

    The columns of the files are those of `workflow_lib.core.result_columns`.

    The column ``setting`` is the value that a study fixed for the item, for example
    ``weak_noise=0.2``, and empty outside of studies.

    The quantities of the test rows are the measures of the task (`workflow_lib.measures`), as far
    as the predictions have them, and what the task adds. Those of the training rows have the
    prefixes `TRAINING` and `CROSS_VALIDATED` of `workflow_lib.core.result_columns`; no method must
    have them, and those that are not defined (all outputs constant) are left out. ``training_size``
    is the number of labelled examples per class where rows are split per class; ``n_train`` always
    counts rows.

    A second file holds what was selected for each item, one row per setting.

    A third file holds the errors of the parts of each item, such as its output coordinates or
    classes (`workflow_lib.tasks.base.Task.errors_of_parts`), one row per part. The mean of relative
    errors over coordinates is the aRRMSE.

    Raises UserError if the dataset has no class of this name.

    Parameters
    ----------
    dataset : path of the "dataset" artifact
    splits : paths of the "split" artifacts, in the order of the splits
    predictions : for each method, the paths of its "predictions" artifacts in the same order
    output : path of the CSV file of the scores
    choices : path of the CSV file of the selected settings
    coordinates : path of the CSV file of the coordinates
    experiment, dataset_name : names written into the rows
    positive_class : name of the class whose ranking is measured; None: that of each
    """
    data = read_artifact(dataset, "dataset")
    task, within = task_of(data), OutputRanges.of_dataset(data).within
    positive = None
    if positive_class is not None:
        names = json.loads(data["names"]["classes"])
        if positive_class not in names:
            location = f"dataset {dataset_name}, key positive_class"
            raise unknown_name(location, "class", positive_class, names)
        positive = names.index(positive_class)
    partitions = [read_artifact(path, "split") for path in splits]
    rows, choice_rows, coordinate_rows = [], [], []
    for method, paths in predictions.items():
        for split, (partition, path) in enumerate(zip(partitions, paths, strict=True)):
            for item in read_artifact(path, "predictions").values():
                key = _key(experiment, dataset_name, method, item, partition) | {"split": split}
                size = item["training_size"]
                train = training_output_rows(partition)[:size]
                folds = partition.get("folds", {}).get(size_group(size))
                fit = Fit(data, partition, item, train, folds, within, positive)
                predicted = task.test(fit)
                found = _quantities(task, fit, predicted)
                rows += [key | {"quantity": name, "value": found[name]} for name in found]
                choice_rows += [
                    key | {"name": name, "value": value}
                    for name, value in sorted(chosen_entries(item).items())
                    if name not in _KEYS
                ]
                coordinate_rows += [
                    key | {"coordinate": index, "name": name, "error": error}
                    for index, name, error in task.errors_of_parts(fit, predicted)
                ]
    write_rows(output, SCORES, rows)
    write_rows(choices, CHOICES, choice_rows)
    write_rows(coordinates, COORDINATES, coordinate_rows)


def _quantities(task: Task, fit: Fit, rows: Predictions) -> dict[str, float]:
    """Return the quantities of a fit; those of training rows that are not defined are left out."""
    outputs = (*task.further_outputs, task.outputs)
    found = values_of(outputs, rows) | task.further_quantities(fit)
    for prefix, of_training in task.training(fit).items():
        values = values_of(outputs, of_training)
        found |= {prefix + name: v for name, v in values.items() if math.isfinite(v)}
    return found


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
        "weak_size": requested_weak_size(int(item["weak_size"]), partition),
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
