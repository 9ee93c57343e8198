"""The input models stage: generative models of sequences or bags, for every training size and fold.

Every model is fitted to the inputs of the training rows of its fold only. The models of all folds
and classes of a small split are fitted in one recursion, as far as their kind allows.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.named_class import combinations, imported_class, new_estimator
from workflow_lib.core.plugins import SCORE_SPACES
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.fitting.score_inputs import point_group
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.papers.perina.score_space_storage import model_to_tree


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    kind: str,
    per_class: bool,
    settings: Mapping[str, Any],
    grid: Mapping[str, Sequence],
    seed: int,
    model_file: str,
) -> None:
    """Fit the models and write the "input_models" artifact.

    It holds, in groups for each training size, grid point and fold, the models ``model-000``, ..:
    one, or with `per_class` one of each class that has training rows, the last class first.

    The `kind` is a module of `workflow_lib.inputs.score_spaces`; `per_class`, `settings` and `grid`
    are as of `workflow_lib.run.models.InputModelSettings`, and `model_file` is the YAML file, as
    errors name it. The group ``items`` of the dataset describes what its rows are.

    Raises UserError if a class has no training row in a fold, or the inputs are not what the model
    takes.
    """
    module, points = SCORE_SPACES.load(kind), combinations(grid)
    model_class = imported_class(module.MODEL)
    data = read_artifact(dataset, "dataset", ("inputs", "descriptors/values"))
    items = data["items"]
    arguments = {**module.arguments_of(items), **settings}
    partition = read_artifact(split, "split")
    stored = read_artifact(features, "features")
    tree: dict = {}
    for size in map(int, partition["sizes"]):
        folds = partition["folds"][size_group(size)]
        inputs = prepared_inputs(stored, folds, size)
        rows = training_output_rows(partition)[:size]
        labels = data["classes"]["labels"][rows] if per_class else None
        names = json.loads(data["names"]["classes"]) if per_class else None
        subsets = {fold: _subsets(folds, fold, labels, names, model_file) for fold in _all(folds)}
        by_point = tree.setdefault(size_group(size), {})
        for index, point in enumerate(points):
            models = {
                fold: [
                    new_estimator(
                        model_class,
                        arguments,
                        point,
                        derive_seed(seed, size, fold_group(fold), number),
                    )
                    for number in range(len(own))
                ]
                for fold, own in subsets.items()
            }
            # Folds whose rows are the same, so that one recursion serves them all.
            every = _all(folds)
            for together in [[fold] for fold in every] if inputs.learns else [every]:
                rows = inputs.rows_as_prepared_by(together[0])[:]
                try:
                    module.fit_models(
                        [model for fold in together for model in models[fold]],
                        items_in(rows, items),
                        [rows for fold in together for rows in subsets[fold]],
                    )
                except ValueError as error:
                    raise UserError(
                        location=f"{model_file}, with {dataset}",
                        found=str(error),
                        expected="inputs that the model can be fitted to",
                        remedy="fix the data, or settings and grid of the model",
                    ) from error
            by_point[point_group(index)] = {
                fold_group(fold): {
                    f"model-{number:03d}": model_to_tree(model) for number, model in enumerate(own)
                }
                for fold, own in models.items()
            }
        print(f"{size} training rows: {len(points)} grid points fitted", flush=True)
    write_artifact(output, tree, "input_models", seed=seed, inputs=[dataset, split, features])


def _all(folds: np.ndarray) -> list[int | None]:
    """Return the refit (None) and the folds."""
    return [None, *range(int(folds.max()) + 1)]


def _subsets(
    folds: np.ndarray, fold: int | None, labels: np.ndarray | None, names: Any, model_file: str
) -> list[np.ndarray]:
    """Return the training rows of each model of a fold."""
    kept = np.ones(len(folds), dtype=bool) if fold is None else folds != fold
    if labels is None:
        return [np.flatnonzero(kept)]
    classes = np.unique(labels)[::-1]
    subsets = [np.flatnonzero(kept & (labels == label)) for label in classes]
    for label, own in zip(classes, subsets, strict=True):
        if not len(own):
            raise UserError(
                location=f"{model_file}, per_class: true",
                found=f"class '{names[label]}' has no row among those that train when fold {fold} "
                f"of {len(folds)} training rows is held out",
                expected="at least two training rows of each class, in different folds",
                remedy="raise training_sizes, use split: stratified or per_class, or leave out the "
                "class",
            )
    return subsets
