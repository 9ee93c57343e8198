"""The input scores stage: the inputs of a method whose score space is that of generative models."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError, key_location
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.inputs.score_columns import ScoreColumns
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.papers.perina.score_space import ScoreSpace
from workflow_lib.papers.perina.score_space_storage import models_from_tree


def run(
    dataset: Path,
    split: Path,
    features: Path,
    models: Path,
    output: Path,
    space: Mapping[str, Any],
    standardise: bool,
    keeps_map: bool,
    method_file: str,
) -> None:
    """Write the "input_scores" artifact: scores of all rows under the models of every fold.

    It holds, in groups for each training size, grid point of the models and fold, ``train`` (n, k),
    the inputs of all training rows as the models of the fold and its standardisation give them; for
    the refit also ``test`` (m, k) and, with `keeps_map`, ``map``, which turns new rows into scores.

    `models` is the artifact "input_models", `space` has the arguments of
    `workflow_lib.papers.perina.score_space.ScoreSpace`, and `standardise` is that of
    `workflow_lib.inputs.score_columns.ScoreColumns`. A saved model will be made where it
    `keeps_map`; `method_file` is the YAML file, as errors name it.

    Raises UserError if the rows have no scores of this kind.
    """
    items = read_artifact(dataset, "dataset", ("inputs", "descriptors/values"))["items"]
    partition = read_artifact(split, "split")
    prepared = read_artifact(features, "features")
    fitted = read_artifact(models, "input_models")
    tree: dict = {}
    for size in map(int, partition["sizes"]):
        folds = partition["folds"][size_group(size)]
        inputs = prepared_inputs(prepared, folds, size)
        by_point = tree.setdefault(size_group(size), {})
        for point, by_fold in fitted[size_group(size)].items():
            for fold in [None, *range(int(folds.max()) + 1)]:
                trees = by_fold[fold_group(fold)]
                fold_space = ScoreSpace(models_from_tree(trees), **space)
                rows = inputs.rows_as_prepared_by(fold)[:]
                if fold is None:
                    rows = np.concatenate([rows, inputs.test_rows()])
                try:
                    columns = fold_space.transform(items_in(rows, items))
                except ValueError as error:
                    raise UserError(
                        location=f"{key_location(method_file, 'score_space')}, with {dataset}",
                        found=str(error),
                        expected="rows that have scores of this kind and level",
                        remedy="choose another level, or leave the method out of the experiment",
                    ) from error
                learned = folds != (-1 if fold is None else fold)
                columns_map = ScoreColumns.fit(columns[:size][learned], standardise)
                found = columns_map.of(columns)
                group: dict = {"train": found[:size]}
                if fold is None:
                    group["test"] = found[size:]
                    if keeps_map:
                        group["map"] = {
                            "items": items,
                            "models": trees,
                            "space": space,
                            "columns": columns_map.tree(),
                        }
                by_point.setdefault(point, {})[fold_group(fold)] = group
        print(f"{size} training rows: {columns.shape[1]} columns", flush=True)
    write_artifact(output, tree, "input_scores", inputs=[dataset, split, features, models])
